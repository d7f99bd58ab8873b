"""Author privacy on real chat: what regularizers and author-level dp-sgd cost, and what they hide (ubuntu-irc).

    python -m benchmarks.authors                             # 100 authors: trains and measures; goes on after a kill
    python -m benchmarks.authors --authors 700 --share 1     # more authors, more of their messages
    python -m benchmarks.authors --only none adversarial@3   # some of the runs; @3 is the regularizer's weight
    python -m benchmarks.authors --only triplet.prefix@5     # the regularizer's state is that of a text's beginning
    python -m benchmarks.authors --only none.mixed           # batches of many authors instead of one
    python -m benchmarks.authors --only none.3 dp-sgd@0.002  # three epochs; the noise of dp-sgd
    python -m benchmarks.authors --only dp-sgd.most64@0.002  # of an author at most 64 messages a step
    python -m benchmarks.authors --only dp-sgd.batch20@2     # 20 authors a step, and not one
    python -m benchmarks.authors --only adversarial.last.mixed.advantage@5  # hides what its discriminator gets right
    python -m benchmarks.authors --only adversarial.8.last.linear.advantage@10  # with a linear discriminator
    python -m benchmarks.authors --only triplet.rising@10    # the weight rises over the whole training
    python -m benchmarks.authors --only adversarial.memory16384@3  # so many states to learn from
    python -m benchmarks.authors --join 4 --share 1          # a record is four messages of an author, not one
    python -m benchmarks.authors --seed 1                    # other canaries, another beginning of each training
    python -m benchmarks.authors_results                     # table and plots of what has been run
    python -m benchmarks.authors --unmeasured                # trains only, for `benchmarks.authors_finished`

The people with the most messages in the channel (its bots are left out), with every fourth of their messages: the share
keeps the distance between those who write much and those who write little, and a training in minutes on one core. Each
has a canary of five random words, with 1 to 10, 20, 30, 40 and 50 copies in turn. Vocabulary and words of canaries
come from everybody else's messages, which are taken for public. The weights of every epoch are kept and measured, so
that mechanisms can be compared where they predict equally well. `runs/authors-100/NAME.json` (with `--join 4`:
`runs/authors-100-joined-4/NAME.json`, with `--seed 1`: `runs/authors-100-seed-1/NAME.json`) has what was found.
"""

import argparse
import hashlib
import re
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from discreet.attacks.exposure import ExposureOptions, expose
from discreet.evaluate.perplexity import evaluate_model
from discreet.files import read_json, write_json
from discreet.mechanisms.epochs import kept_epochs
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.run import Run, open_run
from discreet.mechanisms.train import read_corpus, train_recipe
from discreet.models.language import load_model
from discreet.policy.specs import policy
from discreet.sanitize.canaries.insert import Canaries, Insertion
from discreet.sanitize.canaries.manifest import Manifest
from discreet.sanitize.canaries.template import read_template
from discreet.text.corpora.contract import named
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer, train_bpe
from discreet.text.writing import write

DATA = Path("../shared/data/ubuntu-irc")
BOT = re.compile(r"l?ubot|floodbot|ubuntulog", re.IGNORECASE)
COPIES = (*range(1, 11), 20, 30, 40, 50)
CANARIES = 1
"""For each author."""
WORDS = 2000
VOCABULARY = 3000
MODEL = {"name": "lstm", "layers": 2, "embedding": 128, "hidden": 128, "tied": True, "dropout": 0.1}
RUNS = ["none.mixed", "none", "adversarial.last.mixed.advantage@10", "triplet.last@5", "dp-sgd.10@0.001"]
MIXED = "mixed"
ADVANTAGE = "advantage"
LINEAR = "linear"
RISING = "rising"
PRIVATE_RATE = 6e-3
"""Of dp-sgd, which makes a third of the steps in an epoch."""


def place_of(authors: int, join: int = 1, seed: int = 0) -> Path:
    joined, seeded = (f"-joined-{join}" if join > 1 else ""), (f"-seed-{seed}" if seed else "")
    return Path(f"runs/authors-{authors}{joined}{seeded}")


