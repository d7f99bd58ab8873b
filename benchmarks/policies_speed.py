"""How fast policies read, beside a plain loop over the library below them.

    OMP_NUM_THREADS=1 python -m benchmarks.policies_speed [--data DIR] [--megabytes 2] [--texts 400] [--only pii]

One core, in processor time of this process. `pii` reads articles, sentences, chats and dialogs it has not seen: the
first half of each kind warms it up, the other half is timed in parts, and the median part counts (the fastest stands
beside it). What it takes to begin, reading the word lists, is a row of its own, and so is what it takes to load the
compiled finders that it reads on with after the first half megabyte (more where nothing was compiled yet). Policies
on spaCy read the turns of multidogo's customers (duplicates and all) and paragraphs of articles, the best of the
repeats, and beside each stands what one would write first: load the model, call it on every text, keep what is needed.
The same model, machine and run; labels are checked to be the same. Targets: `pii` 5 MB/s, spaCy policies 1.5 times the
plain loop.

Processor time is no shelter from neighbours: programs that share the processor's caches can double it.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from discreet.policy.contract import Policy
from discreet.policy.finders.fast.loading import loaded
from discreet.policy.grammar import LOW
from discreet.policy.language import documents, installed_model, load
from discreet.policy.specs import policy
from discreet.text.corpora import named
from discreet.text.reading import open_records
from discreet.text.records import Record

PARTS = 8
WITHOUT_MODEL = ("pii", "customersim")
DATA = Path(__file__).parents[1].parent / "shared" / "data"


def upto(records: Iterable[Record], size: float) -> list[Record]:
    """The first records of so many bytes together."""
    kept: list[Record] = []
    for record in records:
        if size <= 0:
            break
        kept.append(record)
        size -= len(record.text.encode())
    return kept


def texts(data: Path, size: float) -> Iterator[tuple[str, list[Record]]]:
    yield "articles (enwiki)", upto(open_records(data / "enwiki" / "articles.jsonl.xz"), size)
    yield "sentences (presidio-synth)", upto(named("presidio-synth", data / "presidio-synth").all(), size)
    yield "chats (multidogo)", upto(named("multidogo", data / "multidogo").all(), size)
    yield "dialogs (customersim)", upto(named("customersim", data / "customersim").all(), size)


def sentences(data: Path, most: int) -> Iterator[tuple[str, list[Record]]]:
    """Short texts, as spaCy policies mostly get them."""
    dialogs = named("multidogo", data / "multidogo").records("valid")
    turns = (dialog.text[turn.start : turn.end] for dialog in dialogs for turn in dialog.turns)
    articles = open_records(data / "enwiki" / "articles.jsonl.xz")
    lines = chain.from_iterable(record.text.split("\n") for record in articles)
    for name, source in (("turns (multidogo)", turns), ("paragraphs (enwiki)", (line for line in lines if line))):
        yield name, [Record(id=str(number), text=text) for number, text in zip(range(most), source, strict=False)]


def best_of(repeat: int, work: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def of_fresh_text(made: Policy, records: Sequence[Record]) -> tuple[float, float]:
    """Bytes a second in the second half of the records, after the first: of the median part, and of the fastest."""
    half, rest = records[: len(records) // 2], records[len(records) // 2 :]
    walk(made, half)
    each = max(1, len(rest) // PARTS)
    speeds = []
    for at in range(0, len(rest) - each + 1, each):
        part = rest[at : at + each]
        begin = time.process_time()
        walk(made, part)
        seconds = time.process_time() - begin
        speeds.append(sum(len(record.text.encode()) for record in part) / seconds)
    return statistics.median(speeds), max(speeds)


def plain_entities(nlp: Any, records: Sequence[Record]) -> list[list[tuple[int, int, str]]]:
    """The loop one would write by hand."""
    found = []
    for record in records:
        doc = nlp(record.text)
        found.append([(e.start_char, e.end_char, e.label_) for e in doc.ents if e.label_ in LOW])
    return found


def plain_words(nlp: Any, records: Sequence[Record]) -> list[list[tuple[int, int, str]]]:
    found = []
    for record in records:
        doc = nlp(record.text)
        words = [t for t in doc if t.pos_ in ("PROPN", "PRON") or "subj" in t.dep_ or "obj" in t.dep_]
        found.append([(t.idx, t.idx + len(t), t.pos_) for t in words] + [(e.start, e.end, e.label_) for e in doc.ents])
    return found


def labels(doc: Any) -> tuple[list[Any], list[Any]]:
    """All that the policies read of a document."""
    return [(t.idx, t.pos_, t.dep_) for t in doc], [(e.start_char, e.end_char, e.label_) for e in doc.ents]


def walk(made: Policy, records: Sequence[Record]) -> list[Any]:
    return [secrets for _, secrets in made.secrets_of_all(records)]


def row(name: str, what: str, records: Sequence[Record], seconds: float, against: float | None = None) -> None:
    megabytes = sum(len(record.text.encode()) for record in records) / 1e6
    ratio = "" if against is None else f"{against / seconds:.2f}"
    print(f"| {name} | {what} | {len(records) / seconds:,.0f} | {megabytes / seconds:.3f} | {ratio} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--megabytes", type=float, default=2)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--only", choices=WITHOUT_MODEL, help="only this policy, and none on spaCy")
    options = parser.parse_args()
    print("| policy | text | bytes each | MB/s | fastest part |\n|---|---|---:|---:|---:|")
    for spec in (options.only,) if options.only else WITHOUT_MODEL:
        begin = time.process_time()
        made = policy(spec)
        walk(made, [Record(id="1", text="Warm up, please: Zebulon 22 and thnks")])
        print(f"| {spec} | to begin: {time.process_time() - begin:.2f} s | | | |", flush=True)
        if spec == "pii":
            begin = time.process_time()
            loaded()
            print(f"| {spec} | to load what is compiled: {time.process_time() - begin:.2f} s | | | |", flush=True)
        for name, records in texts(options.data, options.megabytes * 1e6):
            median, fastest = of_fresh_text(made, records)
            size = sum(len(record.text.encode()) for record in records) / len(records)
            print(f"| {spec} | {name} | {size:,.0f} | {median / 1e6:.2f} | {fastest / 1e6:.2f} |", flush=True)
    if options.only:
        return
    model = installed_model()
    if model is None:
        print("left out: no spaCy model is installed")
        return
    import spacy

    print("\n| policy | text | records/s | MB/s | times the plain loop |\n|---|---|---:|---:|---:|")
    whole = spacy.load(model.partition(" ")[0])
    short = dict(sentences(options.data, options.texts))
    for spec, plain in (("entity-low", plain_entities), ("contextual-low", plain_words)):
        made = policy(spec)
        walk(made, [Record(id="1", text="Loads the model.")])
        for name, records in short.items():
            loop = best_of(options.repeat, lambda plain=plain, records=records: plain(whole, records))  # type: ignore[misc]
            seconds = best_of(options.repeat, lambda made=made, records=records: walk(made, records))  # type: ignore[misc]
            row(f"{spec}, plain loop", name, records, loop)
            row(spec, name, records, seconds, loop)
    for name, records in short.items():
        texts_ = [record.text for record in records]
        ours = map(labels, documents(load(model, ("ner", "parse")), texts_))
        other = sum(one != labels(whole(text)) for one, text in zip(ours, texts_, strict=True))
        print(f"\n{name}: {other} of {len(texts_)} texts have a label that the plain loop has not")


if __name__ == "__main__":
    main()
