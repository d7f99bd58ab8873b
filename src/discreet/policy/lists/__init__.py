"""Word lists that policies lean on: ordinary English words, given names, family names, towns and countries.

    >>> "order" in ordinary(), "patricia" in ordinary(), "patricia" in given()
    (True, False, True)
    >>> looks_ordinary("thankyou"), looks_ordinary("confirmtion"), looks_ordinary("kowalski")
    (True, True, False)

All are in lower case. `SOURCES.md` beside them says where they come from, `build.py` how they were made.
"""

import gzip
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for lists in the code."""
    return frozenset(text.split())


FREQUENT = 10_000
"""So many of the most frequent words are recognised with a slip of the keyboard."""
ENDINGS = frozenset(("s", "t", "m", "d", "re", "ll", "ve", "mon", "all"))
RUN_TOGETHER = 2_000
"""So many of them, and these short ones, are recognised where two of them stand without a space."""
SHORT = word_set(
    """
    a am an and are as at be but by can car do for get go had has he her his how if in is it its me my new no
    not now of off on one or our out pay see so the to too two up us use was way we who why yes you
    """
)
LONGEST_SLIP = 40
SHORTEST_SLIP = 6
"""Shorter words are too near to each other: `maria` is one letter from `mania`."""
CHAT = word_set(
    """
    ain arent asap bday bro btw bye cant congrats couldnt cuz didnt doesnt dont dunno emails eta faq fyi gimme
    gonna gotta hadnt haha hai hasnt havent haven hello hey hi hii hiii hmm hola http https id ill im info isnt
    itll ive k kk lemme lol login logout ma'am maam mam mins msg nope nah nvm ok okay okey okie omg online oops
    plz pls ppl shouldnt signup sms sry tbh thanx thats thanku thnks thnx thx tho til tmrw tnx ty u ur url
    username usernames wanna wasnt website websites werent whats wheres wont wouldnt www xoxo ya yah yaa yay yea
    yeah yep yo youre youve yup
    """
)
"""What people write in chats and no dictionary has."""


@cache
def ordinary() -> frozenset[str]:
    """Words that a spelling dictionary accepts in lower case (among them some that are also names: mark, rose)."""
    return frozenset(_lines("ordinary")) | CHAT


@cache
def given() -> frozenset[str]:
    return frozenset(_lines("given"))


@cache
def family() -> frozenset[str]:
    return frozenset(_lines("family"))


@cache
def places() -> frozenset[str]:
    """Countries and towns of more than 100,000 people, of one or more words."""
    return frozenset(_lines("places"))


def looks_ordinary(word: str) -> bool:
    """Whether a word in lower case is in the list, or is a frequent one with a slip, or two of them run together."""
    if word in ordinary() or (not word.isalnum() and _contraction(word)):
        return True
    if word in given() or word in family() or word in places():
        return False
    if len(word) > LONGEST_SLIP:
        return False
    joined, without_one, one_letter_off = _frequent()
    for at in range(2, len(word) - 1):
        if word[:at] in joined and word[at:] in joined:
            return True
    if len(word) < SHORTEST_SLIP:
        return False
    return word in without_one or not one_letter_off.isdisjoint(_shorter(word))


@cache
def _frequent() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Words that are run together; words that slips are recognised in, with any one letter left out; and with or
    without one left out: what a word with one letter left out is among if that letter was wrong or too many."""
    frequent = frequent_words()
    without_one = frozenset(shorter for word in frequent for shorter in _shorter(word))
    return joined_words(), without_one, without_one.union(frequent)


def joined_words() -> frozenset[str]:
    """Words that are recognised where two of them stand without a space."""
    return frozenset(word for word in _lines("ordinary")[:RUN_TOGETHER] if len(word) > 3) | CHAT | SHORT


def frequent_words() -> list[str]:
    """Words that are recognised with a slip."""
    return [word for word in _lines("ordinary")[:FREQUENT] if len(word) >= SHORTEST_SLIP]


def _contraction(word: str) -> bool:
    stem, apostrophe, ending = word.replace("’", "'").partition("'")
    return bool(apostrophe) and ending in ENDINGS and stem in ordinary()


def _shorter(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at in range(len(word))]


def _lines(name: str) -> list[str]:
    return gzip.decompress((HERE / f"{name}.txt.gz").read_bytes()).decode("utf-8").splitlines()
