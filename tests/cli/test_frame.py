"""The command line's frame: exit codes, stdout and stderr, quick start."""

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

from discreet import cli as commands
from tests.command_server import discreet


def alone(*words, cwd=None):
    """The command line as a person starts it: in a process that has imported nothing yet."""
    command = [sys.executable, "-c", "from discreet.cli import main; main()", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def test_a_users_mistake_is_one_sentence_and_exit_code_1(tmp_path):
    done = alone("evaluate", tmp_path / "no-run")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_wrong_usage_is_exit_code_2():
    assert alone("train", "--no-such-option").returncode == 2
    assert alone("no-such-command").returncode == 2


def test_a_mistyped_key_of_a_recipe_is_named_before_any_data_is_read(tmp_path):
    (tmp_path / "r.yaml").write_text("data: missing.jsonl\ntrainin: {epochs: 1}\n")
    done = alone("train", "r.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "there is no key 'trainin'; did you mean 'training'?" in done.stderr


def test_starting_the_command_line_does_not_load_torch():
    code = "import sys, discreet.cli, pkgutil, importlib\n"
    code += "[importlib.import_module(m.name) for m in pkgutil.iter_modules(discreet.cli.__path__, 'discreet.cli.')]\n"
    code += "assert 'torch' not in sys.modules and 'transformers' not in sys.modules and 'pyarrow' not in sys.modules\n"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_every_command_takes_json():
    for module in pkgutil.iter_modules(commands.__path__, commands.__name__ + "."):
        importlib.import_module(module.name)
    assert len(commands.app.registered_commands) >= 8
    for command in commands.app.registered_commands:
        assert command.callback is not None
        assert "json_output" in command.callback.__annotations__, command.callback.__name__


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Dialogs and two runs, made through the command line."""
    folder = tmp_path_factory.mktemp("world")
    made = discreet("simulate", "customersim", "-n", 240, "--seed", 5, "-o", "dialogs.jsonl", "--json", cwd=folder)
    assert made.returncode == 0, made.stderr
    (folder / "recipe.yaml").write_text(
        "data: dialogs.jsonl\npolicy: customersim\nmodel: {name: lstm, embedding: 32, hidden: 32}\n"
        "tokenizer: {train: bpe, vocabulary: 512}\ntraining: {epochs: 2, learning_rate: 0.01}\n"
    )
    for name in ("none", "redacted"):
        start = alone if name == "none" else discreet
        done = start("train", "recipe.yaml", "--set", f"mechanism={name}", "-o", f"runs/{name}", "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["finished"] is True
    return folder


@pytest.mark.parametrize("name", ["none", "redacted"])
def test_from_a_file_with_secrets_to_a_measured_model(world, name):
    done = discreet("evaluate", f"runs/{name}", "--data", "dialogs.jsonl", "--json", cwd=world)
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    for key in ("perplexity", "bits_per_char", "top1", "perplexity_public", "perplexity_secret", "tokens"):
        assert scores[key] > 0
    assert scores["perplexity_public"] < scores["perplexity_secret"]


def test_a_model_trained_on_redacted_text_knows_less_of_secrets(world):
    secret = {}
    for name in ("none", "redacted"):
        done = discreet("evaluate", f"runs/{name}", "--json", cwd=world)
        secret[name] = json.loads(done.stdout)["perplexity_secret"]
    assert secret["redacted"] > 3 * secret["none"]


def test_a_finished_run_is_not_trained_again_by_accident(world):
    done = discreet("train", "recipe.yaml", "-o", "runs/none", cwd=world)
    assert done.returncode == 1
    assert "--overwrite" in done.stderr


def test_the_input_is_not_modified_and_an_output_appears_whole(world):
    before = (world / "dialogs.jsonl").read_bytes()
    done = discreet("redact", "dialogs.jsonl", "--policy", "customersim", "-o", "dialogs.jsonl", cwd=world)
    assert done.returncode == 1
    assert (world / "dialogs.jsonl").read_bytes() == before
    done = discreet("redact", "dialogs.jsonl", "--policy", "customersim", "-o", "clean.jsonl", "--json", cwd=world)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 240
    assert len((world / "clean.jsonl").read_text().splitlines()) == 240
