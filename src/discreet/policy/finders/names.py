r"""Names of people and places in text with capitals: runs of capitalised words, among them one that is no ordinary
word.

    >>> from discreet.policy.finders.page import Page
    >>> text = "Yesterday Ann van Dyke met Mr. Rose in Trondheim."
    >>> [(text[s.start : s.end], s.kind) for s in find(Page(text)) if s.score >= 0.5]
    [('Ann van Dyke', 'PERSON'), ('Mr. Rose', 'PERSON'), ('Trondheim', 'PLACE')]

A word is ordinary when a spelling dictionary has it in lower case. Ordinary words that begin a sentence, months and
days are no names; ordinary words that are given names (Mark, Rose) are names inside a sentence, and a run of only
ordinary words (a heading, a company) has a low score. A name that someone gave when asked is found everywhere in the
text.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from discreet.policy.customersim import NO_NAMES
from discreet.policy.finders.page import Page
from discreet.policy.lists import family, given, looks_ordinary, ordinary, places, word_set
from discreet.text.records import Secret

CAPITAL = "A-ZÀ-ÖØ-ÞĀ-ɏͰ-ϿЀ-ӿԱ-Ֆ"
WORD = rf"[{CAPITAL}][^\W\d_]*(?:(?:['’](?!s\b)|-)[^\W\d_]+)*"
PARTICLES = "van|von|der|den|de|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|of|y|e|and|zu|af|av"
RUN = re.compile(
    rf"{WORD}(?:[ \u00a0](?:(?:{PARTICLES}) ){{0,3}}{WORD}|(?<=\b[A-Z])\. {WORD}|, (?={WORD} and {WORD}){WORD})*"
)
WORDS = re.compile(WORD)
TITLES = word_set("mr mrs ms miss dr prof sir madam mister herr frau mme rev capt sgt lt col judge officer uncle aunt")
HONORIFICS = TITLES | {f"{title}." for title in TITLES}
COMPANY = word_set(
    """
    inc llc ltd corp corporation company co gmbh group partners technologies holdings bank university institute
    school hospital services systems solutions associates industries foundation
    """
)
CALENDAR = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter jan feb mar apr jun jul aug sep sept oct nov dec mon
    tue tues wed thu thur thurs fri sat sun utc gmt est pst cet am pm
    """
)
ROLES = word_set(
    """
    user usr sys system agent bot customer assistant operator support client caller human ai rep representative
    speaker
    """
)
ABBREVIATIONS = word_set(
    """
    tv usa us uk eu un id pin atm faq api url http https www html pdf sms gps cpu usb dvd cd ceo cfo phd ssn dob
    zip iban cvv vip diy asap fyi rsvp po apt ave blvd st rd dr ln ct hwy ste dpo apo fpo psc
    """
)
NOT_NAMES = CALENDAR | ROLES | TITLES | ABBREVIATIONS | frozenset(("i", "i'm", "i'll", "i've", "i'd", "ok", "okay"))
NATIONALITIES = word_set(
    """
    afghan albanian american arab argentine armenian asian australian austrian basque belgian bolivian brazilian british
    bulgarian canadian catalan chilean chinese colombian croatian cuban cypriot czech danish dutch egyptian english
    estonian european filipino finnish french georgian german greek greenlander hungarian icelandic indian indonesian
    iranian iraqi irish israeli italian jamaican japanese jordanian kenyan korean kurdish kuwaiti latvian lebanese
    libyan lithuanian malaysian maltese mexican moroccan nepalese nigerian norwegian pakistani palestinian persian
    peruvian polish portuguese romanian russian saudi scottish serbian slovak slovenian somali spanish sudanese swedish
    swiss syrian taiwanese thai tunisian turkish ukrainian uruguayan venezuelan vietnamese welsh buddhist catholic
    christian hindu jew jewish mormon muslim orthodox protestant sikh
    """
)
"""Peoples and religions: with a capital they say something about a person, though some are ordinary words too."""
BEFORE_PLACE = frozenset(("in", "at", "from", "to", "near", "visit", "visiting"))
END_OF_SENTENCE = frozenset(".!?:;\"“”„'‘(>[*•-–—|\n\t")
LONG_HEADING = 5
TITLE_ENDS = frozenset(f" {title} "[-3:] for title in HONORIFICS)
"""The last characters of a title and the space after it: a look at them spares a look at the whole word."""
NEVER = (sys.maxsize, sys.maxsize)


