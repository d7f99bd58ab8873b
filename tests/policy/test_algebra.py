"""The laws of `|`, `&` and `-` on characters, and the documented rules on spans, kinds and scores."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SettingError
from discreet.policy.algebra import Difference, Union, inside, outside, runs, settle
from discreet.policy.contract import Policy
from discreet.text.records import Record, Secret

KINDS = ("A", "B", "C")
quick = settings(derandomize=True, deadline=None, max_examples=150)


class Fixed(Policy):
    """Answers with the same spans for every record."""

    def __init__(self, *spans: Secret) -> None:
        self.spans = spans

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self.spans

    def spec(self) -> Any:
        return {"fixed": [list(span) for span in self.spans]}


def characters(secrets: Iterable[Secret]) -> set[int]:
    return {at for secret in secrets for at in range(secret.start, secret.end)}


def spans(secrets: Iterable[Secret]) -> list[tuple[int, int]]:
    return [(secret.start, secret.end) for secret in secrets]


def is_settled(secrets: Sequence[Secret]) -> bool:
    ordered = all(a.end <= b.start for a, b in pairwise(secrets))
    return ordered and all(secret.start < secret.end for secret in secrets)


@st.composite
def any_spans(draw: st.DrawFn) -> list[Secret]:
    starts = draw(st.lists(st.integers(0, 30), max_size=6))
    return [
        Secret(start, start + draw(st.integers(0, 8)), draw(st.sampled_from(KINDS)), draw(st.sampled_from([0.5, 1.0])))
        for start in starts
    ]


policies = any_spans().map(settle).map(lambda found: Fixed(*found))
RECORD = Record(id="1", text="x" * 40)


@quick
@given(any_spans())
def test_settling_keeps_the_characters_and_leaves_sorted_spans_without_overlap(found: list[Secret]) -> None:
    settled = settle(found)
    assert is_settled(settled)
    assert characters(settled) == characters(found)
    assert settle(settled) == settled


@quick
@given(policies, policies)
def test_operators_are_the_set_operations_on_characters(a: Fixed, b: Fixed) -> None:
    left, right = characters(a.spans), characters(b.spans)
    for combined, expected in ((a | b, left | right), (a & b, left & right), (a - b, left - right)):
        answer = combined.secrets(RECORD)
        assert is_settled(answer)
        assert characters(answer) == expected


@quick
@given(policies, policies, policies)
def test_grouping_does_not_matter_for_either_and_both(a: Fixed, b: Fixed, c: Fixed) -> None:
    assert ((a | b) | c).secrets(RECORD) == (a | (b | c)).secrets(RECORD)
    assert ((a & b) & c).secrets(RECORD) == (a & (b & c)).secrets(RECORD)
    assert ((a - b) - c).secrets(RECORD) == Difference(a, b, c).secrets(RECORD)
    assert characters((a - b - c).secrets(RECORD)) == characters((a - (b | c)).secrets(RECORD))


@quick
@given(policies, policies, policies)
def test_characters_distribute_and_order_does_not_matter(a: Fixed, b: Fixed, c: Fixed) -> None:
    assert spans((a | b).secrets(RECORD)) == spans((b | a).secrets(RECORD))
    assert characters((a & b).secrets(RECORD)) == characters((b & a).secrets(RECORD))
    assert characters((a & (b | c)).secrets(RECORD)) == characters(((a & b) | (a & c)).secrets(RECORD))
    assert characters((a - (b & c)).secrets(RECORD)) == characters(((a - b) | (a - c)).secrets(RECORD))


@quick
@given(policies)
def test_a_policy_with_itself(a: Fixed) -> None:
    assert (a | a).secrets(RECORD) == a.spans
    assert spans((a & a).secrets(RECORD)) == spans(a.spans)
    assert (a - a).secrets(RECORD) == ()


@quick
@given(policies, policies)
def test_pieces_of_both_and_minus_keep_kind_and_score_of_the_left(a: Fixed, b: Fixed) -> None:
    named = {at: (secret.kind, secret.score) for secret in a.spans for at in range(secret.start, secret.end)}
    for answer in ((a & b).secrets(RECORD), (a - b).secrets(RECORD)):
        for piece in answer:
            assert {named[at] for at in range(piece.start, piece.end)} == {(piece.kind, piece.score)}


@quick
@given(st.lists(policies, min_size=2, max_size=3), st.integers(0, 4))
def test_a_stream_gets_the_same_answers_as_single_records(members: list[Fixed], count: int) -> None:
    records = [Record(id=str(number), text="x" * 40) for number in range(count)]
    for combined in (Union(*members), Difference(*members)):
        walked = list(combined.secrets_of_all(iter(records)))
        assert walked == [(record, combined.secrets(record)) for record in records]


def test_the_longest_span_names_the_merged_one() -> None:
    assert settle([Secret(0, 3, "A", 0.9), Secret(2, 7, "B", 0.4)]) == (Secret(0, 7, "B", 0.4),)
    # longer than the span before it is not enough: the longest of all counts
    assert settle([Secret(0, 5, "A"), Secret(4, 6, "B"), Secret(5, 9, "C")]) == (Secret(0, 9, "A"),)


def test_of_equally_long_spans_the_left_policy_names_the_merged_one() -> None:
    early, late = Fixed(Secret(0, 3, "A")), Fixed(Secret(2, 5, "B"))
    assert (early | late).secrets(RECORD) == (Secret(0, 5, "A"),)
    assert (late | early).secrets(RECORD) == (Secret(0, 5, "B"),)


def test_spans_that_only_touch_stay_apart() -> None:
    assert settle([Secret(3, 5, "A"), Secret(0, 3, "A")]) == (Secret(0, 3, "A"), Secret(3, 5, "A"))


def test_touching_spans_on_the_right_do_not_cut_the_left() -> None:
    assert inside((Secret(0, 6, "A"),), runs([Secret(1, 3, "B"), Secret(3, 5, "C")])) == (Secret(1, 5, "A"),)
    assert outside((Secret(0, 6, "A"),), runs([Secret(1, 3, "B"), Secret(3, 5, "C")])) == (
        Secret(0, 1, "A"),
        Secret(5, 6, "A"),
    )


def test_a_combination_of_one_policy_is_a_mistake() -> None:
    with pytest.raises(SettingError, match="two or more"):
        Union(Fixed())