def messages_of_people(join: int = 1) -> list[Record]:
    """All messages in the channel that are no bot's; with `join`, so many of a person one after the other are one."""
    messages = [record for record in named("ubuntu-irc", DATA).all() if not BOT.match(str(record.author))]
    if join == 1:
        return messages
    by_author: dict[str, list[Record]] = defaultdict(list)
    for record in messages:
        by_author[str(record.author)].append(record)
    groups = (own[at : at + join] for own in by_author.values() for at in range(0, len(own), join))
    return [replace(group[0], text="\n".join(record.text for record in group)) for group in groups]


def prepare(place: Path, authors: int, share: float, join: int, seed: int) -> None:
    """Writes the records with canaries, their manifest and the vocabulary."""
    if (place / "canaries.json").is_file():
        return
    messages = messages_of_people(join)
    counts = Counter(record.author for record in messages)
    chosen = {name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))[:authors]}
    public = [record for record in messages if record.author not in chosen]
    place.mkdir(parents=True, exist_ok=True)
    nothing = policy("nothing")
    train_bpe(public, nothing, VOCABULARY).save_pretrained(place / "tokenizer")
    common = Counter(word for record in public for word in re.findall(r"\b[a-z]{3,9}\b", record.text))
    template = read_template("{words:5}", [word for word, _ in common.most_common(WORDS)])
    own = [_placed(record) for record in messages if record.author in chosen and _drawn(record.id, "taken") < share]
    mixed = Canaries(own, Insertion(template, CANARIES, COPIES, per_author=True, seed=seed))
    write(place / "records.jsonl", mixed)
    mixed.manifest().write(place / "canaries.json")


def _drawn(identity: str, what: str) -> float:
    """A number from 0 to 1 that follows from the id alone."""
    return int.from_bytes(hashlib.sha256(f"{what}\0{identity}".encode()).digest()[:8], "big") / 2**64


def _placed(record: Record) -> Record:
    """The record in its split: 80 % train, 5 % valid, 15 % test."""
    at = _drawn(record.id, "split")
    split = "train" if at < 0.8 else "valid" if at < 0.85 else "test"
    return replace(record, split=split, fields={}, place="")


def recipe_of(place: Path, name: str, epochs: int, join: int, seed: int) -> Any:
    """The recipe of a run by its name: MECHANISM[.EPOCHS][.mostRECORDS][.STATE][.mixed]…[@WEIGHT or @NOISE]."""
    kind, _, number = name.partition("@")
    mechanism, *parts = kind.split(".")
    epochs = next((int(part) for part in parts if part.isdecimal()), epochs)
    training: dict[str, Any] = {"epochs": epochs, "batch_size": 32, "max_tokens": 64 * join, "learning_rate": 3e-3}
    training |= {"schedule": "linear", "one_author": MIXED not in parts, "keep_epochs": True, "precision": "float32"}
    settings: dict[str, Any] = {"name": mechanism}
    if mechanism == "dp-sgd":
        settings |= {"unit": "author", "noise": float(number), "batch": 1, "clip": 1.0, "normalise": True}
        settings |= {"randomness": "fast", "learning_rate": PRIVATE_RATE}
        settings |= numbered(parts, most="records_per_author", batch="batch")
    elif mechanism != "none":
        states = [part for part in parts if part in ("last", "mean", "both", "prefix")]
        settings |= {"weight": float(number), "batches": MIXED if MIXED in parts else "one"}
        settings |= {"loss": ADVANTAGE} if ADVANTAGE in parts else {}
        discriminator = numbered(parts, memory="memory") | ({"layers": 0} if LINEAR in parts else {})
        settings |= {"discriminator": discriminator} if discriminator else {}
        settings |= {"rise": 1.0} if RISING in parts else {}
        settings |= {"state": states[0]} if states else {}
    values = {
        "data": str(place / "records.jsonl"),
        "mechanism": settings,
        "model": MODEL,
        "tokenizer": str(place / "tokenizer"),
        "training": training,
        "seed": seed,
    }
    return make_recipe(values, where=name)