class Guess(NamedTuple):
    """A part of a run that may be a name."""

    start: int
    end: int
    score: float
    kind: str
    """NAME where what stands before it decides between a person and a place."""


def find(page: Page) -> Iterator[Secret]:
    text, lower, floor = page.text, page.lower, page.floor
    told: list[Secret] = []
    replies = iter(page.replies("PERSON") if page.asks_names else ())
    begin, end = next(replies, NEVER)
    for run in RUN.finditer(text):
        name = run[0]
        most = hope(name)
        if most < 0:
            continue
        start = run.start()
        while end <= start:
            begin, end = next(replies, NEVER)
        asked = begin <= start
        titled = lower[start - 3 : start] in TITLE_ENDS and _word_before(lower, start) in HONORIFICS
        if most < floor and not asked and not titled:
            continue
        word = _word_before(lower, start)
        for low, high, score, kind in guesses(name, begins_sentence(text, start), titled, asked):
            if kind == "NAME":
                kind = "PLACE" if word in BEFORE_PLACE else "PERSON"
            secret = Secret(start + low - (len(word) + 1 if titled and not low else 0), start + high, kind, score)
            if asked or titled:
                told.append(secret)
            yield secret
    if told:
        yield from everywhere(page, told)


def _word_before(lower: str, start: int) -> str:
    """The word, of no more than ten letters, that stands before a place and a space."""
    before = lower[max(0, start - 12) : start]
    return before[max(before.rfind(" ", 0, -1), before.rfind("\n", 0, -1)) + 1 : -1] if before[-1:] == " " else ""


@lru_cache(maxsize=1 << 16)
def hope(run: str) -> float:
    """A bound on the score of a run that nothing around it says is a name; below 0, it is never one.

    Most capitals only begin a sentence, and a word that is too weak inside one need not be looked at more closely.
    """
    if not run[0].isupper():
        return -1.0
    if " " in run or "\u00a0" in run:
        return 1.0
    alone = guesses(run, False, False, False)
    return alone[0].score if alone else -1.0


@lru_cache(maxsize=1 << 15)
def guesses(run: str, first: bool, titled: bool, asked: bool) -> tuple[Guess, ...]:
    """What of a run of capitalised words may be names; `first` says that it begins a sentence."""
    words = WORDS.findall(run)
    forms = [form(word) for word in words]
    low, high = 0, len(words)
    if first and not titled and _beginner(forms):
        low = 1
    while low < high and forms[low].plain:
        low += 1
    while low < high and forms[high - 1].plain:
        high -= 1
    parts = [(low, high)] if high - low < LONG_HEADING else _parts(forms, low, high)
    return tuple(_guess(run, words, forms, part, first, titled, asked) for part in parts if part[0] < part[1])


def _beginner(forms: Sequence["Form"]) -> bool:
    """Whether the first word is capitalised only because it begins a sentence."""
    if forms[0].low not in ordinary() or forms[0].low in NATIONALITIES:
        return False
    return len(forms) == 1 or not (forms[0].given or forms[0].family) or forms[1].plain


class Form(NamedTuple):
    """What is known of a capitalised word."""

    low: str
    plain: bool
    """It may be capitalised and is no name."""
    unknown: bool
    """It is no ordinary word."""
    given: bool
    family: bool


