"""CustomerSim: simulated customers and a support bot, from the selective-DP paper (Shi et al. 2022).

A record is one dialog, `SYS:` and `USR:` before the turns, a line each; the id is the dialog's (`dial-0`; every split
counts from 0). The train part may also hold canaries, `My ID is 341752.` with ids `canary-*`, which a study of
memorization needs and a plain training run does not: they are marked by the field `canary`, and
`without_canaries(corpus)` leaves them out. The files mark no secrets; the policy `customersim` finds them in the text.

Read are one dialog a line in `train.jsonl`, `valid.jsonl`, `test.jsonl` (`id, turns: [{speaker, text}], text`), and the
authors' own folders `train/dial-*.txt`, `valid/`, `test/` with one dialog a file.

Dialogs of our own making, in any number and with their true secrets: `discreet simulate customersim`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from discreet.text.corpora.contract import register
from discreet.text.corpora.dialogs import Said, written
from discreet.text.corpora.layout import corpus_of, find_parts, lines
from discreet.text.corpus import Corpus, Stream
from discreet.text.reading import open_records
from discreet.text.records import Record

SPEAKERS = ("SYS", "USR")
NAMES = {split: (f"{split}.jsonl", f"{split}/*.txt") for split in ("train", "valid", "test")}


@register(
    "customersim",
    about="12,000 simulated customer-service dialogs with names, phones, orders, addresses; a record is a dialog.",
    url="https://github.com/wyshi/lm_privacy",
    licence="MIT (dialogs), Apache-2.0 (simulator)",
    files=("train.jsonl (valid, test)", "train/dial-*.txt (valid, test)"),
)
def open_customersim(folder: Path) -> Corpus:
    parts = find_parts(folder, NAMES, ("", "data/simdial", "simdial"))
    return corpus_of("customersim", folder, parts, _read)


def without_canaries(corpus: Corpus) -> Corpus:
    """The corpus with the dialogs only."""

    def dialogs(split: str) -> Stream:
        return Stream(lambda: (record for record in corpus.records(split) if not record.fields.get("canary")))

    return Corpus({split: dialogs(split) for split in corpus.splits}, corpus.name, corpus.where)


def _read(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    records = open_records(path) if ".jsonl" in path.suffixes else [_of_file(path)]
    for record in records:
        yield replace(record, fields={**record.fields, "canary": record.id.startswith("canary")})


def _of_file(path: Path) -> Record:
    said: list[Said] = []
    text = ""
    for _, line in lines(path):
        speaker, colon, words = line.partition(": ")
        if colon and speaker in SPEAKERS:
            said.append(Said(speaker, words))
        elif said and line:
            said[-1] = said[-1]._replace(text=f"{said[-1].text}\n{line}")
        else:
            text += line
    place = f"{path.parent.name}/{path.name}"
    whole, turns, _ = written(said)
    return Record(id=path.stem, text=whole or text, turns=turns, place=place)  # a canary has a text and no turns
