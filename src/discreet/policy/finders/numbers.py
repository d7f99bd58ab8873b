r"""Numbers and codes that stand for a person or a thing of theirs: cards, accounts, phones, ids, orders, dates of
birth.

    >>> from discreet.policy.finders.page import Page
    >>> text = "card 4111 1111 1111 1111, ssn 078-05-1120, call 555-867-5309 in 1999, code AGZIM5T6KL"
    >>> [(text[s.start : s.end], s.kind) for s in find(Page(text)) if s.score >= 0.5]
    [('4111 1111 1111 1111', 'CARD'), ('078-05-1120', 'SSN'), ('555-867-5309', 'PHONE'), ('AGZIM5T6KL', 'REFERENCE')]

Digits with spaces, points, hyphens, slashes or brackets between them are one number; with letters at it, a code. What
it is, is decided by check digits and shape, then by the words before it (`ssn`, `booking`), or by what was asked.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import ne

from discreet.policy.finders import checksums
from discreet.policy.finders.asking import kinds_named
from discreet.policy.finders.page import Page
from discreet.text.records import Secret

CODE_BACKWARDS = re.compile(r"-?[^\W_]+(?:-[^\W_]+)*")
"""What stands before a digit in a code, read from right to left: looked for forwards, it is tried from every place."""
CODE = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
ACCOUNT = re.compile(r"[A-Za-z]{2}\d{2}")
NO_CODES = re.compile(
    r"\d+(?:st|nd|rd|th|s|am|pm|[kmgtb]b|kb?|mm?|cm|km|kg|lbs?|oz|ft|in|hrs?|mins?|x|d|m|bn?|g|l|p|c|f|h|hz|w|v|ml|mg|"
    r"years?|days?|yr|min|hours?|page|fold|bits?)(?:-\w+)*|[a-z]{1,2}\d{1,2}|mp[34]|covid-?19|[a-z-]*-\d{1,2}|\d{1,4}-[a-z-]+"
)
LETTERED = re.compile(r"[a-z]{1,2}\d{6,8}[a-z]?|[xyz]?\d{7,8}[a-z]|[a-z]{5}\d{4}[a-z]|[a-z]{2}\d{6}[a-d]")
"""Passports, driving licences and identity numbers of several countries."""
PLATE = re.compile(
    r"[A-Z]{2}[ -]?\d{1,2}[ -]?[A-Z]{1,3}[ -]?\d{3,4}(?!\w)|[A-Z]{2}\d{2} ?[A-Z]{3}(?!\w)|\w{2,4}[ -]\w{2,4}(?!\w)"
)
YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
YEARS = re.compile(r"(?:1[5-9]|20)\d\d(?:[-/ ]{1,3}\d\d(?:\d\d)?)?")
DATE = re.compile(r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2}))(?= |$)")
DECIMAL = re.compile(r"\d+\.\d+")
SOCIAL = re.compile(r"\d{3}([- ])\d{2}\1\d{4}")
MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?"
)
LONG_DATE = re.compile(
    rf"(?<!\w)(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)?[ -](?:{MONTH})\.?,?(?:[ -]\d{{2,4}})?|"
    rf"(?:{MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)(?!\w)"
)
AGE = re.compile(r"[ -]?(?:years?|yrs?)[ -]?(?:old|of age)\b| ?y/?o\b")
AGED = (" aged ", " age ", " turned ", " turning ", " age: ", " age is ")
PERSONAL = ("ssn", "social sec", " pin ", "last four", "last 4")
BIRTH_WORDS = ("birth", "born", "dob")
"""No two of them have the same length."""
SPOKEN_BACK = 48
"""So many characters before a number may say what it is."""
SPOKEN = re.compile(r"[^\d\n]*")
NO_DIGITS = str.maketrans("", "", " .-/()")
CODED = frozenset({"REFERENCE", "LICENCE", "PASSPORT", "ACCOUNT", "SSN", "CARD", "PASSWORD"})
COUNTED = frozenset({"REFERENCE", "LICENCE", "PASSPORT", "PASSWORD", "CARD", "EMAIL"})
CODE_NOT_AFTER = frozenset("@/_&=")
CODE_NOT_BEFORE = frozenset("@_")
NEVER_BEFORE = frozenset("$€£¥.,%")


def find(page: Page) -> Iterator[Secret]:
    done = 0
    personal = is_personal(page.lower)
    for start, end in page.numbers:
        if start >= done:
            for secret in in_number(page, start, end, personal):
                done = max(done, secret.end)
                yield secret
    yield from births(page)


def in_number(page: Page, start: int, end: int, personal: bool) -> Iterator[Secret]:
    """What a number is, or the code it is part of."""
    text, lower = page.text, page.lower
    before, after = text[start - 1 : start], text[end : end + 1]
    if after.isalpha() or before.isalpha() or (before == "-" and text[start - 2 : start - 1].isalpha()):
        codes = _code(page, start)
        yield from codes
        if before.isalpha() or any(start < secret.end for secret in codes):
            return
    if end - start < 4:
        if (after in "- yY" and AGE.match(lower, end)) or lower[max(0, start - 9) : start].endswith(AGED):
            yield Secret(start, end, "AGE", 0.6)
    elif before not in NEVER_BEFORE and not after.isalpha():
        if end - start == 4 and not personal and YEAR.match(text, start):
            return
        if found := _number(page, start, end, personal):
            yield found


def births(page: Page) -> Iterator[Secret]:
    """Dates with the name of a month, near to words about a birth or in answer to a question about one."""
    places = [(at, at + len(word)) for word in BIRTH_WORDS for at in _places(page.lower, word)]
    if places:
        asked = [line[:2] for line, asked in zip(page.lines, page.asked, strict=True) if "BIRTH" in asked]
        yield from births_about(page, places, asked)


def _places(lower: str, word: str) -> Iterator[int]:
    at = lower.find(word)
    while at >= 0:
        yield at
        at = lower.find(word, at + 1)


def births_about(page: Page, words: Iterable[tuple[int, int]], asked: Iterable[tuple[int, int]]) -> Iterator[Secret]:
    """Those in the lines behind words about births, or in lines that answer: a search in all of a text is slow."""
    lines = list(asked)
    ends: dict[int, int] = {}
    for at, past in words:
        if at >= ends.get(past - at, 0):
            ends[past - at] = page.line_end(at)
            lines.append((at, ends[past - at]))
    after = 0
    for start, end in sorted(lines):
        for match in LONG_DATE.finditer(page.lower, max(start, after), end):
            if "BIRTH" in announced(page, match.start()):
                yield Secret(*match.span(), "BIRTH", 0.8)
        after = max(after, end)


def is_personal(lower: str) -> bool:
    """Whether four digits that look like a year may be something else in this text."""
    return any(word in lower for word in PERSONAL)


def announced(page: Page, start: int) -> frozenset[str]:
    """The kinds that a question or the words before a place announce, back to the last number or line end."""
    before = page.lower[max(0, start - SPOKEN_BACK) : start]
    spoken = SPOKEN.match(before[::-1]).end()  # type: ignore[union-attr]
    return kinds_named(before[len(before) - spoken :]) | page.asked_at(start)


def _number(page: Page, start: int, end: int, personal: bool) -> Secret | None:
    shown = page.text[start:end]
    digits = shown if shown.isdigit() else shown.translate(NO_DIGITS)
    if len(digits) < 4:
        return None
    if shown[0] in "12" and YEARS.fullmatch(shown):
        part = page.part_at(start)
        if not personal or not is_personal(page.lower[part.start : part.end]):
            return None
    international = page.text[start - 1 : start] in ("+", "(")
    kind, score = _kind(page, start, end, shown, digits, announced(page, start), international)
    return Secret(start - international, end, kind, score) if score else None


def _kind(
    page: Page, start: int, end: int, shown: str, digits: str, named: frozenset[str], international: bool
) -> tuple[str, float]:
    """The kind of a number and how sure that is; the first rule that fits decides."""
    length = len(digits)
    if length < len(shown) and DATE.match(shown):
        return ("BIRTH", 0.85) if "BIRTH" in named else ("DATE", 0.3)
    if 13 <= length <= 19 and shown.count(".") < 2 and checksums.luhn(digits):
        return "CARD", 0.95
    if 12 <= length <= 19 and "CARD" in named:
        return "CARD", 0.85
    if length == 9 and SOCIAL.fullmatch(shown) and checksums.social_security(digits):
        return "SSN", 0.9 if "-" in shown or "SSN" in named else 0.6
    if "SSN" in named and length in (4, 9):
        return "SSN", 0.85
    if length == 9 and "ACCOUNT" in named and checksums.routing(digits):
        return "ACCOUNT", 0.95
    if length == 12 and shown.count(" ") == 2 and checksums.verhoeff(digits):
        return "ID", 0.9
    if ("." in shown and DECIMAL.fullmatch(shown)) or (length == 4 and YEAR.fullmatch(shown)):
        return "NUMBER", 0.0
    if 7 <= length <= 15 and ("PHONE" in named or international):
        return "PHONE", 0.9
    if length in (10, 11) and _grouped_as_phone(shown):
        return "PHONE", 0.75
    if "ACCOUNT" in named:
        return "ACCOUNT", 0.75
    if "BIRTH" in named and length <= 8:
        return "BIRTH", 0.6
    if named & COUNTED:
        return "NUMBER", 0.7 if length > 4 else 0.6
    if "ZIP" in named and length < 7:
        return "ZIP", 0.8
    if length > 6:
        return "PHONE" if 8 <= length <= 11 else "NUMBER", 0.55
    return "NUMBER", 0.6 if page.alone(start, end) else 0.3


def _grouped_as_phone(shown: str) -> bool:
    groups = re.findall(r"\d+", shown)
    return len(groups) in (1, 3, 4, 5) and (len(groups) == 1 or len(groups[-1]) <= 4)


def _code(page: Page, at: int) -> list[Secret]:
    """The run of letters, digits and hyphens around a digit."""
    text, lower = page.text, page.lower
    before = CODE_BACKWARDS.match(text[max(0, at - 24) : at][::-1])
    start = at - before.end() if before else at
    match = CODE.match(text, start)
    if match is None or text[start - 1 : start] in CODE_NOT_AFTER:
        return []
    end = match.end()
    if text[end : end + 1] in CODE_NOT_BEFORE:
        return []
    if account := _account_end(text, start):
        return [Secret(start, account, "ACCOUNT", 1.0)]
    found: list[Secret] = []
    named = announced(page, start)
    if "LICENCE" in named and (plate := PLATE.match(text, start)):
        found.append(Secret(*plate.span(), "PLATE", 0.85))
    kind, score = _sort_of_code(lower[start:end])
    if kind:
        found.append(Secret(start, end, kind, score if named.isdisjoint(CODED) else 0.8))
    return found


@lru_cache(maxsize=1 << 14)
def _sort_of_code(code: str) -> tuple[str, float]:
    """The kind of a code in lower case, if it is one, and how sure that is where nothing announces it."""
    if len(code) < 4 or NO_CODES.fullmatch(code):
        return "", 0.0
    if LETTERED.fullmatch(code):
        return "ID", 0.85 if checksums.dni(code.upper()) else _randomness(code)
    return "REFERENCE", _randomness(code)


def _account_end(text: str, start: int) -> int:
    """Where an international account number ends that begins here, with or without spaces; 0 where none does."""
    if not ACCOUNT.match(text, start):
        return 0
    left, at = checksums.IBAN_LENGTHS.get(text[start : start + 2].upper(), 0), start
    while left and at < len(text) and (text[at].isalnum() or text[at] == " "):
        left -= text[at] != " "
        at += 1
    number = text[start:at].replace(" ", "").upper()
    return 0 if left or text[at : at + 1].isalnum() or not checksums.iban(number) else at


def _randomness(code: str) -> float:
    """How much a code looks like one that was given out, and not like a name of a thing (B-52, mp3)."""
    digit = list(map(str.isdigit, code))
    digits = sum(digit)
    changes = sum(map(ne, digit, digit[1:]))
    if len(code) >= 8 and digits >= 2 and (changes > 1 or digits >= 4):
        return 0.65
    return 0.5 if len(code) >= 6 and digits >= 3 else 0.3
