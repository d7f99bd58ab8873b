"""The model that ships in the package: it is small, it is what its card says, and it can talk."""

import json
import math
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from discreet.evaluate.perplexity import evaluate_model
from discreet.models.pretrained import load_causal, place_of
from discreet.policy.specs import policy
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer
from tests.command_server import discreet

FOLDER = Path(place_of("mini"))


def test_it_fits_into_twenty_megabytes_of_half_precision_and_has_four_to_eight_million_parameters():
    assert (FOLDER / "model.safetensors").stat().st_size < 20 * 2**20
    stored = AutoModelForCausalLM.from_pretrained(FOLDER, dtype="auto")
    assert {p.dtype for p in stored.parameters()} == {torch.float16}
    assert 4e6 <= sum(p.numel() for p in stored.parameters()) <= 8e6


def test_its_card_says_what_its_scores_say():
    scores = json.loads((FOLDER / "scores.json").read_text())
    card = (FOLDER / "README.md").read_text()
    for name in ("held_out", "wikitext_2_raw_test"):
        assert f"{scores[name]['bits_per_char']:.3f}" in card
    assert scores["held_out"]["bits_per_char"] <= 1.75
    losses = [json.loads(line)["loss"] for line in (FOLDER / "curve.jsonl").read_text().splitlines()]
    assert losses[-1] < 0.6 * losses[0]
    assert (FOLDER / "recipe.yaml").is_file()


def test_its_vocabulary_gives_every_text_back():
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    for text in ("A plain sentence.", "Zürich, 你好, 😀\n\ttabs", ""):
        assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_it_prefers_english_to_the_same_words_in_disorder():
    encoder = Encoder(load_tokenizer(FOLDER))
    model = load_causal("mini")

    def loss(text: str) -> float:
        secrets = policy("nothing").secrets_of_all([Record("1", text)])
        return math.log(evaluate_model(model, encoder.encode_all(secrets)).perplexity)

    ordered = "The river flows through the city and into the northern part of the lake."
    assert loss(ordered) < loss("Lake city the the northern and flows the of into part river the through.") - 1


@pytest.mark.parametrize("prompt", ["The city of", ""])
def test_it_writes_on_from_the_command_line(prompt, tmp_path):
    done = discreet("generate", "mini", "--prompt", prompt, "--tokens", 8, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (text,) = json.loads(done.stdout)["texts"]
    assert text
