"""Plain text: a record is a line, a paragraph (lines up to a blank one) or the whole file.

Blank lines are no records. Text can only be written where reading it again gives the same records, so a text with a
line end in it is refused: `.jsonl` keeps it.
"""

from collections.abc import Iterator
from typing import IO

from discreet.errors import RefusedError
from discreet.text.formats.contract import FORMATS, Bad, Format, Row, Source, Target
from discreet.text.formats.decoding import text_lines, whole_text, without_end

RECORDS = ("line", "paragraph", "file")


class Lines(Format):
    """`.txt` files; the only field is the text."""

    suffixes = (".txt", ".text")
    text_only = True

    def columns(self, source: Source) -> list[str]:
        return [source.fields.text]

    def rows(self, source: Source) -> Iterator[tuple[int, Row | Bad]]:
        if source.records == "file":
            return _one(source)
        return _paragraphs(source) if source.records == "paragraph" else _lines(source)

    def write(self, out: IO[bytes], rows: Iterator[Row], target: Target) -> None:
        for number, row in enumerate(rows, 1):
            text: str = row[target.fields.text]
            _check(text, number, target)
            if target.records == "file":
                out.write(text.encode())
                continue
            if target.records == "paragraph" and number > 1:
                out.write(b"\n")
            out.write(text.encode() + b"\n")


FORMATS.register("txt")(Lines())


def _lines(source: Source) -> Iterator[tuple[int, Row | Bad]]:
    for number, line in enumerate(text_lines(source), 1):
        if isinstance(line, Bad):
            yield number, line
        elif not line.isspace():
            yield number, {source.fields.text: without_end(line)}


def _paragraphs(source: Source) -> Iterator[tuple[int, Row | Bad]]:
    held: list[str] = []
    start, trouble = 0, None
    for number, line in enumerate(text_lines(source), 1):
        if isinstance(line, Bad):
            trouble = trouble or (number, line)
        elif line.isspace():
            yield from _paragraph(source, start, held, trouble)
            held, trouble = [], None
        else:
            start = start if held else number
            held.append(without_end(line))
    yield from _paragraph(source, start, held, trouble)


def _paragraph(
    source: Source, start: int, held: list[str], trouble: tuple[int, Bad] | None
) -> Iterator[tuple[int, Row | Bad]]:
    """One paragraph, or the trouble with one of its lines, or nothing between two blank lines."""
    if trouble:
        yield trouble
    elif held:
        yield start, {source.fields.text: "\n".join(held)}


def _one(source: Source) -> Iterator[tuple[int, Row | Bad]]:
    text = whole_text(source)
    if isinstance(text, Bad):
        yield 1, text
    elif text and not text.isspace():
        yield 1, {source.fields.text: text}


def _check(text: str, number: int, target: Target) -> None:
    """Refuses what would come back as other records than were written."""
    if number == 1 and text.startswith("\ufeff"):
        wrong = "begins with a byte order mark"
    elif target.records == "file":
        wrong = "is a second record, and here the whole file is one" if number > 1 else ""
    elif not text or text.isspace():
        wrong = "is blank"
    elif target.records == "line":
        wrong = "holds a line end" if "\n" in text or text.endswith("\r") else ""
    else:
        lines = text.split("\n")
        wrong = "holds a blank line" if any(not line or line.isspace() or line.endswith("\r") for line in lines) else ""
    if wrong:
        raise RefusedError(
            f"{target.path}: the text of record {number} {wrong}, which plain text cannot keep; "
            "write to a .jsonl file instead."
        )
