"""CoNLL files: a word a line, its label last, a blank line after each sentence (BIO, IOB, BIOES; tabs or spaces).

    EU      NNP  B-ORG
    rejects VBZ  O

A record is one sentence, its words joined by spaces; the id counts sentences from 0. Gold secrets are the labelled
runs: `B-` (or `S-`, `U-`) begins one, `I-`, `E-` and `L-` of the same kind go on, and kinds are in capitals. A label
without a prefix is a run as long as it does not change. `-DOCSTART-` lines, lines that begin with `# ` and have no
second column, and sentences without words are left out.

Read are `train`, `dev` (or `valid`) and `test` with the endings `.conll`, `.bio`, `.iob`, `.iob2`, `.tsv` or `.txt`,
and CoNLL-2003's own `eng.train`, `eng.testa`, `eng.testb`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from discreet.errors import InputError
from discreet.text.corpora.contract import register
from discreet.text.corpora.layout import corpus_of, find_parts, lines
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret

ENDINGS = (".conll", ".bio", ".iob", ".iob2", ".tsv", ".txt")
PARTS = {"train": ("train",), "valid": ("dev", "valid", "validation"), "test": ("test",)}
ENGLISH = {"train": "eng.train", "valid": "eng.testa", "test": "eng.testb"}
BEGIN, INSIDE = frozenset("BSU"), frozenset("IEL")
OUTSIDE = "O"


@register(
    "conll",
    about="Your own or public files of labelled words, a word a line (BIO); a record is a sentence.",
    url="https://www.clips.uantwerpen.be/conll2003/ner/",
    licence="that of the files",
    files=("train.conll (dev, test; .bio .iob .iob2 .tsv .txt)", "eng.train (eng.testa, eng.testb)"),
)
def open_conll(folder: Path) -> Corpus:
    names = {
        split: (*(part + ending for part in parts for ending in ENDINGS), ENGLISH[split])
        for split, parts in PARTS.items()
    }
    return corpus_of("conll", folder, find_parts(folder, names), read_sentences)


def read_sentences(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    """The sentences of one file."""
    for number, (first, words) in enumerate(_sentences(path)):
        yield record_of(str(number), words, f"{path.name}, line {first}")


def record_of(name: str, words: Iterable[tuple[str, str]], place: str) -> Record:
    """Words and their labels as a record."""
    pieces: list[str] = []
    secrets: list[Secret] = []
    at, going = 0, ""
    for word, label in words:
        prefix, kind = _split(label)
        if kind and going == kind and prefix not in BEGIN:
            secrets[-1] = secrets[-1]._replace(end=at + len(word))
        elif kind:
            secrets.append(Secret(at, at + len(word), kind))
        going = kind
        pieces.append(word)
        at += len(word) + 1
    return Record(id=name, text=" ".join(pieces), secrets=tuple(secrets), place=place)


def _split(label: str) -> tuple[str, str]:
    """`B-PER` is (B, PER); a label without a prefix goes on as long as it stays the same."""
    if label == OUTSIDE:
        return "", ""
    prefix, dash, kind = label.partition("-")
    if dash and kind and prefix.upper() in BEGIN | INSIDE:
        return prefix.upper(), kind.upper()
    return "I", label.upper()


def _sentences(path: Path) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    words: list[tuple[str, str]] = []
    first = 1
    for number, line in lines(path):
        columns = line.split("\t") if "\t" in line else line.split()
        columns = [column.strip() for column in columns]
        if not any(columns) or columns[0] == "-DOCSTART-":
            if words:
                yield first, words
            words = []
        elif columns[0] == "#" and len(columns) != 2:
            continue  # a comment, as CoNLL-U has them
        elif len(columns) < 2 or not columns[0] or not columns[-1]:
            raise InputError(f"{path}, line {number}: a word and its label are expected, in columns; correct the line.")
        else:
            first = first if words else number
            words.append((columns[0], columns[-1]))
    if words:
        yield first, words
