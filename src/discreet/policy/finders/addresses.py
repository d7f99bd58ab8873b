r"""Street addresses in text with capitals: numbers and capitalised words around a sign that this is an address.

    >>> from discreet.policy.finders.page import Page
    >>> text = "Send it to 22 Elm St, Apt. 4\nSpringfield, IL 62704 please."
    >>> [(text[s.start : s.end], s.kind) for s in find(Page(text))]
    [('22 Elm St, Apt. 4\nSpringfield, IL 62704', 'ADDRESS')]

A run of numbers and capitalised words, over commas and line ends, is an address when it has a number and a sign: a word
for streets (Road, Straße, Rue), a unit (Apt. 4), a box, a state with its ZIP code; or when the words before it, or a
question, say so.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from discreet.policy.finders.names import CALENDAR, CAPITAL, is_plain
from discreet.policy.finders.page import Page
from discreet.policy.lists import word_set
from discreet.text.records import Secret

SMALL = r"rue|avenue|av\.|via|calle|ul\.|u\.|út|utca|strada|rua|chemin|place|allée|boulevard"
"""Words for streets that other languages write small inside an address."""
TOKEN = rf"(?:P\.? ?O\.? Box \d+|\(?[{CAPITAL}][\w'’-]*\)?\.?|(?:{SMALL})(?= )|\d[\w/-]*(?<!-)\.?|\#\d+|nan)"
JOINTS = "of|the|de|del|da|do|dos|di|du|des|la|le|las|los|el|van|der|den|am|im|an|auf|and|y|e|i"
SMALL_WORDS = SMALL.replace("\\", "").split("|")
JOINT_WORDS = frozenset((*JOINTS.split("|"), *SMALL_WORDS))
LINK = rf"(?:,? |,|[ ,]*\n[ >?]*,? ?\n?[ >?]*| ?[,-] |(?: (?:{JOINTS})){{1,3}} )"
RUN = re.compile(rf"(?<![\w.#]){TOKEN}(?:{LINK}{TOKEN})*")
ENGLISH_STREETS = word_set(
    """
    alley annex arcade av ave avenue bayou beach bend blvd bluff bluffs boulevard branch bridge brook brooks burg burgs
    bypass camp canyon causeway cir circle cliff cliffs close club common corner corners court cove coves creek cres
    crescent crossing ct dr drive estate estates expressway extension extensions fall falls ferry field fields flat
    flats ford fords forest forests forge forges fork forks fort freeway garden gardens gateway glen glens green greens
    grove harbor harbors haven heights highway hill hills hollow hwy inlet island islands isle junction key keys knoll
    knolls lake lakes land landing lane light lights ln lock locks lodge loop manor meadow meadows mews mill mills
    mountain orchard oval park parks parkway pass path pike pines pkwy pl place plaza point points port ports prairie
    radial ranch rapids rd rest ridge river road roads route row rte run shoal shoals shore shores skyway spring springs
    spur sq square st station stravenue stream street summit ter terrace throughway trace track trafficway trail trl
    tunnel turnpike underpass union valley viaduct view village ville vista walk wall way well wells
    """
)
"""The US postal service's words for streets and their abbreviations."""
OTHER_STREETS = word_set(
    """
    al aleja allee allée avenida bulvar cad calle carrera cesta chemin colony corso damm gade gasse gata gatan gate
    gracht kade kapu katu laan mah marg nagar náměstí paseo piazza platz plein praça quai ring rua rue salai sokak str
    straat strasse straße tie travessa tér ufer ul ulica ulice utca vej vei veien via viale vägen weg út
    """
)
STREETS = ENGLISH_STREETS | OTHER_STREETS
ENDINGS = tuple(
    word_set(
        """
        allee braut dijk gade gasse gata gatan gracht kade katu kuja laan platz plein polku str straat strasse straße
        stræti tie tér utca vegur vei veien vej vägen weg
        """
    )
)
LONGEST_ENDING = 7
"""How the names of streets end where the word for street is written at the name."""
UNITS = r"(?:apt|apartment|suite|ste|unit|floor|fl|flat|room|rm|building|bldg)\b\.? ?#?\w*\d"
BOXES = r"p\.? ?o\.? ?box\b|postbox|(?:psc|unit) \d+,? box|\b[ad]po\b|(?:uss|usns|usnv|uscgc|fpo)\b"
SIGN = re.compile(rf"\b(?:{UNITS}|{BOXES})")
PARTS_OF_SIGNS = ("apt", "apart", "su", "ste", "unit", "fl", "ro", "rm", "bui", "bl", "box", "po", "us")
"""Every sign has one of these in it, and to look for them takes less time than the search for a sign."""
STATE_ZIP = re.compile(r"[A-Z](?<!\w[A-Z])[A-Z],? \d{5}(?:-\d{4})?(?![\w-])")
"""It begins with a class and looks back from behind it, because such patterns are searched for faster."""
PLAIN_STREETS = word_set("street road avenue boulevard lane")
LIVES = r"\b(?:lives?|living|stays?|located|meet(?: you)?|corner) (?:at|on|of|in)"
SENT = r"send (?:it )?to|sent to|return to|deliver(?:ed)? to|ship(?:ped)? (?:it )?to|moved to"
STANDS = r"side of|stop at|(?:is|are|sits) (?:at|on)|enter on|address(?:es)?(?: is| to| with| the same)?"
SAID = re.compile(rf"(?:{LIVES}|{SENT}|{STANDS})\W{{0,4}}(?:the )?(?:corner of )?$")
SHIP = re.compile(r"(?:USS|USNS|USNV|USCGC) ")
SAID_ENDS = tuple(end[::-1] for end in word_set("at on of in to is with same the address addresses"))
"""How all of these end, read from right to left."""
NO_WORD = re.compile(r"\W*")
SAID_BEFORE = (
    "address is ",
    "live on ",
    "lives on ",
    "lives at ",
    "live at ",
    "side of ",
    "enter on ",
    "located ",
    "meet you at ",
)
DIGIT = re.compile(r"\d")
LEADING = re.compile(r"([^\W\d_]+(?:['’][^\W\d_]+)?)[ ,.]+")
LONGEST_TRAILING = 40
TRAILING = re.compile(r"[.,]?\s+([A-Z][a-z]*),?\Z")
SHORTEST = 5
"""Fewer characters are no address."""
SURE, ALONE, WEAK = 0.9, 0.6, 0.4
"""The score of a run with a number and a sign; that of a number by itself where an address was
announced; and that of a run with a number that nothing says is an address."""
SEPARATED = re.compile(r"[ .()]")
CORNER_WORDS = "the corner of "
CORNER = re.compile(rf"[Tt]he corner of {TOKEN}(?: {TOKEN})*(?: and {TOKEN}(?: {TOKEN})*)?")


