"""Scores by shared beginnings are the scores of each text on its own."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM

from discreet.attacks import enumeration
from discreet.attacks.enumeration import log_probabilities
from discreet.attacks.reading import AgainReader, CacheReader, StateReader, reader_of
from discreet.errors import SettingError
from discreet.models.language import new_model, score

WORDS = 12


def llama():
    sizes = {"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2}
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(**sizes, vocab_size=WORDS, max_position_embeddings=16))


MODELS = {
    "lstm": lambda: new_model("lstm", WORDS, {"embedding": 6, "hidden": 6, "layers": 2}, seed=1),
    "gpt": lambda: new_model("gpt", WORDS, {"width": 8, "layers": 2, "heads": 2, "context": 16}, seed=1),
    "llama": llama,
}
READERS = {"lstm": StateReader, "gpt": CacheReader, "llama": CacheReader}


def louder(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model.eval()


READY = {name: louder(make()) for name, make in MODELS.items()}


def one_by_one(model, start, rows):
    found = []
    for row in rows:
        own = row[row >= 0]
        if not len(own):
            found.append(0.0)
            continue
        ids = torch.tensor([[*start, *own]])
        losses = score(model, ids[:, :-1], ids[:, 1:]).loss[0].double()
        found.append(-float(losses[len(start) - 1 :].sum()))
    return np.array(found)


@pytest.mark.parametrize("name", MODELS)
def test_each_model_is_read_on_by_what_it_carries(name):
    assert type(reader_of(READY[name])) is READERS[name]


def test_a_model_that_carries_something_else_is_read_again(monkeypatch):
    model = louder(MODELS["gpt"]())
    monkeypatch.setattr(CacheReader, "read_on", lambda self, reading, rows, tokens: self.read(tokens[:, None]))
    assert type(reader_of(model)) is AgainReader
    monkeypatch.setattr(CacheReader, "_go", lambda self, ids, cache: ids.no_such_thing)
    assert type(reader_of(model)) is AgainReader


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    st.sampled_from(list(MODELS)),
    st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(0, 4), max_size=5), min_size=1, max_size=40),
    st.booleans(),
)
def test_scores_are_those_of_each_text_on_its_own(name, start, texts, again):
    width = max(map(len, texts))
    rows = np.full((len(texts), width), -1, np.int32)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = text
    reader = AgainReader(READY[name]) if again else reader_of(READY[name])
    got = log_probabilities(reader, np.array(start, np.int32), rows)
    np.testing.assert_allclose(got, one_by_one(READY[name], start, rows), atol=2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_small_blocks_change_nothing_and_all_texts_of_a_length_are_certain(name, monkeypatch):
    rows = np.indices((WORDS,) * 3).reshape(3, -1).T.astype(np.int32)
    reader, start = reader_of(READY[name]), np.array([3], np.int32)
    whole = log_probabilities(reader, start, rows)
    assert np.exp(whole).sum() == pytest.approx(1.0, abs=1e-5)
    monkeypatch.setattr(enumeration, "BLOCK", 7)
    heard = []
    np.testing.assert_allclose(
        log_probabilities(reader, start, rows, lambda *told: heard.append(told)), whole, atol=1e-5
    )
    assert heard[-1] == (len(rows), len(rows))


def test_texts_longer_than_the_model_can_read_are_refused():
    rows = np.zeros((2, 9), np.int32)
    with pytest.raises(SettingError, match="can read 16"):
        log_probabilities(reader_of(READY["gpt"]), np.zeros(8, np.int32), rows)
