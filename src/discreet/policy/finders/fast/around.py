"""What stands around a place: its line, what was asked before it, and whether it is an answer by itself (`Page`)."""

from discreet.policy.finders.fast.asking import UNSURE, kinds_named, of_answers
from discreet.policy.finders.fast.compiled import Array, compiled
from discreet.policy.finders.fast.marks import DECIMAL
from discreet.policy.finders.fast.vocabulary import APOSTROPHE, LINE_END, QUESTION, SPACE
from discreet.policy.finders.numbers import SPOKEN_BACK
from discreet.policy.finders.page import LONGEST_FRAME

COLON, TAB, QUOTE, CURLY_QUOTE, CLOSE = map(ord, ':\t"”)')
SHORTEST_LABEL, LONGEST_LABEL = 2, 12


@compiled
def line_of(starts: Array, place: int, line: int) -> int:
    """The last line that begins at a place or before it, or the first; it is looked for from a line on."""
    while line + 1 < len(starts) and starts[line + 1] <= place:
        line += 1
    while line and starts[line] > place:
        line -= 1
    return line


@compiled
def question_before(lower: Array, start: int, place: int) -> int:
    """Where the last question mark from start on before a place stands; one before the start where there is none."""
    at = place - 1
    while at >= start and lower[at] != QUESTION:
        at -= 1
    return max(at, start - 1)


@compiled
def asked_at(book: Array, lower: Array, start: int, end: int, asked: int, place: int) -> int:
    """What was asked for just before a place in a line from start to end, in bits, or UNSURE."""
    if not start <= place < end:
        return 0
    question = question_before(lower, start, place)
    if question < start:
        return asked
    return kinds_named(book, lower, question_before(lower, start, question) + 1, question)


@compiled
def _label_end(text: Array, at: int, end: int) -> int:
    """Where a name and a colon end that begin here, behind quotation marks and brackets (`page.INLINE_LABEL`)."""
    while at < end and (
        text[at] == QUOTE
        or text[at] == CURLY_QUOTE
        or text[at] == APOSTROPHE
        or text[at] == CLOSE
        or text[at] == SPACE
        or text[at] == TAB
    ):
        at += 1
    stop = at
    while stop < end and (ord("a") <= text[stop] <= ord("z") or ord("A") <= text[stop] <= ord("Z")):
        stop += 1
    if not SHORTEST_LABEL <= stop - at <= LONGEST_LABEL or stop + 1 >= end:
        return at
    return stop + 2 if text[stop] == COLON and text[stop + 1] == SPACE else at


@compiled
def is_alone(
    book: Array, classes: Array, text: Array, lower: Array, start: int, end: int, first: int, last: int
) -> bool:
    """Whether in the line from start to end nothing stands around some characters but what people answer with."""
    if not start <= first < end:
        return False
    question = question_before(lower, start, first)
    if question >= start:
        start = _label_end(text, question + 1, first)
    closing = first
    while closing < end and lower[closing] != QUESTION:
        closing += 1
    closing = min(closing + 1, end)
    if first - start + 1 + max(0, closing - last) > LONGEST_FRAME:
        return False
    return of_answers(book, classes, lower, start, first) and of_answers(book, classes, lower, last, closing)


@compiled
def announced(book: Array, classes: Array, lower: Array, start: int, line_start: int, line_end: int, asked: int) -> int:
    """The kinds that a question or the words before a place announce, or UNSURE."""
    first = start
    while first > 0 and start - first < SPOKEN_BACK:
        if classes[lower[first - 1]] & DECIMAL or lower[first - 1] == LINE_END:
            break
        first -= 1
    said = kinds_named(book, lower, first, start)
    told = asked_at(book, lower, line_start, line_end, asked, start)
    return UNSURE if said == UNSURE or told == UNSURE else said | told
