"""The sentences of report and model card: what is proved, what is not, and what a figure means.

Every number of a guarantee comes from `discreet.accounting`: upper bounds are rounded up, lower bounds down, an
estimate is called one, and what does not follow from the run's own records is not printed at all.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from discreet.accounting.statement import Section, Statement, rounded_down, rounded_up, statement
from discreet.report.facts import RunFacts
from discreet.report.findings import Bound

FRESH = ("lstm", "gpt")
"""Models that begin with random weights."""
NOTION_IN_WORDS = {
    "none": "nothing",
    "differential privacy": "everything one {unit} says",
    "selective differential privacy": "secrets the policy finds",
    "confidentiality": "a secret against its mask",
    "metric differential privacy": "a word among words near it",
}


class Fact(NamedTuple):
    """A line of two columns."""

    name: str
    text: str


def standing(facts: RunFacts) -> str:
    """How things stand with a run's guarantee: `refuted`, `broken`, `none`, `open` or `proved`."""
    if facts.refuted:
        return "refuted"
    if facts.problems:
        return "broken"
    if facts.guarantee.notion == "none":
        return "none"
    return "open" if facts.guarantee.epsilon is None else "proved"


STANDINGS = {
    "refuted": "refuted by an attack",
    "broken": "does not follow from the run’s records",
    "none": "no proof",
    "open": "no finite bound",
    "proved": "proved",
}


def epsilon(facts: RunFacts) -> str:
    """The epsilon of a run as a table shows it."""
    if facts.problems:
        return "not valid"
    if facts.guarantee.notion == "none":
        return "no proof"
    return "no finite bound" if facts.guarantee.epsilon is None else at_most(facts.guarantee.epsilon)


def at_most(value: float) -> str:
    """An upper bound with three digits, rounded up."""
    return rounded_up(value, 3)


def at_least(value: float) -> str:
    """A lower bound with three digits, rounded down."""
    return rounded_down(value, 3)


def protects(facts: RunFacts) -> str:
    """What the guarantee is about, in a few words."""
    guarantee = facts.guarantee
    return NOTION_IN_WORDS.get(guarantee.notion, guarantee.notion).format(unit=guarantee.unit)


def said(facts: RunFacts) -> Statement:
    """The statement of a run; without numbers where they do not follow from its records."""
    if not facts.problems:
        return statement(facts.guarantee)
    lead = (
        "Nothing can be said about this model: when the guarantee was computed again, it did not follow from the run’s "
        "own records."
    )
    return Statement("The guarantee is not valid", lead, (Section("What is wrong", facts.problems),))


def checked_again(facts: RunFacts) -> str:
    """Whether the statement was computed again for this report."""
    if facts.guarantee.notion == "none":
        return "There is nothing to check: no privacy is claimed."
    if facts.problems is None:
        return "Not checked again for this report; run discreet verify on the run."
    if facts.problems:
        return "Checked again for this report: it does not hold."
    return "Checked again for this report: every number follows from the run’s plans and its ledger of private steps."


def lower_bound(facts: RunFacts) -> str:
    """The audit's result as a table shows it, beside the epsilon."""
    bound = facts.findings.lower_bound if facts.findings else None
    return "not audited" if bound is None else at_least(bound.epsilon)


def audits_groups(runs: Sequence[RunFacts]) -> bool:
    """Whether an audit's largest bound is about secrets that stand in several records."""
    bounds = [facts.findings.lower_bound for facts in runs if facts.findings]
    return any(bound is not None and bound.copies > 1 for bound in bounds)


def audited(bound: Bound) -> str:
    """Whom a lower bound is about."""
    found = "finds" if bound.detected else "misses"
    copies = "in one record each" if bound.copies == 1 else f"in {bound.copies} records each"
    return f"{bound.canaries:,} canaries {copies} that the policy {found}"


def allowed(bound: Bound) -> str:
    return "nothing is promised" if bound.claimed is None else at_most(bound.claimed)


