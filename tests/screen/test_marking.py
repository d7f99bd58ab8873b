"""Marks stay sorted and apart, marking never uncovers, and positions survive the way to the browser and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.screen.marking import Mark, Marks, mark, trimmed, unmark
from discreet.screen.offsets import Units

TEXTS = st.text(st.sampled_from("aé9 \n‏שا🙂👩🏽‍⚕️\U0010ffff"), max_size=40)


def utf16(text):
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@settings(deadline=None, max_examples=50)
@given(TEXTS)
def test_every_position_is_the_length_in_utf16_of_what_stands_before(text):
    units = Units(text)
    for position in range(len(text) + 1):
        assert units.of(position) == utf16(text[:position])
        assert units.position(units.of(position)) == position


@settings(deadline=None, max_examples=50)
@given(TEXTS)
def test_a_unit_inside_a_character_or_outside_the_text_is_refused(text):
    units = Units(text)
    edges = {utf16(text[:position]) for position in range(len(text) + 1)}
    for unit in range(-1, utf16(text) + 2):
        if unit not in edges:
            with pytest.raises(InputError):
                units.position(unit)


MARKS = st.builds(
    lambda part, start, length, kind: Mark(part, start, start + length, kind),
    st.integers(0, 1),
    st.integers(0, 30),
    st.integers(1, 10),
    st.sampled_from(["A", "B"]),
)


def characters(marks):
    return {(part, position) for part, start, end, _ in marks for position in range(start, end)}


@settings(deadline=None, max_examples=50)
@given(st.lists(MARKS, max_size=12))
def test_marking_keeps_marks_apart_and_covers_exactly_what_was_marked(new):
    marks: Marks = ()
    for one in new:
        before = characters(marks)
        marks = mark(marks, one)
        assert characters(marks) == before | characters([one])
        owner = next(old for old in marks if old.part == one.part and old.start <= one.start < old.end)
        assert owner.kind == one.kind
    assert list(marks) == sorted(marks)
    assert sum(old.end - old.start for old in marks) == len(characters(marks))


@settings(deadline=None, max_examples=50)
@given(st.lists(MARKS, min_size=1, max_size=12), st.integers(0))
def test_unmarking_takes_one_mark_and_leaves_the_rest(new, which):
    marks: Marks = ()
    for one in new:
        marks = mark(marks, one)
    gone = marks[which % len(marks)]
    assert unmark(marks, gone.part, gone.start, gone.end) == tuple(old for old in marks if old != gone)


def test_a_mark_that_is_not_there_cannot_be_taken_away():
    with pytest.raises(InputError, match="no such mark"):
        unmark((Mark(0, 1, 5, "A"),), 0, 1, 4)


def test_white_space_at_the_ends_is_left_out():
    assert trimmed("a  Ann \n", 1, 8) == (3, 6)
    with pytest.raises(InputError, match="white space"):
        trimmed("a   b", 1, 3)
    for start, end in ((2, 2), (-1, 2), (0, 9)):
        with pytest.raises(InputError, match="outside"):
            trimmed("a   b", start, end)
