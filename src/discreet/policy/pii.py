r"""Personal data: the policy for real text, whose secrets nobody has listed (`policy: pii`).

    >>> text = "my name is harris i live at 22 elm st, card 4111 1111 1111 1111"
    >>> [(text[s.start : s.end], s.kind) for s in pii().secrets(Record(id="1", text=text))]
    [('harris', 'PERSON'), ('22 elm st', 'ADDRESS'), ('4111 1111 1111 1111', 'CARD')]

Names, places, street addresses, phones, mail addresses, cards and accounts (with check digits), national ids, dates of
birth, ages, passwords, keys and tokens, links and IP addresses, licence plates, and the numbers of orders, bookings,
cases, claims and policies; in text with capitals and in chats without. Each file of `finders` holds one way of
finding. Every finding has a score; those of at least `threshold` count, and `conservative(pii())` takes all.

`spacy` adds the people, places and organisations that a spaCy model finds: `auto` takes the model that is installed if
one is, `none` (the default) does without and is some hundred times as fast.

A stream of more than half a megabyte is read by compiled loops (`finders.fast`), which find the same.

Sharp edges: it is made for English. It flags brands and other proper nouns as if they were names, and does not flag
companies made of ordinary words. Dates are secret only as dates of birth. A word counts as ordinary if a dictionary
has it in lower case, so in a chat without capitals a person called Rose is found only where something says that this
is a name.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import tee
from typing import Any

from discreet.errors import SettingError
from discreet.policy.contract import POLICIES, Policy
from discreet.policy.finders import addresses, answers, doubts, keys, numbers, online, people
from discreet.policy.finders.fast.loading import reading_worth
from discreet.policy.finders.page import Page, Part
from discreet.policy.language import chosen_model, documents, installed_model, load, remembered
from discreet.policy.scored import Scored
from discreet.text.records import Record, Secret, Turn

FINDERS = (online, keys, numbers, addresses, people, answers)
ENTITIES = {
    "PERSON": "PERSON",
    "GPE": "PLACE",
    "LOC": "PLACE",
    "FAC": "PLACE",
    "ORG": "ORGANIZATION",
    "NORP": "NATIONALITY",
}
"""Labels of spaCy that are personal data, and our kinds for them."""
ENTITY_SCORE = 0.55
THRESHOLD = 0.5
PAGE = 30_000
"""So many characters of text are searched together."""


class PII(Scored):
    """Personal data, by patterns, context and word lists."""

    def __init__(self, model: str | None) -> None:
        self.model = model
        self.threshold, self.thresholds = THRESHOLD, {}

    def candidates(self, record: Record) -> Sequence[Secret]:
        found = self._found(record)
        return found + self._entities([record.text])[0] if self.model else found

    def candidates_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, Sequence[Secret]]]:
        if not self.model:
            return super().candidates_of_all(records)
        records, again = tee(records)
        entities = remembered((record.text for record in records), self._entities)
        return ((record, self._found(record) + more) for record, more in zip(again, entities, strict=True))

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        if self.model:
            yield from super().secrets_of_all(records)
            return
        for batch in _batches(records):
            yield from zip(batch, self._secrets_of_batch(batch), strict=True)

    def _found(self, record: Record) -> list[Secret]:
        return self._on_page(Page(record.text, record.turns))

    def _on_page(self, page: Page) -> list[Secret]:
        """What all finders find."""
        page.floor = self.floor
        found: list[Secret] = []
        for finder in FINDERS:
            found += finder.find(page)
        if page.floor <= doubts.HIGHEST:
            found += doubts.find(page)
        return found

    def _secrets_of_batch(self, records: Sequence[Record]) -> list[tuple[Secret, ...]]:
        """The secrets of several records, put on one page; each text once, however often it comes."""
        every = [record.text for record in records]
        if len(set(every)) == len(every):
            with _nothing_collected():
                return self._of_texts([(record.text, record.turns) for record in records])
        texts: list[tuple[str, tuple[Turn, ...]]] = []
        seen: dict[str, int] = {}
        places: list[int] = []
        for record in records:
            at = seen.setdefault(record.text, len(texts))
            if at == len(texts) or texts[at][1] != record.turns:
                at = len(texts)
                texts.append((record.text, record.turns))
            places.append(at)
        with _nothing_collected():
            answers = self._of_texts(texts)
        return [answers[at] for at in places]

    def _of_texts(self, texts: Sequence[tuple[str, tuple[Turn, ...]]]) -> list[tuple[Secret, ...]]:
        """The secrets of texts; a function of its own so that the page is gone when garbage is looked for again."""
        page = Page.joined(texts)
        reading = reading_worth(len(page.text))
        if reading is None:
            return _divided(self.reaching(self._on_page(page)), page.parts)
        page.floor = self.floor
        return reading(page).secrets_of_texts(self.threshold, self.thresholds)

    def _entities(self, texts: Sequence[str]) -> list[list[Secret]]:
        assert self.model is not None
        return [
            [
                Secret(entity.start_char, entity.end_char, ENTITIES[entity.label_], ENTITY_SCORE)
                for entity in doc.ents
                if entity.label_ in ENTITIES
            ]
            for doc in documents(load(self.model, ("ner",)), texts)
        ]

    def spec(self) -> Any:
        return {"pii": {"spacy": self.model or "none"} | self.threshold_spec()}


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keeps the garbage collector from looking at a page again and again while it is read: nothing on it is a cycle."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _divided(secrets: Sequence[Secret], parts: Sequence[Part]) -> list[tuple[Secret, ...]]:
    """The secrets of a page in order, given back to the texts they stand in."""
    divided: list[tuple[Secret, ...]] = []
    at, most = 0, len(secrets)
    for start, end, _ in parts:
        own: list[Secret] = []
        while at < most and secrets[at][0] < end:
            first, last, kind, score = secrets[at]
            own.append(Secret(first - start, last - start, kind, score))
            at += 1
        divided.append(tuple(own))
    return divided


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records for one page; a text that holds what stands between texts has a page of its own."""
    batch: list[Record] = []
    size = 0
    for record in records:
        if "\0" in record.text:
            if batch:
                yield batch
            yield [record]
            batch, size = [], 0
            continue
        batch.append(record)
        size += len(record.text)
        if size >= PAGE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@POLICIES.register("pii")
def pii(spacy: str = "none", threshold: float = THRESHOLD, kinds: dict[str, float] | None = None) -> Policy:
    """Names, addresses, numbers, keys and other personal data; with a spaCy model if wanted."""
    if not spacy:
        raise SettingError("The setting 'spacy' of 'pii' is 'none', 'auto' or the name of a model.")
    model = None if spacy == "none" else installed_model() if spacy == "auto" else chosen_model(spacy)
    return PII(model).at(threshold, kinds)
