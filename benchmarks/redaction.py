"""How fast a file is read, searched by a policy, redacted and written, beside `json.loads` with `re.sub`.

    python -m benchmarks.redaction [--data enwiki/articles.jsonl.xz] [--repeat 3]

One core. The file is unpacked first, which is not timed. Each row is the best of the repeats, in processor time of this
process (other processes on the machine then matter less) and in megabytes of the unpacked file a second. The peer does
less: it keeps no spans, kinds or counts, checks no ids, and does not look for masks that the text already holds.
Target: reading, policy and redaction together at 20 MB/s or more.
"""

import argparse
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from discreet.files import open_binary
from discreet.policy.specs import policy
from discreet.sanitize.redact import Redaction, redact_all
from discreet.text.reading import open_records
from discreet.text.writing import write

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "enwiki" / "articles.jsonl.xz"
PATTERNS = {
    "years": r"(?:19|20)\d\d",
    "case numbers": r"\bCASE-\d{6}\b",
    "phone numbers": r"\b\d{3}-\d{4}\b",
    "two capitalised words": r"[A-Z][a-z]+ [A-Z][a-z]+",
}
ESCAPE = Redaction(on_literal="escape")
Measured = tuple[str, Callable[[], int]]


def peer(path: Path, pattern: str) -> int:
    """The loop one would write by hand."""
    mask = re.compile(pattern)
    count = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            row["text"] = mask.sub("<MASK>", row["text"])
            count += 1
    return count


def redacted(path: Path, spec: str) -> int:
    return sum(1 for _ in redact_all(open_records(path), policy(spec), ESCAPE))


def written(path: Path, spec: str) -> int:
    records = open_records(path)
    return write(path.with_name("redacted.jsonl"), redact_all(records, policy(spec), ESCAPE), like=records)


def rows(path: Path, words: Path) -> Iterator[Measured]:
    yield "read", lambda: sum(1 for _ in open_records(path))
    yield "read, digits, redact", lambda: redacted(path, "digits")
    yield "read, digits, redact, write", lambda: written(path, "digits")
    yield r"json.loads, re.sub of \d+", lambda: peer(path, r"\d+")
    for name, pattern in PATTERNS.items():
        yield f"read, regex for {name}, redact", lambda pattern=pattern: redacted(path, f"regex:{pattern}")  # type: ignore[misc]
        yield "json.loads, re.sub of the same", lambda pattern=pattern: peer(path, pattern)  # type: ignore[misc]
    yield "read, list of 100,000 words, redact", lambda: redacted(path, f"words:{words}")


def word_list(path: Path, size: int) -> None:
    """A list of words that are in no text but begin like those that are: the search has to look at every word."""
    path.write_text("".join(f"the w{number}\n" for number in range(size)), encoding="utf-8")


def best_of(repeat: int, work: Callable[[], int]) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, words = Path(folder) / "articles.jsonl", Path(folder) / "words.txt"
        with open_binary(options.data) as packed, path.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        word_list(words, 100_000)
        megabytes = path.stat().st_size / 1e6
        print(f"{megabytes:.1f} MB\n\n| what | seconds | MB/s |\n|---|---:|---:|")
        for name, work in rows(path, words):
            seconds = best_of(options.repeat, work)
            print(f"| {name} | {seconds:.2f} | {megabytes / seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
