"""How public files lie in a folder: finding the parts, reading their rows, and putting splits together.

    parts = find_parts(folder, {"train": ("train.tsv",), "valid": ("dev.tsv",)}, homes=("", "data"))
    corpus = corpus_of("mine", folder, parts, read)

A *part* is the file or files of one official split. Names may be patterns (`dialogues_*.json`), and each name is
also looked for with `.gz`, `.xz` and `.bz2` behind it. The first name that is there is the one that counts, so a
folder that holds a corpus twice is not read twice.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.files import COMPRESSIONS
from discreet.text.corpus import Corpus, Stream, divide
from discreet.text.formats.contract import FORMATS, Bad, Source
from discreet.text.formats.decoding import byte_lines
from discreet.text.records import Record

Parts = Mapping[str, Sequence[Path]]
Reader = Callable[[str, Path, Counter[str]], Iterator[Record]]
"""Reads the records of one file, given its split and where to count the rows it leaves out."""


class MissingPart(InputError):
    """The folder holds none of the files the corpus looks for."""


class Part(Stream):
    """The records of one split, file after file; `skipped` counts the rows the latest walk left out, by reason."""

    def __init__(self, split: str, paths: Sequence[Path], read: Reader) -> None:
        super().__init__(self._walk)
        self.split, self.paths, self.read = split, tuple(paths), read
        self.skipped: Counter[str] = Counter()

    def _walk(self) -> Iterator[Record]:
        skipped = self.skipped = Counter()
        for path in self.paths:
            yield from self.read(self.split, path, skipped)


def find_parts(folder: Path, names: Mapping[str, Sequence[str]], homes: Sequence[str] = ("",)) -> Parts:
    """The files of each split, from the first of the `homes` (folders below `folder`) that has any of them."""
    for home in homes:
        found = {split: files for split, wanted in names.items() if (files := _first(folder / home, wanted))}
        if found:
            return found
    raise MissingPart(f"{folder}: none of {', '.join(name for wanted in names.values() for name in wanted)} is here.")


def _first(folder: Path, names: Sequence[str]) -> list[Path]:
    for name in names:
        for ending in ("", *COMPRESSIONS):
            if files := sorted(path for path in folder.glob(name + ending) if path.is_file()):
                return files
    return []


def corpus_of(name: str, folder: Path, parts: Parts, read: Reader, divide_lone: bool = False) -> Corpus:
    """The corpus of these parts; with `divide_lone`, a part that stands alone is divided into train, valid and test."""
    where = {"corpus": name, "folder": str(folder)}
    streams = {split: Part(split, paths, read) for split, paths in parts.items()}
    if divide_lone and len(streams) == 1:
        [(split, stream)] = streams.items()
        return divide(Corpus({"train": stream}, name, where | {"divided": f"the {split} part, by a hash of the ids"}))
    return Corpus(streams, name, where)


def lines(path: Path, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers from 1, without line ends and byte-order mark."""
    for number, line in enumerate(byte_lines(source_of(path)), 1):
        try:
            yield number, line.decode("utf-8", errors).rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError(f"{path}, line {number}: not UTF-8; get the file again from its source.") from None


def json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of a JSON-lines file, each with its place for messages."""
    for number, row in FORMATS["jsonl"].rows(source_of(path)):
        if isinstance(row, Bad):
            raise InputError(f"{path}, line {number}: {row.reason}; get the file again from its source.")
        yield f"{path.name}, line {number}", row


def source_of(path: Path) -> Source:
    return Source(path, path.name, "jsonl")


@contextmanager
def laid_out(place: str, layout: str) -> Iterator[None]:
    """Turns the stumble over a row of another shape into one sentence; its content stays out of the message."""
    try:
        yield
    except KeyError as error:
        raise InputError(f"{place}: not a row of {layout}, the field {error} is missing.") from None
    except (TypeError, ValueError, IndexError, AttributeError):
        raise InputError(f"{place}: not a row of {layout}.") from None
