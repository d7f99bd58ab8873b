"""What `pii` leaves out to be fast would have found nothing: each shortcut beside the obvious version of itself."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.finders import addresses, answers, numbers, stretches
from discreet.policy.finders.asking import NOTHING, asked_in, kinds_named
from discreet.policy.finders.chat import NUMBER, SORTS, STRANGE, UNSURE
from discreet.policy.finders.names import HONORIFICS, hope
from discreet.policy.finders.page import ANSWER_WORDS, WALL, Page
from discreet.policy.pii import FINDERS, PII, pii
from discreet.text.records import Record, Secret, Turn

PIECES: str = (
    "my name is |i am |this is |call me |rose |zebulon |quillfeather |Rose |Mr. |Zebulon Quillfeather |The |ssn |"
    "order |hfb |756 |a1b |x |22 |elm st |Elm St, |IL 62704|address is |live at |born on |3 march 1984|dob |1999 |"
    "thnks |ok |yes |i'm |I |it's |pizza |please |what is your name? |born when? |where do you live?|?|USER: |BOT: |"
    "\n| |555-867-5309|-|.|²|’"
)
TEXTS = st.lists(st.sampled_from(PIECES.split("|")), max_size=9).map("".join)
KINDS = st.frozensets(st.sampled_from(("PERSON", "ADDRESS")))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(TEXTS.map(str.lower), KINDS)
def test_a_stretch_gives_what_all_ways_of_finding_give(text: str, asked: frozenset[str]) -> None:
    sorts = [SORTS[word] for word in stretches.TOKEN.findall(text)]
    words = [
        stretches.Word(*match.span(), match[0], sort == NUMBER, sort == STRANGE, at)
        for at, (match, sort) in enumerate(zip(stretches.TOKEN.finditer(text), sorts, strict=True))
    ]
    rest = [word for word in words if word.text not in ANSWER_WORDS]
    every = [
        *stretches._introductions(words),
        *stretches._codes(words, rest),
        *stretches._addresses(words, asked),
        *stretches._bare(rest, asked),
        *stretches._in_sentence(words),
    ]
    assert list(stretches.of_stretch(text, asked)) == every
    sure = stretches.of_stretch(text, asked, sure=True)
    assert set(every) >= set(sure) >= {secret for secret in every if secret.score > UNSURE}


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
    assert set(numbers._births(page)) == every


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS, st.booleans())
def test_an_address_is_announced_where_the_words_before_it_say_so(text: str, number: bool) -> None:
    page = Page(text)
    said = addresses.SAID.search(page.lower[max(0, len(text) - 40) :]) is not None
    asked = number and "ADDRESS" in page.stretch_at(len(text)).asked
    assert addresses._announced(page, len(text), number) == (said or asked)


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
