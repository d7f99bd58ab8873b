"""What `pii` leaves out to be fast would have found nothing: each shortcut beside the obvious version of itself."""

import re
from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.finders import addresses, answers, names, numbers, shapes, stretches
from discreet.policy.finders.asking import NOTHING, asked_in, kinds_named
from discreet.policy.finders.chat import UNSURE
from discreet.policy.finders.names import HONORIFICS, guesses, hope
from discreet.policy.finders.page import SHORTEST_KEY, WALL, Page
from discreet.policy.pii import FINDERS, PII, pii
from discreet.text.records import Record, Secret, Turn
from tests.policy import obvious_stretches

PIECES: str = (
    "my name is |i am |this is |call me |rose |zebulon |quillfeather |Rose |Mr. |Zebulon Quillfeather |The |ssn |"
    "order |hfb |756 |a1b |x |22 |elm st |Elm St, |IL 62704|address is |live at |born on |3 march 1984|dob |1999 |"
    "thnks |ok |yes |i'm |I |it's |pizza |please |what is your name? |born when? |where do you live?|?|USER: |BOT: |"
    "\n| |555-867-5309|-|.|²|’"
)
CAPITALISED: str = "Rose The Zebulon IBM NATO Bank Polish Smith's Oslo Mr Monday Ann-Lee New York"
TEXTS = st.lists(st.sampled_from(PIECES.split("|")), max_size=9).map("".join)
KINDS = st.frozensets(st.sampled_from(("PERSON", "ADDRESS")))


def highest(secrets: Iterable[Secret]) -> set[Secret]:
    """Each span and kind once, with its highest score."""
    best: dict[tuple[int, int, str], float] = {}
    for start, end, kind, score in secrets:
        best[start, end, kind] = max(score, best.get((start, end, kind), 0.0))
    return {Secret(*span, score) for span, score in best.items()}


def in_text(shape: str, asked: frozenset[str], edges: list[tuple[int, int]]) -> set[Secret]:
    found = shapes.of_shape(shape, asked, False)
    return {Secret(edges[first][0], edges[end - 1][1], kind, score) for first, end, kind, score in found}


@settings(derandomize=True, deadline=None, max_examples=300)
@given(TEXTS.map(str.lower), KINDS)
def test_a_stretch_gives_what_all_ways_of_finding_give(text: str, asked: frozenset[str]) -> None:
    every = highest(obvious_stretches.every(text, asked))
    assert set(stretches.of_stretch(text, asked)) == every
    sure = stretches.of_stretch(text, asked, sure=True)
    assert every >= set(sure) >= {secret for secret in every if secret.score > UNSURE}


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(TEXTS.map(str.lower), min_size=1, max_size=4), KINDS)
def test_a_line_gives_what_its_words_give_whatever_words_its_shape_was_first_seen_in(
    lines: list[str], asked: frozenset[str]
) -> None:
    for line, shape in zip(lines, shapes.shapes(lines), strict=True):
        edges = [match.span() for match in stretches.TOKEN.finditer(line)]
        assert len(edges) == len(shape)
        assert in_text(shape, asked, edges) == highest(obvious_stretches.every(line, asked))
        assert shapes.dull(shape, asked) == obvious_stretches.dull(line, asked)


def test_every_word_of_the_lists_is_found_like_the_example_of_its_letter() -> None:
    """Each word alone, before and after others, beside what the word that stands for it in shapes gives there."""
    listed = frozenset[str]().union(*shapes.LISTS, shapes.IN_PHRASES)
    words = [*sorted(listed), "rose", "smith", "zork", "22", "2nd", "a1"]
    frames = ("{}", "{} zork 22", "order {} 7 b", "my name is {} 12", "address {} qux 3", "mary {}")
    for word, frame in product(words, frames):
        line = frame.format(word)
        (shape,) = shapes.shapes([line])
        edges = [match.span() for match in stretches.TOKEN.finditer(line)]
        for asked in (NOTHING, frozenset({"PERSON"}), frozenset({"ADDRESS"})):
            assert in_text(shape, asked, edges) == highest(obvious_stretches.every(line, asked)), line


def test_lines_that_hold_the_wall_between_lines_keep_their_places() -> None:
    assert shapes.shapes(["a \0 b", "22", ""]) == [*shapes.shapes(["a b"]), *shapes.shapes(["22"]), ""]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS)
def test_findings_below_the_threshold_are_left_out_and_no_others(text: str) -> None:
    made, page = PII(None), Page(text)
    every = [secret for finder in FINDERS for secret in finder.find(page)]
    assert made.secrets(Record(id="1", text=text)) == made.reaching(every)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS)
