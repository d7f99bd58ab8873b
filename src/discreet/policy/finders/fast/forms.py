"""What is known of the words of a run with capitals, and what of it may be a name, as `finders.names` says it."""

from discreet.policy.finders.fast.compiled import ZERO, Array, compiled
from discreet.policy.finders.fast.findings import COMPANY, KINDS, NATION, PERSON, PLACED
from discreet.policy.finders.fast.marks import COMPANY as COMPANY_WORD
from discreet.policy.finders.fast.marks import FAMILY as FAMILY_NAME
from discreet.policy.finders.fast.marks import GIVEN as GIVEN_NAME
from discreet.policy.finders.fast.marks import NATIONALITY as NATIONALITY_WORD
from discreet.policy.finders.fast.marks import NO_NAME, NOT_NAME, ORDINARY, PLACE, SMALL, UPPER
from discreet.policy.finders.fast.vocabulary import APOSTROPHE, HYPHEN, SPACE, looks_ordinary, marks_of
from discreet.policy.finders.names import LONG_HEADING, SHORTEST_SHOUT

PLAIN, UNKNOWN, GIVEN, FAMILY, BEGINNER, NATIONALITY, FIRM = (1 << bit for bit in range(7))
"""The bits of a form (`names.Form`); the number of capitals, if all letters are, stands above them."""
CAPITALS = 7
NAME = len(KINDS)
"""The kind of what is a person or a place, by what stands before it."""
WORD_START, WORD_END, WORD_FORM, WORD_MARKS, WORD_COLUMNS = range(5)
"""The words of a run are rows of one array."""


@compiled
def form_of(book: Array, classes: Array, text: Array, lower: Array, start: int, end: int, marks: int) -> int:
    """The form of a word with these marks."""
    joint = apostrophe = small = upper = False
    for at in range(start, end):
        apostrophe |= text[at] == APOSTROPHE
        joint |= text[at] == APOSTROPHE or text[at] == HYPHEN
        small |= classes[text[at]] & SMALL != 0
        upper |= classes[text[at]] & UPPER != 0
    usual, nationality = marks & ORDINARY != 0, marks & NATIONALITY_WORD != 0
    form = 0
    if marks & (NOT_NAME | NO_NAME) or (apostrophe and looks_ordinary(book, lower, start, end, marks)):
        form |= PLAIN
    unknown = nationality or not (usual or marks & NOT_NAME or end - start < 2)
    if unknown and (not joint or not _ordinary_parts(book, lower, start, end)):
        form |= UNKNOWN
    form |= GIVEN if marks & GIVEN_NAME else 0
    form |= FAMILY if marks & FAMILY_NAME else 0
    form |= BEGINNER if usual and not nationality else 0
    form |= NATIONALITY if nationality else 0
    form |= FIRM if marks & COMPANY_WORD else 0
    return form if small or not upper else form | min(end - start, SHORTEST_SHOUT) << CAPITALS


@compiled
def _ordinary_parts(book: Array, lower: Array, start: int, end: int) -> bool:
    """Whether all parts of more than one letter between hyphens and apostrophes are ordinary words."""
    first = start
    for at in range(start, end + 1):
        if at == end or lower[at] == APOSTROPHE or lower[at] == HYPHEN:
            if at - first > 1 and not marks_of(book, lower, first, at) & ORDINARY:
                return False
            first = at + 1
    return True


@compiled
def edges(words: Array, count: int, first: bool, titled: bool) -> tuple[int, int]:
    """A run without the words at both ends that are capitalised and are no names."""
    low, high = 0, count
    form = words[0, WORD_FORM]
    if first and not titled and form & BEGINNER:
        named = count > 1 and form & (GIVEN | FAMILY) and not words[1, WORD_FORM] & PLAIN
        low = 0 if named else 1
    while low < high and words[low, WORD_FORM] & PLAIN:
        low += 1
    while low < high and words[high - 1, WORD_FORM] & PLAIN:
        high -= 1
    return low, high


@compiled
def is_heading(words: Array, low: int, high: int) -> bool:
    """Whether of a long run only the words count that are not ordinary."""
    strange = 0
    for at in range(low, high):
        strange += words[at, WORD_FORM] & UNKNOWN != 0
    return high - low >= LONG_HEADING and strange * 2 < high - low


@compiled
def _is_place(book: Array, lower: Array, words: Array, low: int, high: int, spelt: Array) -> bool:
    """Whether words, with one space between them, are a place in the list."""
    if high - low == 1:
        return bool(words[low, WORD_MARKS] & PLACE)
    size = ZERO
    for one in range(low, high):
        if one > low:
            spelt[size] = SPACE
            size += 1
        for at in range(words[one, WORD_START], words[one, WORD_END]):
            spelt[size] = lower[at]
            size += 1
    return marks_of(book, spelt, ZERO, size) & PLACE != 0


@compiled
def verdict(
    book: Array,
    lower: Array,
    words: Array,
    low: int,
    high: int,
    first: bool,
    titled: bool,
    asked: bool,
    spelt: Array,
) -> tuple[int, int]:
    """The score, in hundredths, and the kind of some words of a run."""
    place = _is_place(book, lower, words, low, high, spelt)
    company = words[high - 1, WORD_FORM] & FIRM != 0
    every, some = ZERO - 1, ZERO
    for at in range(low, high):
        every &= words[at, WORD_FORM]
        some |= words[at, WORD_FORM]
    score = _score(words[low, WORD_FORM], some, high - low > 1, first and low == 0, titled, asked, company or place)
    if every & NATIONALITY:
        return max(score, 55), NATION
    if place and not titled and not company:
        return score, PLACED
    if company:
        return score, COMPANY
    return score, PERSON if some & GIVEN or titled else PLACED if place else NAME


@compiled
def _score(form: int, some: int, several: bool, first: bool, titled: bool, asked: bool, listed: bool) -> int:
    """By the form of the first word, what forms there are among all, and what stands around them."""
    known, strange = some & GIVEN != 0, some & UNKNOWN != 0
    if titled:
        return 90
    if asked and (strange or several or known):
        return 85
    if strange and not several and form >> CAPITALS:
        return 35 if form >> CAPITALS < SHORTEST_SHOUT else 50
    if strange:
        return 85 if known and several else 75 if known or several else 55
    if known and (several or not first):
        return 60 if several and form & GIVEN else 52
    if listed and (several or not first):
        return 55
    return 40 if several and some & FAMILY else 30
