"""Measuring a policy: what counts as found and right, and the intervals."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from discreet.errors import InputError
from discreet.policy.algebra import settle
from discreet.policy.contract import TextPolicy
from discreet.policy.intervals import Replicates, bootstrap, clopper_pearson
from discreet.policy.measure import measure, tokens_touched
from discreet.policy.specs import policy
from discreet.text.records import Record, Secret


def labelled(text: str, *secrets: Secret, **fields: object) -> Record:
    return Record(id=text, text=text, secrets=secrets, **fields)  # type: ignore[arg-type]


def test_a_policy_that_knows_the_marks_is_perfect() -> None:
    result = measure([labelled("Ann 12", Secret(0, 3, "PERSON"), Secret(4, 6, "NUMBER"))], policy("gold"))
    assert (result.records, result.precision, result.recall, result.f1) == (1, 1.0, 1.0, 1.0)
    assert result.characters == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert set(result.by_kind) == {"PERSON", "NUMBER"}


def test_a_secret_partly_covered_is_not_found() -> None:
    phone = labelled("call 555-0101", Secret(5, 13, "PHONE"))
    result = measure([phone], policy("digits"))
    assert (result.recall, result.secrets_marked, result.secrets_found) == (0.0, 1, 0)
    assert result.characters["recall"] == 7 / 8


def test_touching_secrets_of_the_policy_cover_a_marked_one_together() -> None:
    result = measure([labelled("AB12", Secret(0, 4, "ID"))], policy({"union": ["digits", "regex:AB"]}))
    assert result.recall == 1.0


@pytest.mark.parametrize(("marked", "right"), [((0, 2), 1.0), ((0, 1), 0.0)])
def test_a_named_secret_is_right_when_half_of_its_characters_are_marked(marked: tuple[int, int], right: float) -> None:
    assert measure([labelled("1234", Secret(*marked, "X"))], policy("digits")).precision == right


def test_recall_is_given_for_each_marked_kind() -> None:
    record = labelled(
        "Ann, Bob, 12, 13", Secret(0, 3, "P"), Secret(5, 8, "P"), Secret(10, 12, "N"), Secret(14, 16, "N")
    )
    by_kind = measure([record], policy({"words": ["Ann", "12", "13"]})).by_kind
    assert {kind: (of.recall, of.support) for kind, of in by_kind.items()} == {"P": (0.5, 2), "N": (1.0, 2)}
    assert by_kind["P"].recall_interval == clopper_pearson(1, 2)


def test_ratios_with_nothing_below_the_line_are_none_and_finding_nothing_scores_zero() -> None:
    nothing_there = measure([labelled("plain")], policy("digits"))
    assert (nothing_there.precision, nothing_there.recall, nothing_there.f1) == (None, None, None)
    assert (nothing_there.recall_interval, nothing_there.recall_interval_by_record) == (None, None)
    nothing_found = measure([labelled("Ann", Secret(0, 3, "P"))], policy("digits"))
    assert (nothing_found.precision, nothing_found.recall, nothing_found.f1) == (None, 0.0, 0.0)
    assert measure([], policy("digits")).records == 0


def test_token_shares_count_words_and_runs_of_other_characters() -> None:
    result = measure([labelled("No. 12-13!!", Secret(4, 9, "ID"))], policy("digits"))
    # tokens: No . 12 - 13 !!
    assert (result.token_share, result.token_share_gold) == (2 / 6, 3 / 6)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4)), max_size=6),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4)), max_size=6),
)
def test_tokens_touched_are_those_with_a_character_in_a_run(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    tokens, others = (
        [(s.start, s.end) for s in settle([Secret(start, start + size, "") for start, size in spans])]
        for spans in (a, b)
    )
    expected = sum(any(start < end_ and start_ < end for start_, end_ in others) for start, end in tokens)
    assert tokens_touched(tokens, others) == expected


def test_the_pair_text_counts_where_its_secrets_are_marked() -> None:
    record = labelled("12", Secret(0, 2, "N"), pair="x 3", pair_secrets=(Secret(0, 1, "P"), Secret(2, 3, "N")))
    result = measure([record], policy("digits"))
    assert (result.records, result.secrets_marked, result.secrets_found) == (1, 3, 2)
    unmarked = labelled("12", Secret(0, 2, "N"), pair="x 3")
    assert measure([unmarked], policy("digits")).secrets_marked == 1


def test_unmarked_records_are_an_error_with_their_place() -> None:
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: the file does not mark"):
        measure([Record(id="1", text="x", place="a.jsonl, line 2")], policy("digits"))


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_clopper_pearson_agrees_with_scipy(counts: tuple[int, int]) -> None:
    expected = binomtest(*counts).proportion_ci(0.95, method="exact")
    assert clopper_pearson(*counts) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_drawing_by_record_is_wider_where_secrets_cluster_and_seeded() -> None:
    clustered: Counter[tuple[int, int]] = Counter({(10, 10): 20, (0, 10): 20, (0, 0): 5})
    low, high = bootstrap(clustered, seed=0) or (0.0, 0.0)
    exact = clopper_pearson(200, 400) or (0.0, 0.0)
    assert low < exact[0] < exact[1] < high
    assert bootstrap(clustered, seed=0) == (low, high) != bootstrap(clustered, seed=1)


def test_drawing_by_record_agrees_with_the_normal_approximation() -> None:
    # 900 of 1,000 records with one secret found: standard error 0.0095; 1,000 draws give its percentiles to a third
    low, high = bootstrap(Counter({(1, 1): 900, (0, 1): 100}), seed=0) or (0.0, 0.0)
    assert low == pytest.approx(0.9 - 1.96 * 0.0095, abs=0.004)
    assert high == pytest.approx(0.9 + 1.96 * 0.0095, abs=0.004)


def test_characters_of_each_kind_are_measured_and_drawn_by_record() -> None:
    half = [labelled(f"{n} Ann 12", Secret(0, 1, "N"), Secret(2, 5, "P"), Secret(6, 8, "N")) for n in range(8)]
    none = [labelled(f"x Bob {n} y", Secret(2, 5, "P"), Secret(8, 9, "Y")) for n in range(8)]
    once = labelled("Cy", Secret(0, 2, "Z"))
    result = measure([*half, *none, once], policy({"union": ["digits", {"words": {"source": ["Ann"], "kind": "W"}}]}))
    shares = {kind: of.characters for kind, of in result.by_kind.items()}
    assert shares == {"N": 1.0, "P": 0.5, "Y": 0.0, "Z": 0.0}
    assert {kind: of.characters for kind, of in result.by_named_kind.items()} == {"NUMBER": 24 / 32, "W": 1.0}
    low, high = result.by_kind["P"].characters_interval or (0.0, 0.0)
    # half of 16 records: standard error 1 / 8
    assert [low, high] == pytest.approx([0.25, 0.75], abs=0.06)
    # three characters of each of 8 records right and one of each of 8 wrong: a ratio, standard error about 0.1
    low, high = result.by_named_kind["NUMBER"].characters_interval or (0.0, 0.0)
    assert 0.4 < low < 0.65 < 0.85 < high < 0.97
    assert result.by_kind["N"].characters_interval == (1.0, 1.0)
    assert result.by_kind["Y"].characters_interval == (0.0, 0.0)
    assert result.by_kind["Z"].characters_interval is None


def test_one_long_secret_does_not_pass_for_many_independent_characters() -> None:
    records = [labelled("Ann " * 50, Secret(0, 200, "P")), labelled("Ann", Secret(0, 3, "P"))]
    low, high = measure(records, policy("regex:^Ann$")).by_kind["P"].characters_interval or (0.5, 0.5)
    assert (low, high) == (0.0, 1.0)


def test_a_kind_that_comes_late_has_the_same_interval_as_one_that_was_there_from_the_start() -> None:
    one, other = Replicates(0), Replicates(0)
    rest = Replicates.BATCH + 10
    for number in range(2 * rest):
        late = {"part": number % 3, "whole": 2} if number >= rest else {}
        one.add({"early": 1, **late})
        other.add({"early": 1, "part": 0, "whole": 0, **late})
    assert one.interval("part", "whole") == other.interval("part", "whole") is not None
    assert one.interval("early", "early") == (1.0, 1.0)
    assert one.interval("nothing", "never") is None


def test_misses_are_kept_only_when_asked_for() -> None:
    records = [labelled("Ann saw Bob", Secret(0, 3, "P"), Secret(8, 11, "P"), place=f"line {n}") for n in range(3)]
    records.append(labelled("Ann", Secret(0, 3, "P"), place="line 9"))
    assert "Ann" not in json.dumps(measure(records, policy("digits")).as_dict())
    shown = measure(records, policy("digits"), misses=1).as_dict()["misses"]
    assert list(shown) == [{"kind": "P", "text": "Ann", "times": 4, "place": "line 0"}]


class Counting(TextPolicy):
    """Finds nothing and counts how often it was asked."""

    asked = 0

    def find(self, text: str) -> Sequence[Secret]:
        self.asked += 1
        return ()

    def spec(self) -> Any:
        return "counting"


def test_each_record_is_measured_before_the_next_is_read() -> None:
    counting = Counting()

    def walk() -> Iterator[Record]:
        for number in range(5):
            assert counting.asked == number
            yield labelled(f"{number}", Secret(0, 1, "N"))

    assert measure(walk(), counting).records == 5
