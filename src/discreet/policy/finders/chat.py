"""The words of chats: lists of those that say what stands beside them, and what sort of word each is.

    >>> words = ["hfb", "756", "thankyou"]
    >>> [SORTS[word] for word in words] == [STRANGE, NUMBER, ORDINARY]
    True

The `may_` functions look at all words of a stretch at once and say whether a way of finding secrets could succeed;
where they say no, it would find nothing.
"""

from collections.abc import Sequence

from discreet.policy.finders.asking import KINDS_OF
from discreet.policy.finders.names import CALENDAR
from discreet.policy.lists import CHAT, given, looks_ordinary, word_set

CUES = word_set(
    """
    st street road rd avenue ave lane ln drive dr blvd boulevard court ct apt apartment flat floor suite nagar
    colony marg salai plot sector phase block cross layout opp town village district county po box highway hwy
    plaza way circle place unit psc dpo apo fpo building complex house east west north south main
    """
)
SURE_CUES = word_set(
    """
    st street road rd avenue ave lane ln blvd boulevard apt apartment nagar colony marg salai suite hwy highway
    psc dpo apo fpo
    """
)
INTRODUCES = (
    "name is",
    "names",
    "name",
    "myself",
    "i am",
    "im",
    "i'm",
    "this is",
    "call me",
    "mr",
    "mrs",
    "miss",
    "ms",
    "dr",
)
BEGINNINGS: dict[str, list[tuple[str, ...]]] = {}
"""First word -> the phrases that introduce a name, the longest first."""
for _phrase in INTRODUCES:
    BEGINNINGS.setdefault(_phrase.split()[0], []).append(tuple(_phrase.split()))
INTRODUCING = frozenset(BEGINNINGS) - {"i", "this"}
"""Words that begin such a phrase and not half of all sentences."""
ADDRESS_WORDS = word_set("address addr adress addres")
ABOUT_ADDRESSES = ADDRESS_WORDS | CUES
SURE = {("name", "is"), ("names",), ("name",), ("myself",), ("call", "me")}
NUMBER_WORDS = word_set(
    """
    number no num id code booking confirmation claim policy ref reference order ticket pnr ssn pin is
    conformation
    """
)
LITTLE = word_set("am an at be by do go he hi if in is it me my no of oh ok on or so to up us we")
"""Words of two letters that are not part of a code."""
UNIT_WORDS = word_set(
    """
    am pm cc km kg gb mb tb inch inches th st nd rd yr yrs hrs hr min mins usd rs inr oz ml gm gms lb lbs ft x
    pcs pc
    """
)
TOO_COMMON = CHAT | word_set(
    """
    an in so my see you do can will may le long king an so van ha she my so was are hi love ok see the to art
    """
)
"""Given names that are far more often something else."""
ORDINARY, NUMBER, STRANGE = "ons"
MOST_WORDS = 1 << 16
UNSURE = 0.35
"""The score of a single strange word in a sentence."""
LONGEST_ANSWER = 14
SHORTEST_CODE = 5


class Sorts(dict[str, str]):
    """Of every word that was looked at lately: whether it is plain, a number or strange."""

    def __missing__(self, word: str) -> str:
        if len(self) >= MOST_WORDS:
            self.clear()
        if word[0].isdigit():
            sort = NUMBER
        else:
            plain = word in KINDS_OF or word in CALENDAR or looks_ordinary(word)
            sort = ORDINARY if plain else STRANGE
        self[word] = sort
        return sort


SORTS = Sorts()


def may_introduce(texts: Sequence[str]) -> bool:
    """Whether words may hold one of the phrases that introduce a name."""
    if not INTRODUCING.isdisjoint(texts):
        return True
    return ("am" in texts and "i" in texts) or ("is" in texts and "this" in texts)


def may_be_bare(texts: Sequence[str], sorts: str, asked: frozenset[str]) -> bool:
    """Whether words, from which those that people answer with were taken out, may be a bare answer."""
    if not 0 < len(texts) <= LONGEST_ANSWER:
        return False
    if STRANGE in sorts and (len(sorts) - sorts.count(ORDINARY)) * 2 >= len(sorts):
        return True
    return len(texts) <= 3 and NUMBER not in sorts and ("PERSON" in asked or not given().isdisjoint(texts))


def may_hold_names(texts: Sequence[str], sorts: str) -> bool:
    """Whether two strange words stand beside each other, or one of them is a given name."""
    if STRANGE * 2 in sorts:
        return True
    known = given()
    if known.isdisjoint(texts):
        return False
    return any(sort == STRANGE and word in known for word, sort in zip(texts, sorts, strict=True))


def may_be_code(texts: Sequence[str], sorts: str) -> bool:
    """Whether letters and digits stand beside each other in words that are short enough for a code."""
    letters = digits = False
    for word, sort in zip(texts, sorts, strict=True):
        if sort == NUMBER:
            digits = True
        elif code_like(word, sort == STRANGE):
            letters = True
            digits = digits or not word.isalpha()
        else:
            letters = digits = False
        if letters and digits:
            return True
    return False


def code_like(word: str, strange: bool) -> bool:
    """Whether a word, which is no number, may be part of a code that has spaces in it."""
    length = len(word)
    return length == 1 or (length <= 4 if strange else length == 2 and word not in LITTLE)
