"""How fast membership signals of 2,000 records are computed, beside one forward pass a record.

    python -m benchmarks.membership [--records 2000] [--threads 1]

CustomerSim dialogs, an LSTM 200/200 and a GPT of the shape of `mini`, fresh weights, a vocabulary of 4,096. Timed are
the signals that come from one pass (loss, zlib, min-k, min-k++) over all records, and beside it `score` alone on the
same batches, which is what one pass costs at least, and `score` on one record at a time (measured on 100 of them); all
in processor time.
"""

import argparse
import time

import torch

from discreet.attacks.signals import signals
from discreet.attacks.texts import records_of
from discreet.mechanisms.language import scored, tensors
from discreet.models.language import new_model, score
from discreet.policy.specs import policy
from discreet.text.batching import make_batch, windows
from discreet.text.customersim import simulate
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import train_bpe

MODELS = {"gpt": {"width": 224, "layers": 4, "heads": 7, "context": 512}, "lstm": {"embedding": 200, "hidden": 200}}
ONE_PASS = ("loss", "zlib", "min-k", "min-k++")
ALONE = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    records = list(simulate(options.records, seed=0))
    encoder = Encoder(train_bpe(records[:500], policy("nothing"), 4096))
    texts = records_of(encoder, policy("gold"), records)
    print(f"{len(texts):,} records, {len(texts.encoded.ids):,} tokens, {options.threads} threads\n")
    print(
        "| model | four signals, s | one pass of scoring, s | one record at a time, s (estimated) |"
        "\n|---|---:|---:|---:|"
    )
    for name, sizes in MODELS.items():
        model = new_model(name, encoder.vocabulary_size, sizes, seed=0).eval()
        begin = time.process_time()
        signals(model, texts, wanted=ONE_PASS)
        ours = time.process_time() - begin
        begin = time.process_time()
        for _ in scored(model, texts.encoded):
            pass
        least = time.process_time() - begin
        begin = time.process_time()
        for row in windows(texts.encoded)[:ALONE]:
            batch = tensors(make_batch(texts.encoded, row[None]))
            score(model, batch["input_ids"], batch["targets"])
        alone = (time.process_time() - begin) * len(texts) / ALONE
        print(f"| {name} | {ours:.1f} | {least:.1f} | {alone:.1f} |", flush=True)


if __name__ == "__main__":
    main()
