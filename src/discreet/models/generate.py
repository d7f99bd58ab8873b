"""What a model writes: continuations of a prompt, one token after another.

    generate(model, encoder, "my order number is", count=3, tokens=40, seed=1)

Each continuation starts at a record's beginning with the prompt, as training text does.
"""

import torch
from torch import nn

from discreet.errors import SettingError
from discreet.models.pretrained import context_of
from discreet.text.records import Record
from discreet.text.tokenize import Encoder


@torch.no_grad()
def generate(
    model: nn.Module,
    encoder: Encoder,
    prompt: str = "",
    *,
    count: int = 1,
    tokens: int = 100,
    temperature: float = 1.0,
    top_p: float = 1.0,
    seed: int = 0,
) -> list[str]:
    """Continuations of a prompt, each up to the end of its record or so many tokens.

    Temperature 0 always takes the likeliest token.
    """
    if count < 1 or tokens < 1:
        raise SettingError("Generating takes at least one continuation of at least one token.")
    if not temperature >= 0 or not 0 < top_p <= 1:
        raise SettingError("The temperature is a number from 0 on, top_p lies above 0 and at most at 1.")
    start = encoder.encode(Record(id="prompt", text=prompt), ()).ids[:-1]  # without the end of the record
    context = context_of(model)
    if context is not None and len(start) >= context:
        raise SettingError(f"The prompt has {len(start)} tokens and the model can read {context}; shorten it.")
    if context is not None:
        tokens = min(tokens, context - len(start))
    sampling = (
        {"do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": 0}
        if temperature
        else {"do_sample": False}
    )
    special = encoder.special
    silent = [[number] for number in {special.pad, special.begin, special.mask} - {None, special.end}]
    model.eval()
    ids = torch.from_numpy(start).long().expand(count if temperature else 1, -1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        written = model.generate(  # type: ignore[operator]
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=tokens,
            eos_token_id=special.end,
            pad_token_id=special.pad,
            bad_words_ids=silent or None,
            **sampling,
        )
    texts = [encoder.decode(row[len(start) :].tolist()) for row in written]
    return texts if temperature else texts * count
