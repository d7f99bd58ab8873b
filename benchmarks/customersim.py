"""Simulated against real CustomerSim: lengths, secrets, vocabulary, and what the policy `customersim` finds in both.

    python -m benchmarks.customersim --real FOLDER

FOLDER holds the published dialogs (`train.jsonl`, `valid.jsonl`, `test.jsonl`) and the base their customers came from
(`database_20000.csv`). The published files mark no secrets, so they are marked here: every value of the base is looked
up in the text, tracking numbers are known by their shape and the number of a canary by its sentence. Targets: mean
lengths within 5 % of the real ones, share of secret tokens within 1.5 points.
"""

import argparse
import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.policy.customersim import CustomerSim
from discreet.policy.measure import measure
from discreet.text.corpora import named
from discreet.text.customersim import simulate
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer

REAL = Path(__file__).parents[1].parent / "shared" / "data" / "customersim"
COLUMNS = {"name": "PERSON", "phone_number": "PHONE", "order_number": "ORDER", "address": "ADDRESS"}
LOOSE = (("TRACKING", re.compile(r"\b([A-Z0-9]{10})\b")), ("ID", re.compile(r"^My ID is (\d+)\.$")))
LENGTHS = ("characters", "words", "tokens", "tokens_without_speakers", "turns", "secrets")
SHARES = ("secret_share", "secret_share_without_speakers")

Base = Mapping[str, Sequence[tuple[str, str]]]
"""First word of a value -> the values that begin with it and their kinds, the longest first."""


