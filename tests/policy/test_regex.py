"""Regex: matches, groups, empty matches and mistakes."""

import pytest

from discreet.errors import SettingError
from discreet.policy.regex import regex
from discreet.text.records import Record, Secret


def found(text: str, *args: object, **settings: str) -> tuple[Secret, ...]:
    return regex(*args, **settings).secrets(Record(id="1", text=text))  # type: ignore[arg-type]


def test_each_match_is_a_secret_of_the_kind() -> None:
    assert found("CASE-1 and CASE-22", r"CASE-\d+", kind="CASE") == (Secret(0, 6, "CASE"), Secret(11, 18, "CASE"))


def test_only_the_group_called_secret_is_marked() -> None:
    assert found("my pin is 1234, ok", r"pin is (?P<secret>\d+)") == (Secret(10, 14, "SECRET"),)


def test_a_match_without_that_group_is_marked_whole() -> None:
    assert found("pin 12 or ann", r"pin (?P<secret>\d+)|ann") == (Secret(4, 6, "SECRET"), Secret(10, 13, "SECRET"))


def test_empty_matches_yield_nothing() -> None:
    assert found("ab12", r"\d*") == (Secret(2, 4, "SECRET"),)
    assert found("pin is ", r"pin is (?P<secret>\d*)") == ()


def test_several_patterns_settle_their_overlaps() -> None:
    assert found("ann.lee@example.org", [r"\w+@\w+", r"[\w.]+@[\w.]+"]) == (Secret(0, 19, "SECRET"),)


def test_flags_change_how_it_matches() -> None:
    assert found("Ann", "ann") == ()
    assert found("Ann", "ann", flags="i") == (Secret(0, 3, "SECRET"),)
    assert found("x\nann", "^ann$", flags="im") == (Secret(2, 5, "SECRET"),)


def test_a_bad_pattern_names_the_position_and_does_not_show_the_pattern() -> None:
    with pytest.raises(SettingError, match="at character 9: missing \\)") as caught:
        regex("Jane Doe (")
    assert "Jane" not in str(caught.value)


@pytest.mark.parametrize("pattern", ["a{9999999999999}", []])
def test_patterns_that_cannot_be_used_are_a_setting_error(pattern: object) -> None:
    with pytest.raises(SettingError):
        regex(pattern)  # type: ignore[arg-type]


def test_an_unknown_flag_names_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"flag 'q'.*'imsxa'"):
        regex("a", flags="q")
