"""Presidio's synthetic sentences: templates filled with invented people, cards, addresses, every span exact.

A record is one sentence or short text; the id is its number in the file, from 0, and the template's number a field,
so that a study can keep templates apart. Gold secrets are the given spans with their types as kinds: PERSON,
STREET_ADDRESS, GPE, ORGANIZATION, CREDIT_CARD, PHONE_NUMBER, ... There are no official splits: the records are divided
into train, valid and test by a hash of the ids. Sentences of one template fall into different splits.

Read is `synth_dataset_v2.json` (`generated_*.json` of newer generators has the same form).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from discreet.text.corpora.big_json import members
from discreet.text.corpora.contract import register
from discreet.text.corpora.dialogs import united
from discreet.text.corpora.layout import corpus_of, find_parts, laid_out
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret, check_secrets


@register(
    "presidio-synth",
    about="1,500 sentences with exact spans of invented personal data as gold; a record is a sentence.",
    url="https://github.com/microsoft/presidio-research",
    licence="MIT",
    files=("synth_dataset_v2.json", "generated_*.json"),
)
def open_presidio_synth(folder: Path) -> Corpus:
    parts = find_parts(folder, {"train": ("synth_dataset_v2.json", "generated_*.json")}, ("", "data"))
    return corpus_of("presidio-synth", folder, parts, _read, divide_lone=True)


def _read(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    for (number,), row in members(path):
        place = f"{path.name}, sentence {number}"
        with laid_out(place, "Presidio's sentences"):
            text, fields = row["full_text"], {"template_id": row["template_id"]}
            spans = ((span["start_position"], span["end_position"], span["entity_type"]) for span in row["spans"])
            secrets = united(Secret(start, end, kind.upper()) for start, end, kind in spans)
        checked = check_secrets(secrets, text, place)
        yield Record(id=str(number), text=text, secrets=checked, fields=fields, place=place)