@lru_cache(maxsize=1 << 16)
def form(word: str) -> Form:
    low = word.lower().replace("’", "'")
    plain = low in NOT_NAMES or low in NO_NAMES or ("'" in low and looks_ordinary(low))
    unknown = low in NATIONALITIES or not (low in ordinary() or low in NOT_NAMES or len(low) < 2)
    if unknown and ("-" in low or "'" in low):
        unknown = not all(part in ordinary() for part in re.split("['-]", low) if len(part) > 1)
    return Form(low, plain, unknown, low in given(), low in family())


def _parts(forms: Sequence[Form], low: int, high: int) -> list[tuple[int, int]]:
    """A long run, or where it looks like a heading, only its runs of words that are not ordinary."""
    strange = [at for at in range(low, high) if forms[at].unknown]
    if len(strange) * 2 >= high - low:
        return [(low, high)]
    parts: list[tuple[int, int]] = []
    for at in strange:
        if parts and parts[-1][1] == at:
            parts[-1] = parts[-1][0], at + 1
        else:
            parts.append((at, at + 1))
    return parts


def _guess(
    run: str,
    words: Sequence[str],
    forms: Sequence[Form],
    part: tuple[int, int],
    first: bool,
    titled: bool,
    asked: bool,
) -> Guess:
    low, high = part
    chosen = forms[low:high]
    start, end = 0, len(run)
    if high - low < len(words):
        spans = [match.span() for match in WORDS.finditer(run)]
        start, end = spans[low][0], spans[high - 1][1]
    known = strange = False
    for one in chosen:
        known = known or one.given
        strange = strange or one.unknown
    company = chosen[-1].low in COMPANY
    lows = [one.low for one in chosen]
    place = " ".join(lows) in places()
    score = _score(words[low], chosen, known, strange, first and low == 0, titled, asked, company or place)
    if NATIONALITIES.issuperset(lows):
        return Guess(start, end, max(score, 0.55), "NATIONALITY")
    kind = "ORGANIZATION" if company else "PERSON" if known or titled else "PLACE" if place else "NAME"
    return Guess(start, end, score, "PLACE" if place and not titled and not company else kind)


def _score(
    word: str,
    forms: Sequence[Form],
    known: bool,
    strange: bool,
    first: bool,
    titled: bool,
    asked: bool,
    listed: bool,
) -> float:
    several = len(forms) > 1
    if titled:
        return 0.9
    if asked and (strange or several or known):
        return 0.85
    if strange and not several and word.isupper():
        return 0.35 if len(word) < 5 else 0.5  # an acronym, or a name in capitals
    if strange:
        return 0.85 if known and several else 0.75 if known or several else 0.55
    if known and (several or not first):
        return 0.6 if several and forms[0].given else 0.52
    if listed and (several or not first):
        return 0.55
    return 0.4 if several and any(one.family for one in forms) else 0.3


def begins_sentence(text: str, at: int) -> bool:
    """Whether nothing, or the end of a sentence, stands before a place."""
    at -= 1
    while at >= 0 and text[at] == " ":
        at -= 1
    return at < 0 or text[at] in END_OF_SENTENCE


def everywhere(page: Page, names: Sequence[Secret]) -> Iterator[Secret]:
    """Every other place of its text where a name that was told, or a word of it that is not ordinary, stands."""
    known = {name.start for name in names}
    values: dict[tuple[str, int], float] = {}
    ends: dict[int, int] = {}
    for name in names:
        value, part = page.text[name.start : name.end], page.part_at(name.start)
        ends[part.start] = part.end
        for word in (value, *(word for word in WORDS.findall(value) if form(word).unknown)):
            if len(word) > 2:
                key = word, part.start
                values[key] = max(name.score - 0.05, values.get(key, 0))
    for (value, begin), score in values.items():
        at = page.text.find(value, begin, ends[begin])
        while at >= 0:
            end = at + len(value)
            whole = not page.text[at - 1 : at].isalnum() and not page.text[end : end + 1].isalnum()
            if whole and at not in known:
                yield Secret(at, end, "PERSON", score)
            at = page.text.find(value, end, ends[begin])
