"""What MiniLM scores on GLUE tasks when it is fine-tuned with `discreet train`.

    python -m benchmarks.glue [--tasks mrpc rte sst-2] [--place runs/glue]

Plain fine-tuning of the whole encoder, no policy. Scored on the development split, which nothing was chosen on: the
weights of the last epoch are taken. Beside it the accuracy of always giving the commoner label.
"""

import argparse
from collections import Counter
from pathlib import Path

from discreet.evaluate.classification import evaluate
from discreet.mechanisms.train import train
from discreet.text.corpora.contract import named
from discreet.text.corpus import Corpus

GLUE = Path("../shared/data/glue")
TASKS = {"mrpc": (3668, 3), "rte": (2490, 3), "sst-2": (10_000, 1)}
"""At most so many records to train on, and epochs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--place", type=Path, default=Path("runs/glue"))
    options = parser.parse_args()
    print("| task | records | epochs | accuracy | F1 | commoner label |\n|---|---|---|---|---|---|", flush=True)
    for task in options.tasks:
        most, epochs = TASKS[task]
        whole = named(task, GLUE)
        learned = Corpus({"train": list(whole.limited(train=most).records("train"))}, whole.name)
        run = train(
            learned,
            "nothing",
            model={"name": "minilm"},
            task="classification",
            training={
                "epochs": epochs,
                "batch_size": 32,
                "learning_rate": 1e-4,
                "warmup": 0.1,
                "schedule": "linear",
                "max_tokens": 128,
            },
            output=options.place / task,
            overwrite=True,
        )
        held = list(whole.records("valid"))
        found = evaluate(run, whole, policy="nothing", split="valid")
        common = Counter(record.label for record in held).most_common(1)[0][1] / len(held)
        count = sum(1 for _ in learned.records("train"))
        print(f"| {task} | {count:,} | {epochs} | {found.accuracy:.3f} | {found.f1:.3f} | {common:.3f} |", flush=True)


if __name__ == "__main__":
    main()
