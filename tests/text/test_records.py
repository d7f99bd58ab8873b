"""Records, spans and edits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.text.records import Edit, Record, Secret, Turn, check_secrets, edit


@st.composite
def texts_with_edits(draw):
    text = draw(st.text(max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True)))
    spans = [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    return text, [Edit(a, b, draw(st.text(max_size=5))) for a, b in spans]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(texts_with_edits())
def test_an_edit_replaces_its_span_and_leaves_the_rest_in_order(case):
    text, edits = case
    expected, shift = text, 0
    for start, end, new in edits:
        expected = expected[: start + shift] + new + expected[end + shift :]
        shift += len(new) - (end - start)
    assert edit(Record("1", text), edits).text == expected


@settings(derandomize=True, deadline=None, max_examples=200)
@given(texts_with_edits(), st.data())
def test_the_words_of_a_turn_outside_every_edit_stay_the_same(case, data):
    text, edits = case
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    record = edit(Record("1", text, turns=(Turn("USR", start, end),)), edits)
    turn = record.turns[0]
    assert 0 <= turn.start <= turn.end <= len(record.text)
    if all(e.end <= start or e.start >= end for e in edits):
        assert record.text[turn.start : turn.end].endswith(text[start:end]) or any(e.end == start for e in edits)


def test_a_turn_takes_in_the_replacement_of_a_secret_inside_it():
    record = Record("1", "USR: I am Ann.\n", turns=(Turn("USR", 5, 14),))
    changed = edit(record, [Edit(10, 13, "<MASK>")])
    turn = changed.turns[0]
    assert changed.text[turn.start : turn.end] == "I am <MASK>."


def test_an_edit_drops_gold_secrets_unless_new_ones_are_given():
    record = Record("1", "I am Ann.", secrets=(Secret(5, 8, "PERSON"),))
    assert edit(record, [Edit(5, 8, "X")]).secrets is None
    assert edit(record, [], (Secret(0, 1, "A"),)).secrets == (Secret(0, 1, "A"),)


@pytest.mark.parametrize(
    ("spans", "message"),
    [([(0, 10)], "covers characters 0 to 10 of a text of 5"), ([(2, 2)], "covers"), ([(0, 3), (2, 4)], "overlap")],
)
def test_impossible_spans_are_refused_with_their_place(spans, message):
    with pytest.raises(InputError, match=message) as raised:
        check_secrets([Secret(a, b, "X") for a, b in spans], "abcde", "mail.jsonl, line 3")
    assert str(raised.value).startswith("mail.jsonl, line 3: ")


def test_spans_come_back_sorted():
    assert check_secrets([Secret(3, 4, "B"), Secret(0, 1, "A")], "abcde", "") == (Secret(0, 1, "A"), Secret(3, 4, "B"))
