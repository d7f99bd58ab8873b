"""A screening: a sample, the policy's answers, and the work file that a person's answers go to.

    screening = open_screening("mail.jsonl", "pii", sample=200, seed=0)
    while held := screening.store.next("me"):
        ...                                             # look at screening.record(held.number), mark what was missed
        screening.store.finish("me", held.number, held.serial)

Opening it again goes on where it stopped. Another file, policy or sample than it began with is refused: marks of one
text would land in another.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InputError, RefusedError
from discreet.files import COMPRESSIONS
from discreet.policy.contract import Policy
from discreet.policy.specs import Spec
from discreet.policy.specs import policy as make_policy
from discreet.screen.marking import Marks, marks_of
from discreet.screen.sample import Sample, draw
from discreet.screen.store import FORM, Store
from discreet.text.reading import RecordFile, open_records
from discreet.text.records import Record

SAMPLE = 200
OTHER = "OTHER"
"""The kind for what no kind of the policy fits."""


@dataclass(frozen=True)
class Screening:
    """What is screened, and how far it is."""

    sample: Sample
    policy: Policy
    store: Store
    path: Path
    kinds: tuple[str, ...]
    """What a mark can be called: the policy's kinds in this sample, the most frequent first, and OTHER."""
    resumed: bool

    def record(self, number: int) -> Record:
        """A record of the sample, by its number in the order of drawing."""
        return self.sample.records[number]

    def close(self) -> None:
        self.store.close()


def open_screening(
    file: str | Path | RecordFile,
    policy: Spec,
    *,
    sample: int | None = None,
    seed: int | None = None,
    split: str | None = None,
    work: str | Path | None = None,
    kinds: Sequence[str] = (),
    walk: Iterable[Record] | None = None,
) -> Screening:
    """Begins a screening, or goes on with the one in the work file.

    `sample`, `seed` and `split` are those of the work file where it has begun, else 200, 0 and `train`; `split="all"`
    draws from all records. `kinds` adds names for marks. `walk` is the file's records if they are watched on their way.
    """
    opened = file if isinstance(file, RecordFile) else open_records(file)
    path, chosen = opened.path, make_policy(policy)
    store = Store(Path(work) if work is not None else work_file(path))
    facts = None
    try:
        facts = store.facts()
        begun = facts or {}
        if facts is not None and begun.get("form") != FORM:
            raise RefusedError(f"{store.path}: made by another version of discreet; name a new file with --work.")
        asked = {"sample": sample, "seed": seed, "split": split}
        _check_asked(begun, asked, store.path)
        given = {name: value for name, value in asked.items() if value is not None}
        settled: dict[str, Any] = {"sample": SAMPLE, "seed": 0, "split": "train"} | begun | given
        drawn = draw(opened if walk is None else walk, settled["sample"], settled["seed"], settled["split"])
        answers = list(_answers(drawn, chosen))
        found = _facts(drawn, chosen)
        if facts is None:
            store.begin(found, drawn.positions, answers)
        else:
            _check_same(begun, found, store.path)
            if store.policy_marks() != answers:
                raise RefusedError(
                    f"{store.path}: the policy has the same settings as when this screening began but answers "
                    f"otherwise now; {_FRESH}"
                )
        counts = Counter(mark.kind for marks in answers for mark in marks)
        names = sorted(counts, key=lambda kind: (-counts[kind], kind))
        every = dict.fromkeys([*names, *kinds, *sorted(store.kinds())])
        every.pop(OTHER, None)
        return Screening(drawn, chosen, store, path, (*every, OTHER), resumed=facts is not None)
    except BaseException as error:
        store.close()
        if facts is None and store.path.exists() and not store.path.stat().st_size:
            store.path.unlink()
        if isinstance(error, sqlite3.Error):
            raise InputError(f"{store.path}: cannot be used ({error}); name another file with --work.") from None
        raise


def work_file(path: Path) -> Path:
    """The usual work file of an input, next to it."""
    place = path.resolve() if not path.name else path
    return place.with_name(place.name + ".screen.sqlite")


def beside(path: Path, ending: str) -> Path:
    """The name of a result next to the input: `mail.jsonl.gz` -> `mail` + ending."""
    path = path.resolve() if not path.name else path
    name = path.name.removesuffix(path.suffix) if path.suffix in COMPRESSIONS else path.name
    return path.parent / (Path(name).stem + ending)


_FRESH = "begin a new screening with another --work file."


def _answers(drawn: Sample, policy: Policy) -> Iterable[Marks]:
    for record, secrets in policy.secrets_of_all(drawn.records):
        pair = () if record.pair is None else policy.secrets(record.of_pair())
        yield marks_of(secrets) + marks_of(pair, part=1)


def _facts(drawn: Sample, policy: Policy) -> dict[str, str | int]:
    return {
        "form": FORM,
        "file": drawn.fingerprint,
        "policy": policy.fingerprint(),
        "sample": drawn.size,
        "seed": drawn.seed,
        "split": drawn.split,
        "population": drawn.population,
    }


def _check_asked(begun: dict[str, str | int], asked: dict[str, str | int | None], place: Path) -> None:
    """Refuses another sample before the file is read."""
    for name, value in asked.items():
        if begun and value is not None and value != begun[name]:
            raise RefusedError(
                f"{place}: this screening began with --{name} {begun[name]}, not {value}; leave the option out, "
                "or begin a new screening with another --work file."
            )


def _check_same(begun: dict[str, str | int], found: dict[str, str | int], place: Path) -> None:
    if begun["policy"] != found["policy"]:
        raise RefusedError(f"{place}: this screening began with another policy than the one given; {_FRESH}")
    if (begun["file"], begun["population"]) != (found["file"], found["population"]):
        raise RefusedError(f"{place}: the records have changed since this screening began; {_FRESH}")
