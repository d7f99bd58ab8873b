"""Digits: maximal runs in any script, the same in short and long text."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.digits import LONG, digits
from discreet.text.records import Record, Secret

FINDER = digits()


def found(text: str) -> tuple[Secret, ...]:
    return FINDER.secrets(Record(id="1", text=text))


def test_runs_are_maximal_and_letters_may_touch_them() -> None:
    assert found("B2B 1,234") == (Secret(1, 2, "NUMBER"), Secret(4, 5, "NUMBER"), Secret(6, 9, "NUMBER"))


def test_digits_of_other_scripts_count_and_fractions_and_superscripts_do_not() -> None:
    assert found("٣٤ and ½ and ²") == (Secret(0, 2, "NUMBER"),)


def test_text_without_digits_has_no_secrets() -> None:
    assert found("") == found("none") == found("x" * LONG) == ()


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.text(st.sampled_from("07٣९𝟙a ½²\ud800é"), max_size=12) | st.text(max_size=8), max_size=6))
def test_long_text_is_searched_for_the_same_runs_as_short_text(parts: list[str]) -> None:
    for text in ("".join(parts), ("-" * LONG).join(["", *parts, ""])):
        assert found(text) == tuple(Secret(*match.span(), "NUMBER") for match in re.finditer(r"\d+", text))
