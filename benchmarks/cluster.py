"""Ray on this machine: the same work with one core and with two, beside the local engine.

    python -m benchmarks.cluster [--records 40000]

Work: redaction of simulated dialogs by the policy `customersim`, perturbation of their names and numbers with GloVe,
exact deduplication of their sentences. Starting Ray and its workers (some seconds) is not in the times: each case
runs once on a small file before. Wall-clock time; two cores can give at most a factor of two, and reading results
back, writing and Ray itself take their share of the same cores.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from discreet.policy.specs import policy
from discreet.sanitize.cluster.dedup import dedup_file
from discreet.sanitize.cluster.engine import Cluster, connect
from discreet.sanitize.cluster.rows import perturb_file, redact_file
from discreet.sanitize.dedup.run import Dedup, dedup_all
from discreet.sanitize.perturb.embedding import load_embedding
from discreet.sanitize.perturb.run import Perturbation, Perturber, perturb_all
from discreet.sanitize.redact import Redaction, redact_all
from discreet.text.customersim import simulate
from discreet.text.reading import open_records
from discreet.text.writing import write

CASES = ("redact", "dedup", "perturb")
NAMES = policy("customersim")
WORDS = Perturbation(epsilon=10.0, seed=1, draws="occurrence")


@cache
def perturber() -> Perturber:
    return Perturber(load_embedding("glove-50d"), WORDS)


def local(case: str, path: Path, out: Path) -> None:
    records = open_records(path)
    if case == "redact":
        changed = redact_all(records, NAMES)
    elif case == "dedup":
        changed = dedup_all(records, Dedup(split=None))
    else:
        changed = perturb_all(records, NAMES, perturber())
    write(out, changed, like=records)


def on_ray(cluster: Cluster, case: str, path: Path, out: Path) -> None:
    records = open_records(path)
    if case == "redact":
        redact_file(cluster, records, out, NAMES, Redaction())
    elif case == "dedup":
        dedup_file(cluster, records, out, Dedup(split=None), None)
    else:
        perturb_file(cluster, records, out, WORDS, "glove-50d", NAMES)


def timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument(
        "--perturbed", type=int, default=1_500, help="records for the perturbation, which takes longest"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="discreet-cluster-") as folder:
        sizes = {"small": 400, "perturb": options.perturbed, "other": options.records}
        paths = {name: Path(folder, f"{name}.jsonl") for name in sizes}
        for name, size in sizes.items():
            write(paths[name], simulate(size, 1))
        out = Path(folder, "out.jsonl")
        chosen = {case: paths["perturb" if case == "perturb" else "other"] for case in CASES}
        for case in CASES:
            local(case, paths["small"], out)
        found = {case: [timed(lambda case=case: local(case, chosen[case], out))] for case in CASES}  # type: ignore[misc]
        for cores in (1, 2):
            with connect(cores=cores) as cluster:
                for case in CASES:
                    on_ray(cluster, case, paths["small"], out)
                    found[case].append(timed(lambda case=case, c=cluster: on_ray(c, case, chosen[case], out)))  # type: ignore[misc]
    print("| work | local, s | Ray, 1 core, s | Ray, 2 cores, s | 1 core / 2 cores |\n|---|---:|---:|---:|---:|")
    for case, (here, one, two) in found.items():
        print(f"| {case} | {here:.1f} | {one:.1f} | {two:.1f} | {one / two:.2f} |")


if __name__ == "__main__":
    main()
