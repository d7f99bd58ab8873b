"""Word lists: whole words, phrases, case, accents, and a spec that does not hold the words."""

import gzip
import hashlib
import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, SettingError
from discreet.policy.specs import policy
from discreet.policy.words import words
from discreet.text.records import Record


def found(text: str, *entries: str, **options: bool) -> list[str]:
    secrets = words(list(entries), **options).secrets(Record(id="1", text=text))  # type: ignore[arg-type]
    return [text[secret.start : secret.end] for secret in secrets]


def test_only_whole_words_are_found() -> None:
    assert found("Ann met Annual Ann-Marie.", "Ann") == ["Ann", "Ann"]


def test_phrases_are_found_over_any_white_space() -> None:
    assert found("to Ann\n Lee, or AnnLee", "Ann Lee") == ["Ann\n Lee"]


def test_punctuation_in_an_entry_must_be_there() -> None:
    assert found("Acme & Sons; Acme Sons; O'Brien", "Acme & Sons", "O'Brien") == ["Acme & Sons", "O'Brien"]


def test_the_longest_entry_is_taken_and_overlapping_ones_become_one() -> None:
    assert found("New York City", "New York", "New York City") == ["New York City"]
    assert found("Ann Lee Park", "Ann Lee", "Lee Park") == ["Ann Lee Park"]


def test_a_phrase_that_breaks_off_leaves_the_shorter_entry() -> None:
    assert found("New York Times", "New York", "New York City Hall") == ["New York"]


def test_case_is_ignored_unless_asked_for() -> None:
    assert found("ANN and STRASSE", "ann", "straße") == ["ANN", "STRASSE"]
    assert found("ANN Ann", "Ann", ignore_case=False) == ["Ann"]


def test_composed_and_decomposed_accents_are_the_same() -> None:
    for form in ("NFC", "NFD"):
        assert found(unicodedata.normalize(form, "for José only"), "José") == [unicodedata.normalize(form, "José")]


ENTRIES = st.lists(
    st.text("abA-& ", min_size=1, max_size=6).filter(lambda entry: entry.strip()), min_size=1, max_size=6
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(ENTRIES, st.text("abA-& \n", max_size=40))
def test_the_characters_found_are_those_of_every_entry_searched_alone(entries: list[str], text: str) -> None:
    expected: set[int] = set()
    for entry in entries:
        body = r"\s*".join(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", entry))
        # two words need a space between them, which the word edges around each see to
        body = re.sub(r"(\w+)", r"(?<!\\w)\1(?!\\w)", body.replace(r"\s*", "\0")).replace("\0", r"\s*")
        for match in re.finditer(f"(?={body})", text, re.IGNORECASE):
            whole = re.compile(body, re.IGNORECASE).match(text, match.start())
            assert whole is not None
            expected.update(range(*whole.span()))
    secrets = words(entries).secrets(Record(id="1", text=text))
    assert {at for secret in secrets for at in range(secret.start, secret.end)} == expected


def test_the_spec_of_a_file_holds_its_hash_and_makes_the_policy_again(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeffAnn Lee\r\n\r\nZoë\n".encode())
    spec = words(path, kind="PERSON").spec()
    assert spec["words"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "Lee" not in json.dumps(spec)
    again = policy(spec)
    assert again.spec() == spec
    assert [tuple(s) for s in again.secrets(Record(id="1", text="ann lee, zoë"))] == [
        (0, 7, "PERSON", 1.0),
        (9, 12, "PERSON", 1.0),
    ]


def test_a_list_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("Ann\n")
    spec = words(path).spec()
    path.write_text("Bob\n")
    with pytest.raises(SettingError, match=r"names\.txt: the list of words is not the one"):
        policy(spec)


def test_packed_lists_are_read(tmp_path: Path) -> None:
    path = tmp_path / "names.txt.gz"
    path.write_bytes(gzip.compress(b"Ann\n"))
    assert len(words(path).secrets(Record(id="1", text="Ann"))) == 1


def test_mistakes_name_the_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.txt: there is no such list"):
        words(tmp_path / "missing.txt")
    (tmp_path / "latin.txt").write_bytes(b"Ann\nJos\xe9\n")
    with pytest.raises(InputError, match=r"latin\.txt, line 2: not UTF-8"):
        words(tmp_path / "latin.txt")
    with pytest.raises(SettingError, match="list of words is empty"):
        words(["", "  "])