def numbered(parts: list[str], **settings: str) -> dict[str, int]:
    """The settings that are given as a word with its number, such as `batch20`."""
    found = [re.fullmatch(r"([a-z]+)(\d+)", part) for part in parts]
    return {settings[one[1]]: int(one[2]) for one in found if one and one[1] in settings}


def trained(place: Path, name: str, epochs: int, join: int, seed: int) -> Run:
    run = Run(place / name)
    if not ((run.path / "manifest.json").is_file() and run.finished):
        train_recipe(recipe_of(place, name, epochs, join, seed), run.path, progress=False)
    return open_run(run.path)


class Measuring:
    """What all measurements of the models of one run share."""

    def __init__(self, place: Path, run: Run) -> None:
        self.place, self.run = place, run
        self.epochs = kept_epochs(run.path)
        self.encoder = Encoder(load_tokenizer(str(run.model_folder)))
        self.corpus = read_corpus(run.recipe.data)
        self.manifest = Manifest.read(place / "canaries.json")
        nothing = policy("nothing").secrets_of_all
        self.encoded = {
            split: self.encoder.encode_all(nothing(self.corpus.records(split))) for split in ("valid", "test")
        }

    def at(self, epoch: int) -> nn.Module:
        return load_model(self.epochs[epoch - 1].folder).eval()

    def row(self, epoch: int) -> dict[str, Any]:
        """Perplexity and exposure of one epoch: what is cheap."""
        model = self.at(epoch)
        exposures = expose(model, self.encoder, self.manifest, options=ExposureOptions(samples=2000))
        found = {split: evaluate_model(model, encoded).perplexity for split, encoded in self.encoded.items()}
        told = {"by_repetitions": exposures.to_json()["by_repetitions"], "mean": exposures.mean}
        told["each"] = [(own.repetitions, own.exposure, own.by_fit) for own in exposures.canaries]  # names nobody
        return {"epoch": epoch, "valid": found["valid"], "test": found["test"], "exposure": told}


def measured(place: Path, run: Run) -> dict[str, Any]:
    """The figures of every epoch, those that are there already read."""
    path = place / f"{run.path.name}.json"
    found: dict[str, Any] = read_json(path) if path.is_file() else {"name": run.path.name, "epochs": []}
    guarantee = run.guarantee
    found |= {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "parameters": run.manifest["parameters"]}
    measuring = Measuring(place, run)
    for epoch in range(len(found["epochs"]) + 1, len(measuring.epochs) + 1):
        found["epochs"].append(measuring.row(epoch))
        write_json(path, found)
        row = found["epochs"][-1]
        _say(f"{run.path.name}: epoch {epoch}, test {row['test']:.1f}, exposure {row['exposure']['mean']:.2f}")
    return found


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {time.process_time():.0f} s of processor: {what}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--authors", type=int, default=100)
    parser.add_argument("--place", type=Path, help="where runs are [runs/authors-AUTHORS]")
    parser.add_argument("--share", type=float, default=0.25, help="share of each author's messages")
    parser.add_argument("--join", type=int, default=1, help="messages of an author that make a record")
    parser.add_argument("--seed", type=int, default=0, help="of canaries and trainings")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--only", nargs="*", default=RUNS, help="runs by name, see above")
    parser.add_argument("--unmeasured", action="store_true", help="train only")
    options = parser.parse_args()
    place = options.place or place_of(options.authors, options.join, options.seed)
    prepare(place, options.authors, options.share, options.join, options.seed)
    _say("prepared")
    for name in options.only:
        run = trained(place, name, options.epochs, options.join, options.seed)
        _say(f"{name}: trained, {sum(row['seconds'] for row in run.metrics):.0f} s")
        if not options.unmeasured:
            measured(place, run)


if __name__ == "__main__":
    main()
