"""Evaluation: the numbers are those of their definitions."""

import math

import pytest
import torch

from discreet.evaluate.perplexity import evaluate_model
from discreet.models.language import new_model, output_layer
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import train_bpe


class Nothing:
    def secrets_of_all(self, records):
        return ((record, ()) for record in records)


@pytest.fixture(scope="module")
def encoder():
    return Encoder(train_bpe([Record("1", "the cat sat on the mat " * 3)], Nothing(), 280))


RECORDS = [
    (Record("1", "the cat 4711 sat"), (Secret(8, 12, "CODE"),)),
    (Record("2", "on the mat"), ()),
    (Record("3", "grüße"), (Secret(0, 5, "X"),)),
]


def by_hand(model, encoder):
    """One record at a time, the whole softmax, no batching."""
    losses, hits, secret = [], [], []
    for record, secrets in RECORDS:
        tokens = encoder.encode(record, secrets)
        ids = torch.from_numpy(tokens.ids.astype("int64"))
        logits = model(input_ids=ids[None, :-1]).logits[0].log_softmax(-1)
        losses += (-logits.gather(1, ids[1:, None])).squeeze(1).tolist()
        hits += (logits.argmax(1) == ids[1:]).tolist()
        secret += tokens.target_is_secret.tolist()
    return losses, hits, secret


def test_scores_are_those_of_one_record_at_a_time(encoder):
    model = new_model("lstm", len(encoder.tokenizer), {"embedding": 8, "hidden": 8}, seed=1).eval()
    got = evaluate_model(model, encoder.encode_all(iter(RECORDS)))
    losses, hits, secret = by_hand(model, encoder)

    def perplexity(chosen):
        picked = [loss for loss, flag in zip(losses, secret, strict=True) if chosen is None or flag == chosen]
        return math.exp(sum(picked) / len(picked))

    assert got.tokens == len(losses) == got.tokens_public + got.tokens_secret
    assert got.tokens_secret == sum(secret)
    assert got.perplexity == pytest.approx(perplexity(None), rel=1e-5)
    assert got.perplexity_public == pytest.approx(perplexity(False), rel=1e-5)
    assert got.perplexity_secret == pytest.approx(perplexity(True), rel=1e-5)
    assert got.top1 == pytest.approx(sum(hits) / len(hits))
    assert got.bits_per_char == pytest.approx(sum(losses) / math.log(2) / (16 + 10 + 5), rel=1e-5)
    assert (got.characters, got.records) == (31, 3)


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary(encoder):
    size = len(encoder.tokenizer)
    model = new_model("lstm", size, {"embedding": 8, "hidden": 8}, seed=1)
    with torch.no_grad():
        for parameter in output_layer(model):
            assert parameter is not None
            parameter.zero_()
    got = evaluate_model(model, encoder.encode_all(iter(RECORDS)))
    assert got.perplexity == pytest.approx(size, rel=1e-5)
    assert got.perplexity_secret == pytest.approx(size, rel=1e-5)


def test_text_without_secrets_has_no_secret_perplexity(encoder):
    model = new_model("lstm", len(encoder.tokenizer), {"embedding": 8, "hidden": 8}, seed=1)
    got = evaluate_model(model, encoder.encode_all([(RECORDS[1][0], ())]))
    assert got.perplexity_secret is None
    assert got.top1_secret is None
    assert got.perplexity_public == got.perplexity
