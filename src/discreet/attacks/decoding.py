"""What a model writes on from given tokens: the likeliest tokens by beam search, or tokens drawn.

Every continuation is carried by its state (`discreet.attacks.reading`), so one more token costs one token.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from discreet.attacks.reading import AnyReader
from discreet.errors import SettingError
from discreet.text.tokenize import SpecialIds


def silenced(special: SpecialIds) -> list[int]:
    """Ids that are never written: they stand for no text. The end may be written, and nothing follows it."""
    return sorted({special.pad, special.begin, special.mask} - {None, special.end})  # type: ignore[arg-type]


@torch.inference_mode()
def likeliest(
    reader: AnyReader, prompts: Tensor, tokens: int, special: SpecialIds, *, beams: int = 1
) -> list[list[int]]:
    """The likeliest continuation of each prompt [prompts, T] that beam search finds; one beam is greedy decoding."""
    _check(reader, prompts, tokens)
    count, silent = len(prompts), silenced(special)
    reading = reader.read(prompts)
    written = torch.empty(count, 1, 0, dtype=torch.int64)
    scores = torch.zeros(count, 1)
    ended = torch.zeros(count, 1, dtype=torch.bool)
    for _ in range(tokens):
        alive = scores.shape[1]
        logs = reader.logits(reading).index_fill(1, torch.tensor(silent, dtype=torch.int64), -torch.inf).log_softmax(1)
        logs = logs.view(count, alive, -1)
        logs = logs.masked_fill(ended[:, :, None], -torch.inf)
        logs[:, :, special.end] = logs[:, :, special.end].masked_fill(ended, 0.0)  # an ended text stays as it is
        words = logs.shape[2]
        scores, best = (scores[:, :, None] + logs).flatten(1).topk(min(beams, alive * words), 1)
        source, token = best // words, best % words
        written = torch.cat(
            (written.gather(1, source[:, :, None].expand(-1, -1, written.shape[2])), token[:, :, None]), 2
        )
        ended = ended.gather(1, source) | (token == special.end)
        if bool(ended.all()):
            break
        rows = (torch.arange(count)[:, None] * alive + source).flatten()
        reading = reader.read_on(reading, rows, token.flatten())
    return [_until(row, special.end) for row in written[:, 0].tolist()]


@torch.inference_mode()
def drawn(
    reader: AnyReader,
    prompts: Tensor,
    tokens: int,
    special: SpecialIds,
    *,
    number: int,
    random: torch.Generator,
    temperature: float = 1.0,
) -> list[list[list[int]]]:
    """So many continuations of each prompt, token by token as the model's probabilities fall."""
    _check(reader, prompts, tokens)
    silent = torch.tensor(silenced(special), dtype=torch.int64)
    reading = reader.read(prompts)
    rows = torch.arange(len(prompts)).repeat_interleave(number)
    written: list[Tensor] = []
    for _ in range(tokens):
        shares = (reader.logits(reading).index_fill(1, silent, -torch.inf) / temperature).softmax(1)
        steps = shares.cumsum(1).index_select(0, rows)
        at = torch.rand(len(rows), 1, generator=random) * steps[:, -1:]
        token = torch.searchsorted(steps, at).squeeze(1).clamp_max(shares.shape[1] - 1)
        written.append(token)
        reading = reader.read_on(reading, rows, token)
        rows = torch.arange(len(rows))
    texts = [_until(row, special.end) for row in torch.stack(written, 1).tolist()]
    return [texts[begin : begin + number] for begin in range(0, len(texts), number)]


def by_length(prompts: Iterable[Sequence[int]], most: int) -> list[tuple[list[int], Tensor]]:
    """Prompts of one length together, at most so many: their numbers and their ids."""
    groups: dict[int, list[tuple[int, Sequence[int]]]] = {}
    for number, prompt in enumerate(prompts):
        groups.setdefault(len(prompt), []).append((number, prompt))
    found = []
    for _, group in sorted(groups.items()):
        for begin in range(0, len(group), most):
            some = group[begin : begin + most]
            found.append(([number for number, _ in some], torch.tensor([list(prompt) for _, prompt in some])))
    return found


def _until(ids: Sequence[int], end: int) -> list[int]:
    return list(ids[: ids.index(end)]) if end in ids else list(ids)


def _check(reader: AnyReader, prompts: Tensor, tokens: int) -> None:
    if reader.context is not None and prompts.shape[1] + tokens > reader.context:
        raise SettingError(
            f"A prompt of {prompts.shape[1]} tokens and {tokens} more do not fit into the {reader.context} the model "
            "can read."
        )
