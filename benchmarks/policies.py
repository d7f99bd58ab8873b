"""How much personal data `pii` finds, beside Presidio as it comes, on three labelled corpora it was not tuned on.

    python -m benchmarks.policies [--data ../shared/data] [--policies pii presidio] [--json FILE]

Rules were written and tuned on one part of each corpus and are measured here on the other:

- presidio-synth: sentences made from templates; those of half the templates (by a hash of the template's number) were
  looked at, these are of the others. Counted twice: `personal`, the kinds that are personal data, and `all` kinds.
- multidogo: the official test split; the train split was looked at. Only marks of PERSONAL kinds count, and what a
  policy finds in food, cars or cities is wrong.
- customersim: the published test dialogs against the customer base (see benchmarks/customersim.py); the valid split was
  looked at.

Characters: a policy that covers half a name has half of its characters. Intervals draw whole records. Presidio runs
with all its default recognizers and threshold, on the spaCy model that is installed (its own default is a larger one).
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.customersim import marked, read_base
from discreet.policy.intervals import Interval
from discreet.policy.measure import Measure, measure, only_kinds
from discreet.policy.specs import policy
from discreet.text.corpora import named
from discreet.text.records import Record

DATA = Path(__file__).parents[1].parent / "shared" / "data"
PERSONAL = {
    "presidio-synth": {
        "AGE",
        "CREDIT_CARD",
        "DOMAIN_NAME",
        "EMAIL_ADDRESS",
        "GPE",
        "IBAN_CODE",
        "IP_ADDRESS",
        "NRP",
        "PERSON",
        "PHONE_NUMBER",
        "STREET_ADDRESS",
        "US_DRIVER_LICENSE",
        "US_SSN",
        "ZIP_CODE",
    },
    "multidogo": {
        "ADDRESS",
        "BOOKING_CONFIRMATION_NUMBER",
        "CLAIMID",
        "EMAIL_ADDRESS",
        "NAME",
        "PHONENUMBER",
        "PHONE_NUMBER",
        "POLICYID",
        "SSN",
    },
}
REACH = {
    "presidio-synth, personal": (0.93, 0.80),
    "multidogo": (0.88, 0.70),
    "customersim": (0.99, 0.97),
}
POLICIES: dict[str, Any] = {
    "pii": "pii",
    "pii with spaCy": {"pii": {"spacy": "auto"}},
    "conservative pii": {"conservative": "pii"},
    "presidio": "presidio",
}


def tuned_on(template: object) -> bool:
    """Whether the rules were written with sentences of this template in view."""
    return hashlib.sha256(str(template).encode()).digest()[0] < 128


def synth(data: Path) -> list[Record]:
    records = named("presidio-synth", data / "presidio-synth").all()
    return [record for record in records if not tuned_on(record.fields["template_id"])]


def multidogo(data: Path) -> list[Record]:
    return list(only_kinds(named("multidogo", data / "multidogo").records("test"), PERSONAL["multidogo"]))


def customersim(data: Path) -> list[Record]:
    base = read_base(data / "customersim")
    return [marked(record, base) for record in named("customersim", data / "customersim").records("test")]


def corpora(data: Path) -> Iterable[tuple[str, Sequence[Record]]]:
    made: dict[str, Callable[[], list[Record]]] = {
        "presidio-synth, personal": lambda: list(only_kinds(synth(data), PERSONAL["presidio-synth"])),
        "presidio-synth, all": lambda: synth(data),
        "multidogo": lambda: multidogo(data),
        "customersim": lambda: customersim(data),
    }
    for name, make in made.items():
        if (data / name.partition(",")[0]).is_dir():
            yield name, make()


def run(data: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    result: dict[str, dict[str, Any]] = {}
    for corpus, records in corpora(data):
        result[corpus] = {}
        for name in names:
            chosen = policy(POLICIES[name])
            begin = time.process_time()
            scored = measure(records, chosen)
            seconds = time.process_time() - begin
            result[corpus][name] = scored.as_dict() | {"seconds": seconds, "spec": chosen.spec()}
            print(_row(corpus, name, scored), flush=True)
    return result


def _row(corpus: str, name: str, scored: Measure) -> str:
    recall, precision = (
        _shown(scored.characters[key], scored.character_intervals[key]) for key in ("recall", "precision")
    )
    entities = f"{scored.recall or 0:.3f} | {scored.precision or 0:.3f}"
    reach = " / ".join(f"{value:.2f}" for value in REACH.get(corpus, ()))
    return f"| {corpus} | {name} | {recall} | {precision} | {entities} | {reach} |"


def _shown(share: float | None, interval: Interval | None) -> str:
    if share is None:
        return "none"
    return f"{share:.3f}" if interval is None else f"{share:.3f} ({interval[0]:.3f}–{interval[1]:.3f})"


def by_kind(result: dict[str, dict[str, Any]], name: str) -> None:
    """What a policy misses, kind by kind."""
    print(
        f"\n| corpus | kind | marks | missed in whole or part by {name} | characters found |\n|---|---|---:|---:|---:|"
    )
    for corpus, scores in result.items():
        for kind, one in scores[name]["by_kind"].items():
            missed = round(one["support"] * (1 - one["recall"]))
            characters = _shown(one["characters"], one["characters_interval"])
            print(f"| {corpus} | {kind} | {one['support']:,} | {missed:,} | {characters} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--policies", nargs="+", choices=list(POLICIES), default=list(POLICIES))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print("| corpus | policy | recall of characters | precision of characters | recall | precision | reach |")
    print("|---|---|---:|---:|---:|---:|---|")
    result = run(options.data, options.policies)
    by_kind(result, options.policies[0])
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
