"""What members of a randomness space are ranked by: the secret given its prefix, or the whole sentence."""

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.attacks.candidates import Candidates, all_segmentations
from discreet.attacks.contract import Told, silent
from discreet.attacks.enumeration import Floats, log_probabilities
from discreet.attacks.reading import AnyReader
from discreet.errors import SettingError
from discreet.models.language import score
from discreet.text.tokenize import Encoder

MOST_SEGMENTED = 100_000
"""Members of a space for which all tokenizations are added up at most."""


def secret_scores(
    reader: AnyReader, encoder: Encoder, members: Candidates, told: Told = silent, *, every_tokenization: bool = False
) -> Floats:
    """log p(secret | prefix) of each member: of its canonical tokens, or added up over all ways to write it."""

    def heard(done: int, total: int) -> None:
        told("secrets ranked", done, total)

    if not every_tokenization:
        return log_probabilities(reader, members.start, members.rows, heard)
    if len(members) > MOST_SEGMENTED:
        raise SettingError(
            f"All tokenizations can be added up for at most {MOST_SEGMENTED:,} members, and the space has "
            f"{len(members):,}; leave every_tokenization out, or set enumerate to false."
        )
    rows, owners = all_segmentations(encoder, members.rows)
    total = np.full(len(members), -np.inf)
    np.logaddexp.at(total, owners, log_probabilities(reader, members.start, rows, heard))
    return total


def sentence_scores(
    reader: AnyReader, members: Candidates, by_secret: Floats, own: NDArray[np.int64], told: Told = silent
) -> Floats:
    """Mean log-probability of a token over the whole sentence: minus the logarithm of its perplexity.

    Tokens after the secret can only lower the sum. A member whose mean without them is already below that of every
    canary (`own`) keeps that bound, which gives every canary the same rank, and is not read on.
    """
    before = _prefix_score(reader, members)
    tokens = len(members.start) - 1 + members.lengths + len(members.suffix)
    scores = (before + by_secret) / tokens
    if not len(members.suffix):
        return scores

    def heard(done: int, total: int) -> None:
        told("sentences ranked", done, total)

    def whole(some: NDArray[np.int64]) -> Floats:
        read = log_probabilities(reader, members.start, members.whole_rows(some), heard)
        return np.asarray((before + read) / tokens[some])

    scores[own] = whole(own)
    others = np.setdiff1d(np.flatnonzero(scores >= scores[own].min()), own)
    if len(others):
        scores[others] = whole(others)
    return scores


def _prefix_score(reader: AnyReader, members: Candidates) -> float:
    ids = torch.from_numpy(members.start.astype(np.int64))[None]
    if ids.shape[1] < 2:
        return 0.0
    return -float(score(reader.model, ids[:, :-1], ids[:, 1:]).loss.double().sum())
