"""Models that Python packages carry, for real: SmolLM2 learns by LoRA in private steps, MiniLM learns to classify."""

import random

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from discreet.engine.ledger import read_ledger
from discreet.errors import MissingPackageError
from discreet.evaluate.classification import evaluate as evaluate_classes
from discreet.mechanisms.train import train
from discreet.models.pretrained import load_causal, place_of
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret


def needs(name: str) -> None:
    try:
        place_of(name)
    except MissingPackageError as missing:
        pytest.skip(str(missing))


def letters() -> Corpus:
    """Eight short letters with a code each."""
    texts = [f"Dear Ada, the code of your locker is {code}." for code in range(4711, 4719)]
    records = [Record(str(n), text, secrets=(Secret(37, 41, "CODE"),)) for n, text in enumerate(texts)]
    return Corpus({"train": records, "valid": records[:1], "test": records[:1]}, "letters")


def test_smollm2_learns_by_lora_in_private_steps_and_is_saved_as_an_ordinary_model(tmp_path, monkeypatch):
    needs("smollm2")
    before: dict[str, torch.Tensor] = {}

    def remembered(name: str) -> torch.nn.Module:
        model = load_causal(name)
        before.update({key: value.detach().clone() for key, value in model.named_parameters()})
        return model

    monkeypatch.setattr("discreet.mechanisms.train.load_causal", remembered)
    run = train(
        letters(),
        "gold",
        {"name": "dp-sgd", "noise": 1.0, "batch": 4, "epochs": 1, "clip": 0.5, "randomness": "fast"},
        model={"name": "smollm2", "lora": {"r": 4, "targets": ["q_proj", "v_proj"]}},
        training={"learning_rate": 1e-4, "precision": "float32"},
        output=tmp_path / "run",
        progress=False,
    )
    (phase,) = read_ledger(run.path / "ledger.jsonl").values()
    assert phase.releases == 2
    assert run.guarantee.epsilon is not None

    saved = AutoModelForCausalLM.from_pretrained(run.model_folder)
    after = dict(saved.named_parameters())
    assert set(after) == set(before)
    moved = {name.split(".")[-2] for name, old in before.items() if not torch.equal(old, after[name][: len(old)])}
    assert moved == {"q_proj", "v_proj"}

    tokenizer = AutoTokenizer.from_pretrained(run.model_folder)
    prompt = tokenizer("The capital of France is", return_tensors="pt")
    written = saved.generate(**prompt, max_new_tokens=3, do_sample=False)
    assert "Paris" in tokenizer.decode(written[0])  # the weights of the package, not random ones


def test_minilm_learns_to_classify_sentences_from_few(tmp_path):
    """A random encoder stays near one half here; MiniLM knows what the words mean."""
    needs("minilm")
    liked = ["wonderful", "a delight", "superb", "charming", "a joy to watch", "excellent", "moving and funny", "great"]
    disliked = ["awful", "a waste of time", "terrible", "dull", "boring", "a mess", "clumsy and tedious", "bad"]
    draw = random.Random(0)
    subjects = ["the film", "this story", "her last novel", "the play", "their new record", "the second act"]

    def review(number: int, some: slice) -> Record:
        label = draw.choice(["no", "yes"])
        words = draw.choice((liked if label == "yes" else disliked)[some])
        return Record(str(number), f"{draw.choice(subjects)} is {words}.", label=label)

    splits = {
        "train": [review(n, slice(0, 5)) for n in range(48)],
        "valid": [review(n, slice(0, 5)) for n in range(48, 64)],
        "test": [review(n, slice(5, 8)) for n in range(64, 112)],  # words it has not been trained on
    }
    run = train(
        Corpus(splits, "reviews"),
        "nothing",
        task="classification",
        model="minilm",
        training={"epochs": 3, "learning_rate": 3e-4, "batch_size": 8, "precision": "float32"},
        output=tmp_path / "run",
        progress=False,
    )
    found = evaluate_classes(run, Corpus(splits, "reviews"), policy="nothing", split="test")
    assert found.accuracy > 0.8
    assert found.f1 > 0.7
