"""Secrets near a word, widened secrets, allow-lists and chosen kinds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SettingError
from discreet.policy.allow import allow
from discreet.policy.contract import Policy
from discreet.policy.near import near
from discreet.policy.only import only
from discreet.policy.specs import policy
from discreet.policy.widen import areas, widen
from discreet.text.records import Record, Turn, check_secrets

DIGITS = policy("digits")
quick = settings(derandomize=True, deadline=None, max_examples=80)


def found(made: Policy, text: str, **more) -> list[str]:
    return [text[s.start : s.end] for s in made.secrets(Record(id="1", text=text, **more))]


def test_a_number_is_secret_near_its_word_only() -> None:
    text = "SSN 12, or 34 and then a long way off 56"
    assert found(near(DIGITS, ["ssn"], within=8), text) == ["12", "34"]
    assert found(near(DIGITS, ["ssn"], within=7), text) == ["12"]
    assert found(near(DIGITS, ["ssn"], within=1), "ssns 12") == []


def test_the_side_of_the_word_matters() -> None:
    for side, wanted in (("before", ["2"]), ("after", ["1"]), ("either", ["1", "2"])):
        assert found(near(DIGITS, ["pin"], side=side), "1 pin 2") == wanted


def test_words_near_can_come_from_a_file_that_must_not_change(tmp_path) -> None:
    (tmp_path / "words.txt").write_text("pin\n")
    spec = near(DIGITS, tmp_path / "words.txt").spec()
    assert found(policy(spec), "pin 2") == ["2"]
    (tmp_path / "words.txt").write_text("pin\nno\n")
    with pytest.raises(SettingError, match="SHA-256"):
        policy(spec)


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"side": "left"}, {"within": -1}):
        with pytest.raises(SettingError):
            near(DIGITS, ["a"], **wrong)
    with pytest.raises(SettingError, match="sentence, line, turn, record"):
        widen(DIGITS, "page")


def test_a_secret_is_widened_to_its_sentence_line_turn_or_record() -> None:
    text = 'He has 1. "Or 2!" No more...\nNext 3'
    assert found(widen(DIGITS), text) == ["He has 1.", '"Or 2!"', "Next 3"]
    assert found(widen(DIGITS, "line"), text) == ['He has 1. "Or 2!" No more...', "Next 3"]
    assert found(widen(DIGITS, "record"), text) == [text]
    turns = (Turn("A", 3, 8), Turn("B", 12, 13))
    assert found(widen(DIGITS, "turn"), "A: 1 two\nB: x", turns=turns) == ["1 two"]


@quick
@given(st.text('a1.!? \n"', max_size=40), st.sampled_from(("sentence", "line", "turn", "record")))
def test_widening_covers_the_secret_and_is_settled(text: str, to: str) -> None:
    record = Record(id="1", text=text)
    wide = widen(DIGITS, to).secrets(record)
    assert wide == check_secrets(wide, text, "here")
    inside = {at for secret in wide for at in range(secret.start, secret.end)}
    assert inside >= {at for at, character in enumerate(text) if character == "1"}
    assert widen(widen(DIGITS, to), to).secrets(record) == wide


@quick
@given(st.text('a1.!? \n"', max_size=40))
def test_sentences_leave_out_nothing_but_white_space(text: str) -> None:
    inside = {at for start, end in areas(Record(id="1", text=text), "sentence") for at in range(start, end)}
    assert all(text[at].isspace() for at in set(range(len(text))) - inside)


def test_an_allow_list_lets_whole_secrets_go() -> None:
    names = policy({"words": {"source": ["Acme", "Acme Miller"], "kind": "NAME"}})
    assert found(allow(names, ["ACME"]), "Acme and Acme Miller") == ["Acme Miller"]
    assert found(allow(names, ["acme"], kinds=["OTHER"]), "Acme") == ["Acme"]


def test_only_some_kinds_or_all_but_these() -> None:
    both = DIGITS | policy({"words": {"source": ["Ann"], "kind": "NAME"}})
    assert found(only(both, ["NAME"]), "Ann 1") == ["Ann"]
    assert found(only(both, ["NAME"], but=True), "Ann 1") == ["1"]
