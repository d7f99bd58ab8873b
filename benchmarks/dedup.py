"""Deduplication: speed beside the loops one would write, growth with the corpus, memory for a large file.

    python -m benchmarks.dedup --what peers [--records 100000]
    python -m benchmarks.dedup --what growth [--most 1000000]
    python -m benchmarks.dedup --what memory [--megabytes 1000]

Records are sentences of English Wikipedia and chat messages (`../shared/data`), half of each where there are enough;
every tenth is followed later by a copy with one word changed, so that there is something to find. Times are processor
time of this process, one core. The peers: for exact copies a loop with a set of SHA-256; for near ones `datasketch`
as its manual uses it, a `MinHash` updated with each shingle and a `MinHashLSH` asked before each insertion. Both see
the same normalised texts. Goal: near copies at least 3 times as fast as the peer; time nearly proportional to the
records; exact deduplication of 1 GB in less than 500 MB.
"""

import argparse
import gc
import gzip
import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.memory import COMMAND, LIMIT_MEGABYTES, MEGABYTE, records
from discreet.files import open_binary
from discreet.sanitize.dedup.near import NearTexts
from discreet.sanitize.dedup.parts import normalised, sentences
from discreet.sanitize.dedup.run import Dedup, dedup_all
from discreet.sanitize.dedup.seen import SeenTexts
from discreet.text.records import Record
from discreet.text.writing import write

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
CHUNK = 8192


def wikipedia() -> Iterator[str]:
    with open_binary(SHARED / "enwiki" / "articles.jsonl.xz") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            yield from (text[part.start : part.end] for part in sentences(text, 0, len(text)))


def chat() -> Iterator[str]:
    for path in sorted((SHARED / "ubuntu-irc").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def texts(count: int) -> list[str]:
    """So many records, with near copies among them."""
    talk = list(itertools.islice(chat(), count * 45 // 100))
    found = talk + list(itertools.islice(wikipedia(), count - count // 10 - len(talk)))
    draw = random.Random(0)
    draw.shuffle(found)
    for text in draw.sample(found, min(len(found), count - len(found))):
        words = text.split()
        if words:
            words[draw.randrange(len(words))] = "changed"
        found.append(" ".join(words))
    return found


def seconds(work: Callable[[], int]) -> tuple[float, int]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def exact(given: list[str]) -> int:
    seen = SeenTexts()
    return sum(int(seen.later(given[n : n + CHUNK]).sum()) for n in range(0, len(given), CHUNK))


def exact_peer(given: list[str]) -> int:
    seen: set[str] = set()
    copies = 0
    for text in given:
        digest = hashlib.sha256(text.encode()).hexdigest()
        copies += digest in seen
        seen.add(digest)
    return copies


def near(given: list[str]) -> int:
    found = NearTexts(0.8, "words:3", 128)
    return sum(int(found.later(given[n : n + CHUNK]).sum()) for n in range(0, len(given), CHUNK))


def near_peer(given: list[str]) -> int:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=0.8, num_perm=128)
    copies = 0
    for number, text in enumerate(given):
        words = text.split()
        signature = MinHash(num_perm=128)
        for start in range(max(1, len(words) - 2)):
            signature.update(" ".join(words[start : start + 3]).encode())
        if index.query(signature):
            copies += 1
        else:
            index.insert(str(number), signature)
    return copies


def peers(count: int) -> None:
    given = [normalised(text) for text in texts(count)]
    size = sum(map(len, given)) / MEGABYTE
    near(given[:100])  # compiles
    print(f"{len(given):,} records, {size:.1f} MB\n\n| what | seconds | records/s | copies |\n|---|---:|---:|---:|")
    for name, work in (
        ("exact, ours", exact),
        ("exact, set of SHA-256", exact_peer),
        ("near, ours", near),
        ("near, datasketch", near_peer),
    ):
        taken, copies = seconds(lambda work=work: work(given))  # type: ignore[misc]
        print(f"| {name} | {taken:.2f} | {len(given) / taken:,.0f} | {copies:,} |", flush=True)


def growth(most: int) -> None:
    """The whole walk: parts, normalising, search and the records without their copies."""
    every = texts(most)
    near(every[:100])
    print("| records | exact, s | µs a record | near, s | µs a record |\n|---:|---:|---:|---:|---:|")
    for count in (most // 100, most // 32, most // 10, most // 3, most):
        given = [Record(str(number), text) for number, text in enumerate(every[:count])]
        gc.freeze()  # a corpus streams from its file; here it is in memory, where the collector would look at all of it
        row = [f"{count:,}"]
        for settings in (Dedup(level="record"), Dedup(level="record", method="near")):
            taken, _ = seconds(lambda given=given, settings=settings: sum(1 for _ in dedup_all(given, settings)))  # type: ignore[misc]
            row += [f"{taken:.2f}", f"{1e6 * taken / count:.1f}"]
        print(f"| {' | '.join(row)} |", flush=True)


def memory(megabytes: int) -> None:
    """`discreet dedup` in a process of its own, on mails of about 300 bytes of which every fifth is a copy."""

    def mails() -> Iterator[Record]:
        last = None
        for number, record in enumerate(records(megabytes)):
            yield record if number % 5 or last is None else Record(record.id, last.text, fields=record.fields)
            last = record

    with tempfile.TemporaryDirectory(prefix="discreet-dedup-") as folder:
        source, target = Path(folder, "mail.jsonl"), Path(folder, "once.jsonl")
        count = write(source, mails())
        size = source.stat().st_size / MEGABYTE
        print("| file | records | method | seconds | MB/s | peak memory |\n|---|---:|---|---:|---:|---:|")
        for method in ("exact", "bloom"):
            started = time.perf_counter()
            command = [*COMMAND, "dedup", str(source), "-o", str(target), "--method", method]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            taken = time.perf_counter() - started
            if process.returncode:
                raise SystemExit(f"discreet dedup ended with {process.returncode}")
            peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MEGABYTE
            print(f"| {size:.0f} MB | {count:,} | {method} | {taken:.0f} | {size / taken:.1f} | {peak:.0f} MB |")
            if peak > LIMIT_MEGABYTES:
                raise SystemExit(f"The peak is above {LIMIT_MEGABYTES:.0f} MB.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=("all", "peers", "growth", "memory"), default="all")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--megabytes", type=int, default=1000)
    options = parser.parse_args()
    if options.what in ("all", "peers"):
        peers(options.records)
    if options.what in ("all", "growth"):
        growth(options.most)
    if options.what in ("all", "memory"):
        memory(options.megabytes)


if __name__ == "__main__":
    main()
