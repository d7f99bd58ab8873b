r"""Keys, tokens and passwords: known shapes of cloud keys, JWT and private keys, random-looking strings, and what
follows "password".

    >>> from discreet.policy.finders.page import Page
    >>> text = "password is hunter2, key AKIAIOSFODNN7EXAMPLE"
    >>> [(text[s.start : s.end], s.kind) for s in sorted(find(Page(text)))]
    [('hunter2', 'PASSWORD'), ('AKIAIOSFODNN7EXAMPLE', 'KEY')]
"""

import math
import re
from collections import Counter
from collections.abc import Iterator

from discreet.policy.finders.page import Page
from discreet.policy.lists import ordinary, word_set
from discreet.text.records import Secret

PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)", re.DOTALL
)
PRIVATE = "PRIVATE KEY"
LONG = re.compile(r"[A-Za-z0-9_+/=.~-]{16,}")
SHAPES = re.compile(
    r"(?:A(?:KIA|SIA|ROA|IDA)[A-Z0-9]{16}"  # Amazon
    r"|AIza[\w-]{30,}|ya29\.[\w-]{20,}"  # Google
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|xox[abeprs]-[\w-]{10,}"  # Slack
    r"|[spr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_\w{16,}"  # Stripe
    r"|sk-[\w-]{20,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_[0-9a-f]{32,}"
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?)"  # JWT
    r"(?![\w-])"
)
BITS = {"hex": 2.8, "any": 3.6}
"""Entropy per character from which on a long string counts as random: of English run together it is about 3.2."""
PASSWORD_WORDS = ("pass", "pwd", "security answer", "otp", "cvv", "cvc", "pin ", "pin:")
PASSWORD = re.compile(
    r"(?:pass ?(?:word|code|phrase|wd)|pwd|security answer|otp|cvv2?|cvc|pin)"
    r"(?: (?:number|no|code|for [\w ]{1,20}?|to [\w ]{1,20}?))?"
    r"(?: ?(?:=|:|is|was|as)(?: set to)? ?| )[\"'`“]?(?P<secret>[^\s\"'`”]+)"
)
NO_PASSWORDS = word_set(
    """
    a an and are as at for from has i if in is it my not of on or please reset that the this to was wrong with
    you your
    """
)


def find(page: Page) -> Iterator[Secret]:
    lower = page.lower
    yield from private(page)
    for word in page.long_words:
        yield from in_word(page.text, word)
    for word in PASSWORD_WORDS:
        at = lower.find(word)
        while at >= 0:
            yield from password(lower, at)
            at = lower.find(word, at + 1)


def private(page: Page) -> Iterator[Secret]:
    """Private keys from their first line to the last."""
    if PRIVATE in page.text:
        for part in page.parts:
            for match in PRIVATE_KEY.finditer(page.text, part.start, part.end):
                yield Secret(*match.span(), "KEY", 1.0)


def password(lower: str, at: int) -> Iterator[Secret]:
    """What a word for passwords at a place announces."""
    if not lower[at - 1 : at].isalnum() and (said := PASSWORD.match(lower, at)):
        yield from _password(said)


def in_word(text: str, word: str) -> Iterator[Secret]:
    """The keys in a long word, wherever the word stands."""
    found = [secret for match in LONG.finditer(word) for secret in _long(match)]
    at = text.find(word) if found else -1
    while at >= 0:
        yield from (secret._replace(start=at + secret.start, end=at + secret.end) for secret in found)
        at = text.find(word, at + len(word))


def _long(match: re.Match[str]) -> Iterator[Secret]:
    word = match[0]
    known = SHAPES.search(word)
    if known:
        yield Secret(match.start() + known.start(), match.start() + known.end(), "KEY", 1.0)
        return
    for piece in re.finditer(r"[A-Za-z0-9_+-]{20,}={0,2}", word):
        if any(c.isdigit() for c in piece[0]) and any(c.isalpha() for c in piece[0]):
            sort = "hex" if re.fullmatch(r"[0-9a-f-]+|[0-9A-F-]+", piece[0]) else "any"
            if entropy(piece[0]) >= BITS[sort]:
                yield Secret(match.start() + piece.start(), match.start() + piece.end(), "KEY", 0.7)


def _password(match: re.Match[str]) -> Iterator[Secret]:
    word = match["secret"].rstrip(".,;!?)")
    start = match.start("secret")
    if not word or word in NO_PASSWORDS:
        return
    plain = word in ordinary()
    if any(c.isdigit() for c in word) or not word.isalpha():
        yield Secret(start, start + len(word), "PASSWORD", 0.9)
    elif re.search(r"(?:=|:|is|was)(?: set to)? ?[\"'`“]?$", match[0][: match.start("secret") - match.start()]):
        yield Secret(start, start + len(word), "PASSWORD", 0.55 if plain else 0.8)
    elif not plain:
        yield Secret(start, start + len(word), "PASSWORD", 0.6)


def entropy(text: str) -> float:
    """Bits per character, by how often each occurs."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
