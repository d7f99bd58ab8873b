"""The contract of a named corpus: it says what it is, where to get it, and how to open a folder that holds it.

    @register("haiku", about="...", url="https://...", licence="CC0", files=("train.txt",))
    def open_haiku(folder: Path) -> Corpus: ...

What every named corpus promises:

- its splits are streams: lazy, walked as often as needed, the same records each time, memory that does not grow
  with the file;
- the id of a record is unique within its split and the same on every machine;
- `secrets` holds what the file marks (gold) and is None where the file marks nothing; kinds are upper-case;
- a folder without the files raises an InputError that names them and where to get them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InputError
from discreet.registry import Registry
from discreet.text.corpora.layout import MissingPart
from discreet.text.corpus import SPLITS, Corpus

Open = Callable[[Path], Corpus]


@dataclass(frozen=True)
class NamedCorpus:
    """A public corpus whose layout is known."""

    name: str
    about: str
    """What it is and what one record of it is, in a sentence or two."""
    url: str
    """The page to get it from."""
    licence: str
    splits: tuple[str, ...]
    """The splits of a complete folder; a folder may hold fewer."""
    files: tuple[str, ...]
    """What it looks for in the folder; each entry is one layout it understands."""
    open: Open


CORPORA: Registry[NamedCorpus] = Registry("corpus", "discreet.corpora", "discreet.text.corpora")


def register(
    name: str, *, about: str, url: str, licence: str, files: tuple[str, ...], splits: tuple[str, ...] = SPLITS
) -> Callable[[Open], Open]:
    """Decorator: makes a function that opens a folder into a named corpus."""

    def add(opener: Open) -> Open:
        CORPORA.register(name)(NamedCorpus(name, about, url, licence, splits, files, opener))
        return opener

    return add


def named(name: str, folder: Path) -> Corpus:
    """The corpus called `name`, read from the folder it was unpacked to."""
    corpus, folder = CORPORA[name], Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder; the corpus '{name}' is to be had from {corpus.url}.")
    try:
        return corpus.open(folder)
    except MissingPart:
        raise InputError(
            f"{folder}: the corpus '{name}' looks here for {' or '.join(corpus.files)} and found none; "
            f"get it from {corpus.url}."
        ) from None
