"""An imperfect policy misses a fixed share of distinct secrets."""

import pytest

from discreet.errors import SettingError
from discreet.policy.digits import digits
from discreet.policy.imperfect import Imperfect, imperfect
from discreet.policy.regex import regex
from discreet.text.records import Record, Secret

DISTINCT = 4000
NUMBERS = Record(id="1", text=" ".join(str(number) for number in range(DISTINCT)))


def missed(miss: float, seed: int = 0) -> set[Secret]:
    return set(digits().secrets(NUMBERS)) - set(imperfect(digits(), miss=miss, seed=seed).secrets(NUMBERS))


def test_the_share_of_distinct_secrets_missed_is_as_asked() -> None:
    # 4,000 independent hashes at 0.1 have a standard deviation of 0.0047; five of them is a false alarm in 1e6
    assert abs(len(missed(0.1)) / DISTINCT - 0.1) < 0.024


def test_the_ends_of_the_range_miss_nothing_and_everything() -> None:
    assert missed(0.0) == set()
    assert len(missed(1.0)) == DISTINCT


def test_more_is_missed_on_top_of_what_was_missed_and_seeds_differ() -> None:
    assert missed(0.1) < missed(0.3)
    assert missed(0.1) != missed(0.1, seed=1)
    assert missed(0.1, seed=1) == missed(0.1, seed=1)


def test_one_secret_is_missed_everywhere_or_nowhere_whatever_its_case_and_spacing() -> None:
    names = regex(r"(?i)ann\s+lee\d+")
    for number in range(40):
        policy = imperfect(names, miss=0.5)
        record = Record(id="1", text=f"Ann Lee{number}, ANN  LEE{number}, ann\nlee{number}")
        other = Record(id="2", text=f"again Ann Lee{number}")
        assert len(policy.secrets(record)) in (0, 3)
        assert len(policy.secrets(other)) == len(policy.secrets(record)) / 3


def test_a_stream_gets_the_same_answers() -> None:
    policy = imperfect(digits(), miss=0.5)
    assert list(policy.secrets_of_all([NUMBERS])) == [(NUMBERS, policy.secrets(NUMBERS))]


@pytest.mark.parametrize("miss", [-0.1, 1.1, float("nan")])
def test_a_share_outside_0_to_1_is_a_setting_error(miss: float) -> None:
    with pytest.raises(SettingError, match="between 0 and 1"):
        Imperfect(digits(), miss, 0)
