"""Perturbation of text with metric differential privacy: of every word (MDP), or of secrets only (SMDP).

    perturber = Perturber(load_embedding("glove-50d"), Perturbation(epsilon=10.0))
    tally = Tally()
    changed = perturb_all(corpus.records("train"), policy, perturber, tally)

A word becomes its vector, gets noise (see `noise`) and becomes the nearest word of the whole vocabulary. What to know:

- **A secret is written as words.** All its words are perturbed and joined by single spaces; capitals, inner
  punctuation as part of words, and spacing do not come back. How many words there are does show.
- **A word outside of the vocabulary never passes.** `unknown="fixed-vector"` (usual) lets all of them stand at the
  mean of the vocabulary before the noise, so that they cannot be told apart at all; `pieces` splits it into known
  pieces, whose number then shows; `mask` writes the mask, which shows that it was unknown.
- **Draws.** `secret`: each different word gets one draw, reused wherever it stands, so that its copies cannot be
  averaged. Which places hold the same word then shows. `occurrence`: each place gets its own draw; a secret in k
  places costs k times. For MDP it is always `occurrence`: one draw for each word would make the text a substitution
  cipher.
- Only the text and the pair text are perturbed. Id, author, label and other fields stay; in a dialog, so do the names
  of speakers.
- The perturbed secrets are marked in the record's `secrets`, with the kinds of the originals. After MDP nothing is
  marked.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from zlib import crc32

import numpy as np

from discreet.errors import RefusedError, SettingError
from discreet.policy.contract import Policy
from discreet.registry import nearest
from discreet.sanitize.perturb.embedding import Embedding
from discreet.sanitize.perturb.nearest import Nearest
from discreet.sanitize.perturb.noise import Draws
from discreet.text.records import Edit, Record, Secret, check_secrets, edit, moved

FORMS = ("smdp", "mdp")
UNKNOWN = ("fixed-vector", "pieces", "mask")
DRAWS = ("secret", "occurrence")
WORD = re.compile(r"\w+(?:[^\w\s]\w+)*|[^\w\s]")
CHUNK_WORDS = 4096
REMEMBERED = 1 << 19


@dataclass(frozen=True)
class Perturbation:
    """How words are exchanged."""

    epsilon: float
    """Per unit of distance in the embedding."""
    form: str = "smdp"
    unknown: str = "fixed-vector"
    draws: str | None = None
    """`secret` or `occurrence`; None: the usual one of the form."""
    index: str = "exact"
    mask: str = "<MASK>"
    seed: int | None = None
    """None: noise that nobody can repeat."""

    def __post_init__(self) -> None:
        choices = (("form", self.form, FORMS), ("unknown", self.unknown, UNKNOWN), ("draws", self.drawn, DRAWS))
        for name, value, known in choices:
            if value not in known:
                raise SettingError(f"The {name} '{value}' is not known; {nearest(value, known)}")
        if not 0 < self.epsilon < float("inf"):
            raise SettingError("Epsilon is a number above 0.")
        if self.form == "mdp" and self.drawn == "secret":
            raise RefusedError(
                "One draw for each word of the whole text makes a substitution cipher, which can be read; "
                "use draws 'occurrence' with mdp."
            )

    @property
    def drawn(self) -> str:
        return self.draws or ("secret" if self.form == "smdp" else "occurrence")


@dataclass
class Tally:
    """What a walk has done so far; what the guarantee needs to know."""

    records: int = 0
    perturbed: int = 0
    """Records of which a word was perturbed."""
    words: int = 0
    unknown: int = 0
    """Words outside of the vocabulary."""
    most_in_record: int = 0
    """Different perturbed words in one record, at most; for mdp all of them, also equal ones."""
    times: Counter[int] = field(default_factory=Counter, repr=False)
    """How often each word was drawn for (by its hash), where that is more than once."""
    kept: set[str] = field(default_factory=set)
    """Names of the fields that were passed on as they were."""

    @property
    def most_draws(self) -> int:
        """How often the same word was drawn for, at most."""
        return max(self.times.values(), default=1)

    def merge(self, other: "Tally") -> None:
        self.records += other.records
        self.perturbed += other.perturbed
        self.words += other.words
        self.unknown += other.unknown
        self.most_in_record = max(self.most_in_record, other.most_in_record)
        self.times.update(other.times)
        self.kept |= other.kept


class Task(NamedTuple):
    """One text whose words are to be exchanged: each stretch becomes the words found in it."""

    record: Record
    stretches: list[Secret]
    words: list[list[str]]
    """The words of each stretch, pieces where a word was split."""


class Perturber:
    """Exchanges words; the same word always for the same, given the same label and key."""

    def __init__(self, embedding: Embedding, settings: Perturbation, draws: Draws | None = None) -> None:
        self.embedding, self.settings = embedding, settings
        self.draws = draws or Draws.of_seed(settings.seed)
        self._nearest = Nearest(embedding, settings.index)
        self._remembered: dict[bytes, str] = {}

    def exchange(self, words: Sequence[str], labels: Sequence[bytes]) -> list[str]:
        """A word for each word; what comes out depends on the noised point alone."""
        fresh = dict.fromkeys(zip(labels, words, strict=True))
        wanted = [(label, word) for label, word in fresh if label not in self._remembered]
        if len(self._remembered) + len(wanted) > REMEMBERED:
            self._remembered = {}
            wanted = list(fresh)
        if wanted:
            self._remembered.update(zip([label for label, _ in wanted], self._drawn(wanted), strict=True))
        return [self._remembered[label] for label in labels]

    def _drawn(self, wanted: Sequence[tuple[bytes, str]]) -> list[str]:
        rows = [self.embedding.row(word) for _, word in wanted]
        out = [self.settings.mask] * len(wanted)
        masked = self.settings.unknown == "mask"
        asked = [number for number, row in enumerate(rows) if row is not None or not masked]
        if not asked:
            return out
        points = np.zeros((len(asked), self.embedding.dimension))  # the mean of the vocabulary, for unknown words
        known = [(place, row) for place, number in enumerate(asked) if (row := rows[number]) is not None]
        points[[place for place, _ in known]] = self.embedding.vectors[[row for _, row in known]]
        points += self.draws.noise(
            [wanted[number][0] for number in asked], self.embedding.dimension, self.settings.epsilon
        )
        for number, row in zip(asked, self._nearest.rows(points).tolist(), strict=True):
            out[number] = self.embedding.words[row]
        return out

    def task(self, record: Record, secrets: Sequence[Secret] | None) -> Task:
        """The words of a text that are exchanged: of its secrets, or (None) all of them."""
        if secrets is not None:
            stretches = list(check_secrets(secrets, record.text, record.place or f"record {record.id}"))
            return Task(record, stretches, [self._words(record.text[s.start : s.end]) for s in stretches])
        inside = [(turn.start, turn.end) for turn in record.turns] or [(0, len(record.text))]
        found = [Secret(*match.span(), "") for start, end in inside for match in WORD.finditer(record.text, start, end)]
        return Task(record, found, [self._split(record.text[s.start : s.end]) for s in found])

    def _words(self, secret: str) -> list[str]:
        return [piece for word in WORD.findall(secret) for piece in self._split(word)]

    def _split(self, word: str) -> list[str]:
        known = self.settings.unknown != "pieces" or self.embedding.row(word) is not None
        return [word] if known else self.embedding.pieces(word)

    def label(self, word: str, record: Record, text: str, place: int) -> bytes:
        """What a draw belongs to: the word, and with draws 'occurrence' where it stands."""
        form = word if self.embedding.cased else word.lower()
        if self.settings.drawn == "secret":
            return b"secret\0" + form.encode("utf-8", "surrogatepass")
        return f"place\0{len(record.id)}\0{record.id}\0{text}\0{place}\0{form}".encode("utf-8", "surrogatepass")


def perturb_all(
    records: Iterable[Record], policy: Policy | None, perturber: Perturber, tally: Tally | None = None
) -> Iterator[Record]:
    """Every record with its secrets (with form mdp: all its words) exchanged, as it streams by."""
    selective = perturber.settings.form == "smdp"
    if selective and policy is None:
        raise SettingError("smdp perturbs secrets, so it needs a policy that finds them; mdp perturbs every word.")
    tally = Tally() if tally is None else tally
    chunk: list[tuple[Task, Task | None]] = []
    size = 0
    found = policy.secrets_of_all(records) if selective and policy else ((record, None) for record in records)
    for record, secrets in found:
        of_pair = None
        if record.pair is not None:
            pair = record.of_pair()
            of_pair = perturber.task(pair, policy.secrets(pair) if selective and policy else None)
        chunk.append((perturber.task(record, secrets), of_pair))
        size += sum(map(len, chunk[-1][0].words)) + 1
        if size >= CHUNK_WORDS:
            yield from _changed(chunk, perturber, tally)
            chunk, size = [], 0
    yield from _changed(chunk, perturber, tally)


def _changed(chunk: Sequence[tuple[Task, Task | None]], perturber: Perturber, tally: Tally) -> Iterator[Record]:
    """A chunk of records with their words exchanged, all in one search."""
    words: list[str] = []
    labels: list[bytes] = []
    for task, of_pair in chunk:
        mine: list[str] = []
        for name, one in (("text", task), ("pair", of_pair)):
            found = [word for stretch in one.words for word in stretch] if one else []
            labels += [perturber.label(word, task.record, name, place) for place, word in enumerate(found)]
            mine += found
        words += mine
        _count(task.record, mine, perturber, tally)
    outcome = iter(perturber.exchange(words, labels))
    for task, of_pair in chunk:
        changed = _written(task, outcome, perturber)
        if of_pair is not None:
            pair = _written(of_pair, outcome, perturber)
            changed = replace(changed, pair=pair.text, pair_secrets=pair.secrets)
        yield changed


def _written(task: Task, outcome: Iterator[str], perturber: Perturber) -> Record:
    """The record with each stretch replaced by what its words became."""
    texts = [" ".join(next(outcome) for _ in stretch) for stretch in task.words]
    edits = [Edit(s.start, s.end, text) for s, text in zip(task.stretches, texts, strict=True)]
    if perturber.settings.form == "mdp":
        return edit(task.record, edits)
    marks = tuple(
        Secret(end - len(text), end, s.kind)
        for s, text, end in zip(task.stretches, texts, (moved(s.end, edits) for s in task.stretches), strict=True)
        if text
    )
    return edit(task.record, edits, secrets=marks)


def _count(record: Record, words: Sequence[str], perturber: Perturber, tally: Tally) -> None:
    tally.records += 1
    tally.perturbed += bool(words)
    tally.words += len(words)
    tally.kept.update(record.fields)
    tally.kept.update(name for name in ("author", "label") if getattr(record, name) is not None)
    forms = [word if perturber.embedding.cased else word.lower() for word in words]
    tally.unknown += sum(perturber.embedding.row(word) is None for word in words)
    different = len(words) if perturber.settings.form == "mdp" else len(set(forms))
    tally.most_in_record = max(tally.most_in_record, different)
    if perturber.settings.form == "smdp" and perturber.settings.drawn == "occurrence":
        tally.times.update(forms_hash(forms))


def forms_hash(forms: Sequence[str]) -> list[int]:
    """Numbers that stand for words, the same in every process."""
    return [crc32(word.encode("utf-8", "surrogatepass")) << 32 | len(word) for word in forms]
