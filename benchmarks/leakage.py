"""What every mechanism leaks, epoch by epoch, when the policy misses a share of the secrets.

    python -m benchmarks.leakage customersim                          # all mechanisms, all shares; an hour or more
    python -m benchmarks.leakage wikitext-2 --only none selective --miss 0 0.5
    python -m benchmarks.leakage customersim --table                  # what has been run so far, and the plots
    python -m benchmarks.leakage customersim --records 3000 --only dp-sgd jft    # a larger part of the corpus
    python -m benchmarks.leakage wikitext-2 --seeds 83 115 119 --only jft        # other canaries, other trainings
    python -m benchmarks.leakage wikitext-2 --only jft --epsilon 2 --light 2.5   # a smaller budget, more light noise
    python -m benchmarks.leakage wikitext-2 --only jft --unplanted               # what canaries have by chance
    python -m benchmarks.leakage wikitext-2 --records 4000 --public              # begin with a model of public text

Twelve canaries `My ID is dddddd.` are put into part of a corpus, every other one 10 times and 20 times. An LSTM learns
the text by each mechanism; the weights of every epoch are kept, and every other epoch is attacked: exact exposure of
each canary, and membership of records by their loss; perplexity at the end is on untouched test records. The vocabulary
comes from redacted records that are not trained on: one trained on text in which the policy has missed a canary would
have that canary for a token. A policy that misses a share of the secrets misses the same canaries in every run
(`imperfect`), so what is found and what is missed is told apart. With more records private batches grow in proportion,
so that the noise stays and the sums grow. Runs go to `runs/leakage/CORPUS-RECORDS` (other seeds:
`CORPUS-RECORDS-SEED`), with another budget to `eps-EPSILON-LIGHT` there; a finished one is not made again, a killed one
goes on. With several seeds the table has the means over all canaries of a column, and how many of them there are. Where
the trainings with `--unplanted` have been made, `above unplanted` is by how much the canaries are more exposed than in
those, canary by canary, with its standard error: what a model makes of a number by chance depends on its digits, and
1.44 bits are the mean over all numbers.

From nothing, a few noised steps teach an LSTM next to nothing, and a model that knows nothing leaks nothing. With
`--public` it begins as one that has read public encyclopedia articles (`runs/leakage/public`, made once, vocabulary
included), as private training is done in practice; runs go to `runs/leakage/CORPUS-RECORDS-public`.
"""

import argparse
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.plots import standing_alone
from discreet.attacks.attack import open_target
from discreet.attacks.candidates import enumerated
from discreet.attacks.contract import Target, silent
from discreet.attacks.estimates import exposure_of_rank, rank_among
from discreet.attacks.exposure import is_marked
from discreet.attacks.membership import MembershipAttack, MembershipOptions
from discreet.attacks.over_time import SIGNAL
from discreet.attacks.ranking import secret_scores
from discreet.evaluate.perplexity import evaluate_model
from discreet.files import read_json, write_json
from discreet.mechanisms.epochs import kept_epochs
from discreet.mechanisms.run import Run, open_run
from discreet.mechanisms.train import train
from discreet.models.language import load_model
from discreet.policy.specs import policy as make_policy
from discreet.report.charts import Axis, Guide, Series, curves
from discreet.report.svg import Drawing, style_of
from discreet.sanitize.canaries.insert import Canaries, Insertion
from discreet.sanitize.canaries.manifest import Manifest
from discreet.sanitize.canaries.template import read_template
from discreet.sanitize.redact import redact_with
from discreet.text.corpora.contract import named
from discreet.text.corpus import Corpus
from discreet.text.reading import open_records
from discreet.text.records import Record
from discreet.text.tokenize import Encoded, Encoder
from discreet.text.vocabulary import load_tokenizer, train_bpe

