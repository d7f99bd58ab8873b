"""Peak memory of `discreet redact` on a file far larger than it: streaming means that it does not grow with the file.

    python -m benchmarks.memory                     # 1 GB of small records, each with an id
    python -m benchmarks.memory --megabytes 50
    python -m benchmarks.memory --suffix .parquet

The file is made in a temporary folder and deleted afterwards. The peak is what the kernel counted for that one
process (its largest resident set), and the time includes starting Python.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from discreet.text.reading import open_records
from discreet.text.records import Record
from discreet.text.writing import write

LIMIT_MEGABYTES = 500.0
MEGABYTE = 1_000_000
COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]
WORDS = ("order", "parcel", "invoice", "please", "thank", "refund", "account", "ticket", "deliver", "morning", "answer")


def records(megabytes: int, seed: int = 0) -> Iterator[Record]:
    """Mails of about 300 bytes with an id, a name, and digits to find."""
    rng = random.Random(seed)
    size, number = 0, 0
    while size < megabytes * MEGABYTE:
        said = " ".join(rng.choices(WORDS, k=24))
        text = f"Call me on 555-{rng.randrange(10**4):04} about order {rng.randrange(10**9):09}: {said}."
        yield Record(id=f"mail-{number:09}", text=text, fields={"topic": "support", "received": "2024-05-01T10:00:00"})
        size, number = size + len(text) + 85, number + 1  # 85 for the id, the other fields and their names


def run(megabytes: int, suffix: str = ".jsonl") -> dict[str, float]:
    """Makes a file of this size, redacts it in a process of its own, and says what that took."""
    with tempfile.TemporaryDirectory(prefix="discreet-memory-") as folder:
        source, target = Path(folder, f"mail{suffix}"), Path(folder, f"clean{suffix}")
        count = write(source, records(megabytes))
        size = source.stat().st_size / MEGABYTE
        started = time.perf_counter()
        process = subprocess.Popen([*COMMAND, "redact", str(source), "--policy", "digits", "-o", str(target)])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # it has been waited for already
        seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(f"discreet redact ended with {process.returncode}")
        redacted = sum(1 for _ in open_records(target))
    if redacted != count:
        raise SystemExit(f"{count} records went in and {redacted} came out")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MEGABYTE
    return {
        "megabytes": size,
        "records": count,
        "seconds": seconds,
        "megabytes_per_second": size / seconds,
        "peak_megabytes": peak,
        "limit_megabytes": LIMIT_MEGABYTES,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--suffix", default=".jsonl", help="the format to read and write")
    settings = parser.parse_args()
    found = run(settings.megabytes, settings.suffix)
    limit = found["limit_megabytes"]
    print(f"{'file':>10} {'records':>12} {'time':>9} {'speed':>10} {'peak memory':>12} {'limit':>8}")
    print(
        f"{found['megabytes']:>7.0f} MB {found['records']:>12,.0f} {found['seconds']:>7.1f} s "
        f"{found['megabytes_per_second']:>5.1f} MB/s {found['peak_megabytes']:>9.0f} MB {limit:>5.0f} MB"
    )
    if found["peak_megabytes"] > limit:
        raise SystemExit("The peak is above the limit.")


if __name__ == "__main__":
    main()
