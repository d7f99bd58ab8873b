"""`pii` finds what people would not want read, in text with and without capitals, and leaves the rest alone."""

import cProfile
import doctest
import importlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import MissingPackageError, SettingError
from discreet.policy.measure import measure
from discreet.policy.pii import pii
from discreet.policy.specs import policy
from discreet.text.corpora import named
from discreet.text.customersim import simulate
from discreet.text.records import Record, Turn

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
HOME = "22 Elm Street, Apt. 4, Springfield, IL 62704"
FINDERS = "page checksums numbers online keys names people addresses answers stretches shapes doubts"


def found(text: str, threshold: float = 0.5) -> set[tuple[str, str]]:
    secrets = pii(threshold=threshold).secrets(Record(id="1", text=text))
    return {(secret.kind, text[secret.start : secret.end]) for secret in secrets}


def words_found(text: str) -> set[str]:
    return {secret for _, secret in found(text)}


@pytest.mark.parametrize(
    "name",
    [f"discreet.policy.finders.{name}" for name in FINDERS.split()] + ["discreet.policy.lists", "discreet.policy.pii"],
)
def test_the_examples_in_the_modules_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("The card is 4111 1111 1111 1111, thanks", "CARD", "4111 1111 1111 1111"),
        ("pay with 378282246310005 now", "CARD", "378282246310005"),
        ("transfer to GB82 WEST 1234 5698 7654 32 please", "ACCOUNT", "GB82 WEST 1234 5698 7654 32"),
        ("her ssn is 078-05-1120", "SSN", "078-05-1120"),
        ("the last four of my social security number are 4417", "SSN", "4417"),
        ("you can call 555-867-5309", "PHONE", "555-867-5309"),
        ("ring +44 20 7946 0958 after six", "PHONE", "+44 20 7946 0958"),
        ("she was born on 3 March 1984", "BIRTH", "3 march 1984"),
        ("date of birth 03/04/1984", "BIRTH", "03/04/1984"),
        ("write to zed.quill+x@mail.example.org", "EMAIL", "zed.quill+x@mail.example.org"),
        ("it is zedquill at example dot org", "EMAIL", "zedquill at example dot org"),
        ("see https://bob:pw@example.org/a?b=1.", "URL", "https://bob:pw@example.org/a?b=1"),
        ("server 192.168.10.255 is down", "IP", "192.168.10.255"),
        ("at 2001:db8::8a2e:370:7334 now", "IP", "2001:db8::8a2e:370:7334"),
        ("mac 00:1B:44:11:3A:B7 seen", "MAC", "00:1B:44:11:3A:B7"),
        ("my password is Tr0ub4dor&3", "PASSWORD", "Tr0ub4dor&3"),
        ("key AKIAIOSFODNN7EXAMPLE leaked", "KEY", "AKIAIOSFODNN7EXAMPLE"),
        ("token ghp_" + "a1B2" * 9 + " leaked", "KEY", "ghp_" + "a1B2" * 9),
        (f"use {JWT}", "KEY", JWT),
        ("my licence plate is KL-07 BX 1234", "PLATE", "KL-07 BX 1234"),
        ("your tracking number is QX7K2PQ94M", "REFERENCE", "QX7K2PQ94M"),
        ("case 2041-77-K9", "REFERENCE", "2041-77-K9"),
        ("order #8812345 is late", "NUMBER", "8812345"),
        ("a man, 54 years old", "AGE", "54"),
        ("We flew to Trondheim.", "PLACE", "Trondheim"),
        ("I met Zebulon Quillfeather yesterday.", "PERSON", "Zebulon Quillfeather"),
        ("She is Polish, I think.", "NATIONALITY", "Polish"),
        ("as Dr. Rose told us", "PERSON", "Dr. Rose"),
        (f"Send it to {HOME}.", "ADDRESS", HOME),
        ("He stays at Lindenstraße 12", "ADDRESS", "Lindenstraße 12"),
        ("P.O. Box 104, Tallinn", "ADDRESS", "P.O. Box 104, Tallinn"),
    ],
)  # fmt: skip
def test_secrets_of_each_kind_are_found(text: str, kind: str, secret: str) -> None:
    answer = {(one, words.lower()) for one, words in found(text)}
    assert answer == ({(kind, secret.lower())} if kind else set())


@pytest.mark.parametrize(
    "text",
    [
        "The meeting in 1999 had 1,250 guests and cost $45,000.00 or 3.14159 each.",
        "From 1914-18 he wrote 12 books; the 2nd was on mp3 players.",
        "polish the table",
        "yes please that would be great thank you",
        "I would like to order two large pizzas with cheese",
        "On Monday in March we will see.",
        "Please reset my password, I forgot the pin.",
        "can you chek the confirmtion again",
    ],
)
def test_plain_text_is_left_alone(text: str) -> None:
    assert found(text) == set()


def test_chat_without_capitals_is_read() -> None:
    assert words_found("my name is harris i live at 22 elm st") == {"harris", "22 elm st"}
    assert words_found("hi\nkowalczyk\nhfb 756\nok thanks") == {"kowalczyk", "hfb 756"}
    assert words_found("sure its zedquill 83 gmailcom") == {"zedquill 83 gmailcom"}
    assert words_found("kodai nagar 2nd cross madurai\n8526327896") == {"kodai nagar 2nd cross madurai", "8526327896"}


def test_a_bare_answer_is_secret_because_of_the_question() -> None:
    turns = ("BOT", "May I have your name?"), ("USER", "stone"), ("BOT", "And what do you like?"), ("USER", "stone")
    text = "\n".join(f"{speaker}: {said}" for speaker, said in turns)
    (secret,) = pii().secrets(Record(id="1", text=text))
    assert text[: secret.start].endswith("name?\nUSER: ")
    assert found("Zip: 3520") == {("ZIP", "3520")}
    assert found("The hall seats 3520 people") == set()
    assert words_found("What's the name on the account? Rose Day") == {"Rose Day"}