def read_base(folder: Path) -> Base:
    base = defaultdict(list)
    with (folder / "database_20000.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            for column, kind in COLUMNS.items():
                base[re.split(r"\W", row[column])[0]].append((row[column], kind))
    return {word: sorted(values, key=lambda value: -len(value[0])) for word, values in base.items()}


def marked(record: Record, base: Base) -> Record:
    """The record with every value of the base that stands in it, every tracking number and every canary as a secret."""
    text, secrets, after = record.text, list[Secret](), 0
    for word in re.finditer(r"\w+", text):
        if word.start() < after:
            continue
        for value, kind in base.get(word[0], ()):
            end = word.start() + len(value)
            if text.startswith(value, word.start()) and not text[end : end + 1].isalnum():
                secrets.append(Secret(word.start(), end, kind))
                after = end
                break
    for kind, shape in LOOSE:
        spans = (match.span(1) for match in shape.finditer(text))
        secrets += [
            Secret(*span, kind) for span in spans if not any(s.start < span[1] and span[0] < s.end for s in secrets)
        ]
    return replace(record, secrets=tuple(sorted(secrets)))


def real_records(folder: Path) -> list[Record]:
    """All published records, marked; the canaries are those without turns."""
    base = read_base(folder)
    return [marked(record, base) for record in named("customersim", folder).all()]


def without_speakers(record: Record) -> Record:
    """The dialog as the bare words of its turns, a line each."""
    text, secrets = "", list[Secret]()
    for turn in record.turns:
        shift = len(text) - turn.start
        text += record.text[turn.start : turn.end] + "\n"
        inside = (s for s in record.secrets or () if turn.start <= s.start < turn.end)
        secrets += [s._replace(start=s.start + shift, end=s.end + shift) for s in inside]
    return replace(record, text=text, secrets=tuple(secrets), turns=())


def describe(records: Sequence[Record]) -> dict[str, Any]:
    """Mean lengths, shares and vocabulary of dialogs that have their secrets marked."""
    encoder = Encoder(load_tokenizer("gpt2"))
    found = [(record, record.secrets or ()) for record in records]
    encoded = encoder.encode_all(found)
    bare_tokens, bare_secret = _as_the_paper_counts(encoder.tokenizer, [without_speakers(record) for record in records])
    kinds = Counter(secret.kind for _, secrets in found for secret in secrets)
    names = {record.text[s.start : s.end] for record, secrets in found for s in secrets if s.kind == "PERSON"}
    return {
        "dialogs": len(records),
        "characters": sum(len(record.text) for record in records) / len(records),
        "words": sum(len(record.text.split()) for record in records) / len(records),
        "tokens": (len(encoded.ids) - 2 * len(records)) / len(records),  # begin and end tokens are not text
        "tokens_without_speakers": bare_tokens / len(records),
        "turns": sum(len(record.turns) for record in records) / len(records),
        "secrets": kinds.total() / len(records),
        "secret_share": encoded.secret_share,
        "secret_share_without_speakers": bare_secret / bare_tokens,
        "kinds": {kind: count / kinds.total() for kind, count in sorted(kinds.items())},
        "names": len(names),
        "public_vocabulary": len(_public_words(records)),
    }


def _as_the_paper_counts(tokenizer: Any, records: Iterable[Record]) -> tuple[int, int]:
    """GPT-2's tokens of the uncut text, and those of them that hold any character of a secret."""
    tokens = secret = 0
    for record in records:
        covered = bytearray(len(record.text))
        for span in record.secrets or ():
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
        offsets = tokenizer(record.text, return_offsets_mapping=True)["offset_mapping"]
        tokens += len(offsets)
        secret += sum(any(covered[start:end]) for start, end in offsets)
    return tokens, secret


def _public_words(records: Iterable[Record]) -> set[str]:
    words: set[str] = set()
    for record in records:
        after = 0
        for secret in record.secrets or ():
            words.update(re.findall(r"\w+", record.text[after : secret.start].lower()))
            after = secret.end
        words.update(re.findall(r"\w+", record.text[after:].lower()))
    return words


def run(real: Path | None = None, n: int = 12_000, seed: int = 0) -> dict[str, Any]:
    """Both corpora described, the policy measured on both, and how far apart they are."""
    simulated = list(simulate(n, seed))
    result: dict[str, Any] = {"simulated": describe(simulated)}
    corpora = {"simulated": simulated}
    if real is not None:
        corpora["real"] = real_records(real)
        result["real"] = describe([record for record in corpora["real"] if record.turns])
        ours, theirs = result["simulated"], result["real"]
        result["length_ratio"] = {key: ours[key] / theirs[key] for key in LENGTHS}
        result["share_points"] = {key: 100 * (ours[key] - theirs[key]) for key in SHARES}
    result["policy"] = {name: measure(records, CustomerSim()).as_dict() for name, records in corpora.items()}
    return result


def show(result: Mapping[str, Any]) -> None:
    ours, theirs = result["simulated"], result.get("real", {})
    print("| mean of a dialog | simulated | real | difference |\n|---|---|---|---|")
    for key in LENGTHS:
        ratio = f"{100 * (result['length_ratio'][key] - 1):+.1f} %" if theirs else ""
        print(f"| {key.replace('_', ' ')} | {ours[key]:.2f} | {theirs.get(key, float('nan')):.2f} | {ratio} |")
    for key in SHARES:
        points = f"{result['share_points'][key]:+.2f} points" if theirs else ""
        print(f"| {key.replace('_', ' ')} | {ours[key]:.2%} | {theirs.get(key, float('nan')):.2%} | {points} |")
    for kind, share in ours["kinds"].items():
        print(f"| {kind} of all secrets | {share:.1%} | {theirs.get('kinds', {}).get(kind, float('nan')):.1%} | |")
    for key in ("dialogs", "names", "public_vocabulary"):
        print(f"| {key.replace('_', ' ')} (in all) | {ours[key]:,} | {theirs.get(key, float('nan')):,} | |")
    print("\n| policy customersim on | secrets | recall | 95 % interval | precision | recall, characters |")
    print("|---|---|---|---|---|---|")
    for name, score in result["policy"].items():
        low, high = score["recall_interval"]
        print(
            f"| {name} | {score['secrets_marked']:,} | {score['recall']:.4f} | {low:.4f} to {high:.4f} "
            f"| {score['precision']:.4f} | {score['characters']['recall']:.4f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, default=REAL if REAL.is_dir() else None)
    parser.add_argument("-n", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    result = run(given.real, given.n, given.seed)
    if given.json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