BESIDE = re.compile(rf"[\w/-]{{0,9}}[.,]?[ \n,>?]{{1,6}}(\(?[{CAPITAL}][\w.]*|(?:{SMALL}) )")
"""A capitalised word, or a word for streets, after a number."""


def find(page: Page) -> Iterator[Secret]:
    text = page.text
    after = which = 0
    pieces = page.pieces
    for at, past in page.numbers:
        if at < after:
            continue
        while which + 1 < len(pieces) and pieces[which + 1][0] <= at:
            which += 1
        start, end = pieces[which]
        if _all_there_is(text, start, end, at, past):
            if past - at >= SHORTEST and announced(page, at, True) and _beside(text, at, past):
                yield Secret(at, past, "ADDRESS", ALONE)
            continue
        beside = _beside(text, at, past)
        if not beside:
            continue
        if end <= beside and _stands_alone(text, start, at, past):
            if past - at >= SHORTEST and announced(page, at, True):
                yield Secret(at, past, "ADDRESS", ALONE)
            continue
        line = _back(text, max(start, text.rfind("\n", start, at) + 1), at)
        before = text.rfind("\n", start, max(start, line - 1)) + 1
        for run in RUN.finditer(text, max(start, before) if SHIP.match(text, before) else line, end):
            if run.start() > past:
                break
            after = run.end()
            yield from in_run(page, *run.span())
            if after >= past:
                break  # the next run, which would take a search, cannot hold the number
    yield from said(page)
    yield from corners(page)


def in_run(page: Page, start: int, end: int) -> Iterator[Secret]:
    """The address that a run is, if it is one."""
    first, last = _trimmed(page.text, start, end)
    if last - first >= SHORTEST:
        yield from judged(page, first, last)


def judged(page: Page, start: int, end: int) -> Iterator[Secret]:
    """The address that a run without the words around it is, if it is one."""
    if score := _score(page, start, end):
        yield Secret(start, end, "ADDRESS", score)


def _back(text: str, line: int, at: int) -> int:
    """Where a run may begin that holds a number: behind the last word before it that is small and no joint."""
    start = at
    while start > line:
        space = text.rfind(" ", line, start)
        word = text[max(line, space + 1) : start]
        if word[:1].islower() and word not in JOINT_WORDS:
            return start
        start = space
    return line


def _beside(text: str, at: int, past: int) -> int:
    """Where a capitalised word that is no month stands beside a number, or the number; 0 if there is none."""
    gap = text[at - 1 : at]
    if gap == " " or gap == "#" or gap == "\n":
        before = text[max(0, at - 24) : at - 1].rstrip(" ,.#").rpartition(" ")[2].rpartition("\n")[2]
        if before[:1].isupper() and before.lower() not in CALENDAR:
            return at
    word = BESIDE.match(text, past)
    return word.start(1) if word and word[1].lower().rstrip(".") not in CALENDAR else 0


