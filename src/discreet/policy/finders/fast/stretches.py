"""The secrets of chat without capitals, as `finders.stretches` finds them: words first, then five ways of finding."""

from discreet.policy.finders.chat import LONGEST_ANSWER, SHORTEST_CODE, UNSURE
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled, small
from discreet.policy.finders.fast.findings import ADDRESS, PERSON, PLACED, REFERENCE, add
from discreet.policy.finders.fast.marks import (
    ADDRESS_WORD,
    AM,
    ANSWER,
    CALL,
    COMMON,
    CUE,
    FAMILY,
    GIVEN,
    I_,
    IM,
    IS,
    KIND,
    ME,
    NAME,
    NAMES,
    NO_NAME,
    NUMBER_WORD,
    PHRASE,
    PLACE,
    SURE_CUE,
    THIS,
    UNIT,
)
from discreet.policy.finders.stretches import FARTHEST_IN_ADDRESS, LONGEST_NAME

ORDINARY, COUNTED, STRANGE = range(3)
"""The sorts of words."""
ASKED_PERSON, ASKED_ADDRESS = 1, 2
PHRASE_BITS = 15
HUNCH = round(100 * UNSURE)


START, END, MARKS, SORT, DIGITS, CODED, REST, COLUMNS = range(8)
"""The words of a stretch are rows of one array: where a word begins and ends, its marks and sort, how many digits it
has and whether it may be part of a code. The last column lists the words that people do not just answer with."""


@compiled
def of_words(words: Array, count: int, asked: int, sure: bool, found: Array) -> None:
    """The secrets of a stretch of so many words, given what was asked for."""
    strange = numbers = phrases = cues = False
    digits = rest = ZERO
    for at in range(count):
        marks = words[at, MARKS]
        strange |= words[at, SORT] == STRANGE
        numbers |= words[at, SORT] == COUNTED
        digits += words[at, DIGITS]
        phrases |= (marks >> PHRASE) & PHRASE_BITS != 0
        cues |= marks & (CUE | ADDRESS_WORD) != 0
        if not marks & ANSWER:
            words[rest, REST] = at
            rest += 1
    if phrases:
        _introductions(words, count, found)
    if digits:
        _codes(words, count, rest, found)
    if (strange or numbers) and (cues or asked & ASKED_ADDRESS):
        _addresses(words, count, asked, found)
    if 0 < rest <= LONGEST_ANSWER:
        _bare(words, rest, asked, found)
    if strange:
        _in_sentence(words, count, sure, found)


@small
def _found(words: Array, first: int, end: int, kind: int, score: int, found: Array) -> None:
    add(found, words[first, START], words[end - 1, END], kind, score)


@compiled
def _phrase(words: Array, count: int, at: int) -> tuple[int, bool]:
    """How many words long the phrase is that begins here and introduces a name, and whether it surely does."""
    first = (words[at, MARKS] >> PHRASE) & PHRASE_BITS
    after = (words[at + 1, MARKS] >> PHRASE) & PHRASE_BITS if at + 1 < count else 0
    if first == NAME:
        return (2, True) if after == IS else (1, True)
    if first == NAMES:
        return 1, True
    if first == IM:
        return 1, False
    if first == CALL and after == ME:
        return 2, True
    if (first == I_ and after == AM) or (first == THIS and after == IS):
        return 2, False
    return 0, False


@compiled
def _introductions(words: Array, count: int, found: Array) -> None:
    for at in range(count):
        length, sure = _phrase(words, count, at)
        if not length:
            continue
        begin = end = at + length
        while end < min(count, begin + LONGEST_NAME) and _may_be_name(words, end, sure, end == begin):
            end += 1
        if end > begin:
            _found(words, begin, end, PERSON, 80, found)


@compiled
def _may_be_name(words: Array, at: int, sure: bool, first: bool) -> bool:
    marks = words[at, MARKS]
    if words[at, SORT] == COUNTED or marks & (KIND | NO_NAME | ANSWER):
        return False
    if words[at, SORT] == STRANGE or (marks & GIVEN and not marks & COMMON):
        return True
    return sure and (first or marks & FAMILY != 0)


@compiled
def _codes(words: Array, count: int, rest: int, found: Array) -> None:
    at = ZERO
    while at < count:
        if not words[at, CODED]:
            at += 1
            continue
        first = at
        while at < count and words[at, CODED]:
            at += 1
        last = at - 1
        whole = rest > 0 and first <= words[0, REST] and last >= words[rest - 1, REST]
        while first <= last and words[first, SORT] != COUNTED and _frames(words, first, whole):
            first += 1
        while last >= first and words[last, SORT] == ORDINARY and last != count - 1:
            last -= 1
        letters = digits = 0
        odd = True
        for one in range(first, last + 1):
            length = words[one, END] - words[one, START]
            letters += length if words[one, SORT] != COUNTED else 0
            digits += words[one, DIGITS]
            odd &= words[one, SORT] != ORDINARY or length == 1
        if not digits or not letters or letters + digits < SHORTEST_CODE or words[last, MARKS] & UNIT:
            continue
        told = whole or _code_before(words, first)
        if told or odd:
            _found(words, first, last + 1, REFERENCE, 70 if told else 55, found)


