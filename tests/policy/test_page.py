"""Several texts on one page are read as if each had a page of its own."""

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.finders.page import Page
from discreet.policy.scored import conservative
from discreet.policy.specs import policy
from discreet.text.records import Record, Turn

PIECES: str = (
    "my name is |zebulon |Rose |what is your name? |USER: |address is| 22 Elm St|ssn |1999 |\n|Dr. |555-867-5309|"
    "ann 83 gmailcom|-----BEGIN PRIVATE KEY-----|aged |44|\0|ok|at |İ|:"
)
TEXTS = st.lists(st.sampled_from(PIECES.split("|")), max_size=7).map("".join)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(TEXTS, max_size=6))
def test_a_stream_gives_what_single_records_give(texts: list[str]) -> None:
    records = [Record(id=str(number), text=text) for number, text in enumerate(texts)]
    for made in (policy("pii"), conservative(policy("pii"))):
        assert list(made.secrets_of_all(iter(records))) == [(record, made.secrets(record)) for record in records]


def test_turns_keep_their_places_on_a_page_of_several() -> None:
    text = "Your name? rose"
    turns = (Turn("a", 0, 10), Turn("b", 11, 15))
    page = Page.joined([("x", ()), (text, turns), ("rose", ())])
    start = page.parts[1].start
    assert page.text[start : page.parts[1].end] == text
    assert "PERSON" in page.stretch_at(start + 11).asked
    assert page.stretch_at(page.parts[2].start).asked == frozenset()
    assert page.replies("PERSON") == [(start + 11, start + 15)]


def test_a_page_without_text_has_no_answers() -> None:
    assert policy("pii").secrets(Record(id="1", text="")) == ()
    assert list(policy("pii").secrets_of_all([])) == []
