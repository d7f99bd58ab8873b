r"""Runs of capitalised words, and what of them may be a name: what has a word in it that is no ordinary one.

    >>> guesses("Yesterday Patricia", first=True, titled=False, asked=False)
    ((10, 18, 0.75, 'PERSON'),)

A word is ordinary when a spelling dictionary has it in lower case. Ordinary words that begin a sentence, months and
days are no names; ordinary words that are given names (Mark, Rose) are names inside a sentence, and a run of only
ordinary words (a heading, a company) has a low score.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from discreet.policy.customersim import NO_NAMES
from discreet.policy.lists import family, given, looks_ordinary, ordinary, places, word_set

CAPITAL = "A-ZÀ-ÖØ-ÞĀ-ɏͰ-ϿЀ-ӿԱ-Ֆ"
CAPITALS = re.compile(f"[{CAPITAL}]")
PARTICLES = "van|von|der|den|de|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|of|y|e|and|zu|af|av"


def _patterns(capital: str, letter: str, apostrophe: str, space: str) -> tuple[str, re.Pattern[str]]:
    """One word with a capital, and runs of such words."""
    word = rf"[{capital}]{letter}*(?:(?:{apostrophe}(?!s\b)|-){letter}+)*"
    more = rf"{space}(?:(?:{PARTICLES}) ){{0,3}}{word}|(?<=\b[A-Z])\. {word}|, (?={word} and {word}){word}"
    return word, re.compile(rf"{word}(?:{more})*")


WORD, RUN = _patterns(CAPITAL, r"[^\W\d_]", "['’]", "[ \u00a0]")
ASCII_RUN = _patterns("A-Z", "[A-Za-z]", "'", " ")[1]
"""The same for text without other letters, in which it is searched for faster."""
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
END_OF_SENTENCE = frozenset(".!?:;\"“”„'‘(>[*•-–—|\n\t")
LONG_HEADING = 5
SHORTEST_SHOUT = 5
"""Fewer capitals are an acronym."""
MOST_FORMS = 1 << 16


Guess = tuple[int, int, float, str]
"""Start and end of a part of a run that may be a name, the score, and the kind: NAME where what stands before it
decides between a person and a place."""


def hope(run: str) -> float:
    """A bound on the score of a run that nothing around it says is a name; below 0, it is never one.

    Most capitals only begin a sentence, and a word that is too weak inside one need not be looked at more closely.
    """
    if not run[0].isupper():
        return -1.0
    if " " in run or "\u00a0" in run:
        return 1.0
    alone = guesses(run, False, False, False)
    return alone[0][2] if alone else -1.0


class Hopes(dict[str, float]):
    """The hope of every run that was seen lately."""

    def __missing__(self, run: str) -> float:
        if len(self) >= MOST_FORMS:
            self.clear()
        self[run] = found = hope(run)
        return found


HOPES = Hopes()


@lru_cache(maxsize=1 << 15)
def guesses(run: str, first: bool, titled: bool, asked: bool) -> tuple[Guess, ...]:
    """What of a run of capitalised words may be names; `first` says that it begins a sentence."""
    words = [run] if run.isalpha() else WORDS.findall(run)
    forms = list(map(FORMS.__getitem__, words))
    found: list[Guess] = []
    for low, high, other, place in plan("".join([form[0] for form in forms]), first, titled, asked):
        listed = " ".join([form[1:] for form in forms[low:high]]) in places()
        score, kind = place if listed else other
        if high - low == len(words):
            found.append((0, len(run), score, kind))
        else:
            spans = [match.span() for match in WORDS.finditer(run)]
            found.append((spans[low][0], spans[high - 1][1], score, kind))
    return tuple(found)


class Form(NamedTuple):
    """What is known of a capitalised word."""

    plain: bool
    """It may be capitalised and is no name."""
    unknown: bool
    """It is no ordinary word."""
    given: bool
    family: bool
    beginner: bool
    """It may be capitalised because it begins a sentence."""
    nationality: bool
    company: bool
    capitals: int
    """How many letters it has, no more than SHORTEST_SHOUT, if all of them are capitals."""


class Forms(dict[str, str]):
    """Of every word that was looked at lately: a letter for its form, and the word in lower case.

    Strings, because there are many of them, and the garbage collector would look at every tuple again and again.
    """

    def __init__(self) -> None:
        self.letters: dict[Form, str] = {}
        self.of_letters: list[Form] = []

    def __missing__(self, word: str) -> str:
        if len(self) >= MOST_FORMS:
            self.clear()
        low = word.lower().replace("’", "'")
        form = _form(word, low)
        letter = self.letters.get(form)
        if letter is None:
            letter = self.letters[form] = chr(len(self.of_letters))
            self.of_letters.append(form)
        self[word] = found = letter + low
        return found


FORMS = Forms()


def is_plain(low: str) -> bool:
    """Whether a word in lower case may be capitalised and is no name."""
    return low in NOT_NAMES or low in NO_NAMES or ("'" in low and looks_ordinary(low))


def is_unknown(low: str) -> bool:
    """Whether a word in lower case is no ordinary one, or says where someone is from."""
    if low not in NATIONALITIES and (low in ordinary() or low in NOT_NAMES or len(low) < 2):
        return False
    if low.isalnum() or ("-" not in low and "'" not in low):
        return True
    return not all(part in ordinary() for part in re.split("['-]", low) if len(part) > 1)


def _form(word: str, low: str) -> Form:
    usual, nationality = low in ordinary(), low in NATIONALITIES
    plain, unknown = is_plain(low), is_unknown(low)
    capitals = min(len(word), SHORTEST_SHOUT) if word.isupper() else 0
    beginner = usual and not nationality
    return Form(plain, unknown, low in given(), low in family(), beginner, nationality, low in COMPANY, capitals)


Verdict = tuple[float, str]
"""A score and a kind."""


@lru_cache(maxsize=1 << 14)
def plan(letters: str, first: bool, titled: bool, asked: bool) -> list[tuple[int, int, Verdict, Verdict]]:
    """Which words of a run may be names, and what they then are: unless they are a place in the list, and if so.

    New names are mostly made of words of the same few sorts as old ones, so this is remembered by the sorts.
    """
    forms = [FORMS.of_letters[ord(letter)] for letter in letters]
    low, high = 0, len(forms)
    if first and not titled and _begins_only(forms):
        low = 1
    while low < high and forms[low].plain:
        low += 1
    while low < high and forms[high - 1].plain:
        high -= 1
    parts = [(low, high)] if high - low < LONG_HEADING else _parts(forms, low, high)
    return [
        (
            low,
            high,
            _verdict(forms[low:high], first and low == 0, titled, asked, False),
            _verdict(forms[low:high], first and low == 0, titled, asked, True),
        )
        for low, high in parts
        if low < high
    ]


def _begins_only(forms: Sequence[Form]) -> bool:
    """Whether the first word is capitalised only because it begins a sentence."""
    if not forms[0].beginner:
        return False
    return len(forms) == 1 or not (forms[0].given or forms[0].family) or forms[1].plain


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


def _verdict(forms: Sequence[Form], first: bool, titled: bool, asked: bool, place: bool) -> Verdict:
    company = forms[-1].company
    score = _score(forms, first, titled, asked, company or place)
    if all(one.nationality for one in forms):
        return max(score, 0.55), "NATIONALITY"
    if place and not titled and not company:
        return score, "PLACE"
    known = any(one.given for one in forms)
    return score, "ORGANIZATION" if company else "PERSON" if known or titled else "PLACE" if place else "NAME"


def _score(forms: Sequence[Form], first: bool, titled: bool, asked: bool, listed: bool) -> float:
    several = len(forms) > 1
    known, strange = any(one.given for one in forms), any(one.unknown for one in forms)
    if titled:
        return 0.9
    if asked and (strange or several or known):
        return 0.85
    if strange and not several and forms[0].capitals:
        return 0.35 if forms[0].capitals < SHORTEST_SHOUT else 0.5  # an acronym, or a name in capitals
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
