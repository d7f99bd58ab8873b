"""How a model trained on simulated dialogs scores the real ones, and the other way round.

    python -m benchmarks.customersim_models --real ../shared/data/customersim

The same LSTM (200/200) is trained on 10,000 dialogs of each, with a vocabulary learned from their redacted text, and
both are scored on both test splits. Bits per character compare across vocabularies; perplexities are each model's own.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from discreet.evaluate.perplexity import evaluate
from discreet.mechanisms.train import train
from discreet.text.corpora.contract import named
from discreet.text.corpus import Corpus, by_split
from discreet.text.customersim import simulate
from discreet.text.records import Record

RECIPE: dict[str, Any] = {
    "tokenizer": {"train": "bpe", "vocabulary": 1024},
    "model": {"name": "lstm", "embedding": 200, "hidden": 200},
    "training": {"epochs": 3, "batch_size": 16, "learning_rate": 0.004, "warmup": 0.02},
}


def without_canaries(corpus: Corpus) -> Corpus:
    kept = {split: [r for r in corpus.records(split) if not r.id.startswith("canary")] for split in corpus.splits}
    return Corpus(kept, corpus.name, corpus.where)


def run(real: Path, epochs: int = 3) -> list[dict[str, object]]:
    """One row for each model and test split."""
    simulated: list[Record] = list(simulate(12_000, seed=0))
    corpora = {"simulated": by_split(simulated, "simulated"), "real": without_canaries(named("customersim", real))}
    recipe = {**RECIPE, "training": {**RECIPE["training"], "epochs": epochs}}
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for trained_on, corpus in corpora.items():
            made = train(corpus, "customersim", output=Path(folder) / trained_on, **recipe)
            for scored_on, other in corpora.items():
                scores = evaluate(made, other, policy="customersim").to_json()
                rows.append({"trained_on": trained_on, "scored_on": scored_on, **scores})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, default=Path("../shared/data/customersim"))
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()
    print("| trained on | scored on | bits per character | perplexity | public | secret | top-1 |")
    print("|---|---|---|---|---|---|---|")
    for row in run(arguments.real, arguments.epochs):
        print(
            f"| {row['trained_on']} | {row['scored_on']} | {row['bits_per_char']:.3f} | {row['perplexity']:.2f} "
            f"| {row['perplexity_public']:.2f} | {row['perplexity_secret']:.1f} | {row['top1']:.3f} |"
        )


if __name__ == "__main__":
    main()
