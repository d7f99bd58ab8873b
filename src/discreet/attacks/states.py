"""What a model makes of a whole record: the state it is in after the last token, as a vector.

    vectors = record_states(model, encoded)          # [records, width], in the order of the records

For an LSTM that is the last hidden state of its top layer, for a transformer the state at the last token: what the
output layer sees there. It is what the regularizers of Mireshghallah et al. (2021) protect. The mean over all tokens
is the other usual summary of a text; what was scrubbed from the last state only may still stand in it.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from discreet.mechanisms.language import SCORING_TOKENS, tensors
from discreet.mechanisms.regularized import text_states
from discreet.models.adapters import inner
from discreet.models.language import hidden_states
from discreet.models.pretrained import context_of
from discreet.text.batching import make_batch, plan_batches
from discreet.text.tokenize import Encoded


@torch.inference_mode()
def record_states(
    model: nn.Module, encoded: Encoded, state: str = "last", told: Callable[[int], None] | None = None
) -> Tensor:
    """One vector a record, by one forward pass; of a record longer than the model's context, of its last window."""
    model.eval()
    context = context_of(inner(model))
    positions = np.diff(encoded.starts) - 1
    most = max(SCORING_TOKENS, min(int(positions.max(initial=1)), context or 2**62))
    found: Tensor | None = None
    for rows in plan_batches(encoded, batch_tokens=most, max_tokens=context, shuffle=False, at_sentences=False):
        own = rows[rows[:, 2] == positions[rows[:, 0]]]
        if not len(own):
            continue
        batch = tensors(make_batch(encoded, own))
        vectors = text_states(hidden_states(model, batch["input_ids"]), batch["lengths"], state)
        if found is None:
            found = vectors.new_empty(len(encoded), vectors.shape[1])
        found[batch["records"]] = vectors
        if told:
            told(len(own))
    return torch.empty(0, 0) if found is None else found
