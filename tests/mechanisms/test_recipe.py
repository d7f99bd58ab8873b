"""Recipes: defaults, changes from the command line, and mistakes that name the nearest key."""

from importlib.resources import files

import pytest
import yaml

from discreet import recipes
from discreet.errors import InputError, SettingError
from discreet.mechanisms.contract import mechanism_of
from discreet.mechanisms.recipe import make_recipe, read_recipe
from discreet.recipes import recipe_path


def test_short_forms_mean_the_long_ones():
    short = make_recipe({"data": "a.jsonl", "model": "lstm", "mechanism": "redacted", "tokenizer": "gpt2"})
    long = make_recipe(
        {
            "data": {"path": "a.jsonl"},
            "model": {"name": "lstm"},
            "mechanism": {"name": "redacted"},
            "tokenizer": {"name": "gpt2"},
        }
    )
    assert short == long


def test_a_recipe_written_out_is_the_same_recipe():
    recipe = make_recipe(
        {"data": "a.jsonl", "model": {"name": "lstm", "hidden": 7}, "policy": {"regex": {"pattern": "x"}}}
    )
    assert make_recipe(yaml.safe_load(yaml.safe_dump(recipe.model_dump(mode="json")))) == recipe


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"polcy": "digits"}, "there is no key 'polcy'; did you mean 'policy'"),
        ({"training": {"epoch": 3}}, "there is no key 'training.epoch'; did you mean 'epochs'"),
        ({"data": {"path": "a", "fields": {"txt": "b"}}}, "no key 'data.fields.txt'; did you mean 'text'"),
        ({"data": {"corpus": "abcd"}}, "the key 'data.path' is missing"),
        ({"training": {"epochs": 0}}, "training.epochs: Input should be greater than or equal to 1"),
        ({"tokenizer": {"name": "gpt2", "train": "bpe"}}, "either name"),
        ({"training": {"optimizer": "adam"}}, "training.optimizer"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_key(values, message):
    with pytest.raises(SettingError, match=message) as raised:
        make_recipe({"data": "a.jsonl", **values}, where="r.yaml")
    assert str(raised.value).startswith("r.yaml: ")
    assert "\n" not in str(raised.value)


def test_changes_reach_into_the_recipe(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_text("data: a.jsonl\nmodel: lstm\n")
    recipe = read_recipe(path, ["training.epochs=3", "model.hidden=50", "data.limit.train=10", "seed=4"])
    assert recipe.training.epochs == 3
    assert recipe.model.name == "lstm"
    assert recipe.model.model_extra == {"hidden": 50}
    assert recipe.data is not None
    assert (recipe.data.path, recipe.data.limit) == ("a.jsonl", {"train": 10})
    assert recipe.seed == 4


@pytest.mark.parametrize("change", ["epochs", "=3", "seed=[1"])
def test_a_change_that_cannot_be_read_is_refused(change):
    with pytest.raises(SettingError, match=r"key=value|cannot be read"):
        make_recipe({"data": "a"}, [change])


def test_files_that_are_not_recipes_are_named(tmp_path):
    with pytest.raises(InputError, match="no such recipe"):
        read_recipe(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1\nb: 2\n")
    with pytest.raises(InputError, match=r"bad.yaml, line 2: this is not YAML"):
        read_recipe(tmp_path / "bad.yaml")
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(InputError, match="keys and values"):
        read_recipe(tmp_path / "list.yaml")


def test_a_recipe_is_laid_over_the_one_it_extends(tmp_path):
    base = {"data": "a.jsonl", "mechanism": {"name": "jft", "epsilon": 3}, "training": {"epochs": 7, "warmup": 0.1}}
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
    (tmp_path / "more.yaml").write_text("extends: base.yaml\nmechanism: {clip: 0.1}\ntraining: {epochs: 2}\n")
    (tmp_path / "other.yaml").write_text("extends: more.yaml\nmechanism: {name: selective, noise: 2}\n")
    more, other = read_recipe(tmp_path / "more.yaml"), read_recipe(tmp_path / "other.yaml", ["training.warmup=0"])
    assert more.mechanism.model_dump() == {"name": "jft", "epsilon": 3, "clip": 0.1}
    assert (more.training.epochs, more.training.warmup) == (2, 0.1)
    assert other.mechanism.model_dump() == {"name": "selective", "noise": 2}  # nothing of another mechanism is kept
    assert (other.training.epochs, other.training.warmup) == (2, 0.0)


def test_a_recipe_cannot_extend_itself_or_what_is_not_there(tmp_path):
    (tmp_path / "a.yaml").write_text("extends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("extends: a.yaml\n")
    with pytest.raises(InputError, match="extends itself"):
        read_recipe(tmp_path / "a.yaml")
    (tmp_path / "c.yaml").write_text("extends: nowhere.yaml\n")
    with pytest.raises(InputError, match=r"nowhere.yaml: there is no such recipe"):
        read_recipe(tmp_path / "c.yaml")


def shipped() -> list[str]:
    return sorted(
        entry.name.removesuffix(".yaml") for entry in files(recipes).iterdir() if entry.name.endswith(".yaml")
    )


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_recipe_names_a_mechanism_and_its_settings(name):
    recipe = read_recipe(recipe_path(name))
    mechanism_of(recipe)
    assert recipe.data is not None
