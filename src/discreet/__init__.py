"""discreet: train language models that keep secrets, and say exactly what leaked.

import discreet

corpus = discreet.read("mail.jsonl")
policy = discreet.policy("digits") | discreet.regex(r"\\bCASE-\\d{6}\\b", kind="CASE")
run = discreet.train(corpus, policy, mechanism="redacted", output="runs/mail")
print(discreet.evaluate(run))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.attacks.attack import attack as attack
    from discreet.evaluate.perplexity import Evaluation as Evaluation
    from discreet.evaluate.perplexity import evaluate as evaluate
    from discreet.mechanisms.run import Run as Run
    from discreet.mechanisms.train import train as train
    from discreet.policy.contract import Policy as Policy
    from discreet.policy.imperfect import imperfect as imperfect
    from discreet.policy.measure import measure as measure
    from discreet.policy.regex import regex as regex
    from discreet.policy.specs import policy as policy
    from discreet.policy.words import words as words
    from discreet.report import report as report
    from discreet.sanitize.redact import redact as redact
    from discreet.text.corpora.contract import named as named
    from discreet.text.corpus import Corpus as Corpus
    from discreet.text.reading import read as read
    from discreet.text.records import Record as Record
    from discreet.text.records import Secret as Secret
    from discreet.text.writing import write as write

__version__ = "0.1.0"

# Names are imported on first use: `import discreet` stays quick, and what never trains never loads torch.
_HOMES = {
    "Corpus": "text.corpus",
    "Evaluation": "evaluate.perplexity",
    "Policy": "policy.contract",
    "Record": "text.records",
    "Run": "mechanisms.run",
    "Secret": "text.records",
    "attack": "attacks.attack",
    "imperfect": "policy.imperfect",
    "measure": "policy.measure",
    "named": "text.corpora.contract",
    "read": "text.reading",
    "redact": "sanitize.redact",
    "regex": "policy.regex",
    "train": "mechanisms.train",
    "words": "policy.words",
    "write": "text.writing",
}


_CALLABLE_FOLDERS = ("evaluate", "policy", "report")


def __getattr__(name: str) -> Any:
    if name in _CALLABLE_FOLDERS:
        return import_module(f"discreet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    return getattr(import_module(f"discreet.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES, *_CALLABLE_FOLDERS]
