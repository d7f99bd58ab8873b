"""Parts of records cover all words, in order; normalising forgets only case and spacing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SettingError
from discreet.sanitize.dedup.parts import LEVELS, check_level, normalised, parts
from discreet.text.records import Record, Turn

quick = settings(derandomize=True, deadline=None, max_examples=150)
PIECES = ["Hi", " ", ". ", "Mr. ", "e.g. ", "\n", "! ", "?", "\u3002", "a", "B", "3.5", "\t", "…", '" ', "é"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=30)


def sentences(text: str) -> list[str]:
    return [text[part.start : part.end] for part in parts(Record("1", text), "sentence")]


@quick
@given(TEXTS, st.sampled_from(LEVELS))
def test_parts_are_in_order_and_leave_out_only_white_space(text, level):
    after = 0
    for part in parts(Record("1", text), level):
        assert after <= part.start < part.end <= len(text)
        assert not text[after : part.start].strip()
        assert text[part.start : part.end].strip()
        after = part.end
    assert not text[after:].strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi Ann. How are you?", ["Hi Ann.", "How are you?"]),
        ("Dr. Lee met J. Smith. They spoke.", ["Dr. Lee met J. Smith.", "They spoke."]),
        ("It cost 3.50 dollars. Fine.", ["It cost 3.50 dollars.", "Fine."]),
        ("one line\nanother", ["one line", "another"]),
        ("He said e.g. this. and went on.", ["He said e.g. this. and went on."]),
        ('"Stop!" She ran.', ['"Stop!"', "She ran."]),
        ("A word . Another word .", ["A word .", "Another word ."]),
        ("   \n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_say(text, expected):
    assert sentences(text) == expected


def test_the_names_of_speakers_belong_to_no_part():
    text = "SYS: Hi. Bye.\nUSR: Hi.\n"
    dialog = Record("1", text, turns=(Turn("SYS", 5, 13), Turn("USR", 19, 22)))
    assert [text[p.start : p.end] for p in parts(dialog, "turn")] == ["Hi. Bye.", "Hi."]
    assert [text[p.start : p.end] for p in parts(dialog, "sentence")] == ["Hi.", "Bye.", "Hi."]


@quick
@given(TEXTS)
def test_normalising_twice_is_normalising_once_and_forgets_case_and_spacing(text):
    once = normalised(text)
    assert normalised(once) == once
    assert normalised(f"  {text}\t") == once
    assert normalised(text.replace(" ", " \n")) == once


def test_composed_and_decomposed_letters_are_the_same_but_other_letters_are_not():
    assert normalised("Caf\u00e9") == normalised("cafe\u0301")
    assert normalised("cafe") != normalised("caf\u00e9")


def test_an_unknown_level_is_refused_with_the_nearest():
    with pytest.raises(SettingError, match="did you mean 'sentence'"):
        check_level("sentense")