def test_a_capital_inside_a_line_is_any_but_the_first_letter_and_the_word_i(text: str) -> None:
    def obvious() -> bool:
        for at, letter in enumerate(text):
            if at and re.match("[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]", letter):
                alone = not text[at - 1].isalnum() and not text[at + 1 : at + 2].isalnum()
                if letter != "I" or not alone:
                    return True
        return False

    assert (answers.CAPITAL.search(text, 1) is not None) == obvious()


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text("ab1-_ é\n", max_size=40), st.text("ab1-_ é\n", max_size=30))
def test_reading_backwards_finds_what_a_search_for_the_end_finds(before: str, more: str) -> None:
    page = Page(before + more)
    at = len(before)
    code = re.compile(r"[^\W_]+(?:-[^\W_]+)*-?\Z").search(page.text, max(0, at - 24), at)
    backwards = numbers.CODE_BACKWARDS.match(page.text[max(0, at - 24) : at][::-1])
    assert (code and code.start()) == (backwards and at - backwards.end())
    spoken = re.compile(r"[^\d\n]*\Z").search(page.lower, max(0, at - numbers.SPOKEN_BACK), at)
    assert spoken is not None
    assert numbers.announced(page, at) == kinds_named(spoken[0]) | page.stretch_at(at).asked


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS, st.booleans())
def test_dates_of_birth_are_found_as_by_a_search_of_all_the_text(text: str, turn: bool) -> None:
    page = Page(text, (Turn("a", 0, len(text)),) if turn else ())
    every = {
        Secret(*match.span(), "BIRTH", 0.8)
        for match in numbers.LONG_DATE.finditer(page.lower)
        if "BIRTH" in numbers.announced(page, match.start())
    }
    assert set(numbers.births(page)) == every


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS, st.booleans())
def test_an_address_is_announced_where_the_words_before_it_say_so(text: str, number: bool) -> None:
    page = Page(text)
    said = addresses.SAID.search(page.lower[max(0, len(text) - 40) :]) is not None
    asked = number and "ADDRESS" in page.stretch_at(len(text)).asked
    assert addresses.announced(page, len(text), number) == (said or asked)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(TEXTS, max_size=3))
def test_what_a_line_was_asked_for_is_what_the_last_line_of_another_speaker_asks(texts: list[str]) -> None:
    page = Page.joined((text, ()) for text in texts)
    for number, (_, _, speaker, named) in enumerate(page.lines):
        if speaker == WALL:
            continue
        before = number - 1
        while before >= 0 and speaker and page.lines[before][2] == speaker:
            before -= 1
        start, end, other, _ = page.lines[before] if before >= 0 else (0, 0, WALL, NOTHING)
        said = page.lower[start:end]
        asks = asked_in(said) if speaker or other else kinds_named(said) if said.rstrip().endswith("?") else NOTHING
        assert page.asked[number] == asks | named


def test_weak_words_are_not_looked_at_and_names_are() -> None:
    assert hope("Monday") < 0
    assert hope("The") < 0.5 <= hope("Trondheim")
    assert hope("The Hague") == 1.0


@pytest.mark.parametrize("title", sorted(HONORIFICS))
def test_a_title_before_a_name_counts_wherever_the_record_stands_in_a_stream(title: str) -> None:
    texts = ["yes please", f"{title} Rose said so", "ok", f"thanks\n{title} Rose said so"]
    records = [Record(id=str(number), text=text) for number, text in enumerate(texts)]
    for record, secrets in pii().secrets_of_all(records):
        found = [record.text[secret.start : secret.end] for secret in secrets]
        assert found == ([f"{title} Rose"] if "Rose" in record.text else [])


def test_one_text_with_other_turns_is_another_text() -> None:
    text = "Your name please?  rose"
    turns = (Turn("a", 0, 17), Turn("b", 19, 23))
    records = [
        Record(id=str(number), text=text, turns=own) for number, own in enumerate(((), turns, (), turns[:1], turns))
    ]
    made = pii()
    assert [secrets for _, secrets in made.secrets_of_all(records)] == [made.secrets(record) for record in records]


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(st.sampled_from(CAPITALISED.split())),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_run_is_judged_by_its_own_words_and_not_by_those_of_the_first_run_of_its_sort(
    words: list[str], first: bool, titled: bool, asked: bool
) -> None:
    run = " ".join(words) or "Rose"
    told = guesses.__wrapped__(run, first, titled, asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "FORMS", names.Forms())
        patch.setattr(names, "plan", names.plan.__wrapped__)
        assert guesses.__wrapped__(run, first, titled, asked) == told


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text("AbI zé.,'-\nande", max_size=40))
def test_runs_in_text_without_other_letters_are_the_same_runs(text: str) -> None:
    plain = text.replace("é", "e")
    assert [run.span() for run in names.ASCII_RUN.finditer(plain)] == [run.span() for run in names.RUN.finditer(plain)]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(TEXTS, max_size=4))
def test_a_number_by_itself_is_an_address_where_the_search_for_addresses_finds_one(texts: list[str]) -> None:
    page = Page("\n".join(f"USER: {text}" for text in texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addresses, "_all_there_is", lambda *_: False)
        patch.setattr(addresses, "_stands_alone", lambda *_: False)
        every = list(addresses.find(page))
    assert list(addresses.find(page)) == every


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text("abcdefgh1 \n\t-", max_size=80))
def test_long_words_with_a_digit_stand_around_numbers(text: str) -> None:
    every = {word for word in text.split() if len(word) >= SHORTEST_KEY and any(map(str.isdigit, word))}
    assert Page(text).long_words == every