def test_turns_of_the_record_count_as_well_as_speakers_in_the_text() -> None:
    text = "Your name please?  rose"
    turns = (Turn("a", 0, 17), Turn("b", 19, 23))
    (secret,) = pii().secrets(Record(id="1", text=text, turns=turns))
    assert (secret.start, secret.end, secret.kind) == (19, 23, "PERSON")


def test_one_who_gives_a_name_does_not_ask_for_one() -> None:
    assert words_found("USER: my name is zebulon\nBOT: thanks\nUSER: verify it") == {"zebulon"}


def test_a_name_given_once_is_found_everywhere() -> None:
    text = "BOT: Your full name?\nUSER: Rose Day\nBOT: Good morning Rose Day. How can I help?\nUSER: no"
    secrets = pii().secrets(Record(id="1", text=text))
    assert [text[secret.start : secret.end] for secret in secrets] == ["Rose Day", "Rose Day"]


def test_names_do_not_reach_over_turns() -> None:
    text = "USER: Zebulon\nUSER: 12 Elm St\nUSER: Quillfeather"
    assert words_found(text) == {"Zebulon", "12 Elm St", "Quillfeather"}


@pytest.mark.parametrize(
    "piece", ["a", "1 ", "A ", "x: y\n", "a.b", "com ", "name? ", "12 Elm\n", "order xqz 12 ", "?", "@", "born 3 may "]
)
def test_work_grows_with_the_length_of_a_text_and_not_with_its_square(piece: str) -> None:
    """Counted in calls of functions, which unlike seconds are the same on every machine."""
    made = pii()

    def calls(length: int) -> int:
        text = (piece * length)[:length]
        counted = cProfile.Profile()
        counted.runcall(made.secrets, Record(id="1", text=text + " "))
        return sum(entry.callcount for entry in counted.getstats())

    calls(500)
    assert calls(8_000) < 8 * calls(2_000) + 2_000


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.text("ab Z1ß.,?:@\nİ-", max_size=80), st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_never_uncovers_anything(text: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    record = Record(id="1", text=text)
    wide, narrow = pii(threshold=low).secrets(record), pii(threshold=high).secrets(record)
    covered = {at for secret in wide for at in range(secret.start, secret.end)}
    assert covered >= {at for secret in narrow for at in range(secret.start, secret.end)}


def test_the_conservative_form_stops_at_every_number_and_every_unusual_word() -> None:
    text = "meet at the old Mill, door 2, ask for zork"
    wide = policy({"conservative": "pii"}).secrets(Record(id="1", text=text))
    assert {text[secret.start : secret.end] for secret in wide} >= {"Mill", "zork"}
    assert any("2" in text[secret.start : secret.end] for secret in wide)
    assert policy({"conservative": "pii"}).secrets(Record(id="1", text="yes please thank you")) == ()


@pytest.mark.parametrize("answer", ["smith", "mark cooper", "fly 321", "no 78 high gate 4", "red 457 b 2"])
def test_the_conservative_form_takes_most_of_a_short_answer(answer: str) -> None:
    text = f"ok\n{answer}\nplease"
    wide = policy({"conservative": "pii"}).secrets(Record(id="1", text=text))
    left = "".join(letter for at, letter in enumerate(text) if not any(s.start <= at < s.end for s in wide)).split()
    assert set(left) <= {"ok", "please", "no"}


def test_the_threshold_of_a_single_kind_can_differ() -> None:
    text = "Zebulon Quillfeather, 4111 1111 1111 1111"
    strict = pii(kinds={"CARD": 0.99}).secrets(Record(id="1", text=text))
    assert [secret.kind for secret in strict] == ["PERSON"]


@pytest.mark.parametrize("kinds", [5, ["CARD"], {"CARD": "high"}])
def test_thresholds_of_kinds_that_are_no_numbers_are_refused(kinds) -> None:
    with pytest.raises(SettingError, match="setting 'kinds': a mapping is expected"):
        policy({"pii": {"kinds": kinds}})


def test_a_spacy_model_is_named_in_the_spec_and_a_missing_one_says_how_to_install_it() -> None:
    assert pii().spec() == {"pii": {"spacy": "none", "threshold": 0.5}}
    with pytest.raises(MissingPackageError, match=r"python -m spacy download en_core_web_xx"):
        pii(spacy="en_core_web_xx")
    with pytest.raises(SettingError, match="'none', 'auto'"):
        pii(spacy="")


def test_simulated_dialogs_are_found_nearly_whole() -> None:
    scored = measure(simulate(150, seed=3), pii())
    assert (scored.characters["recall"] or 0) >= 0.99
    assert (scored.characters["precision"] or 0) >= 0.97


def test_reach_on_labelled_text(shared_data) -> None:
    """A sample of what benchmarks/policies.py measures in full; the margins there are far above these."""
    labelled = named("multidogo", shared_data / "multidogo").records("valid")
    kinds = re.compile("NAME|ADDRESS|SSN|PHONE|BOOKING|CLAIM|POLICY")
    records = []
    for record, _ in zip(labelled, range(200), strict=False):
        marks = tuple(secret for secret in record.secrets or () if kinds.search(secret.kind))
        records.append(Record(id=record.id, text=record.text, turns=record.turns, secrets=marks))
    scored = measure(records, pii())
    assert (scored.characters["recall"] or 0) >= 0.88
    assert (scored.characters["precision"] or 0) >= 0.70
