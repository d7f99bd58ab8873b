"""Corpora: records with train, valid and test splits, streamed and never held in memory unless asked.

    corpus = discreet.read("mail.jsonl")
    for record in corpus.records("train"): ...

A corpus holds *streams*: any object that can be iterated more than once and gives the same records each time
(a list, or a file behind `discreet.text.reading`).
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from discreet.errors import InputError, SettingError
from discreet.text.records import Record

SPLITS = ("train", "valid", "test")
SPLIT_NAMES = {"train": "train", "training": "train"} | dict.fromkeys(("valid", "validation", "val", "dev"), "valid")
SPLIT_NAMES |= {"test": "test", "testing": "test"}


class Stream:
    """Records that can be walked through again: wraps a function that starts a fresh walk."""

    def __init__(self, start: Callable[[], Iterator[Record]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Record]:
        return self._start()


@dataclass(frozen=True)
class Corpus:
    """Named splits of records."""

    splits: Mapping[str, Iterable[Record]]
    name: str = "corpus"
    where: Mapping[str, str] = field(default_factory=dict)
    """Where the corpus was read from, for the run's records."""

    def records(self, split: str) -> Iterable[Record]:
        """The records of one split, to be walked as often as needed."""
        if split not in self.splits:
            raise SettingError(f"The corpus '{self.name}' has no '{split}' split; it has: {', '.join(self.splits)}.")
        return self.splits[split]

    def __contains__(self, split: str) -> bool:
        return split in self.splits

    def all(self) -> Iterator[Record]:
        for records in self.splits.values():
            yield from records

    def map(self, change: Callable[[Record], Record], splits: Iterable[str] = SPLITS) -> "Corpus":
        """The corpus with each record of the given splits changed as it streams by."""
        chosen = set(splits)

        def changed(records: Iterable[Record]) -> Stream:
            return Stream(lambda: (change(record) for record in records))

        new = {name: changed(records) if name in chosen else records for name, records in self.splits.items()}
        return Corpus(new, self.name, self.where)

    def limited(self, **most: int) -> "Corpus":
        """The corpus cut to the first so many records of each named split."""

        def first(records: Iterable[Record], count: int) -> Stream:
            def start() -> Iterator[Record]:
                for number, record in enumerate(records):
                    if number >= count:
                        return
                    yield record

            return Stream(start)

        return Corpus(
            {name: first(records, most[name]) if name in most else records for name, records in self.splits.items()},
            self.name,
            self.where,
        )

    def fingerprint(self) -> str:
        """SHA-256 over all that training can see of every record, in order: another corpus, another fingerprint."""
        digest = hashlib.sha256()
        for split in sorted(self.splits):
            for record in self.splits[split]:
                seen = (split, record.id, record.text, record.author, record.label, record.pair, record.secrets)
                digest.update(hashlib.sha256(repr(seen).encode("utf-8", "surrogatepass")).digest())
        return digest.hexdigest()


def split_of(record: Record) -> str:
    """The split a record's file puts it in; `train` where the file does not say."""
    if record.split is None:
        return "train"
    try:
        return SPLIT_NAMES[record.split.lower()]
    except KeyError:
        raise InputError(f"{record.place}: the split '{record.split}' is none of train, valid, test.") from None


def by_split(records: Iterable[Record], name: str = "corpus") -> Corpus:
    """A corpus of one stream whose records say which split they belong to."""

    def only(split: str) -> Stream:
        return Stream(lambda: (record for record in records if split_of(record) == split))

    present = {split_of(record) for record in records}
    return Corpus({split: only(split) for split in SPLITS if split in present}, name)


def divide(corpus: Corpus, valid: float = 0.05, test: float = 0.05, seed: int = 0) -> Corpus:
    """Divides a corpus that has only a train split, each record by a hash of its id: the same id, the same split."""
    if set(corpus.splits) != {"train"}:
        raise SettingError(f"The corpus '{corpus.name}' is already divided into {', '.join(corpus.splits)}.")
    if valid < 0 or test < 0 or valid + test >= 1:
        raise SettingError("The shares of valid and test must be at least 0 and leave something to train on.")
    records = corpus.records("train")

    def place(record: Record) -> str:
        digest = hashlib.sha256(f"{seed}\0{record.id}".encode("utf-8", "surrogatepass")).digest()
        share = int.from_bytes(digest[:8], "big") / 2**64
        return "valid" if share < valid else "test" if share < valid + test else "train"

    def only(split: str) -> Stream:
        return Stream(lambda: (record for record in records if place(record) == split))

    shares = {"train": 1.0, "valid": valid, "test": test}
    return Corpus({split: only(split) for split in SPLITS if shares[split] > 0}, corpus.name, corpus.where)
