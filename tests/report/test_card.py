"""The model card: metadata the hub reads, and all that the advice on reporting asks for."""

import re

import pytest
import yaml

from discreet.accounting.dp import DifferentialPrivacy
from discreet.engine.plan import Plan
from discreet.files import read_json, write_json
from discreet.report.card import card
from discreet.report.facts import facts_of
from tests.report.folders import add_attacks, add_evaluation, bound, make_run


def front(text):
    return yaml.safe_load(text.split("---\n")[1])


@pytest.fixture(scope="module")
def jft(facts):
    return card(next(one for one in facts if one.name == "jft"))


def test_the_hub_can_read_the_metadata(jft, tmp_path):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    (tmp_path / "README.md").write_text(jft, encoding="utf-8")
    data = huggingface_hub.ModelCard.load(tmp_path / "README.md").data
    assert data.library_name == "transformers"
    assert data.pipeline_tag == "text-generation"
    assert data.license is None
    values = {result.metric_name: result.metric_value for result in data.eval_results}
    assert values["Perplexity, all tokens"] == 25.8
    assert values["First choice right"] == 0.512


def test_the_licence_is_left_to_the_user(jft):
    assert "license" not in front(jft)
    assert "# license: choose one" in jft


def test_the_privacy_section_tells_what_reporting_advice_asks_for(jft, facts):
    guarantee = next(one for one in facts if one.name == "jft").guarantee
    plain = jft.replace("\\", "")
    for part in (
        "Unit of privacy | record",
        "Neighbouring corpora | replace",
        "ε at most | 1.77 (a secret the policy finds)",
        "δ | 5e-05",
        "dp-accounting",
        "Poisson: each record joins each batch by its own coin of probability 0.1 of 2,000 records",
        "Clipping norm**: 1",
        "Noise multiplier**: 1.2",
        "Steps**: 6 counted (6 planned)",
        "Tokenizer**: trained on the redacted training text",
        "Pre-training**: none: training began with random weights",
        "Choosing settings**: Settings, checkpoints and stopping were chosen",
        "Randomness | a cryptographic generator",
        "As the paper counts (not a guarantee)",
        "We do not claim it",
        "3 of 150 checked secrets were missed",
    ):
        assert part in plain, part
    for line in (*guarantee.not_protected, *guarantee.released, *(item.text for item in guarantee.assumptions)):
        assert line in plain


def test_a_run_without_a_proof_says_so(facts):
    text = card(facts[0])
    assert "No privacy guarantee" in text
    assert "There is no ε" in text
    assert "differential-privacy" not in front(text)["tags"]
    assert not re.search(r"epsilon \d", text)


def test_fast_randomness_and_weights_from_elsewhere_are_told(tmp_path):
    plan = Plan(rate=0.1, steps=4, noise=1.2, neighbours="add-remove", population=500)
    notion = DifferentialPrivacy(phases=(plan,), delta=1e-4)
    run = make_run(
        tmp_path / "a",
        "dp-sgd",
        notion,
        {"epsilon": 3.0, "randomness": "fast"},
        model="gpt2",
        tokenizer="gpt2",
    )
    text = card(facts_of(run.path))
    assert front(text)["base_model"] == "gpt2"
    assert "for experiments only" in text
    assert "began with weights from elsewhere; the text they were trained on is not covered" in text
    assert "taken from elsewhere" in text
    assert "Not evaluated" in text
    assert "Not attacked" in text


def test_a_refuted_or_broken_guarantee_stands_at_the_top(tmp_path):
    run = make_run(tmp_path / "a", "dp-sgd")
    add_attacks(run, 9.0, 0.7, {"bounds": [bound(6.0, 1.77)], "refuted": "The guarantee is wrong: look."})
    text = card(facts_of(run.path))
    assert text.index("**Refuted.** The guarantee is wrong: look.") < text.index("## Use")
    assert "(REFUTED)" in text.replace("\\", "")
    value = read_json(run.path / "privacy.json")
    value["epsilon"] = 0.123
    write_json(run.path / "privacy.json", value)
    text = card(facts_of(run.path))
    assert text.index("**The guarantee is not valid.**") < text.index("## Use")
    assert "| ε" not in text
    assert "differential-privacy" not in front(text)["tags"]


def test_text_of_a_run_is_shown_literally(tmp_path):
    run = make_run(tmp_path / "a|b <img> *c* [d](e)", "none")
    add_evaluation(run, 20.0)
    text = card(facts_of(run.path))
    heading = next(line for line in text.splitlines() if line.startswith("# a"))
    assert heading == r"# a\|b \<img\> \*c\* \[d\](e)"
    assert front(text)["model-index"][0]["name"] == "a|b <img> *c* [d](e)"
