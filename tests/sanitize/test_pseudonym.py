"""Pseudonyms: the same secret has the same stand-in, another key gives others, and the key shows nowhere."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import RefusedError, SettingError
from discreet.policy.specs import policy
from discreet.sanitize.redact import KIND_MARK, Redaction, read_key, redact
from discreet.text.records import Record, Secret

KEY = "correct horse battery"
STYLE = Redaction(style="pseudonym", key=KEY)


def name_for(text: str, style: Redaction = STYLE, kind: str = "PERSON") -> str:
    return redact(Record(id="1", text=text), [Secret(0, len(text), kind)], style).text


def test_the_same_secret_has_the_same_stand_in_whatever_its_spelling() -> None:
    assert name_for("Ann Lee") == name_for("ANN  lee") != name_for("Ann Li")
    assert name_for("Ann Lee") != name_for("Ann Lee", kind="ORG")


def test_another_key_gives_other_stand_ins_and_the_key_is_not_shown() -> None:
    assert name_for("Ann Lee") != name_for("Ann Lee", Redaction(style="pseudonym", key="another long key"))
    assert KEY not in repr(STYLE)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(st.text(min_size=1, max_size=20), st.text(max_size=8))
def test_a_stand_in_is_a_mark_of_ours_and_marked(text: str, kind: str) -> None:
    record = redact(Record(id="1", text=text), [Secret(0, len(text), kind or "X")], STYLE)
    assert KIND_MARK.fullmatch(record.text)
    assert [(s.start, s.end) for s in record.secrets or ()] == [(0, len(record.text))]


def test_redacting_the_copy_by_its_marks_with_masks_leaves_no_stand_in() -> None:
    record = redact(Record(id="1", text="Ann has 5"), [Secret(0, 3, "PERSON")], STYLE)
    assert redact(record, policy("gold").secrets(record)).text == "<MASK> has 5"


def test_text_that_looks_like_a_stand_in_is_refused() -> None:
    with pytest.raises(RefusedError):
        redact(Record(id="1", text="<PERSON_ABCDEFGHIJ> 5"), [], STYLE)


def test_a_short_or_missing_key_is_refused(tmp_path) -> None:
    for key in (None, "", "short"):
        with pytest.raises(SettingError, match="key"):
            Redaction(style="pseudonym", key=key)
    (tmp_path / "key").write_text(KEY + "\n")
    assert read_key(tmp_path / "key") == KEY
    with pytest.raises(SettingError, match="no key can be read"):
        read_key(tmp_path / "none")
