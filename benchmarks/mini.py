"""The model `mini`: from the run that trained it into the package, and what it scores.

    discreet train mini -o runs/mini                     # some hours; goes on after a kill
    python -m benchmarks.mini ship runs/mini             # half precision, card, recipe and curve into the package
    python -m benchmarks.mini finetune                   # one epoch on WikiText-2, from `mini` and from random weights

`ship` scores what it has written, as it will be loaded: bits per character on the articles held out from training, and
on the test split of WikiText-2 (raw), every paragraph from its beginning.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from discreet.engine.settings import TrainingSettings
from discreet.evaluate.perplexity import Evaluation, evaluate, evaluate_model
from discreet.files import read_json, write_json
from discreet.mechanisms.run import open_run
from discreet.mechanisms.train import read_corpus, train
from discreet.models.pretrained import load_causal, place_of
from discreet.policy.specs import policy
from discreet.text.corpora.contract import named
from discreet.text.corpus import Corpus
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer

FOLDER = Path(__file__).parents[1] / "src" / "discreet" / "models" / "mini"
WIKITEXT = Path("../shared/data/wikitext-2-raw")
MOST = 20 * 2**20
CARD = Path(__file__).with_name("mini_card.md")


def ship(source: Path) -> None:
    """Writes the package's folder from a finished run, and the card with its scores."""
    run = open_run(source)
    FOLDER.mkdir(exist_ok=True)
    write_json(FOLDER / "config.json", read_json(run.model_folder / "config.json") | {"dtype": "float16"})
    for name in ("generation_config.json", "tokenizer.json", "tokenizer_config.json"):
        if (run.model_folder / name).is_file():
            shutil.copyfile(run.model_folder / name, FOLDER / name)
    for name in ("recipe.yaml", "curve.jsonl"):
        shutil.copyfile(run.path / name, FOLDER / name)
    weights = {name: value.half() for name, value in load_file(run.model_folder / "model.safetensors").items()}
    save_file(weights, FOLDER / "model.safetensors", {"format": "pt"})
    size = (FOLDER / "model.safetensors").stat().st_size
    assert size <= MOST, f"{size} bytes"
    recipe, config = run.recipe, json.loads((FOLDER / "config.json").read_text())
    corpus = read_corpus(recipe.data)
    held, wiki = scores(corpus, "valid"), scores(named("wikitext-2", WIKITEXT), "test")
    write_json(FOLDER / "scores.json", {"held_out": held.to_json(), "wikitext_2_raw_test": wiki.to_json()})
    facts = {
        "parameters": run.manifest["parameters"],
        "layers": config["n_layer"],
        "width": config["n_embd"],
        "heads": config["n_head"],
        "context": config["n_positions"],
        "vocabulary": config["vocab_size"],
        "articles": sum(1 for _ in corpus.records("train")),
        "tokens": sum(row["targets"] for row in run.metrics) // len(run.metrics),
        "epochs": recipe.training.epochs,
        "held": held.records,
        "held_bits": held.bits_per_char,
        "held_perplexity": held.perplexity,
        "held_characters": held.characters,
        "wiki_bits": wiki.bits_per_char,
        "wiki_perplexity": wiki.perplexity,
        "wiki_characters": wiki.characters,
        "batch": recipe.training.batch_size,
        "length": recipe.training.max_tokens,
    }
    card = CARD.read_text(encoding="utf-8").format(**facts)
    (FOLDER / "README.md").write_text(card, encoding="utf-8")
    print(card)


def scores(corpus: Corpus, split: str) -> Evaluation:
    """What the shipped weights score on a split."""
    encoder = Encoder(load_tokenizer(place_of("mini")))
    encoded = encoder.encode_all(policy("nothing").secrets_of_all(corpus.records(split)))
    return evaluate_model(load_causal("mini"), encoded)


def finetune(place: Path, epochs: int) -> None:
    """The same plain epoch on WikiText-2 from the shipped weights and from random ones of the same shape."""
    corpus = named("wikitext-2", WIKITEXT)
    config = json.loads((FOLDER / "config.json").read_text())
    sizes = {"width": "n_embd", "layers": "n_layer", "heads": "n_head", "context": "n_positions"}
    fresh: dict[str, Any] = {"name": "gpt", **{key: config[name] for key, name in sizes.items()}}
    settings = TrainingSettings(epochs=epochs, batch_size=16, warmup=0.05, beta2=0.98, weight_decay=0.1)
    found = {}
    for name, model, rate in (("mini", {"name": "mini"}, 1e-3), ("random weights", fresh, 3e-3)):
        changed = {**settings.model_dump(), "learning_rate": rate}
        run = train(
            corpus,
            "nothing",
            model=model,
            tokenizer={"name": "mini"},
            training=changed,
            output=place / name.replace(" ", "-"),
            overwrite=True,
        )
        found[name] = evaluate(run, corpus, policy="nothing", split="test")
    print("| begun with | test perplexity | bits per character |\n|---|---|---|")
    for name, own in found.items():
        print(f"| {name} | {own.perplexity:.2f} | {own.bits_per_char:.3f} |")
    lower = 1 - found["mini"].perplexity / found["random weights"].perplexity
    print(f"\nlower by {lower:.0%} after {epochs} epoch")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("ship").add_argument("run", type=Path)
    tuned = commands.add_parser("finetune")
    tuned.add_argument("--place", type=Path, default=Path("runs/mini-finetuned"))
    tuned.add_argument("--epochs", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.command == "ship":
        ship(options.run)
    else:
        finetune(options.place, options.epochs)


if __name__ == "__main__":
    main()
