"""What a model writes."""

import pytest
import torch

from discreet.errors import SettingError
from discreet.models.generate import generate
from discreet.models.language import new_model, score
from discreet.policy.specs import policy
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import train_bpe

SIZES = {"lstm": {"hidden": 16, "embedding": 16}, "gpt": {"width": 16, "layers": 1, "heads": 2, "context": 24}}


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    records = [Record(str(n), f"the {n} cats sat on the mat and looked at the rat") for n in range(30)]
    return Encoder(train_bpe(records, policy("nothing"), 300))


@pytest.fixture(params=list(SIZES))
def model(request, encoder):
    made = new_model(request.param, encoder.vocabulary_size, SIZES[request.param], seed=1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)  # decided enough that greedy and drawn texts differ
    return made


def test_the_same_seed_writes_the_same_and_another_seed_something_else(model, encoder):
    one, two, other = (generate(model, encoder, "the cats", count=2, tokens=12, seed=seed) for seed in (1, 1, 2))
    assert one == two != other
    assert len(one) == 2


def test_temperature_zero_writes_the_likeliest_tokens(model, encoder):
    (text,) = generate(model, encoder, "the cats", tokens=5, temperature=0)
    start = encoder.encode(Record("1", "the cats"), ()).ids[:-1]
    ids = [int(n) for n in start]
    silent = {encoder.special.pad, encoder.special.mask}
    model.eval()
    for _ in range(5):
        with torch.no_grad():
            scores = model(input_ids=torch.tensor([ids])).logits[0, -1]
        scores[[n for n in silent if n is not None]] = -torch.inf
        ids.append(int(scores.argmax()))
        if ids[-1] == encoder.special.end:
            break
    assert text == encoder.decode(ids[len(start) :])
    assert score is not None


def test_neither_masks_nor_padding_are_written(model, encoder):
    with torch.no_grad():
        model.get_output_embeddings().weight[encoder.special.mask] += 100
    for text in generate(model, encoder, "the", count=4, tokens=10):
        assert "<MASK>" not in text
        assert "<|pad|>" not in text


def test_a_text_is_no_longer_than_the_model_can_read(encoder):
    model = new_model("gpt", encoder.vocabulary_size, SIZES["gpt"], seed=1)
    (text,) = generate(model, encoder, "the cats", tokens=500, temperature=0)
    assert isinstance(text, str)
    with pytest.raises(SettingError, match="can read 24"):
        generate(model, encoder, "the cats " * 20)


def test_bad_settings_are_refused(model, encoder):
    for bad in ({"count": 0}, {"tokens": 0}, {"temperature": -1.0}, {"top_p": 0.0}):
        with pytest.raises(SettingError):
            generate(model, encoder, "the", **bad)


def test_making_text_leaves_the_global_generator_alone(model, encoder):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    generate(model, encoder, "the", tokens=3)
    assert torch.equal(torch.rand(3), expected)
