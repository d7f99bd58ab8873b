"""Classifiers of the BERT and RoBERTa families through training, redaction, evaluation and the command line."""

import json
import random

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from discreet.engine.settings import TrainingSettings
from discreet.errors import SettingError
from discreet.evaluate.classification import evaluate
from discreet.mechanisms.classification import ClassificationBatches, ClassificationTask
from discreet.mechanisms.train import train
from discreet.text.corpus import Corpus
from discreet.text.labelled import LabelledEncoder
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder
from tests.command_server import discreet
from tests.text.test_labelled import TOKENIZERS, WORDS

SIZES = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}


def sentence(number: int, *, pair: bool = False) -> Record:
    """Label yes if the last letter of the (second) sentence is of the first half of the alphabet."""
    draw = random.Random(number)
    letters = [draw.choice("abcdefghij") for _ in range(6)]
    label = "yes" if letters[-1] in "abcde" else "no"
    text = " ".join(letters)
    secrets = (Secret(0, 1, "LETTER"),)
    if pair:
        return Record(str(number), "a b", label=label, pair=text, secrets=(), pair_secrets=secrets)
    return Record(str(number), text, label=label, secrets=secrets)


def corpus(*, pair: bool = False) -> Corpus:
    parts = {"train": range(240), "valid": range(240, 280), "test": range(280, 360)}
    return Corpus({name: [sentence(n, pair=pair) for n in rows] for name, rows in parts.items()}, "letters")


@pytest.fixture(params=["bert", "roberta"])
def folder(request, tmp_path):
    torch.manual_seed(0)
    if request.param == "bert":
        model = BertForSequenceClassification(BertConfig(**SIZES))
    else:
        model = RobertaForSequenceClassification(RobertaConfig(**SIZES, pad_token_id=0))
    model.save_pretrained(tmp_path / "model")
    TOKENIZERS[request.param].save_pretrained(tmp_path / "model")
    return tmp_path / "model"


TRAINING = {"epochs": 12, "batch_size": 16, "learning_rate": 0.01}


@pytest.mark.parametrize(("mechanism", "pair"), [("none", False), ("none", True), ("redacted", True)])
def test_a_classifier_learns_and_its_run_is_an_ordinary_model(tmp_path, folder, mechanism, pair):
    run = train(
        corpus(pair=pair), "gold", mechanism, str(folder), task="classification", output=tmp_path / "run",
        progress=False, training=TRAINING,
    )  # fmt: skip
    result = evaluate(run, corpus(pair=pair))
    assert result.accuracy > 0.9
    assert result.records == 80
    assert set(result.f1_by_label) == {"no", "yes"}
    model = AutoModelForSequenceClassification.from_pretrained(run.model_folder)
    assert model.config.id2label == {0: "no", 1: "yes"}


def test_accuracy_and_f1_are_those_of_the_table(monkeypatch):
    import discreet.evaluate.classification as module

    labels = torch.tensor([0, 0, 0, 1, 1, 1, 1, 1])
    guesses = torch.tensor([0, 1, 0, 1, 1, 0, 1, 1])
    logits = torch.nn.functional.one_hot(guesses, 2).float() * 9

    class Examples:
        label_names = ("no", "yes")

    monkeypatch.setattr(module, "scored", lambda *_: iter([(labels[:5], logits[:5]), (labels[5:], logits[5:])]))
    result = module.evaluate_classifier(torch.nn.Identity(), Examples())  # type: ignore[arg-type]
    assert result.accuracy == pytest.approx(6 / 8)
    assert result.f1_by_label["yes"] == pytest.approx(2 * 4 / (5 + 5))
    assert result.f1_by_label["no"] == pytest.approx(2 * 2 / (3 + 3))
    assert result.f1 == result.f1_by_label["yes"]


def test_every_labelled_record_is_in_an_epoch_once_and_the_order_is_the_seeds():
    encoder = LabelledEncoder(Encoder(TOKENIZERS["bert"]), ["no", "yes"])
    records = [sentence(n) for n in range(50)]
    records[3] = Record("3", "a b")
    examples = ClassificationTask(encoder).encode([(record, ()) for record in records])
    batches = ClassificationBatches(examples, TrainingSettings(batch_size=7), seed=1)
    first = [list(map(int, rows)) for rows in batches.plan(0)]
    assert sorted(row for rows in first for row in rows) == [n for n in range(50) if n != 3]
    assert first == [list(map(int, rows)) for rows in batches.plan(0)]
    assert first != [list(map(int, rows)) for rows in batches.plan(1)]


def test_lora_trains_the_adapters_and_the_output_layer_only(tmp_path, folder):
    run = train(
        corpus(), "gold", "none", {"name": str(folder), "lora": {"r": 2, "targets": ["query", "value"]}},
        task="classification", output=tmp_path / "run", progress=False, training=TRAINING | {"epochs": 1},
    )  # fmt: skip
    assert run.manifest["trained_parameters"] < run.manifest["parameters"] / 2
    assert evaluate(run, corpus()).records == 80


def test_models_without_a_classifier_are_refused(tmp_path):
    with pytest.raises(SettingError, match="no classifier"):
        train(
            corpus(), "gold", "none", "lstm", task="classification", output=tmp_path / "r", progress=False,
            tokenizer={"train": "bpe", "vocabulary": 300},
        )  # fmt: skip


def test_through_the_command_line(tmp_path, folder):
    rows = [{"id": str(n), "text": sentence(n).text, "label": sentence(n).label} for n in range(200)]
    (tmp_path / "letters.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--set", "task=classification", "--epochs", "1", "--policy", "nothing", "-o", "run"]
    trained = discreet("train", "--data", "letters.jsonl", "--model", folder, *options, cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    scored = discreet("evaluate", "run", "--json", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    assert 0 <= json.loads(scored.stdout)["accuracy"] <= 1
    assert "accuracy" in discreet("evaluate", "run", cwd=tmp_path).stdout
