"""`discreet doctor`: the self-check from the command line."""

import json

import pytest
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

from discreet.cli.doctor import doctor
from discreet.engine.doctor import Examination
from discreet.errors import DiscreetError, RefusedError
from discreet.models.language import new_model, save_model
from tests.command_server import discreet

RULES = {"conv1d", "embedding", "layer-norm", "linear"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    sizes = {"n_layer": 2, "n_embd": 8, "n_head": 2, "vocab_size": 40, "n_positions": 12}
    GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).save_pretrained(folder / "gpt2" / "model")
    return folder


def test_a_saved_model_is_examined(folder):
    done = discreet("doctor", "gpt2/model", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() >= {"model", "parameters", "trainable", "layers", "error", "ok"}
    assert found["ok"] is True
    assert found["error"] < 1e-4
    assert found["model"] == "gpt2/model"
    assert {layer["rule"] for layer in found["layers"]} == RULES
    assert all(layer.keys() >= {"name", "kind", "rule"} for layer in found["layers"])


def test_people_get_a_table_and_a_verdict(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    doctor("gpt2", batch=3, length=5)  # a folder with model/ in it, as runs have
    told = capsys.readouterr()
    for word in (
        "Conv1D",
        "conv1d",
        "transformer.wte",
        "tied: transformer.wte.weight = lm_head.weight",
        "relative error",
    ):
        assert word in told.out
    assert "The engine is right for this model." in told.err


def test_our_lstm_is_examined_by_name_and_from_a_folder(folder, capsys):
    doctor("lstm", vocabulary=50, json_output=True)
    found = json.loads(capsys.readouterr().out)
    assert {layer["rule"] for layer in found["layers"]} == {"lstm", "embedding", "linear"}
    save_model(new_model("lstm", 50, {"embedding": 8, "hidden": 8, "tied": True}, seed=0), folder / "lstm-tied")
    doctor(str(folder / "lstm-tied"), json_output=True)
    assert json.loads(capsys.readouterr().out)["tied"] == [["embedding.weight", "output.weight"]]


def test_a_classifier_is_examined(folder, capsys):
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = BertConfig(**sizes, vocab_size=30, max_position_embeddings=16)
    BertForSequenceClassification(config).save_pretrained(folder / "bert")
    doctor(str(folder / "bert"), task="classification", json_output=True)
    assert json.loads(capsys.readouterr().out)["ok"] is True


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"model": "lstn"}, "neither a folder nor a model 'lstn'; did you mean 'lstm'?"),
        ({"model": "."}, "config.json is missing"),
        ({"model": "broken"}, "no model for causal-lm can be loaded from here"),
        ({"model": "gpt2", "task": "classifying"}, "did you mean 'classification'?"),
        ({"model": "gpt2", "batch": 1}, "at least 2 records"),
    ],
)
def test_mistakes_are_one_sentence(folder, monkeypatch, settings, sentence):
    monkeypatch.chdir(folder)
    (folder / "broken").mkdir(exist_ok=True)
    (folder / "broken" / "config.json").write_text('{"model_type": "no-such-type"}')
    with pytest.raises(DiscreetError) as caught:
        doctor(**settings)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_engine_that_differs_from_the_loop_is_a_failure(folder, monkeypatch):
    wrong = Examination("gpt2", 1, 1, (), (), None, 0.0, 0.02)
    monkeypatch.setattr("discreet.engine.doctor.examine", lambda *_, **__: wrong)
    with pytest.raises(RefusedError, match=r"differ by 2\.0e-02"):
        doctor(str(folder / "gpt2"))
