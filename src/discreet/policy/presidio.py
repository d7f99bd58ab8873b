"""Microsoft Presidio with its own recognizers and settings, as a policy (`policy: presidio`).

    discreet measure labelled.jsonl --policy presidio

To compare with, and to combine: `discreet.policy("pii") | discreet.policy("presidio")`. Kinds are Presidio's
(`PHONE_NUMBER`, `US_SSN`, ...), scores too; its default threshold is 0, which flags much, so `threshold` is a setting.
Presidio's default spaCy model is a large one; here it is whichever is installed, and its name stands in the spec.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from discreet.errors import MissingPackageError
from discreet.policy.contract import POLICIES, Policy
from discreet.policy.language import chosen_model
from discreet.policy.scored import Scored
from discreet.text.records import Record, Secret


class Presidio(Scored):
    """What Presidio's analyzer finds in English text."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.threshold, self.thresholds = 0.0, {}

    def candidates(self, record: Record) -> Sequence[Secret]:
        found = _analyzer(self.model).analyze(text=record.text, language="en")
        return [Secret(one.start, one.end, one.entity_type, float(one.score)) for one in found if one.start < one.end]

    def spec(self) -> Any:
        return {"presidio": {"model": self.model} | self.threshold_spec()}


@lru_cache(maxsize=1)
def _analyzer(model: str) -> Any:
    try:
        from presidio_analyzer import AnalyzerEngine
        from presidio_analyzer.nlp_engine import NlpEngineProvider
    except ImportError:
        raise MissingPackageError("Presidio is not installed; run: pip install 'discreet[presidio]'.") from None
    _stay_offline()
    models = [{"lang_code": "en", "model_name": model.partition(" ")[0]}]
    provider = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": models})
    return AnalyzerEngine(nlp_engine=provider.create_engine(), supported_languages=["en"])


def _stay_offline() -> None:
    """Presidio checks the ends of host names against a list that it would fetch; the one it brings along will do."""
    import logging

    import tldextract.tldextract

    tldextract.tldextract.TLD_EXTRACTOR = tldextract.tldextract.TLDExtract(suffix_list_urls=())
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)


@POLICIES.register("presidio")
def presidio(model: str | None = None, threshold: float = 0.0, kinds: dict[str, float] | None = None) -> Policy:
    """Microsoft Presidio's recognizers, as they come."""
    return Presidio(chosen_model(model)).at(threshold, kinds)
