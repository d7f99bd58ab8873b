"""A token-classification model as a policy: any folder or name that transformers loads (`policy:
token-classifier:FOLDER`).

    discreet detect mail.jsonl --policy token-classifier:models/ner
    discreet.policy({"token-classifier": {"model": "models/ner", "threshold": 0.3}})

The score of a word is 1 minus the probability that it is no entity (`O`), the highest of its tokens; its kind is the
most probable label without `B-` and `I-`. Neighbouring words of one kind are one secret. Long texts are read in
windows that overlap by a quarter, and where two see a word, the one that has more of its surroundings decides.

So CRT's pair (Zhao et al. 2022) is `threshold: 0.3` for pi, and `conservative` of it, threshold 0.1, for pi_c: there a
word is secret that has a tag, or less than 90 % certainty of having none. The spec of a model in a folder holds the
SHA-256 of its weights, and a folder whose weights have changed since is refused.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import tee
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import InputError, SettingError
from discreet.files import sha256_file
from discreet.policy.contract import POLICIES, Policy
from discreet.policy.language import remembered
from discreet.policy.scored import Scored
from discreet.text.records import Record, Secret

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
LONGEST_WINDOW = 512
BATCH = 16
FLOOR = 0.02
"""Words with a lower score are no candidates."""
OUTSIDE = "O"
JOINTS = frozenset((" ", "-", "'", ". ", ", ", "’"))
"""What may stand between two words of one secret."""


class Model(NamedTuple):
    tokenizer: Any
    network: Any
    kinds: list[str | None]
    """Label number -> kind; None for `O`."""
    window: int
    before: list[int]
    after: list[int]
    """The special tokens around a text."""


class TokenClassifier(Scored):
    """What a model that labels tokens calls an entity."""

    def __init__(self, model: str, sha256: str | None) -> None:
        self.model, self.sha256 = model, sha256
        self.threshold, self.thresholds = 0.5, {}

    def candidates(self, record: Record) -> Sequence[Secret]:
        return self._read([record.text])[0]

    def candidates_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, Sequence[Secret]]]:
        records, again = tee(records)
        yield from zip(again, remembered((record.text for record in records), self._read), strict=True)

    def _kept(self, record: Record, candidates: Sequence[Secret]) -> tuple[Secret, ...]:
        joined: list[Secret] = []
        for secret in super()._kept(record, candidates):
            last = joined[-1] if joined else None
            if last and last.kind == secret.kind and record.text[last.end : secret.start] in JOINTS:
                joined[-1] = Secret(last.start, secret.end, last.kind, max(last.score, secret.score))
            else:
                joined.append(secret)
        return tuple(joined)

    def _read(self, texts: Sequence[str]) -> list[list[Secret]]:
        model = load(self.model)
        pieces = [piece for number, text in enumerate(texts) for piece in _windows(model, number, text)]
        pieces.sort(key=lambda piece: len(piece.ids))
        tokens: list[dict[tuple[int, int], tuple[int, float, str]]] = [{} for _ in texts]
        for at in range(0, len(pieces), BATCH):
            _label(model, pieces[at : at + BATCH], tokens)
        return [_words(text, of_text) for text, of_text in zip(texts, tokens, strict=True)]

    def spec(self) -> Any:
        settings: dict[str, Any] = {"model": self.model} | ({"sha256": self.sha256} if self.sha256 else {})
        return {"token-classifier": settings | self.threshold_spec()}


class _Window(NamedTuple):
    text: int
    ids: list[int]
    spans: list[tuple[int, int]]


@lru_cache(maxsize=2)
def load(name: str) -> Model:
    """The model and its tokenizer, ready to read."""
    from safetensors import SafetensorError
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    from discreet.text.labelled import frame

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True)
        network = AutoModelForTokenClassification.from_pretrained(name)
    except (OSError, ValueError, SafetensorError) as error:
        raise InputError(
            f"{name}: not a token-classification model that transformers can load ({type(error).__name__}); give a "
            "folder with config.json, model.safetensors and tokenizer.json, or a name on the hub."
        ) from None
    if not tokenizer.is_fast:
        raise SettingError(f"{name}: the tokenizer does not say where its tokens stand; a fast tokenizer is needed.")
    labels = network.config.id2label
    kinds = [_kind(labels[number]) for number in range(len(labels))]
    if None not in kinds or len(kinds) < 2:
        raise SettingError(
            f"{name}: the model has no label '{OUTSIDE}' beside others; it does not tell entities from text."
        )
    longest = min(int(getattr(network.config, "max_position_embeddings", LONGEST_WINDOW)), LONGEST_WINDOW)
    before, _, after, _, _ = frame(tokenizer, pair=False)
    return Model(tokenizer, network.eval(), kinds, longest - len(before) - len(after), before, after)


def _kind(label: str) -> str | None:
    if label == OUTSIDE:
        return None
    return (label[2:] if label[:2] in ("B-", "I-", "E-", "S-", "L-", "U-") else label).upper()


def _windows(model: Model, number: int, text: str) -> Iterator[_Window]:
    """The tokens of a text in windows that overlap by a quarter."""
    read = model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    ids, spans = read["input_ids"], [tuple(span) for span in read["offset_mapping"]]
    step = model.window * 3 // 4
    for at in range(0, max(1, len(ids) - model.window + step), step):
        if ids[at : at + model.window]:
            yield _Window(number, ids[at : at + model.window], spans[at : at + model.window])


def _label(
    model: Model, windows: Sequence[_Window], tokens: Sequence[dict[tuple[int, int], tuple[int, float, str]]]
) -> None:
    """Notes for every token its depth in the window (the farther from an edge the better), score and kind."""
    import torch

    framed = [[*model.before, *window.ids, *model.after] for window in windows]
    longest = max(map(len, framed))
    pad = model.tokenizer.pad_token_id or 0
    ids = torch.tensor([one + [pad] * (longest - len(one)) for one in framed])
    real = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in framed])
    with torch.inference_mode():
        chances = model.network(input_ids=ids, attention_mask=real).logits.softmax(-1)
        outside = model.kinds.index(None)
        certain = chances[..., outside].tolist()
        chances[..., outside] = -1
        best = chances.argmax(-1).tolist()
    before = len(model.before)
    for row, window in enumerate(windows):
        for at, span in enumerate(window.spans):
            depth = min(at, len(window.spans) - 1 - at)
            noted = tokens[window.text].get(span)
            if noted is None or depth > noted[0]:
                kind = model.kinds[best[row][before + at]]
                tokens[window.text][span] = (depth, 1 - certain[row][before + at], kind or OUTSIDE)


def _words(text: str, tokens: dict[tuple[int, int], tuple[int, float, str]]) -> list[Secret]:
    """Tokens put together to words: those that touch, without a space between them."""
    found: list[Secret] = []
    for start, end in sorted(tokens):
        _, score, kind = tokens[start, end]
        while start < end and text[start].isspace():
            start += 1
        if start == end:
            continue
        last = found[-1] if found else None
        if last and last.end == start and text[start].isalnum() and text[start - 1].isalnum():
            surer = last if last.score >= score else Secret(start, end, kind, score)
            found[-1] = Secret(last.start, end, surer.kind, surer.score)
        else:
            found.append(Secret(start, end, kind, score))
    return [secret for secret in found if secret.score >= FLOOR]


@POLICIES.register("token-classifier")
def token_classifier(
    model: str | Path,
    threshold: float = 0.5,
    kinds: dict[str, float] | None = None,
    sha256: str | None = None,
) -> Policy:
    """What a transformers model for token classification finds, from a folder or by name."""
    digest = _digest(Path(model))
    if sha256 is not None and digest != sha256:
        raise SettingError(f"{model}: the weights are not those with SHA-256 {sha256}; restore them, or drop 'sha256'.")
    name = Path(model).as_posix()
    return TokenClassifier(name, digest).at(threshold, kinds)


def _digest(folder: Path) -> str | None:
    """SHA-256 of the weights; None for a name on the hub."""
    file = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if file is None and folder.is_dir():
        raise InputError(f"{folder}: there is no {WEIGHTS[0]} here; give the folder of a saved model.")
    return None if file is None else sha256_file(file)