PLACE = Path("runs/leakage")
SHARED = Path("../shared/data")
CORPORA: dict[str, tuple[Path, Any, int]] = {
    "customersim": (SHARED / "customersim", "customersim", 600),
    "wikitext-2": (SHARED / "wikitext-2-raw", "digits", 300),
}
"""Folder, policy, and how many records are trained on unless said otherwise."""
MISSES = (0.0, 0.1, 0.3, 0.5)
CANARIES, COPIES = 12, (10, 20)
FEW = 3
"""Epochs of a phase that are all attacked."""
SEEDS = (83, 115, 119)
"""Chosen before any training, the first three with which 2, 4 and 6 of the twelve canaries are missed, half of them
with 10 copies. A seed draws the canaries, what is missed, and the training."""
NUMBERS = {"union": ["digits", {"regex": {"pattern": "(?<=[a-z,] )[A-Z][a-z]+", "kind": "NAME"}}]}
EPSILON, LIGHT = 4.9, 1.0
"""The budget of a record, and the noise of the first phase of `jft`, unless said otherwise."""
PRIVATE: dict[str, Any] = {"batch": 128, "epochs": 4, "learning_rate": 0.004, "normalise": True}
MECHANISMS: dict[str, dict[str, Any]] = {
    "none": {},
    "redacted": {},
    "dp-sgd": PRIVATE,
    "selective": PRIVATE,
    "jft": PRIVATE,
    "crt": PRIVATE | {"batch": 512, "conservative": NUMBERS},
}
BLIND = ("none", "dp-sgd")
"""Mechanisms that do not ask the policy: one run serves all shares."""
FROM_PUBLIC: dict[str, dict[str, Any]] = {
    "customersim": {"epochs": 2, "learning_rate": 0.03},
    "wikitext-2": {"epochs": 2, "learning_rate": 0.01},
}
"""Of private mechanisms that begin with a model of public text, which dialogs are less like than articles. Rates were
chosen by the perplexity of `dp-sgd` on test records, among .003 (articles) or .004 (dialogs), .01 and .03."""
BATCHES = 8
"""Steps of their epochs; an eighth of the records is a batch."""
TRAINING = {"epochs": 10, "batch_size": 8, "learning_rate": 0.004, "warmup": 0.02, "keep_epochs": True}
VOCABULARY = 1024
MODEL = {"name": "lstm", "embedding": 200, "hidden": 200}
PUBLIC = (SHARED / "enwiki" / "articles.jsonl.xz", 10_000)
"""Articles that overlap with neither corpus, and how many of their paragraphs are read."""


class Part(NamedTuple):
    """The beginning of a corpus, and the budget it is learned with."""

    corpus: str
    records: int
    seed: int = SEEDS[0]
    epsilon: float = EPSILON
    light: float = LIGHT
    planted: bool = True
    """Whether the canaries are in it; else they are only looked for, and what is found is what a model of such text
    makes of them by chance."""
    public: bool = False
    """Whether training begins with a model of public text."""

    @property
    def place(self) -> Path:
        name = f"{self.corpus}-{self.records}" + ("-public" if self.public else "")
        name += "" if self.planted else "-unplanted"
        place = PLACE / (name if self.seed == SEEDS[0] else f"{name}-{self.seed}")
        usual = (self.epsilon, self.light) == (EPSILON, LIGHT)
        return place if usual else place / f"eps-{self.epsilon:g}-{self.light:g}"

    @property
    def policy(self) -> Any:
        return CORPORA[self.corpus][1]

    def split(self, name: str) -> list[Record]:
        return list(named(self.corpus, CORPORA[self.corpus][0]).records(name))


