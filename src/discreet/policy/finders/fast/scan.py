"""The numbers of a page, and its long words with digits: what several finders begin with."""

from typing import Any

import numpy as np

from discreet.policy.finders.fast.compiled import Array, compiled, kept
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import DECIMAL, WHITE
from discreet.policy.finders.page import SHORTEST_KEY

FARTHEST = 3
"""So many spaces, points, hyphens, slashes and brackets may stand between two digits of a number."""
BETWEEN = tuple(map(ord, " .-/()"))


@compiled
def _number_end(classes: Array, text: Array, at: int) -> int:
    """Where the number ends that begins here."""
    end = at + 1
    at = end
    while at < len(text) and at - end <= FARTHEST:
        if classes[text[at]] & DECIMAL:
            end = at + 1
        elif text[at] not in BETWEEN:
            break
        at += 1
    return end


def _numbers_of(version: int) -> Any:
    @kept
    def numbers_and_words(classes: Array, text: Array) -> tuple[Array, Array]:
        """Where numbers begin and end (`page.NUMBER`), and words that are long enough for keys and have a digit."""
        assert version
        numbers, words = np.empty((len(text), 2), np.int64), np.empty((len(text) // SHORTEST_KEY + 1, 2), np.int64)
        count = long = number = begin = 0
        digit = False
        for at in range(len(text) + 1):
            kind = classes[text[at]] if at < len(text) else WHITE
            if kind & DECIMAL and at >= number:
                number = _number_end(classes, text, at)
                numbers[count, 0], numbers[count, 1] = at, number
                count += 1
            digit |= kind & DECIMAL != 0
            if kind & WHITE:
                if digit and at - begin >= SHORTEST_KEY:
                    words[long, 0], words[long, 1] = begin, at
                    long += 1
                begin, digit = at + 1, False
        return numbers[:count], words[:long]

    return numbers_and_words


numbers_and_words = _numbers_of(VERSION)
