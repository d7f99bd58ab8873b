"""`discreet demo`: the whole idea on simulated dialogs, in a few minutes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from discreet.cli import app, console
from discreet.cli.options import Json

if TYPE_CHECKING:
    from discreet.mechanisms.run import Run

MECHANISMS = {
    "none": "the text as it is",
    "dp-sgd": "the text as it is, every dialog clipped and noised",
    "selective": "text with made-up secrets, and on real ones through noised updates",
    "jft": "text with made-up secrets, then on all text privately",
    "crt": "what two policies clear, and on the rest privately",
}
PROTECTED = {
    "none": "nothing",
    "differential privacy": "whole dialogs",
    "selective differential privacy": "secrets that are found",
    "confidentiality": "a secret against its mask",
}
TEMPLATE = "My ID is {digits:6}."
CANARIES, COPIES = 6, 10


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where dialogs and runs go.")] = Path("demo"),
    dialogs: Annotated[int, typer.Option("-n", help="How many dialogs to simulate.")] = 2400,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change the recipe, e.g. training.epochs=2.")
    ] = None,
    template: Annotated[str, typer.Option(help="The text of the made-up secrets that are attacked.")] = TEMPLATE,
    json_output: Json = False,
) -> None:
    """Simulate dialogs with secrets, train with five mechanisms, attack all five, and write a report."""
    path = output / "dialogs.jsonl"
    console.say(f"1. Simulating {dialogs:,} customer dialogs into {path}, with {CANARIES} made-up secrets to attack")
    _simulate(path, dialogs, template)
    console.say("2. What the policy 'customersim' calls secret in the first of them:")
    _show_first(path)
    rows: list[dict[str, Any]] = []
    for number, (name, what) in enumerate(MECHANISMS.items(), start=3):
        console.say(f"{number}. Training an LSTM on {what} (mechanism '{name}'), then attacking it")
        run = _train(name, path, output / "runs" / name, changes or [])
        rows.append(_measure(name, run))
    console.say("8. Fine-tuning the shipped model 'mini', which knows public text only, on some of the dialogs")
    mini = _fine_tune(path, output / "runs" / "mini")
    report = _report(output)
    if json_output:
        console.emit({"runs": rows, "mini": mini, "report": str(report)})
    else:
        _print_tables(rows, output, report)
        console.out.print(
            f"\n'mini', the model that comes with discreet, has perplexity {mini['before']:,.1f} on these dialogs "
            f"as it is,\nand {mini['after']:,.1f} after one pass over {mini['records']} of them ({mini['run']})."
        )


def _simulate(path: Path, dialogs: int, template: str) -> None:
    """Dialogs with canaries between them, and beside the file the manifest that attacks read."""
    from discreet.sanitize.canaries.insert import Canaries, Insertion
    from discreet.sanitize.canaries.template import read_template
    from discreet.text.corpus import Stream
    from discreet.text.customersim import simulate
    from discreet.text.writing import write

    plan = Insertion(read_template(template), number=CANARIES, repetitions=(COPIES,))
    mixed = Canaries(Stream(lambda: simulate(dialogs, seed=0)), plan)
    write(path, console.track(mixed, "simulate", dialogs + CANARIES * COPIES))
    mixed.manifest().write(path.with_name("canaries.json"))


def _show_first(path: Path) -> None:
    from discreet.cli.detect import marked
    from discreet.policy.specs import policy as make_policy
    from discreet.text.reading import open_records

    first = next(record for record in open_records(path) if not record.id.startswith("canary"))
    console.err.print(marked(first.text, make_policy("customersim").secrets(first)))


def _train(mechanism: str, data: Path, place: Path, changes: list[str]) -> "Run":
    from discreet.mechanisms.recipe import read_recipe
    from discreet.mechanisms.train import train_recipe
    from discreet.recipes import recipe_path

    own = "demo" if mechanism == "none" else f"demo-{mechanism}"
    recipe = read_recipe(recipe_path(own), [f"data={data}", *changes])
    return train_recipe(recipe, place, overwrite=True)


def _measure(mechanism: str, run: "Run") -> dict[str, Any]:
    """How useful the model is, what is proved about it and what attacks find in it."""
    from discreet.attacks.attack import attack
    from discreet.evaluate.perplexity import evaluate

    scores = evaluate(run)
    settings = {"membership": {"records": 200, "signals": ["loss", "zlib", "min-k++"], "resamples": 200}}
    found = attack(run, ["exposure", "membership"], settings=settings).to_json()["findings"]
    guarantee = run.guarantee
    return {
        "mechanism": mechanism,
        "run": str(run.path),
        "seconds": sum(row["seconds"] for row in run.metrics),
        **scores.to_json(),
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "notion": guarantee.notion,
        "exposure": found["exposure"]["mean"],
        "membership_auc": max(one["auc"] for one in found["membership"]["records"].values()),
    }


def _fine_tune(data: Path, place: Path) -> dict[str, Any]:
    """Perplexity of the shipped model before and after a plain pass over some dialogs."""
    from discreet.evaluate.perplexity import evaluate, evaluate_model
    from discreet.mechanisms.recipe import read_recipe
    from discreet.mechanisms.train import read_corpus, train_recipe
    from discreet.models.pretrained import load_causal, place_of
    from discreet.policy.specs import policy as make_policy
    from discreet.recipes import recipe_path
    from discreet.text.tokenize import Encoder
    from discreet.text.vocabulary import load_tokenizer

    recipe = read_recipe(recipe_path("demo-mini"), [f"data.path={data}"])
    corpus = read_corpus(recipe.data)
    encoder = Encoder(load_tokenizer(place_of("mini")))
    dialogs = encoder.encode_all(make_policy("customersim").secrets_of_all(corpus.records("test")))
    before = evaluate_model(load_causal("mini"), dialogs)
    run = train_recipe(recipe, place, overwrite=True)
    return {
        "run": str(run.path),
        "records": sum(1 for _ in corpus.records("train")),
        "before": before.perplexity,
        "after": evaluate(run).perplexity,
    }


def _report(output: Path) -> Path:
    from discreet.report import report

    return report([output / "runs" / name for name in MECHANISMS], output / "report.html")


def _print_tables(rows: list[dict[str, Any]], output: Path, report: Path) -> None:
    """Two tables that fit a terminal of 80 columns."""
    from discreet.report.words import at_most

    useful = Table(title="Perplexity on dialogs the models have not seen (lower: better)")
    private = Table(title="What is proved, and what attacks found")
    for table, columns in (
        (useful, ("mechanism", "all", "public", "secret", "top-1", "training")),
        (private, ("mechanism", "epsilon", "protects", "exposure", "AUC")),
    ):
        for column in columns:
            table.add_column(column, justify="left" if column in ("mechanism", "protects") else "right")
    for row in rows:
        useful.add_row(
            row["mechanism"],
            f"{row['perplexity']:,.2f}",
            f"{row['perplexity_public']:,.2f}",
            f"{row['perplexity_secret']:,.1f}",
            f"{row['top1']:.3f}",
            f"{row['seconds']:.0f} s",
        )
        private.add_row(
            row["mechanism"],
            "none" if row["epsilon"] is None else at_most(row["epsilon"]),
            PROTECTED.get(row["notion"], row["notion"]),
            f"{row['exposure']:.2f}",
            f"{row['membership_auc']:.3f}",
        )
    console.out.print(useful)
    console.out.print(private)
    console.out.print(
        "Exposure: bits by which a made-up secret is easier to guess (no leak: 1.44).\n"
        "AUC: how well trained dialogs are told from others (0.5 is guessing).\n"
        "selective and jft begin with made-up secrets from the simulator's own lists,\n"
        "which real text would not fit as well.\n"
        "A low figure proves nothing; an epsilon does, for what it protects. Try\n"
        f"  discreet verify {output / 'runs' / 'selective'}\n"
        f"The report is in {report}"
    )