def settings_of(part: Part, mechanism: str) -> dict[str, Any]:
    """Settings of a mechanism, with batches that grow with the part."""
    own = {"name": mechanism, **MECHANISMS[mechanism]}
    if "batch" in own:
        usual = BATCHES * PRIVATE["batch"] if part.public else CORPORA[part.corpus][2]
        own |= {"batch": own["batch"] * part.records // usual, "epsilon": part.epsilon}
        own |= FROM_PUBLIC[part.corpus] if part.public else {}
    if mechanism == "jft":
        own["light"] = {"noise": part.light}
    return own


def planted(part: Part) -> tuple[Corpus, Manifest]:
    """Part of a corpus with canaries between its records (or without them), and the canaries."""
    own = [record for record in part.split("train") if not record.id.startswith("canary")]
    plan = Insertion(read_template("My ID is {digits:6}."), number=CANARIES, repetitions=COPIES, seed=part.seed)
    canaries = Canaries(own[: part.records], plan)
    mixed = list(canaries)  # their places are known only after that
    read = mixed if part.planted else own[: part.records]
    held = part.split("test")[: part.records]
    return Corpus({"train": read, "test": held}, f"{part.corpus} with canaries"), canaries.manifest()


def public_tokenizer(part: Part) -> Path:
    """A vocabulary from records that are not trained on, redacted."""
    place = part.place / "tokenizer"
    if not (place / "tokenizer.json").is_file():
        others = part.split("train")[part.records : 3 * part.records]
        redacted = map(redact_with(make_policy(part.policy)), others)
        train_bpe(redacted, make_policy("gold"), VOCABULARY).save_pretrained(place)
    return place


def public_model() -> Path:
    """A model of public paragraphs, with a vocabulary of its own."""
    place, (articles, number) = PLACE / "public", PUBLIC
    if not ((place / "manifest.json").is_file() and Run(place).finished):
        lines = (line for article in open_records(articles) for line in article.text.splitlines())
        texts = islice((line for line in lines if 200 <= len(line) <= 2000), number)
        corpus = Corpus({"train": [Record(str(at), text) for at, text in enumerate(texts)]}, "public paragraphs")
        tokenizer, training = {"train": "bpe", "vocabulary": VOCABULARY}, {"epochs": 2, "batch_size": 16}
        train(corpus, "digits", "none", MODEL, output=place, tokenizer=tokenizer, training=TRAINING | training)
    return open_run(place).model_folder


def attacked(run: Run, corpus: Corpus, manifest: Manifest) -> list[dict[str, Any]]:
    """Exposure and membership at every kept epoch; at every other, from the last back, where a phase has many."""
    rows: list[dict[str, Any]] = []
    epochs = list(enumerate(kept_epochs(run.path), 1))
    lasts, lengths = {epoch.phase: number for number, epoch in epochs}, Counter(epoch.phase for _, epoch in epochs)
    for number, epoch in epochs:
        if lengths[epoch.phase] > FEW and (lasts[epoch.phase] - number) % 2:
            continue
        target = open_target(run.path, canaries=manifest, data=corpus, model=load_model(epoch.folder))
        asked = MembershipOptions(records=200, signals=(SIGNAL,), resamples=10, groups=2)
        auc = MembershipAttack().run(target, asked, silent).records[SIGNAL].auc
        rows.append(
            {"epoch": number, "phase": epoch.phase, "step": epoch.step, "canaries": exposures(target), "auc": auc}
        )
    return rows


@torch.inference_mode()
def exposures(target: Target) -> list[tuple[bool, int, float]]:
    """Whether the policy finds it, copies and exact exposure of each canary, ranked by the secret alone.

    The attack `exposure` ranks by whole sentences too, which takes long where a model has learned none of them.
    """
    assert target.manifest is not None
    template, canaries = target.manifest.template, list(target.manifest.planted())
    marked = [is_marked(target.policy, target.manifest, canary.secret) for canary in canaries]
    scores = {
        how: secret_scores(target.reader, target.encoder, enumerated(target.encoder, template, marked=how), silent)
        for how in set(marked)
    }
    found = []
    for canary, how in zip(canaries, marked, strict=True):
        rank = rank_among(scores[how][template.index(canary.secret)], scores[how]) - 1  # it is one of them
        found.append((how, canary.repetitions, exposure_of_rank(rank, template.size)))
    return found


def result(part: Part, mechanism: str, miss: float) -> dict[str, Any]:
    """One training and what was found, or what was found before."""
    place = part.place / f"{mechanism}-{miss:g}"
    file = place.with_name(f"{place.name}.json")
    if file.is_file():
        known: dict[str, Any] = read_json(file)
        return known
    corpus, manifest = planted(part)
    policy = make_policy({"imperfect": {"policy": part.policy, "miss": miss, "seed": part.seed}})
    finished = (place / "manifest.json").is_file() and Run(place).finished
    if not finished:
        train(
            corpus,
            policy,
            settings_of(part, mechanism),
            str(public_model()) if part.public else MODEL,
            output=place,
            tokenizer={"name": str(public_model() if part.public else public_tokenizer(part))},
            training=TRAINING,
            seed=SEEDS.index(part.seed),
        )
    run = open_run(place)
    found = {
        "mechanism": mechanism,
        "miss": miss,
        "epsilon": run.guarantee.epsilon,
        "bounds": {bound.subject: bound.epsilon for bound in run.guarantee.bounds},
        "perplexity": evaluate_model(load_model(run.model_folder), encoded_test(run, corpus)).perplexity,
        "epochs": attacked(run, corpus, manifest),
    }
    write_json(file, found)
    return found


def encoded_test(run: Run, corpus: Corpus) -> Encoded:
    """The untouched records that are not trained on, cut into tokens as those that are: at what the policy marks."""
    assert run.recipe.policy is not None
    encoder = Encoder(load_tokenizer(str(run.model_folder)))
    return encoder.encode_all(make_policy(run.recipe.policy).secrets_of_all(corpus.records("test")))


def control(part: Part, mechanism: str, miss: float) -> dict[str, Any] | None:
    """What was found of the same canaries without planting them, with the same share missed.

    Not with another: a canary that one policy finds and another misses is looked for in another tokenization.
    """
    file = part._replace(planted=False).place / f"{mechanism}-{miss:g}.json"
    return read_json(file) if file.is_file() else None


def pooled(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The same training with several seeds as one: all canaries together, the mean AUC."""
    epochs = [
        rows[0] | {"canaries": [own for row in rows for own in row["canaries"]], "auc": _mean_of(rows, "auc")}
        for rows in zip(*(one["epochs"] for one in found), strict=True)
    ]
    return found[0] | {"epochs": epochs, "perplexity": _mean_of(found, "perplexity")}


def _mean_of(rows: Sequence[dict[str, Any]], key: str) -> float:
    return statistics.mean(float(row[key]) for row in rows)


def bits_of(row: dict[str, Any], detected: bool, copies: int | None = None) -> list[float]:
    """Exposures of the found or the missed canaries, with so many copies or any number."""
    return [bits for found, times, bits in row["canaries"] if found == detected and copies in (None, times)]


def above(one: dict[str, Any]) -> str:
    """By how much the canaries are more exposed than without being planted, with the standard error of that."""
    if one["control"] is None:
        return "–"
    pairs = zip(one["epochs"][-1]["canaries"], one["control"]["epochs"][-1]["canaries"], strict=True)
    more = [float(planted[2]) - float(chance[2]) for planted, chance in pairs]
    return f"{statistics.mean(more):+.2f} ({statistics.stdev(more) / len(more) ** 0.5:.2f})"


def table(results: list[dict[str, Any]]) -> None:
    """What was found at the end of every training."""
    columns = ["mechanism", "missed", "epsilon", "found x10", "found x20", "missed x10", "missed x20", "all"]
    columns += ["above unplanted", "AUC", "perplexity"]
    print(f"| {' | '.join(columns)} |\n" + "|---" * len(columns) + "|")
    for one in results:
        last = one["epochs"][-1]
        bits = [bits_of(last, detected, copies) for detected in (True, False) for copies in COPIES]
        bits.append(bits_of(last, True) + bits_of(last, False))
        shown = " | ".join(f"{statistics.mean(own):.1f} ({len(own)})" if own else "–" for own in bits)
        share = "any" if one["mechanism"] in BLIND else f"{one['miss']:g}"
        proved = "none" if one["epsilon"] is None else f"{one['epsilon']:.1f}"
        measured = f"{above(one)} | {last['auc']:.2f} | {one['perplexity']:.1f}"
        print(f"| `{one['mechanism']}` | {share} | {proved} | {shown} | {measured} |")


def plots(results: list[dict[str, Any]], miss: float, folder: Path, name: str) -> None:
    """Exposure over the training, of found and of missed canaries, and membership."""
    folder.mkdir(parents=True, exist_ok=True)
    of_miss = [one for one in results if one["miss"] == miss or one["mechanism"] in BLIND]
    bits = Axis("mean exposure (bits)", zero=True)
    guides = [Guide(1.44, "no leak: 1.44"), Guide(19.93, "all of it: 19.93")]
    for detected, what in ((True, "found"), (False, "missed")):
        series = lines(of_miss, partial(exposed, detected=detected))
        title = f"Exposure of canaries the policy has {what}, {name}, {miss:.0%} missed"
        svg = curves(Drawing(title, "Bits, by epoch.", f"leakage-{what}"), series, Axis("epoch"), bits, guides)
        (folder / f"leakage-{name}-{what}.svg").write_text(standing_alone(svg), encoding="utf-8")
    told = Drawing(f"Membership of records, {name}, {miss:.0%} missed", "AUC of the loss, by epoch.", "membership")
    series = lines(of_miss, lambda one, row: float(row["auc"]))
    svg = curves(told, series, Axis("epoch"), Axis("AUC"), [Guide(0.5, "no leak: .5")])
    (folder / f"leakage-{name}-membership.svg").write_text(standing_alone(svg), encoding="utf-8")


def exposed(one: dict[str, Any], row: dict[str, Any], detected: bool) -> float | None:
    """The mean exposure of found or missed canaries; of all where no policy is asked."""
    if one["mechanism"] in BLIND:
        return statistics.mean(float(bits) for _, _, bits in row["canaries"])
    own = bits_of(row, detected)
    return statistics.mean(own) if own else None


def lines(
    results: list[dict[str, Any]], value: Callable[[dict[str, Any], dict[str, Any]], float | None]
) -> list[Series]:
    """A curve over the epochs for each result that has values."""
    found = []
    for one in results:
        values = [(float(row["epoch"]), value(one, row)) for row in one["epochs"]]
        points = tuple((at, y) for at, y in values if y is not None)
        if points:
            found.append(Series(one["mechanism"], style_of(list(MECHANISMS).index(one["mechanism"])), points))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=list(CORPORA))
    parser.add_argument("--records", type=int, help="how many are trained on [600 dialogs, 300 paragraphs]")
    parser.add_argument("--only", nargs="*", default=list(MECHANISMS), choices=list(MECHANISMS))
    parser.add_argument("--miss", nargs="*", type=float, default=list(MISSES))
    parser.add_argument("--seeds", nargs="*", type=int, default=[SEEDS[0]], choices=SEEDS)
    parser.add_argument("--epsilon", type=float, default=EPSILON, help="of a record, for the private mechanisms")
    parser.add_argument("--light", type=float, default=LIGHT, help="noise of the first phase of jft")
    parser.add_argument(
        "--unplanted", action="store_true", help="leave the canaries out, and look for them all the same"
    )
    parser.add_argument("--public", action="store_true", help="begin with a model that has read public text")
    parser.add_argument("--table", action="store_true", help="only what has been run so far")
    parser.add_argument("--plots", type=Path, help="a folder for the drawings")
    options = parser.parse_args()
    records = options.records or CORPORA[options.corpus][2]
    budget = (options.epsilon, options.light)
    how = (not options.unplanted, options.public)
    parts = [Part(options.corpus, records, seed, *budget, *how) for seed in options.seeds]
    results = []
    for miss in options.miss:
        for mechanism in options.only:
            if mechanism in BLIND and miss != options.miss[0]:
                continue
            name = f"{mechanism}-{miss:g}.json"
            asked = [part for part in parts if not options.table or (part.place / name).is_file()]
            if asked:
                one = pooled([result(part, mechanism, miss) for part in asked])
                chance = [control(part, mechanism, miss) if part.planted else None for part in asked]
                one["control"] = pooled([own for own in chance if own]) if all(chance) else None
                results.append(one)
    results.sort(key=lambda one: (list(MECHANISMS).index(one["mechanism"]), one["miss"]))
    table(results)
    if options.plots:
        plots(results, max(options.miss), options.plots, options.corpus)


if __name__ == "__main__":
    main()
