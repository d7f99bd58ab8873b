"""ABCD, the Action-Based Conversations Dataset: people playing shop agents and customers.

A record is one dialog. Its text is that of the language-modelling files: `SYS:` (agent), `USR:` (customer) or `ACT:`
(what the shop's system did, often with the customer's name in it) before each turn, an empty line after it. Nothing
is marked as secret; `secrets` is None.

Read are `train.txt`, `valid.txt`, `test.txt` with `<|endoftext|>` after each dialog (ids are the split and the
dialog's number), and the official `abcd_v1.1.json` with all three splits (ids are its `convo_id`; `flow` and
`subflow` become fields, the customer's data sheet does not). A folder with one of the text files only is divided
into train, valid and test by a hash of the ids.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.text.corpora.big_json import members
from discreet.text.corpora.contract import register
from discreet.text.corpora.dialogs import Said, written
from discreet.text.corpora.layout import corpus_of, find_parts, laid_out, lines
from discreet.text.corpus import Corpus
from discreet.text.records import Record

END = "<|endoftext|>"
SPEAKERS = {"agent": "SYS", "customer": "USR", "action": "ACT"}
OFFICIAL = {"train": "train", "valid": "dev", "test": "test"}
NAMES = {split: ("abcd_v1*.json", f"{split}.txt") for split in OFFICIAL}


@register(
    "abcd",
    about="10,000 customer-service dialogs typed by people, with names, mails, orders; a record is a dialog.",
    url="https://github.com/asappresearch/abcd",
    licence="MIT",
    files=("abcd_v1.1.json", "train.txt (valid, test) with <|endoftext|> after each dialog"),
)
def open_abcd(folder: Path) -> Corpus:
    return corpus_of("abcd", folder, find_parts(folder, NAMES, ("", "data")), _read, divide_lone=True)


def _read(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    return _read_text(split, path) if ".txt" in path.suffixes else _read_json(split, path)


def _read_json(split: str, path: Path) -> Iterator[Record]:
    for (part, number), row in members(path, depth=2):
        if part != OFFICIAL[split]:
            continue
        place = f"{path.name}, {part} dialog {number}"
        with laid_out(place, "ABCD"):
            said = [Said(SPEAKERS[speaker], words) for speaker, words in row["original"]]
            fields = {key: row["scenario"][key] for key in ("flow", "subflow")}
            record = _record(str(row["convo_id"]), said, fields, place)
        yield record


def _read_text(split: str, path: Path) -> Iterator[Record]:
    said: list[Said] = []
    count, begun = 0, 1
    for number, line in lines(path):
        *ended, rest = line.split(END)
        for piece in ended:
            _hear(said, piece, f"{path.name}, line {number}")
            if said:
                count += 1
                yield _record(f"{split}:{count}", said, {}, f"{path.name}, line {begun}")
            said, begun = [], number
        _hear(said, rest, f"{path.name}, line {number}")
    if said:
        yield _record(f"{split}:{count + 1}", said, {}, f"{path.name}, line {begun}")


def _hear(said: list[Said], line: str, place: str) -> None:
    """Adds one line to the dialog: a new turn, or more of the one before."""
    speaker, colon, words = line.partition(":")
    if colon and speaker in SPEAKERS.values():
        said.append(Said(speaker, words))
    elif line.strip():
        if not said:
            raise InputError(f"{place}: an ABCD dialog begins with SYS:, USR: or ACT:; this line does not.")
        said[-1] = said[-1]._replace(text=f"{said[-1].text}\n{line}")


def _record(name: str, said: list[Said], fields: dict[str, Any], place: str) -> Record:
    text, turns, _ = written(said, colon=":", end="\n\n")
    return Record(id=name, text=text, turns=turns, fields=fields, place=place)
