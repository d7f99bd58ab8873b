"""The four detectors of Just Fine-tune Twice (Shi et al. 2022), on spaCy.

    >>> from discreet.policy.specs import policy
    >>> from discreet.text.records import Record
    >>> found = policy("entity-low").secrets(Record(id="1", text="Did you hear Alice is getting divorced?"))
    >>> [(secret.start, secret.end, secret.kind) for secret in found]
    [(13, 18, 'PERSON')]

| name | secret is |
|---|---|
| `entity-low` | people, organisations, dates, places |
| `entity-high` | all 18 kinds of entities |
| `contextual-low` | these, and proper nouns, pronouns, subjects, objects |
| `contextual-high` | these, and verbs |

The kind of a word is its part of speech (PROPN, PRON, VERB), then its part in the sentence (SUBJ, OBJ), then the
entity's label; an entity of several words has its label. Another spaCy model answers differently: which one it was
stands in the spec. The paper's authors used spaCy's small English model of their day.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from typing import Any

from discreet.policy.algebra import settle
from discreet.policy.contract import POLICIES, Policy
from discreet.policy.language import chosen_model, documents, load, remembered
from discreet.text.records import Record, Secret

LOW = frozenset({"PERSON", "ORG", "DATE", "GPE", "LOC"})
PARTS = ("subj", "obj")
NOUNS = frozenset({"PROPN", "PRON"})
VERBS = frozenset({"VERB"})

Read = Callable[[Any], Sequence[Secret]]
"""The secrets of a document that spaCy has read."""


class Grammar(Policy):
    """Secrets by what spaCy says about the words of a text."""

    def __init__(self, name: str, model: str, needs: tuple[str, ...], read: Read) -> None:
        self.name, self.model, self.needs, self.read = name, model, needs, read

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self._read([record.text])[0]

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        records, again = tee(records)
        return zip(again, remembered((record.text for record in records), self._read), strict=True)

    def _read(self, texts: Sequence[str]) -> list[tuple[Secret, ...]]:
        nlp = load(self.model, self.needs)
        return [settle(self.read(doc)) for doc in documents(nlp, texts)]

    def spec(self) -> Any:
        return {self.name: {"model": self.model}}


def entities(doc: Any, labels: frozenset[str] | None) -> list[Secret]:
    return [
        Secret(entity.start_char, entity.end_char, entity.label_)
        for entity in doc.ents
        if labels is None or entity.label_ in labels
    ]


def words(doc: Any, verbs: bool) -> list[Secret]:
    """Words whose part of speech or place in the sentence makes them secret."""
    found = []
    for token in doc:
        if kind := _kind(token.pos_, token.dep_, verbs):
            found.append(Secret(token.idx, token.idx + len(token), kind))
    return found


def _kind(speech: str, place: str, verbs: bool) -> str | None:
    if speech in NOUNS:
        return speech
    if verbs and (speech in VERBS or place == "ROOT"):
        return "VERB"
    return next((part.upper() for part in PARTS if part in place), None)


@POLICIES.register("entity-low")
def entity_low(model: str | None = None) -> Policy:
    """People, organisations, dates and places."""
    return Grammar("entity-low", chosen_model(model), ("ner",), lambda doc: entities(doc, LOW))


@POLICIES.register("entity-high")
def entity_high(model: str | None = None) -> Policy:
    """All entities that the model knows."""
    return Grammar("entity-high", chosen_model(model), ("ner",), lambda doc: entities(doc, None))


@POLICIES.register("contextual-low")
def contextual_low(model: str | None = None) -> Policy:
    """All entities, proper nouns, pronouns, subjects and objects."""
    return Grammar(
        "contextual-low", chosen_model(model), ("ner", "parse"), lambda doc: words(doc, False) + entities(doc, None)
    )


@POLICIES.register("contextual-high")
def contextual_high(model: str | None = None) -> Policy:
    """What `contextual-low` finds, and verbs."""
    return Grammar(
        "contextual-high", chosen_model(model), ("ner", "parse"), lambda doc: words(doc, True) + entities(doc, None)
    )
