r"""Addresses of the net: mail addresses (also without their punctuation), links, hosts, IP and MAC addresses.

    >>> from discreet.policy.finders.page import Page
    >>> text = "mail ann.lee@example.org or annlee 83 gmailcom"
    >>> [(text[s.start : s.end], s.kind) for s in sorted(find(Page(text)))]
    [('ann.lee@example.org', 'EMAIL'), ('annlee 83 gmailcom', 'EMAIL')]

Every search begins at a character that is rare (`@`, `.com`, `:`), so that text without any costs next to nothing.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator

from discreet.policy.finders.page import Page
from discreet.policy.lists import ordinary
from discreet.text.records import Secret

LONGEST_BACK = 66
"""So many characters before a place are looked at, more than any pattern that is read backwards takes."""
AT = re.compile(r"@ ?[\w-]+(?:\.[\w-]+)*")
LOCAL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{0,64}")
SPOKEN_AT = re.compile(r" (?:at|\(at\)|\[at\]) [\w-]+ (?:dot|\(dot\)|\[dot\]) [a-z]{2,4}(?!\w)")
SPOKEN_LOCAL = re.compile(r"[\w.-]{0,64}")
SPOKEN_DOTS = (" dot ", "(dot)", "[dot]")
BARE_ENDS = ("com", "coin", "co in")
BARE_END = re.compile(r"com(?![\w@-])|co ?in(?![\w@-])")
PROVIDER = re.compile(
    r"(?:g ?mail|gamil|gmial|gmai|ymail|yahoo|yaho|hotmail|outlook|icloud|proton|rediff|zoho|mail|live|aol|msn|gmx)s?$"
)
LONGEST_MAIL = 120
LONGEST_NAME = 4
"""So many words before the provider may belong to a mail address without punctuation."""
LINK = re.compile(r"://[^\s<>\"'`|)\]}]+|www\.[^\s<>\"'`|)\]}]+", re.IGNORECASE)
LINK_HEADS = ("://", "www.")
"""How links begin, in lower case."""
SCHEME = re.compile(r"[a-z0-9+.-]{0,15}[a-z]", re.IGNORECASE)
TOP = "com|org|net|edu|gov|io|co|info|biz|me|us|uk|de|fr|it|es|nl|se|no|dk|fi|pl|pt|ch|at|be|ie|in|ca|au|nz|jp|cn|br|eu"
HOST_END = re.compile(rf"\.(?:{TOP})(?![\w@-]|\.\w)(?:/[^\s<>\"')]*)?")
HOST = re.compile(r"[a-z0-9.-]{0,63}[a-z0-9](?![\w@/.-])")
DOTTED = re.compile(r"\.\d{1,3}\.\d{1,3}\.\d{1,3}(?!\w|\.\d)")
FIRST_PART = re.compile(r"\d{1,3}(?![\w.])")
COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
HYPHENS = re.compile(r"-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-")
LONGEST_IP6 = 46
IP6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
MAC = re.compile(r"(?<![\w:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])")
CREDENTIALS = re.compile(
    r"://[^/\s:@]+:[^/\s@]+@|[?&](?:token|key|api_?key|sig|signature|password|secret|auth\w*)=", re.IGNORECASE
)


def find(page: Page) -> Iterator[Secret]:
    text, lower = page.text, page.lower
    yield from mail(text)
    if any(end in lower for end in BARE_ENDS):
        yield from joined(page, BARE_END.finditer(lower))
    if any(dot in lower for dot in SPOKEN_DOTS):
        yield from spoken(lower)
    yield from links(text, _beginning(LINK, text, lower, *LINK_HEADS))
    yield from hosts(lower, HOST_END.finditer(lower))
    yield from dotted(text, DOTTED.finditer(text))
    yield from colons(text, COLONS.finditer(text))
    yield from hyphens(text, HYPHENS.finditer(text))


def spoken(lower: str) -> Iterator[Secret]:
    """Mail addresses with words for their punctuation: `ann at example dot org`."""
    for match in SPOKEN_AT.finditer(lower):
        if name := _back(SPOKEN_LOCAL, lower, match.start()):
            yield Secret(match.start() - len(name), match.end(), "EMAIL", 0.7)


def hosts(lower: str, ends: Iterable[re.Match[str]]) -> Iterator[Secret]:
    for match in ends:
        if name := _back(HOST, lower, match.start()):
            yield Secret(match.start() - len(name), match.end(), "URL", 0.5)


def dotted(text: str, ends: Iterable[re.Match[str]]) -> Iterator[Secret]:
    for match in ends:
        first = _back(FIRST_PART, text, match.start())
        if first and all(int(part) < 256 for part in (first + match[0]).split(".")):
            yield Secret(match.start() - len(first), match.end(), "IP", 0.8)


def colons(text: str, places: Iterable[re.Match[str]]) -> Iterator[Secret]:
    for match in places:
        around = max(0, match.start() - 4), match.start() + LONGEST_IP6
        if (address := IP6.search(text, *around)) and _is_ip6(address[0]):
            yield Secret(*address.span(), "IP", 0.8)
        elif address := MAC.search(text, *around):
            yield Secret(*address.span(), "MAC", 0.9)


def hyphens(text: str, places: Iterable[re.Match[str]]) -> Iterator[Secret]:
    for match in places:
        if address := MAC.search(text, max(0, match.start() - 4), match.start() + LONGEST_IP6):
            yield Secret(*address.span(), "MAC", 0.9)


def _back(pattern: re.Pattern[str], text: str, end: int) -> str:
    """What the pattern, which is read from right to left, matches just before a place."""
    match = pattern.match(text[max(0, end - LONGEST_BACK) : end][::-1])
    return match[0][::-1] if match else ""


def mail(text: str) -> Iterator[Secret]:
    """Mail addresses with their at sign."""
    after = 0
    at = text.find("@")
    while at >= 0:
        match = AT.match(text, at)
        if match:
            start = at - 1 if at > after and text[at - 1] == " " else at
            if name := _back(LOCAL, text, start):
                yield Secret(start - len(name), match.end(), "EMAIL", 0.95 if "." in match[0] else 0.5)
            after = match.end()
        at = text.find("@", match.end() if match else at + 1)


def _beginning(pattern: re.Pattern[str], text: str, lower: str, *heads: str) -> Iterator[re.Match[str]]:
    """All matches of a pattern that can only begin with these letters in lower case, which are looked for faster."""
    places = [lower.find(head) for head in heads]
    while places := [place if place >= 0 else len(text) for place in places]:
        at = min(places)
        if at == len(text):
            return
        match = pattern.match(text, at)
        after = match.end() if match else at + 1
        places = [lower.find(head, after) if at < after else at for head, at in zip(heads, places, strict=True)]
        if match:
            yield match


def links(text: str, matches: Iterable[re.Match[str]]) -> Iterator[Secret]:
    for match in matches:
        scheme = _back(SCHEME, text, match.start()) if match[0].startswith(":") else ""
        end = match.start() + len(match[0].rstrip(".,;:!?"))
        yield Secret(match.start() - len(scheme), end, "URL", 0.95 if CREDENTIALS.search(match[0]) else 0.6)


def joined(page: Page, ends: Iterable[re.Match[str]]) -> Iterator[Secret]:
    """Mail addresses that lost their punctuation: `ann 83 gmailcom`. Words before that are ordinary stay outside."""
    lower = page.lower
    for match in ends:
        if lower[match.start() - 1 : match.start()] in (".", "@"):
            continue
        line = max(lower.rfind("\n", 0, match.start()) + 1, match.start() - LONGEST_MAIL)
        label = lower.rfind(": ", line, match.start())
        line = line if label < 0 else label + 2
        words = lower[line : match.start()].split(" ")[-LONGEST_NAME - 1 :]
        host = words.pop() or (words.pop() + " " if words else "")
        known = PROVIDER.search(host.rstrip())
        if not host or host + match[0] in ordinary() or (not known and len(host) < 5):
            continue
        start = own = match.start() - len(host)
        for word in reversed(words):
            if not word or "@" in word or (word in ordinary() and len(word) > 1):
                break
            start -= len(word) + 1
        if start < own or known is None or known.start() > 0:  # the provider alone names nobody
            yield Secret(start, match.end(), "EMAIL", 0.75 if known else 0.55)


def _is_ip6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return sum(map(str.isalnum, text)) >= 3