def misses(facts: RunFacts) -> str:
    """How often the policy overlooks a secret."""
    rate = facts.miss_rate
    if rate is not None:
        return (
            f"{rate.missed:,} of {rate.checked:,} checked secrets were missed: {rate.share:.1%}, and with "
            f"{rate.confidence:.0%} confidence between {rate.low:.2%} and {rate.high:.2%}."
        )
    if facts.recipe.policy is None:
        return "The run has no policy, so there is nothing it could miss."
    return (
        "Not measured: how many secrets the policy overlooks is not known. Check a sample by hand and run discreet "
        "measure --miss-rate."
    )


def coverage(facts: RunFacts) -> list[Fact]:
    """Which data the guarantee covers, and which not: tokenizer, pre-training, tuning, the figures themselves."""
    recipe, guarantee = facts.recipe, facts.guarantee
    found = [Fact("Training text", _training_text(facts))]
    tokenizer = recipe.tokenizer
    if tokenizer is not None and tokenizer.train:
        declared = _options(facts).get("public_vocabulary")
        own = "trained on the redacted training text; what the policy misses in it is not covered"
        found.append(Fact("Tokenizer", f"{own}, and was declared public" if declared else own))
    else:
        found.append(Fact("Tokenizer", "taken from elsewhere; the text it was trained on is not covered"))
    fresh = recipe.model.name in FRESH
    found.append(
        Fact(
            "Pre-training",
            "none: training began with random weights"
            if fresh
            else "began with weights from elsewhere; the text they were trained on is not covered",
        )
    )
    choices = next((item for item in guarantee.assumptions if item.name == "choices"), None)
    found.append(
        Fact("Choosing settings", f"{choices.text} ({choices.status})" if choices else "nothing is claimed about it")
    )
    found.append(
        Fact(
            "Figures in this report",
            "perplexities and attacks were measured on the corpus without noise; the guarantee is about the model, not "
            "about these figures",
        )
    )
    return found


def randomness(facts: RunFacts) -> str:
    """Where noise and batches came from."""
    if not facts.guarantee.accesses:
        return "no private step was made"
    if _options(facts).get("randomness", "secure") == "fast":
        return "repeatable from a seed (fast): whoever knows the seed can take the noise away; for experiments only"
    return "a cryptographic generator keyed by the operating system; it cannot be repeated"


def phases(facts: RunFacts) -> list[tuple[str, list[Fact]]]:
    """The private phases: the settings that decide about privacy."""
    found = []
    for (what, plan), access in zip(facts.plans, facts.guarantee.accesses, strict=True):
        drawn = "" if plan.population is None else f" of {plan.population:,} {plan.unit}s"
        found.append(
            (
                what,
                [
                    Fact("Sampler", access.sampler + drawn),
                    Fact("Steps", f"{access.steps:,} counted ({access.planned_steps:,} planned)"),
                    Fact(
                        "Clipping norm", f"{plan.clip:g}" + (", each gradient scaled to it" if _scaled(facts) else "")
                    ),
                    Fact("Noise multiplier", f"{plan.noise:.4g} (standard deviation over clipping norm)"),
                    Fact("Neighbours", f"{plan.neighbours}, unit {plan.unit}"),
                ],
            )
        )
    return found


def _training_text(facts: RunFacts) -> str:
    if facts.guarantee.notion == "none":
        return "not covered: no privacy is claimed for anything in it"
    if not facts.guarantee.accesses:
        return "covered as stated above: it was changed before training, and training saw the changed text only"
    return "covered as stated above, in every use listed under the private phases"


def _scaled(facts: RunFacts) -> bool:
    return bool(_options(facts).get("normalise"))


def _options(facts: RunFacts) -> dict[str, Any]:
    return dict(facts.recipe.mechanism.model_extra or {})


def model(facts: RunFacts) -> str:
    """The model's name and size; weights that were taken from a folder are not named by its path."""
    name, count = facts.recipe.model.name, facts.manifest.get("parameters")
    shown = name if is_name(name) else "weights from a folder"
    size = f"{int(count):,} parameters" if count else ""
    adapters = "with low-rank adapters" if facts.recipe.model.lora else ""
    return ", ".join(part for part in (shown, size, adapters) if part)


def is_name(name: str) -> bool:
    """Whether a model or tokenizer is named as the hub names them (or is one of ours) rather than by a path."""
    return name.count("/") <= 1 and not name.startswith((".", "/", "~")) and not Path(name).exists()