def _all_there_is(text: str, start: int, end: int, at: int, past: int) -> bool:
    """Whether a piece is a number and nothing else, but for the punctuation after it."""
    if at != start or end - past > 2 or SEPARATED.search(text, at, past):
        return False
    return past == end or not text[past:end].strip(" .,?>")


def _stands_alone(text: str, start: int, at: int, past: int) -> bool:
    """Whether a number, behind which its piece ends, is a run by itself: the word before it does not belong to it."""
    if SEPARATED.search(text, at, past) or text[past : past + 1].isalnum():
        return False
    if at == start:
        return True
    if text[at - 1] != " ":
        return False
    word = text[max(start, text.rfind(" ", start, at - 1) + 1) : at - 1]
    return word[:1].islower() and "\n" not in word and word not in JOINT_WORDS


def _words(run: str) -> list[str]:
    return [word.strip(".,()") for word in run.split()]


@lru_cache(maxsize=1 << 14)
def has_sign(run: str) -> bool:
    """Whether words in lower case have a word for streets among them, a unit or a box."""
    words = _words(run)
    if not STREETS.isdisjoint(words) or _ends_as_street(words):
        return True
    return any(map(run.__contains__, PARTS_OF_SIGNS)) and SIGN.search(run) is not None


def _is_street(run: str) -> bool:
    words = _words(run)
    return not PLAIN_STREETS.isdisjoint(words) or _ends_as_street(words)


def _ends_as_street(words: list[str]) -> bool:
    return bool([word for word in words if len(word) > LONGEST_ENDING and word.endswith(ENDINGS)])


def said(page: Page) -> Iterator[Secret]:
    """Streets without a number, where the text says that they are streets."""
    lower = page.lower
    for phrase in SAID_BEFORE:
        at = lower.find(phrase)
        while at >= 0:
            yield from after_phrase(page, at, at + len(phrase))
            at = lower.find(phrase, at + 1)


def after_phrase(page: Page, start: int, end: int) -> Iterator[Secret]:
    """The street behind words that say so."""
    run = RUN.match(page.text, end, page.piece_at(start)[1])
    if run and has_sign(run[0].lower()):
        first, last = _trimmed(page.text, *run.span())
        if last - first >= SHORTEST:
            yield Secret(first, last, "ADDRESS", 0.6)


def corners(page: Page) -> Iterator[Secret]:
    """Places where two streets meet."""
    at = page.lower.find(CORNER_WORDS)
    while at >= 0:
        match = CORNER.match(page.text, at)
        if match:
            yield Secret(*match.span(), "ADDRESS", 0.7)
        at = page.lower.find(CORNER_WORDS, match.end() if match else at + 1)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A run from the line of its first number on, without the words that only begin a sentence."""
    first = DIGIT.search(text, start, end)
    if first and not SHIP.match(text, start):
        start = max(start, text.rfind("\n", start, first.start()) + 1)
    while (word := LEADING.match(text, start, end)) and not word[1].isupper():
        low = word[1].lower()
        if not (is_plain(low.replace("’", "'")) or word[1] == "The") or has_sign(low):
            break
        start = word.end()
    while word := TRAILING.search(text, max(start, end - LONGEST_TRAILING), end):
        low = word[1].lower()
        if not is_plain(low) or has_sign(low):
            break
        end = word.start()
    while end > start and text[end - 1] in ".,- \n>?":
        end -= 1
    while start < end and text[start] in " \n>?,":
        start += 1
    return start, end


def _score(page: Page, start: int, end: int) -> float:
    run = page.lower[start:end]
    has_number = any(map(str.isdigit, run))
    words = len(run.split())
    if words > 2 and STATE_ZIP.search(page.text, start, end):
        return SURE
    sign = has_sign(run)
    if sign and has_number and words > 2:
        return SURE
    told = announced(page, start, has_number)
    if sign:
        if has_number:
            return 0.9 if told or page.alone(start, end) else 0.6
        return 0.6 if told or (words > 1 and _is_street(run)) else 0.0
    if has_number and any(map(str.isalpha, run)):
        if told:
            return 0.8
        block = "\n" in run and words > 3
        return 0.55 if block or page.alone(start, end) else WEAK if words > 1 else 0.0
    return 0.6 if told and words < 6 else 0.0


def announced(page: Page, start: int, has_number: bool) -> bool:
    """Whether the words before a place, or a question, say that an address follows."""
    before = page.lower[max(0, start - 40) : start]
    backwards = before[::-1]
    ends = backwards.startswith(SAID_ENDS, NO_WORD.match(backwards).end())  # type: ignore[union-attr]
    if ends and SAID.search(before):
        return True
    return has_number and "ADDRESS" in page.asked_at(start)
