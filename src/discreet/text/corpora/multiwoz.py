"""MultiWOZ: people asking for hotels, restaurants, trains and taxis in Cambridge, answered by people.

A record is one dialog, `USER:` and `SYSTEM:` before the turns; the id is the dialog's (`PMUL1635`).

Gold secrets are the slot values whose place the corpus gives. Up to version 2.1 it counts words between spaces
(`span_info`); a secret reaches from the first character of the first word to the last of the last, so punctuation
that sticks to a word is part of it. The kind is the slot in upper case:

- who, where and which booking: NAME ADDR POST PHONE REF ID CAR TICKET DEST DEPART
- when and how many: DAY TIME LEAVE ARRIVE OPEN PEOPLE STAY CHOICE
- what kind of thing: AREA TYPE PRICE FOOD STARS FEE

Left out are values that only say that it does not matter (`dontcare`) and the few whose place lies outside the turn.
The words at the place are what was said, not always the value: "one" for 1, "same area" for north.
Version 2.2 gives characters; there the kind is the slot with its domain (RESTAURANT-NAME).

Read are the official `data.json` with `valListFile` and `testListFile`, 2.2's `train/dialogues_*.json`, and one
dialog a line in `train.jsonl`, `val.jsonl`, `test.jsonl` with `turns: [{speaker, text, span_info}]`. A folder with
one of the line files only is divided into train, valid and test by a hash of the ids.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from discreet.text.corpora.big_json import members
from discreet.text.corpora.contract import register
from discreet.text.corpora.dialogs import Said, written
from discreet.text.corpora.layout import MissingPart, Reader, corpus_of, find_parts, json_rows, laid_out, lines
from discreet.text.corpora.sgd import read_dialogs
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret, check_secrets

WORD = re.compile(r"\S+")
NAMES = {
    split: ("data.json", f"{part}/dialogues_*.json", *(f"{name}.jsonl" for name in names))
    for split, part, names in (
        ("train", "train", ["train"]),
        ("valid", "dev", ["val", "dev"]),
        ("test", "test", ["test"]),
    )
}


@register(
    "multiwoz",
    about="Dialogs about travel in Cambridge with spans of names, phones, bookings as gold; a record is a dialog.",
    url="https://github.com/budzianowski/multiwoz",
    licence="MIT",
    files=("data.json + valListFile + testListFile", "train/dialogues_*.json (dev, test)", "train.jsonl (val, test)"),
)
def open_multiwoz(folder: Path) -> Corpus:
    homes = ("", "MultiWOZ_2.1", "data/MultiWOZ_2.1", "MultiWOZ_2.2", "data/MultiWOZ_2.2")
    parts = find_parts(folder, NAMES, homes)
    [first, *_] = next(iter(parts.values()))
    if first.name.startswith("data.json"):
        return corpus_of("multiwoz", folder, parts, _by_list(first.parent))
    read = read_dialogs if first.name.startswith("dialogues_") else _read_lines
    return corpus_of("multiwoz", folder, parts, read, divide_lone=True)


def _by_list(folder: Path) -> Reader:
    """A reader of `data.json`, where two lists of names say which dialogs are not for training."""
    held_out: dict[str, str] = {}
    for split, names in (("valid", "valListFile"), ("test", "testListFile")):
        found = sorted(folder.glob(f"{names}.*"))
        if not found:
            raise MissingPart(f"{folder}: {names}.txt is not here.")
        held_out |= {_bare(line): split for _, line in lines(found[0])}

    def read(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
        for (name,), row in members(path):
            if held_out.get(_bare(name), "train") != split:
                continue
            place = f"{path.name}, dialog {name}"
            with laid_out(place, "MultiWOZ's data.json"):
                speakers = ("USER", "SYSTEM")
                turns = [turn | {"speaker": speakers[number % 2]} for number, turn in enumerate(row["log"])]
            yield _record(_bare(name), turns, place)

    return read


def _bare(name: str | int) -> str:
    return str(name).strip().removesuffix(".json")


def _read_lines(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    for place, row in json_rows(path):
        with laid_out(place, "MultiWOZ dialogs"):
            name, turns = str(row["id"]), row["turns"]
        yield _record(name, turns, place)


def _record(name: str, turns: Iterable[dict[str, Any]], place: str) -> Record:
    with laid_out(place, "MultiWOZ dialogs"):
        said = [Said(turn["speaker"], turn["text"], _secrets(turn)) for turn in turns]
        text, spoken, secrets = written(said)
    return Record(id=name, text=text, turns=spoken, secrets=check_secrets(secrets, text, place), place=place)


def _secrets(turn: dict[str, Any]) -> list[Secret]:
    words = [match.span() for match in WORD.finditer(turn["text"])]
    return [
        Secret(words[first][0], words[last][1], slot.upper())
        for _, slot, value, first, last in turn.get("span_info", ())
        if value != "dontcare" and 0 <= first <= last < len(words)
    ]
