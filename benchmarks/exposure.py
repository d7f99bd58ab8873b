"""How fast all members of a randomness space are scored, beside one forward pass a candidate in batches of 256.

    python -m benchmarks.exposure [--model FOLDER ...] [--digits 6] [--batches 6] [--threads 1]

Every row is one model: the shape of `mini` (the GPT that comes with the package) and the papers' LSTM, with fresh
weights (the time does not depend on them) and a vocabulary of 8,192, or any model's folder. Timed are tokenizing all
10^6 candidates of "My ID is dddddd." and scoring them, once with the policy finding the secret (text is then cut at its
edges) and once with the policy missing it. The peer tokenizes and runs each candidate's whole text through the model in
batches of 256, with logits at the positions of the secret only; it is timed on some batches drawn at random, and its
whole time is the mean batch times the number of batches. Both are measured in the same process, one after the other, in
processor time (so that other processes matter less), and the scores of the peer's batches must agree. Target: at least
50 times faster.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from discreet.attacks.candidates import enumerated
from discreet.attacks.enumeration import log_probabilities
from discreet.attacks.reading import reader_of
from discreet.models.language import load_model, new_model, score
from discreet.policy.specs import policy
from discreet.sanitize.canaries.template import Slot, Template
from discreet.text.customersim import simulate
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer, train_bpe

BATCH = 256
MODELS = {"gpt": {"width": 224, "layers": 4, "heads": 7, "context": 512}, "lstm": {"embedding": 200, "hidden": 200}}
NAMES = {"gpt": "gpt 4 x 224, near the size of mini", "lstm": "lstm 200/200"}


def cases(folders: list[Path]) -> Iterator[tuple[str, nn.Module, Encoder]]:
    for folder in folders:
        yield folder.name, load_model(folder).float().eval(), Encoder(load_tokenizer(folder))
    if not folders:
        encoder = Encoder(train_bpe(list(simulate(500, seed=0)), policy("nothing"), 8192))
        for name, sizes in MODELS.items():
            yield NAMES[name], new_model(name, 8192, sizes, seed=0).eval(), encoder


def one_by_one(model: nn.Module, encoder: Encoder, template: Template, members: np.ndarray, marked: bool) -> np.ndarray:
    """The scores of some candidates, each with a forward pass of its own text."""
    found = np.empty(len(members))
    for begin in range(0, len(members), BATCH):
        some = members[begin : begin + BATCH]
        fillings = [template.member(int(number)) for number in some]
        rows = [
            encoder.encode(Record("", template.fill(f).text), template.fill(f).secrets if marked else ()).ids
            for f in fillings
        ]
        ids = torch.full((len(rows), max(map(len, rows))), encoder.special.pad)
        for row, own in zip(ids, rows, strict=True):
            row[: len(own)] = torch.from_numpy(own)
        targets = ids[:, 1:].clone()
        for row, own in zip(targets, rows, strict=True):
            row[len(own) - 3 :] = -100  # the full stop, the end and the padding
            row[: SHARED[marked] - 1] = -100
        found[begin : begin + BATCH] = -score(model, ids[:, :-1], targets).loss.double().sum(1).numpy()
    return found


SHARED: dict[bool, int] = {}
"""How many tokens all candidates begin with, by whether the text is cut at the secret."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, action="append", default=[])
    parser.add_argument("--digits", type=int, default=6)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    template = Template("My ID is {0}.", (Slot("options", tuple("0123456789"), options.digits),))
    print(
        f"{template.size:,} candidates; peer: {options.batches} random batches of {BATCH}, {options.threads} threads\n"
    )
    print(
        "| model | secret | tokenize, s | score, s | together, s | peer, s (estimated) | ratio | largest difference |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, model, encoder in cases(options.model):
        for marked in (True, False):
            begin = time.process_time()
            members = enumerated(encoder, template, marked=marked)
            tokenized = time.process_time()
            scores = log_probabilities(reader_of(model), members.start, members.rows)
            done = time.process_time()
            SHARED[marked] = len(members.start)
            chosen = np.random.default_rng(0).choice(template.size, options.batches * BATCH, replace=False)
            one_by_one(model, encoder, template, chosen[:BATCH], marked)  # warm
            start = time.process_time()
            peer = one_by_one(model, encoder, template, chosen, marked)
            a_batch = (time.process_time() - start) / options.batches
            whole = a_batch * template.size / BATCH
            apart = float(np.abs(peer - scores[chosen]).max())
            ours = done - begin
            print(
                f"| {name} | {'found' if marked else 'missed'} | {tokenized - begin:.1f} | {done - tokenized:.1f} | "
                f"{ours:.1f} | {whole:.0f} | {whole / ours:.0f} | {apart:.1e} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
