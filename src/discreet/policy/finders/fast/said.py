"""Who says what on a page, and what was asked before, as compiled loops read it; lists of it where somebody asks."""

from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from discreet.policy.finders.asking import NOTHING
from discreet.policy.finders.fast.compiled import Array
from discreet.policy.finders.fast.labels import COLUMNS, END, SPEAKER, START, page_lines
from discreet.policy.finders.fast.marks import KIND_NAMES, kinds_mask
from discreet.policy.finders.fast.turns import NO_ONE, WALL, asked_before
from discreet.policy.finders.labels import Line, lines_of
from discreet.policy.finders.page import WALL as BETWEEN_TEXTS
from discreet.policy.finders.page import Page

SPEAKERS = {NO_ONE: "", WALL: BETWEEN_TEXTS}
SOMEBODY = "?"
UNKNOWN = -1


class Masks(dict[frozenset[str], int]):
    """Sets of kinds as bits."""

    def __missing__(self, kinds: frozenset[str]) -> int:
        self[kinds] = found = kinds_mask(kinds)
        return found


class Sets(dict[int, frozenset[str]]):
    """Bits as sets of kinds."""

    def __missing__(self, mask: int) -> frozenset[str]:
        self[mask] = found = frozenset(kind for bit, kind in enumerate(KIND_NAMES) if mask >> bit & 1)
        return found


class Names(dict[str, int]):
    """Numbers of speakers."""

    def __missing__(self, name: str) -> int:
        self[name] = found = len(self)
        return found


MASKS, SETS = Masks(), Sets()


class Said:
    """The lines of a page: where they begin and end, the numbers of their speakers, and what they were asked for."""

    spans: Array
    """What names and addresses may not reach beyond."""
    in_order: bool
    """Whether no turn reaches into the next."""
    dialog: bool
    """Whether anything may be the answer to a question."""
    asks: Array
    """What was asked for before each line, in bits."""

    def __init__(self, page: Page, book: Array, classes: Array, text: Array, lower: Array) -> None:
        self._page = page
        parts = page.parts
        self.part_starts = np.array(list(map(itemgetter(0), parts)), np.int64)
        self.part_ends = np.array(list(map(itemgetter(1), parts)), np.int64)
        given, said = self._turns()
        known = book, text, lower, self.part_starts, self.part_ends
        question = "?" in page.text
        lines, self.spans, flags, left = page_lines(*known, given, said, question)
        if len(left):
            given, said = self._with_lines_of(left.tolist(), given, said)
            lines, self.spans, flags, left = page_lines(*known, given, said, question)
        self.starts, self.ends, self.speakers, named = lines
        self.in_order, self.dialog = flags.tolist()
        self.asks = self._asked(asked_before(book, classes, lower, self.starts, self.ends, self.speakers)) | named

    def _turns(self) -> tuple[Array, Array]:
        """Of each text how many turns it has, UNKNOWN without, and the turns as lines."""
        turns = [part[2] for part in self._page.parts]
        if not any(turns):
            return np.full(len(turns), UNKNOWN), np.empty((0, COLUMNS), np.int64)
        given = np.array(list(map(len, turns)), np.int64)
        flat: list[Any] = list(chain.from_iterable(chain.from_iterable(turns)))
        said = np.zeros((len(flat) // 3, COLUMNS), np.int64)
        shift = np.repeat(self.part_starts, given)
        said[:, START], said[:, END] = shift + flat[1::3], shift + flat[2::3]
        said[:, SPEAKER] = list(map(self._names().__getitem__, flat[0::3]))
        given[given == 0] = UNKNOWN
        return given, said

    def _names(self) -> Names:
        names = Names({"": NO_ONE, BETWEEN_TEXTS: WALL, SOMEBODY: WALL + 1})
        names[""] = names[SOMEBODY]  # a turn is somebody's even if nobody says whose
        return names

    def _with_lines_of(self, parts: list[int], given: Array, said: Array) -> tuple[Array, Array]:
        """The lines of some texts too, as `finders.labels` reads them."""
        own: list[Array] = []
        taken = 0
        several = given.tolist()
        for part in range(len(several)):
            if several[part] != UNKNOWN:
                own.append(said[taken : taken + several[part]])
                taken += several[part]
            elif part in parts:
                start, end, _ = self._page.parts[part]
                names = Names({"": NO_ONE, BETWEEN_TEXTS: WALL})
                lines = lines_of(self._page.text[start:end], start)
                own.append(np.array([(a, b, names[who], MASKS[named]) for a, b, who, named in lines], np.int64))
                several[part] = len(lines)
        return np.array(several, np.int64), np.concatenate(own)

    def _asked(self, before: tuple[Array, Array]) -> Array:
        asked, unsure = before
        if not len(unsure):
            return asked
        known = [0]
        for line in unsure.tolist():
            start, end = self.starts[line - 1], self.ends[line - 1]
            speaker = self.speakers[line - 1] != NO_ONE or self.speakers[line] != NO_ONE
            known.append(MASKS[self._page.asked_by(int(start), int(end), bool(speaker))])
        return np.where(asked < 0, np.array(known)[np.minimum(asked, 0) * -1], asked)

    def lines(self) -> list[Line]:
        """As `Page.lines`, but that all speakers have the same name; what labels announce is said in `asked` only."""
        speakers = [SPEAKERS.get(number, SOMEBODY) for number in self.speakers.tolist()]
        return [
            (start, end, speaker, NOTHING)
            for start, end, speaker in zip(self.starts.tolist(), self.ends.tolist(), speakers, strict=True)
        ]

    def asked(self) -> list[frozenset[str]]:
        return list(map(SETS.__getitem__, self.asks.tolist()))

    def edges(self) -> tuple[list[int], list[int]]:
        return self.starts.tolist(), self.ends.tolist()

    def pieces(self) -> list[tuple[int, int]]:
        return list(map(tuple, self.spans.tolist()))
