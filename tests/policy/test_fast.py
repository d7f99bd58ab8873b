"""The compiled finders of `pii` find what the others find, on every page; and are loaded only where that pays."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.finders import addresses, answers, keys, numbers, online, people
from discreet.policy.finders.fast import loading
from discreet.policy.finders.page import WALL, Page
from discreet.policy.pii import pii
from discreet.text.records import Record, Secret, Turn

CHAT: str = (
    "my name is |i am |this is |call me |rose |zebulon |quillfeather |harris |hfb |756 |a1b |x |w 2 f 4 |22 |elm st |"
    "address is |live at |thnks |confirmtion |thankyou |ok |yes |i'm |I |it’s |don't |pizza |please |mary.b |a@b |²3 |"
    "what is your name? |who is this? |where do you live?|can you spell it? |?|USER: |BOT: |Phone: |\n|\n\n| |-|.|'|\0"
)
NAMES: str = (
    "Rose |Mr. |dr |Zebulon Quillfeather |The |Ann van der Dyke |J. R. Rose|, Rose and Ann|McDonald's |O's5 |IBM |"
    "ZEBULON |Ann-Lee |New York |in |Polish |Smith & Co |Bank |Are |Élodie |Ωmega ΟΔΟΣ |İpek |Иван |O’Neil |\u00a0Lee |"
    "São Paulo |Monday |A Very Long Heading Of Words |name|. |! |“|x|\n|USER: |what is your name? |who are you? "
)
NUMBERS: str = (
    "ssn |social security |order |card |dob |born on |zip |phone |account |aged |years old|y/o|1999 |1999-2001|"
    "2020-01-02|22|756 |4111 1111 1111 1111|078-05-1120|555-867-5309|+|(|)|$|.|,|-|/|A1B2|12.5|123456|9999 9999 9999|"
    "21000002|1|٣٤٥٦|²| pin |last four |what is your order number? |where is it? |USER: |yes |it's |\n| |AB|ZQXW|a1b|"
    "10th|60s|5kg|5years|covid19|mp3|GB|82WEST12345698765432|X1234567| turned | age is |7th of may 1980|12345678Z"
)
STREETS: str = (
    "22 |Elm St|Elm Street, |Apt. 4|, |\n|> |?|IL 62704|P.O. Box 12|PO Box |of the |de la |and |rue |via |(The |)|#4 |"
    "nan |address is |lives at |live on |located |the corner of |send it to |May |USS |USNS Zork |Are |What |Track |-|"
    ".|AGZIM5T6KL|123-45678-1234|postbox12|12weg| - |Springfield|small |my |where do you live? |USER: |BOT: |yes |1984|"
    "Straße 5 |Apt 7b|suite #|unit 5 box|PSC 12, Box 3|FPO AE |Room |Østergade 9|Ünal |Rue Ä|Don't |We’ll |is at |"
    "founded in |sits on |٣ |Loorenstrasse 149"
)
NET: str = (
    "ann.lee@example.org|ann at example dot org|ann 83 gmailcom|yahoo co in|bitcoin|example.com|.co|.com/x|.info|"
    "www.|http://|://user:pw@x.io|1.2.3.4|.255.1.10|300.1.1.1|fe80::1|::|00:1b:44:11:3a:b7|-aa-bb-cc-dd|:12:|٣.٤.٥.٦|"
    "password is hunter2|pin: 4321|pin 4321|otp |cvv is 123|my pwd x9|security answer zork|PRIVATE KEY|"
    "-----BEGIN PRIVATE KEY-----|AKIAIOSFODNN7EXAMPLE|4f9d0c2ba1e87736|İ| |\n|,|USER: "
)
LABELS: str = (
    "USER: |BOT : |> Name: |Phone:|Who is: |Where: |- A.B'c-d:|*** x:|    Order no  :|\tTab: |::|a" + "b" * 24 + ":|"
    "ann|555 0101|your name?|ok|\n|\n|\n| |?"
)
FLOORS = st.sampled_from([0.0, 0.36, 0.5, 0.7])


def texts(*pieces: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from("|".join(pieces).split("|")), max_size=14).map("".join)


@pytest.fixture(scope="module")
def reading() -> Callable[[Page], object]:
    made = loading.loaded()
    assert made is not None
    return made


def secrets(rows: Any) -> list[Secret]:
    """Rows as secrets; the compiler is not loaded before a test needs it."""
    from discreet.policy.finders.fast import findings

    return findings.secrets(rows)


def counted(secrets: Iterable[Secret], floor: float) -> dict[tuple[int, int, str], float]:
    """The highest score of each span and kind, where it reaches the floor."""
    best: dict[tuple[int, int, str], float] = {}
    for start, end, kind, score in secrets:
        if score >= floor:
            best[start, end, kind] = max(score, best.get((start, end, kind), 0.0))
    return best


def cut(text: str, places: list[int]) -> tuple[Turn, ...]:
    """Turns of two speakers that begin and end at places, in whatever order these come."""
    spans = zip(places[::2], places[1::2], strict=False)
    inside = [(min(a, len(text)), min(b, len(text))) for a, b in spans]
    return tuple(Turn("ab"[at % 2], min(span), max(span)) for at, span in enumerate(inside))


def same(reading, text: list[str], turns: list[int], floor: float) -> None:
    parts = [(one, cut(one, turns) if number == 0 else ()) for number, one in enumerate(text)]
    page, slow = Page.joined(parts), Page.joined(parts)
    page.floor = slow.floor = floor
    fast = reading(page)
    assert page.asked == slow.asked
    assert page.pieces == slow.pieces
    assert page.dialog == slow.dialog
    assert page.long_words == slow.long_words
    assert [line[:2] for line in page.lines] == [line[:2] for line in slow.lines]
    assert [line[2] in ("", WALL) for line in page.lines] == [line[2] in ("", WALL) for line in slow.lines]
    assert [tuple(span) for span in fast.numbers.tolist()] == slow.numbers
    ways = [
        (fast.chat(), answers.find(slow)),
        (fast.names(), people.find(slow)),
        (fast.numbered(), numbers.find(slow)),
        (fast.addresses(), addresses.find(slow)),
        (([], fast.online()), online.find(slow)),
        (([], fast.keys()), keys.find(slow)),
    ]
    for (rows, more), obvious in ways:
        quick = [*(secrets(rows) if len(rows) else ()), *more]
        assert counted(quick, floor) == counted(obvious, floor)


TURNS = st.lists(st.integers(0, 60), max_size=4)


KINDS_OF_TEXT = {"chat": CHAT, "names": NAMES, "numbers": NUMBERS, "streets": STREETS, "net": NET, "labels": LABELS}


@pytest.mark.parametrize("pieces", KINDS_OF_TEXT.values(), ids=KINDS_OF_TEXT)
def test_every_page_is_read_as_without_the_compiler(reading, pieces: str) -> None:
    @settings(derandomize=True, deadline=None, max_examples=150)
    @given(st.lists(texts(pieces), min_size=1, max_size=3), TURNS, FLOORS)
    def check(text: list[str], turns: list[int], floor: float) -> None:
        same(reading, text, turns, floor)

    check()


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(texts(CHAT, NAMES, NUMBERS, STREETS, NET, LABELS), min_size=1, max_size=4), TURNS, FLOORS)
def test_pages_of_all_kinds_of_text_are_read_as_without_the_compiler(text, turns, floor) -> None:
    same(loading.loaded(), text, turns, floor)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_letter_is_read_otherwise(text: str) -> None:
    same(loading.loaded(), [text, f"ok {text} 22\nA{text}"], [], 0.0)


def test_misspelt_words_are_as_ordinary_as_the_lists_say(reading) -> None:
    """A word that is strange by itself is a name; the others are none."""
    words = ["confirmation", "hello", "thank", "you", "zork", "kowalski", "smith", "oslo", "don't", "thanks", "booking"]
    slips = {
        word[:at] + more + word[at + cut :]
        for word in words
        for at in range(len(word))
        for more in ("", "q", "tt")
        for cut in (0, 1)
    }
    same(reading, ["\n".join(sorted(slips))], [], 0.0)


def test_names_that_were_told_are_found_in_all_of_a_long_text_and_of_a_short_one(reading) -> None:
    short = "BOT: Your name?\nUSER: Zebulon Rose-Lee\nZebulon, xZebulon Zebulon. Mr. Rose-Lee and Rose-Lee\n"
    for text in (short, short * 40, "Dr. Ann Ann Ann Dr. Annika " * 20):
        same(reading, [text, "Zebulon", short], [], 0.0)


def test_a_text_with_more_labels_than_are_compared_is_read_as_another(reading) -> None:
    for count in (63, 64, 65, 200):
        same(reading, ["\n".join(f"L{'abc'[at % 3]}: your name?" for at in range(count)), "A: x\nB: y\nA: z"], [], 0.5)


def test_a_long_stream_gives_what_single_records_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "ENOUGH", 0)
    monkeypatch.setattr(loading, "ENOUGH_TO_COMPILE", 0)
    lines = ["my name is zebulon", "Mr. Rose, 22 Elm St, Springfield, IL 62704", "card 4111 1111 1111 1111", "ok"]
    records = [Record(id=str(number), text=line) for number, line in enumerate(lines * 3)]
    made = pii()
    assert list(made.secrets_of_all(records)) == [(record, made.secrets(record)) for record in records]


def test_where_nothing_compiled_can_be_kept_the_policy_reads_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "ENOUGH", 0)
    monkeypatch.setattr(loading, "ENOUGH_TO_COMPILE", 0)
    monkeypatch.setitem(sys.modules, "discreet.policy.finders.fast.reading", None)
    loading.loaded.cache_clear()
    try:
        record = Record(id="1", text="my name is zebulon")
        assert [secrets for _, secrets in pii().secrets_of_all([record])] == [pii().secrets(record)]
        assert loading.loaded() is None
    finally:
        loading.loaded.cache_clear()


def test_what_is_not_compiled_yet_is_compiled_for_long_streams_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_characters", 0)
    monkeypatch.setattr(loading, "loaded", lambda: Page)  # anything but None
    monkeypatch.setattr(loading, "compiled_before", lambda: False)
    assert loading.reading_worth(loading.ENOUGH + 1) is None
    monkeypatch.setattr(loading, "compiled_before", lambda: True)
    assert loading.reading_worth(1) is not None
    monkeypatch.setattr(loading, "compiled_before", lambda: False)
    assert loading.reading_worth(loading.ENOUGH_TO_COMPILE) is not None


def test_that_it_was_compiled_is_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    not_a_folder = tmp_path / "file"
    not_a_folder.touch()
    monkeypatch.setattr(loading, "_notes", lambda: [not_a_folder / "note", tmp_path / "home" / "note"])
    loading.compiled_before.cache_clear()
    assert not loading.compiled_before()
    loading._remember()
    loading.compiled_before.cache_clear()
    try:
        assert loading.compiled_before()
    finally:
        loading.compiled_before.cache_clear()


def test_a_short_stream_does_not_load_the_compiler() -> None:
    code = (
        "import sys; from discreet.policy.pii import pii; from discreet.text.records import Record;"
        "list(pii().secrets_of_all([Record(id='1', text='my name is zebulon')])); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
