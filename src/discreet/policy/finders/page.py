r"""A text as finders look at it: in lower case too, in lines that know their speaker, and with what was asked before.

    >>> page = Page("BOT: Your full name?\nUSER: ann lee")
    >>> stretch = page.stretch_at(28)
    >>> page.text[stretch.start : stretch.end], sorted(stretch.asked)
    ('ann lee', ['PERSON'])

A *stretch* is a line, or the part of one after a question mark. It is asked for what the question before it names, what
the other speaker asks for in the line before, and what its own label names (`Phone: 555 0101`). Labels that stand
before two or more lines are speakers, as are those of a record's turns.

Most of a text is never asked about, so all of this is worked out on demand: speed is why lines are plain tuples and why
what a sentence asks for is remembered by its text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from operator import add
from typing import NamedTuple, Protocol

from discreet.policy.finders.asking import NOTHING, WORD, asked_in, kinds_named
from discreet.policy.finders.labels import FARTHEST_COLON, Line, lines_of
from discreet.policy.lists import word_set
from discreet.text.records import Turn

NUMBER = re.compile(r"\d(?:[ .\-/()]{0,3}\d)*")
WALL = "\n\0\0\0\0\0\n"
"""What stands between two texts on one page."""
LONGER = "\u0130"
"""The only letter that is longer in lower case."""
LONGEST_REPLY = 80
SHORTEST_KEY = 16
LONGEST_FRAME = 60
"""More characters than this around an answer are no longer a frame."""
INLINE_LABEL = re.compile(r"[\"”') \t]*(?:[A-Za-z]{2,12}: )?")
ANSWER_WORDS = word_set(
    """
    ah also and dear give given here here's hers hi his is it it's its k kindly maam mam mine my of oh ok okay
    please pls plz sir sorry sure that that's thats the there this ur uh um well yeah yep yes you your
    """
)
"""Words that may stand around a bare answer."""


class Stretch(NamedTuple):
    """Characters from start to end, and the kinds of secrets that were asked for just before."""

    start: int
    end: int
    asked: frozenset[str]


class Part(NamedTuple):
    """Where the text of one record stands on a page."""

    start: int
    end: int
    turns: Sequence[Turn]


class LinesRead(Protocol):
    """What compiled loops know of the lines of a page, made lists where somebody asks."""

    def lines(self) -> list[Line]: ...
    def asked(self) -> list[frozenset[str]]: ...
    def pieces(self) -> list[tuple[int, int]]: ...
    def edges(self) -> tuple[list[int], list[int]]: ...


class Page:
    """A text, or several that know nothing of each other, the same in lower case, and its lines.

    Small texts are put on one page because every search has a price, whatever the length of what is searched.
    """

    floor = 0.0
    """Nobody asks for findings with a lower score, so a finder need not give them."""
    read: LinesRead | None = None
    """What was read by compiled loops, if the page was."""

    def __init__(self, text: str, turns: Sequence[Turn] = ()) -> None:
        self.parts = [Part(0, len(text), turns)]
        self._write(text)

    @classmethod
    def joined(cls, texts: Iterable[tuple[str, Sequence[Turn]]]) -> "Page":
        """Texts one after the other, with what no pattern reaches over between them."""
        page = cls.__new__(cls)
        every = list(texts)
        lengths = [len(text) for text, _ in every]
        starts = list(accumulate([length + len(WALL) for length in lengths], initial=0))
        ends = map(add, starts, lengths)
        page.parts = list(map(Part, starts, ends, [turns for _, turns in every]))
        page._write(WALL.join([text for text, _ in every]))
        return page

    def _write(self, text: str) -> None:
        self.text = text
        lower = text.lower()
        if len(lower) != len(text):  # one capital has a longer small letter, and positions would not agree
            # A sigma is another letter at the end of a word, which letters taken one by one do not know.
            parts = text if "\u03a3" in text else text.split(LONGER)
            lower = (
                "".join(c.lower() if c != LONGER else c for c in parts)
                if parts is text
                else LONGER.join(map(str.lower, parts))
            )
        self.lower = lower

    def part_at(self, position: int) -> Part:
        return self.parts[bisect_right(self.part_starts, position) - 1]

    @cached_property
    def lines(self) -> list[Line]:
        """The turns of dialogs, or the lines of texts; an empty line of nobody after each text."""
        if self.read is not None:
            return self.read.lines()
        lines: list[Line] = []
        text = self.text
        for start, end, turns in self.parts:
            if turns:
                lines += [(start + turn[1], start + turn[2], turn[0] or "?", NOTHING) for turn in turns]
            elif text.find("\n", start, end) < 0 and text.find(":", start + 1, min(start + FARTHEST_COLON, end)) < 0:
                lines.append((start, end, "", NOTHING))
            else:
                lines += lines_of(text[start:end], start)
            lines.append((end, end, WALL, NOTHING))
        return lines

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        """What names and addresses may not reach beyond: the lines of speakers, or all of a text."""
        if self.read is not None:
            return self.read.pieces()
        if not self.dialog:
            return [(part.start, part.end) for part in self.parts]
        pieces: list[tuple[int, int]] = []
        said: list[tuple[int, int]] = []
        parts = iter(self.parts)
        for start, end, speaker, _ in self.lines:
            if speaker == WALL:
                part = next(parts)
                pieces += said or [(part.start, part.end)]
                said = []
            elif speaker:
                said.append((start, end))
        return pieces

    @cached_property
    def numbers(self) -> list[tuple[int, int]]:
        """Digits with spaces, points, hyphens, slashes or brackets between them."""
        return [match.span() for match in NUMBER.finditer(self.text)]

    @cached_property
    def long_words(self) -> set[str]:
        """The words with a digit that are long enough for a key: those around the numbers, which are few."""
        text, done = self.text, 0
        found: set[str] = set()
        for start, end in self.numbers:
            if end > done:
                begin, done = max(done, text.rfind(" ", done, start) + 1), text.find(" ", end)
                if done < 0:
                    done = len(text)
                if done - begin >= SHORTEST_KEY:
                    found.update([word for word in text[begin:done].split() if len(word) >= SHORTEST_KEY])
        return {word for word in found if any(map(str.isdecimal, word))}

    @cached_property
    def asks_names(self) -> bool:
        """Whether a question in the text may be about a name."""
        return self.dialog and any(word in self.lower for word in ("name", "who", "caller", "holder"))

    @cached_property
    def dialog(self) -> bool:
        """Whether anything in the text may be the answer to a question."""
        if "?" in self.text or any(part.turns for part in self.parts):
            return True
        return ":" in self.text and any(speaker not in ("", WALL) or named for _, _, speaker, named in self.lines)

    def replies(self, kind: str) -> list[tuple[int, int]]:
        """The short stretches that answer a question about this kind."""
        found: list[tuple[int, int]] = []
        text = self.text
        for (start, end, speaker, _), asked in zip(self.lines, self.asked, strict=True):
            if speaker == WALL:
                continue
            question = text.find("?", start, end)
            if question < 0 or question == end - 1:
                if kind in asked and end - start < LONGEST_REPLY:
                    found.append((start, end))
            else:
                found += self.replies_among(start, end, kind)
        return found

    def replies_among(self, start: int, end: int, kind: str) -> Iterator[tuple[int, int]]:
        """Those in a line with questions."""
        at = start
        while at < end:
            stretch = self.stretch_at(at)
            if kind in stretch.asked and stretch.end - stretch.start < LONGEST_REPLY:
                yield stretch.start, stretch.end
            at = max(stretch.end, at + 1)

    def piece_at(self, position: int) -> tuple[int, int]:
        return self.pieces[max(0, bisect_right(self._piece_starts, position) - 1)]

    def stretch_at(self, position: int) -> Stretch:
        """The stretch that a character belongs to; one of nothing for labels and line ends."""
        starts, ends = self._line_edges
        number = bisect_right(starts, position) - 1
        if number < 0 or position >= ends[number]:
            return Stretch(position, position, NOTHING)
        start, end = starts[number], ends[number]
        question = self.text.rfind("?", start, position)
        if question >= 0:
            start = INLINE_LABEL.match(self.text, question + 1, position).end()  # type: ignore[union-attr]
        closing = self.text.find("?", position, end)
        return Stretch(start, end if closing < 0 else closing + 1, self.asked_at(position))

    def line_end(self, position: int) -> int:
        """Where the line of a character ends: at a line end, or later, where what is said in a turn does."""
        starts, ends = self._line_edges
        number = bisect_right(starts, position) - 1
        end = self.text.find("\n", position)
        return max(len(self.text) if end < 0 else end, ends[number] if number >= 0 else 0)

    def asked_at(self, position: int) -> frozenset[str]:
        """What was asked for just before the stretch that a character belongs to."""
        starts, ends = self._line_edges
        number = bisect_right(starts, position) - 1
        if number < 0 or position >= ends[number]:
            return NOTHING
        start = starts[number]
        question = self.text.rfind("?", start, position)
        if question < 0:
            return self.asked[number]
        return kinds_named(self.lower[self.text.rfind("?", start, question) + 1 or start : question])

    @cached_property
    def part_starts(self) -> list[int]:
        return [part.start for part in self.parts]

    @cached_property
    def _line_edges(self) -> tuple[list[int], list[int]]:
        """Where lines begin, and where they end."""
        if self.read is not None:
            return self.read.edges()
        return [line[0] for line in self.lines], [line[1] for line in self.lines]

    @cached_property
    def _piece_starts(self) -> list[int]:
        return [piece[0] for piece in self.pieces]

    @cached_property
    def asked(self) -> list[frozenset[str]]:
        """For every line, what was asked for just before it, and what its own label announces.

        The lines before are those of the other speaker, or, among lines of nobody, a question.
        """
        if self.read is not None:
            return self.read.asked()
        found: list[frozenset[str]] = []
        begin = end = 0
        last = WALL
        asked = NOTHING
        for start, stop, speaker, named in self.lines:
            if WALL in (last, speaker):
                asked = NOTHING
            elif speaker != last or not last:
                asked = self.asked_by(begin, end, bool(speaker or last))
            found.append(asked | named if named else asked)
            begin, end, last = start, stop, speaker
        return found

    def asked_by(self, start: int, end: int, speaker: bool) -> frozenset[str]:
        """What a line asks for; a line of nobody nothing, unless it ends in a question mark."""
        if speaker:
            return asked_in(self.lower[start:end])
        mark = self.text.rfind("?", start, end)
        return kinds_named(self.lower[start:end]) if mark >= 0 and not self.text[mark + 1 : end].strip() else NOTHING

    def alone(self, start: int, end: int) -> bool:
        """Whether nothing else stands in the stretch but what people answer with: yes, it's."""
        stretch = self.stretch_at(start)
        rest = self.lower[stretch.start : start] + " " + self.lower[end : stretch.end]
        if len(rest) > LONGEST_FRAME or stretch.start == stretch.end:
            return False
        return ANSWER_WORDS.issuperset(WORD.findall(rest)) and not any(map(str.isdigit, rest))
