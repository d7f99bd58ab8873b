"""Whether words or a question may announce an address, as `addresses.announced` says it."""

from discreet.policy.finders.fast.address_runs import in_word
from discreet.policy.finders.fast.address_shapes import ends_with
from discreet.policy.finders.fast.around import asked_at
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled
from discreet.policy.finders.fast.marks import SAID_END
from discreet.policy.finders.fast.vocabulary import SPACE
from discreet.policy.lists import word_set

LONGEST_SAID = 40
LONGEST_SAID_END = ZERO + 9
BEFORE_AT = tuple(
    {
        ord(word[-3]) << 16 | ord(word[-2]) << 8 | ord(word[-1])
        for word in word_set("live lives living stay stays located meet you corner side stop are sits enter")
    }
)
"""The last three letters of words that `at`, `on`, `of` or `in` may stand behind in `addresses.SAID`."""


@compiled
def may_be_said(
    book: Array, classes: Array, lower: Array, start: int, line: int, end: int, asked: int, kind: int
) -> bool:
    """Whether what stands before a place in a line, or a question, may announce an address there."""
    last = start
    while last > 0 and last > start - LONGEST_SAID and not in_word(classes, lower[last - 1]):
        last -= 1
    if ends_with(book, lower, max(0, start - LONGEST_SAID), last, LONGEST_SAID_END, ZERO + SAID_END):
        first, second = lower[last - 2], lower[last - 1]
        if first == ord("i") and second == ord("s"):
            # of what ends in `is`, only `address is` and `addresses is` say anything
            if last >= 4 and lower[last - 3] == SPACE and lower[last - 4] == ord("s"):
                return True
        elif second == ord("f") or second == ord("n") or (first == ord("a") and second == ord("t")):
            # `at`, `on`, `of` and `in` only behind some words, and behind all that end in `is`
            if last >= 5 and lower[last - 3] == SPACE:
                if lower[last - 5] == ord("i") and lower[last - 4] == ord("s"):
                    return True
                if last >= 6 and (lower[last - 6] << 16 | lower[last - 5] << 8 | lower[last - 4]) in BEFORE_AT:
                    return True
        else:
            return True
    # Where it is unsure what was asked, all bits are set.
    return asked_at(book, lower, line, end, asked, start) & kind != 0
