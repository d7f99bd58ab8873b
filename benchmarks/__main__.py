"""Runs every benchmark, each in a process of its own so that none warms up another: `make bench`."""

import subprocess
import sys
from pathlib import Path

SHARED = Path("../shared/data")
BENCHMARKS = {
    "redaction": SHARED / "enwiki",
    "policies": SHARED / "presidio-synth",
    "policies_speed": SHARED / "multidogo",
    "memory": None,
    "lstm_training": None,
    "transformer_training": None,
    "customersim": SHARED / "customersim",
    "customersim_models": SHARED / "customersim",
    "noise": None,
    "accounting": None,
    "dedup": SHARED / "enwiki",
    "perturbation": None,
    "cluster": None,
    "engine": None,
    "exposure": None,
    "membership": None,
    "author_cost": None,
}


def main() -> int:
    failed = []
    for name, data in BENCHMARKS.items():
        print(f"\n## {name}\n", flush=True)
        if data is not None and not data.exists():
            print(f"left out: needs the public data in {data}", flush=True)
            continue
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
