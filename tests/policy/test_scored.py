"""Scored policies: thresholds, the conservative form, and what it does to policies made of others."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SettingError
from discreet.policy.algebra import runs, settle
from discreet.policy.contract import Policy
from discreet.policy.scored import Scored, above, clears, conservative, merged
from discreet.policy.specs import policy
from discreet.policy.widen import widen
from discreet.text.records import Record, Secret

quick = settings(derandomize=True, deadline=None, max_examples=80)
RECORD = Record(id="1", text="abcdefghij")
SPANS = st.lists(
    st.builds(
        lambda a, b, kind, score: Secret(min(a, b), max(a, b), kind, score),
        st.integers(0, 10),
        st.integers(0, 10),
        st.sampled_from("AB"),
        st.sampled_from((0.1, 0.4, 0.9)),
    ),
    max_size=6,
)


class Given(Scored):
    """Candidates as they are given."""

    def __init__(self, spans: Sequence[Secret]) -> None:
        self.spans, self.threshold = spans, 0.5

    def candidates(self, record: Record) -> Sequence[Secret]:
        return self.spans

    def spec(self) -> object:
        return {"given": self.threshold_spec()}


def covered(policy_: Policy) -> set[int]:
    return {at for secret in policy_.secrets(RECORD) for at in range(secret.start, secret.end)}


@quick
@given(SPANS)
def test_merging_covers_the_same_characters_as_a_union_does(spans: list[Secret]) -> None:
    assert runs(merged(spans)) == runs(settle(spans))
    assert merged(merged(spans)) == merged(spans)


@quick
@given(SPANS)
def test_the_surest_span_gives_kind_and_score(spans: list[Secret]) -> None:
    for secret in merged(spans):
        inside = [one for one in spans if one.start < one.end and secret.start <= one.start and one.end <= secret.end]
        assert secret.score == max(one.score for one in inside)
        assert any((one.kind, one.score) == (secret.kind, secret.score) for one in inside)


@quick
@given(SPANS)
def test_the_conservative_form_covers_all_that_the_balanced_one_does(spans: list[Secret]) -> None:
    assert covered(conservative(Given(spans))) >= covered(Given(spans))


def test_thresholds_by_kind_replace_the_common_one() -> None:
    spans = [Secret(0, 1, "A", 0.4), Secret(2, 3, "B", 0.4), Secret(4, 5, "B", 0.9)]
    assert covered(above(Given(spans), 0.5, {"A": 0.3})) == {0, 4}
    assert covered(above(Given(spans), 0.3, {"B": 1.0})) == {0}
    assert above(Given(spans), 0.3, {"B": 1.0}).spec() == {"given": {"threshold": 0.3, "kinds": {"B": 1.0}}}


def test_what_a_difference_takes_away_is_not_widened() -> None:
    first, second = Given([Secret(0, 4, "A", 0.2)]), Given([Secret(0, 2, "A", 0.2)])
    assert covered(first - second) == set()
    assert covered(conservative(first - second)) == {0, 1, 2, 3}
    assert covered(conservative(first | policy("digits"))) == {0, 1, 2, 3}
    assert covered(conservative(widen(first, "record"))) == set(range(10))


def test_a_record_is_cleared_only_if_nothing_is_found_in_it_or_its_pair() -> None:
    digits = policy("digits")
    assert clears(digits, Record(id="1", text="none"))
    assert not clears(digits, Record(id="1", text="1"))
    assert not clears(digits, Record(id="1", text="none", pair="1"))


def test_a_policy_without_scores_has_no_threshold() -> None:
    with pytest.raises(SettingError, match="always sure"):
        conservative(policy("digits"))
    with pytest.raises(SettingError, match="between 0 and 1"):
        above(policy("pii"), 1.5)
