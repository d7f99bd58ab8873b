"""MultiDoGO: customer service over chat in several domains, with a slot label for every word of the customer.

A record is one conversation: all the customer's turns that are annotated, in the order of their turn numbers (the
agents' turns are not in these files), `USER:` before each. The id is the conversation's; `domain` and the `intents`
of the turns are fields.

Gold secrets are runs of words with the same slot label, from the first word's first character to the last word's
last; the kind is the label in upper case: NAME, SSN, EMAIL_ADDRESS, PHONE_NUMBER (in fast food PHONENUMBER), ADDRESS,
BOOKING_CONFIRMATION_NUMBER, POLICYID, ... Two values of one slot without another word between them are one secret.

Rows are left out, and counted in the split's `skipped`, for these reasons: `fields`, not six of them (an utterance
with a line break or tab in it, in quotes); `words`, as many labels as words are needed; `empty`, nothing said.

Read is the turn-level annotation, `DOMAIN/train.tsv`, `DOMAIN/dev.tsv`, `DOMAIN/test.tsv`, whichever domains there are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from discreet.text.corpora.contract import register
from discreet.text.corpora.dialogs import Said, written
from discreet.text.corpora.layout import corpus_of, find_parts, laid_out, lines
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret, check_secrets

WORD = re.compile(r"\S+")
PARTS = {"train": "train", "valid": "dev", "test": "test"}
HEADER = "conversationId"


class Row(NamedTuple):
    conversation: str
    number: int
    utterance: str
    labels: list[str]
    intent: str
    place: str


@register(
    "multidogo",
    about="Customers chatting with airlines, insurers, restaurants; each word labelled; a record is a conversation.",
    url="https://github.com/awslabs/multi-domain-goal-oriented-dialogues-dataset",
    licence="CDLA-Permissive-1.0",
    files=("airline/train.tsv (dev, test; fastfood, finance, insurance, media, software)",),
)
def open_multidogo(folder: Path) -> Corpus:
    names = {split: (f"[a-z]*/{part}.tsv",) for split, part in PARTS.items()}
    found = find_parts(folder, names, ("", "data/paper_splits/splits_annotated_at_turn_level"))
    return corpus_of("multidogo", folder, found, _read)


def _read(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    for conversation, rows in groupby(_rows(path, skipped), itemgetter(0)):
        yield _record(conversation, sorted(rows, key=itemgetter(1)), path.parent.name)


def _rows(path: Path, skipped: Counter[str]) -> Iterator[Row]:
    for number, line in lines(path):
        values = line.split("\t")
        if values[0] == HEADER:
            continue
        if len(values) != 6:
            skipped["fields"] += 1
            continue
        conversation, turn, _, utterance, labels, intent = values
        place = f"{path.parent.name}/{path.name}, line {number}"
        with laid_out(place, "MultiDoGO"):
            row = Row(conversation, int(turn), utterance, labels.split(), intent, place)
        if not utterance.strip():
            skipped["empty"] += 1
        elif len(utterance.split()) != len(row.labels):
            skipped["words"] += 1
        else:
            yield row


def _record(conversation: str, rows: list[Row], domain: str) -> Record:
    said = [Said("USER", row.utterance, list(_runs(row.utterance, row.labels))) for row in rows]
    text, turns, secrets = written(said)
    place = rows[0].place
    fields = {"domain": domain, "intents": [row.intent for row in rows]}
    checked = check_secrets(secrets, text, place)
    return Record(id=conversation, text=text, turns=turns, secrets=checked, fields=fields, place=place)


def _runs(utterance: str, labels: Iterable[str]) -> Iterator[Secret]:
    words = (match.span() for match in WORD.finditer(utterance))
    for label, run in groupby(zip(words, labels, strict=True), itemgetter(1)):
        spans = [span for span, _ in run]
        if label != "O":
            yield Secret(spans[0][0], spans[-1][1], label.upper())
