"""SGD, the Schema-Guided Dialogue corpus: people-worded dialogs with a simulated assistant over 20 domains.

A record is one dialog, `USER:` and `SYSTEM:` before the turns; the id is its `dialogue_id` (unique within a split
only: train and dev both count from 1_00000) and `services` is kept as a field.

Gold secrets are the character spans the corpus gives for slot values, and the kind is the slot's name in upper case:
RESTAURANT_NAME, PHONE_NUMBER, STREET_ADDRESS, DATE, RECIPIENT_ACCOUNT_NAME, BALANCE, ... Many slots (GENRE, CUISINE,
RATING) are secret in nobody's eyes: choose the kinds that matter to you. Where two spans overlap (a place inside a
theatre's name) they are one secret with the kind of the first. Values the corpus does not mark, such as numbers of
people, are not secrets here.

Read are the official `train/dialogues_*.json` and one dialog a line in `train.jsonl` with
`turns: [{speaker, utterance, spans: [[slot, start, end, service], ...]}]`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from discreet.text.corpora.big_json import members
from discreet.text.corpora.contract import register
from discreet.text.corpora.dialogs import Said, written
from discreet.text.corpora.layout import corpus_of, find_parts, json_rows, laid_out
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret, check_secrets

NAMES = {
    split: (f"{part}/dialogues_*.json", f"{part}.jsonl")
    for split, part in (("train", "train"), ("valid", "dev"), ("test", "test"))
}


@register(
    "sgd",
    about="Schema-guided dialogs with spans of names, phones, addresses, dates as gold; a record is a dialog.",
    url="https://github.com/google-research-datasets/dstc8-schema-guided-dialogue",
    licence="CC BY-SA 4.0",
    files=("train/dialogues_*.json (dev, test)", "train.jsonl (dev, test)"),
)
def open_sgd(folder: Path) -> Corpus:
    return corpus_of("sgd", folder, find_parts(folder, NAMES), read_dialogs)


def read_dialogs(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    """The dialogs of one file in the schema-guided format (MultiWOZ 2.2 uses it too)."""
    for place, row in _rows(path):
        with laid_out(place, "schema-guided dialogs"):
            said = [Said(turn["speaker"], turn["utterance"], list(_secrets(turn))) for turn in row["turns"]]
            text, turns, secrets = written(said)
            name, fields = str(row["dialogue_id"]), {"services": row["services"]}
        checked = check_secrets(secrets, text, place)
        yield Record(id=name, text=text, secrets=checked, turns=turns, fields=fields, place=place)


def _rows(path: Path) -> Iterable[tuple[str, Any]]:
    if ".jsonl" in path.suffixes:
        return json_rows(path)
    return ((f"{path.name}, dialog {number}", row) for (number,), row in members(path))


def _secrets(turn: dict[str, Any]) -> Iterator[Secret]:
    """Spans come flat in the line format and by service in the official one."""
    for slot, start, end, *_ in turn.get("spans", ()):
        yield Secret(start, end, slot.upper())
    for frame in turn.get("frames", ()):
        for slot in frame["slots"]:
            if "start" in slot:  # a slot copied from another has no span of its own
                yield Secret(slot["start"], slot["exclusive_end"], slot["slot"].upper())
