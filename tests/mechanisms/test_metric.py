"""MDP and SMDP as mechanisms: what is trained on is the perturbed text, drawn once, and the guarantee is about it."""

import pytest

from discreet.errors import RefusedError
from discreet.mechanisms.contract import mechanism_of
from discreet.mechanisms.recipe import read_recipe
from discreet.mechanisms.train import train
from discreet.recipes import recipe_path
from discreet.text.reading import open_records

pytest.importorskip("faiss", reason="needs the extra perturb")


@pytest.fixture
def words(tmp_path):
    lines = [f"{word} {n % 3} {n % 5} {n % 7}\n" for n, word in enumerate(["ada", "ben", "eve", "one", "two", "code"])]
    (tmp_path / "words.txt").write_text("".join(lines))
    return str(tmp_path / "words.txt")


def test_the_run_keeps_the_perturbed_text_and_states_the_bound_for_its_words(tmp_path, notes, small, words):
    mechanism = {"name": "smdp", "epsilon": 2.0, "embedding": words}
    run = train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)
    perturbed = list(open_records(run.path / "perturbed.jsonl"))
    assert len(perturbed) == 60
    for before, after in zip(notes.records("train"), perturbed, strict=True):
        code = before.secrets[1]
        assert before.text[code.start : code.end] not in after.text
        assert after.text.endswith("Thank you for calling us today.")
    guarantee = run.guarantee
    assert guarantee.notion == "metric differential privacy"
    basis = guarantee.basis
    assert (basis["per_distance"], len(basis["distances"]), basis["draws"]) == (2.0, 2, 1)
    assert guarantee.epsilon == pytest.approx(2.0 * sum(basis["distances"]))
    assert {a.name for a in guarantee.assumptions if a.status == "checked by code"} >= {"noise", "unknown-words"}
    assert any("same secret" in text for text in guarantee.not_protected)


def test_draws_for_each_occurrence_are_paid_for(tmp_path, notes, small, words):
    mechanism = {"name": "smdp", "epsilon": 2.0, "embedding": words, "draws": "occurrence", "randomness": "fast"}
    run = train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)
    basis = run.guarantee.basis
    names = [r.text[s.start : s.end] for r in notes.records("train") for s in r.secrets]
    assert basis["draws"] == max(names.count(name) for name in names)
    assert run.guarantee.epsilon == pytest.approx(2.0 * sum(basis["distances"]) * basis["draws"])
    assert "noise" not in {a.name for a in run.guarantee.assumptions if a.status == "checked by code"}


def test_a_vocabulary_of_the_records_is_not_covered_by_mdp(tmp_path, notes, small, words):
    with pytest.raises(RefusedError, match="public_vocabulary"):
        train(
            notes,
            "gold",
            {"name": "mdp", "epsilon": 2.0, "embedding": words},
            output=tmp_path / "run",
            progress=False,
            **small,
        )


@pytest.mark.parametrize("name", ["none", "mdp", "smdp"])
def test_the_recipes_of_the_grid_name_a_mechanism_and_its_settings(name):
    recipe = read_recipe(recipe_path(f"wikitext-{name}"), ["mechanism.epsilon=29"] if name != "none" else [])
    _, options = mechanism_of(recipe)
    assert recipe.mechanism.name == name
    assert getattr(options, "epsilon", 29) == 29
    assert recipe.policy == "digits"
