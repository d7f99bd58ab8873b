"""The model card: README.md of a model's folder, with the metadata the Hugging Face hub reads.

    card(facts_of(Path("runs/a")))

Its privacy section tells what the published advice on reporting differentially private models asks for (Ponomareva et
al. 2023, "How to DP-fy ML", section 5.3): the setting, unit and neighbours, what accesses to the data are covered and
what is released, epsilon and delta, how they were counted and under which assumptions, the sampler that really ran,
and what tuning and pre-training cost. The licence is the author's to choose and is left open.
"""

import re
from functools import lru_cache
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from discreet.accounting.statement import statement
from discreet.report import leaks, words
from discreet.report.facts import RunFacts
from discreet.report.tables import utility

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
NOTION_TAGS = {
    "differential privacy": "differential-privacy",
    "selective differential privacy": "selective-differential-privacy",
    "confidentiality": "confidentiality",
    "metric differential privacy": "metric-differential-privacy",
}
METRICS = {
    "perplexity": "Perplexity, all tokens",
    "perplexity_public": "Perplexity, public tokens",
    "perplexity_secret": "Perplexity, secret tokens",
    "top1": "First choice right",
    "bits_per_char": "Bits per character",
    "accuracy": "Accuracy",
    "f1": "F1",
}
METRIC_TYPES = {"top1": "accuracy", "perplexity_public": "perplexity", "perplexity_secret": "perplexity"}


def card(facts: RunFacts) -> str:
    """The whole file."""
    return (
        _environment()
        .get_template("card.md")
        .render(
            facts=facts,
            metadata=Markup(yaml.safe_dump(metadata(facts), sort_keys=False, allow_unicode=True)),
            words=words,
            said=words.said(facts),
            sections={section.title: section.lines for section in statement(facts.guarantee).sections},
            attacked=leaks.attacked(facts),
            utility=utility(facts),
            own_class=facts.recipe.model.name == "lstm",
            auto="AutoModelForSequenceClassification" if facts.is_classifier else "AutoModelForCausalLM",
        )
    )


def metadata(facts: RunFacts) -> dict[str, Any]:
    """What the hub reads at the top of the card."""
    task = "text-classification" if facts.is_classifier else "text-generation"
    tags = ["discreet", "privacy", facts.mechanism]
    if facts.epsilon is not None:
        tags.append(NOTION_TAGS.get(facts.guarantee.notion, "privacy"))
    found: dict[str, Any] = {
        "library_name": "transformers",
        "pipeline_tag": task,
        "tags": list(dict.fromkeys(tags)),
    }
    base = facts.recipe.model.name
    if base not in words.FRESH and words.is_name(base):
        found["base_model"] = base
    metrics = [
        {"type": METRIC_TYPES.get(key, key), "name": name, "value": round(float(facts.scores[key]), 4)}
        for key, name in METRICS.items()
        if facts.scores and facts.scores.get(key) is not None
    ]
    if metrics:
        data = {"type": "private", "name": "the run’s own corpus", "split": facts.split}
        result = {"task": {"type": task}, "dataset": data, "metrics": metrics}
        found["model-index"] = [{"name": facts.name, "results": [result]}]
    return found


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=False,  # this is Markdown, escaped by `finalize`
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["verbatim"] = Markup
    return made


def _escaped(value: Any) -> Any:
    """Text as Markdown shows it literally; line breaks would end a table's row."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return SPECIAL.sub(r"\\\1", " ".join(value.split()))