@compiled
def _frames(words: Array, at: int, whole: bool) -> bool:
    if words[at, MARKS] & (ANSWER | KIND):
        return True
    return words[at, SORT] != STRANGE and not whole and not _code_before(words, at)


@compiled
def _code_before(words: Array, at: int) -> bool:
    return at > 0 and bool(words[at - 1, MARKS] & NUMBER_WORD)


@compiled
def _addresses(words: Array, count: int, asked: int, found: Array) -> None:
    said = -1
    cue = sure_cue = strange = False
    for at in range(count):
        marks = words[at, MARKS]
        if said < 0 and marks & ADDRESS_WORD:
            said = at
        cue |= marks & CUE != 0
        sure_cue |= marks & SURE_CUE != 0
        strange |= words[at, SORT] == STRANGE
    expected = said >= 0 or asked & ASKED_ADDRESS != 0
    if not expected and not (cue and strange) and not sure_cue:
        return
    at = said + 1
    while at < count:
        if not _in_address(words, at):
            at += 1
            continue
        first = last = at
        at += 1
        while at < count and at - last <= FARTHEST_IN_ADDRESS:
            if _in_address(words, at):
                last = at
            elif words[at, MARKS] & KIND and not words[at, MARKS] & CUE:
                break  # a wall
            at += 1
        at = last + 1
        _address(words, first, at, expected, found)


@compiled
def _in_address(words: Array, at: int) -> bool:
    return bool(words[at, SORT] != ORDINARY or words[at, MARKS] & CUE)


@compiled
def _address(words: Array, first: int, end: int, expected: bool, found: Array) -> None:
    plain, cue = True, False
    for at in range(first, end):
        plain &= words[at, SORT] == ORDINARY
        cue |= words[at, MARKS] & CUE != 0
    if end - first > 1 and not plain and (expected or cue):
        _found(words, first, end, ADDRESS, 70, found)


@compiled
def _bare(words: Array, rest: int, asked: int, found: Array) -> None:
    ordinary = 0
    numbers = strange = known = False
    names = True
    every = 0
    for one in range(rest):
        at = words[one, REST]
        sort, marks = words[at, SORT], words[at, MARKS]
        ordinary += sort == ORDINARY
        numbers |= sort == COUNTED
        strange |= sort == STRANGE
        known |= marks & GIVEN != 0 and not marks & COMMON
        names &= _could_be_name(marks)
        every |= marks
    if strange and (rest - ordinary) * 2 >= rest:
        gap = 2 if numbers else 1
        one = ZERO
        while one < rest:
            if not _named(words, one):
                one += 1
                continue
            first = last = one
            while one < rest and one - last <= gap:
                if _named(words, one):
                    last = one
                one += 1
            one = last + 1
            _bare_run(words, first, one, found)
        return
    known = rest <= 2 and known and names
    if rest <= 3 and not numbers and (known or (asked & ASKED_PERSON and not every & (NO_NAME | KIND))):
        _found(words, words[0, REST], words[rest - 1, REST] + 1, PERSON, 55, found)


@compiled
def _could_be_name(marks: int) -> bool:
    return marks & (GIVEN | FAMILY) != 0 and not marks & (COMMON | NO_NAME)


@compiled
def _named(words: Array, one: int) -> bool:
    at = words[one, REST]
    return words[at, SORT] != ORDINARY or _could_be_name(words[at, MARKS])


@compiled
def _bare_run(words: Array, first: int, end: int, found: Array) -> None:
    strange = numbers = announcing = False
    for one in range(first, end):
        at = words[one, REST]
        strange |= words[at, SORT] == STRANGE
        numbers |= words[at, SORT] == COUNTED
        announcing |= words[at, MARKS] & KIND != 0
    if strange and not announcing:
        kind = ADDRESS if end - first > 3 or numbers else PERSON
        _found(words, words[first, REST], words[end - 1, REST] + 1, kind, 65, found)
        return
    for one in range(first, end):
        at = words[one, REST]
        if words[at, SORT] == STRANGE:
            _found(words, at, at + 1, PERSON, 60, found)


@compiled
def _in_sentence(words: Array, count: int, sure: bool, found: Array) -> None:
    at = ZERO
    while at < count:
        if words[at, SORT] != STRANGE:
            at += 1
            continue
        first = at
        marks = words[at, MARKS]
        while at < count and words[at, SORT] == STRANGE:
            marks |= words[at, MARKS]
            at += 1
        score = 60 if marks & GIVEN else 50 if at - first > 1 else HUNCH
        if score > HUNCH or not sure:
            _found(words, first, at, PLACED if marks & PLACE else PERSON, score, found)
