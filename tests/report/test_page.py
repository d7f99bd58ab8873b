"""The page: complete in itself, readable without a script, honest, and without a secret."""

import itertools
import re
import xml.etree.ElementTree as xml
from html.parser import HTMLParser

import pytest

from discreet.accounting.metric import MetricPrivacy
from discreet.accounting.selective import SelectivePrivacy
from discreet.engine.plan import Plan
from discreet.files import read_json, write_json
from discreet.report.facts import facts_of, gather
from discreet.report.page import page
from tests.report.folders import PLAN, add_attacks, add_evaluation, bound, make_run

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Reader(HTMLParser):
    """Checks that elements close, and keeps what a browser would follow or load."""

    def __init__(self):
        super().__init__()
        self.open, self.found, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    return reader


def text_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", re.sub(r"<(style|script)>.*?</\1>", " ", html, flags=re.DOTALL)))


def test_the_page_needs_and_loads_nothing_from_outside(html):
    reader = parsed(html)
    for tag, attributes in reader.found:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
        assert not {"src", "srcset", "action", "style", "onclick", "onload"} & attributes.keys()
        target = attributes.get("href") or attributes.get("xlink:href") or "#"
        assert target.startswith("#"), target
        assert target == "#" or target[1:] in reader.ids
    assert "http://" not in html
    assert "https://" not in html
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src &#39;none&#39;" in html


def test_ids_are_unique_and_every_drawing_has_a_title_and_a_description(html):
    reader = parsed(html)
    assert len(set(reader.ids)) == len(reader.ids)
    drawings = [attributes for tag, attributes in reader.found if tag == "svg"]
    assert len(drawings) >= 7
    for attributes in drawings:
        assert attributes["role"] == "img"
        assert all(label in reader.ids for label in attributes["aria-labelledby"].split())
    assert all(attributes["scope"] in {"col", "row"} for tag, attributes in reader.found if tag == "th")
    levels = [int(tag[1]) for tag, _ in reader.found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(two - one <= 1 for one, two in itertools.pairwise(levels))


def test_drawings_are_well_formed_and_each_has_its_data_as_a_table(html):
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        xml.fromstring(svg)
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    assert len(figures) >= 7
    assert all("<details>" in figure and "<table>" in figure and "<tbody>" in figure for figure in figures)


def test_the_statement_of_each_run_is_told_with_its_assumptions_and_what_is_not_protected(html, facts):
    text = text_of(html).replace("&#39;", "'").replace("’", "'")
    for one in facts:
        guarantee = one.guarantee
        lines = [
            guarantee.neighbours_in_words,
            *guarantee.not_protected,
            *(item.text for item in guarantee.assumptions),
        ]
        for line in lines:
            assert line.replace("’", "'") in text
    assert "checked by code" in text
    assert "claimed by the user" in text


def test_runs_without_a_proof_say_so_and_show_no_epsilon(html):
    section = html[html.index('id="run-1"') : html.index('id="run-2"')]
    assert "No privacy guarantee" in section
    assert "epsilon 1" not in section
    row = html[html.index('<a href="#run-1">none</a></th>') :].split("</tr>")[0]
    assert "no proof" in row


def test_figures_are_those_of_the_files(html):
    text = text_of(html)
    assert "18.40" in text
    assert "1,348.20" in text  # secret perplexity of dp-sgd
    assert "mean 15.20 bits (95 % interval 14.10 to 16.40)" in text
    assert "AUC 0.610" in text
    assert "3 of 150 checked secrets were missed: 2.0%" in text
    assert "over the reference that is +2.00 and +3.00" in text


def test_an_epsilon_is_never_printed_below_what_is_proved(facts, html):
    for one in facts:
        if one.epsilon is not None:
            row = html[html.index(f">{one.name}</a></th>") :].split("</tr>")[0]
            (shown,) = re.findall(r'data-title="ε at most"[^>]*>([^<]*)<', row)
            printed = float(shown)
            assert one.epsilon <= printed <= one.epsilon * 1.01


def test_a_refuted_guarantee_is_shown_loudly_even_after_a_later_attack(tmp_path):
    run = make_run(tmp_path / "a", "dp-sgd")
    sentence = "The guarantee is wrong: it allows epsilon 1.77 and the attack shows at least 6."
    add_attacks(run, 9.0, 0.7, {"bounds": [bound(6.0, 1.77)], "refuted": sentence})  # the file's own 'refuted' is null
    html = page(gather([run]))
    before, after = html.split("At a glance</h2>")
    assert 'role="alert"' in before
    assert sentence in before
    assert "REFUTED" in after
    assert "refuted by an attack" in after


def test_a_bound_above_its_claim_refutes_without_a_sentence(tmp_path):
    run = make_run(tmp_path / "a", "dp-sgd")
    add_attacks(run, 9.0, 0.7, {"bounds": [bound(6.0, 1.77)], "refuted": None})
    assert "do not release the model" in page(gather([run])).split("At a glance</h2>")[0]
    add_attacks(run, 9.0, 0.7, {"bounds": [bound(1.7, 1.77)], "refuted": None})
    assert 'role="alert"' not in page(gather([run]))


def test_an_epsilon_that_does_not_follow_from_the_run_is_not_printed(tmp_path):
    run = make_run(tmp_path / "a", "dp-sgd")
    value = read_json(run.path / "privacy.json")
    value["epsilon"] = value["bounds"][0]["epsilon"] = 0.123
    write_json(run.path / "privacy.json", value)
    html = page(gather([run]))
    assert "the guarantee is not valid" in html
    assert "not valid" in html
    assert "epsilon 0.123" not in html
    assert gather([run])[0].epsilon is None


def test_a_ledger_with_more_steps_than_the_guarantee_covers_is_not_believed(tmp_path):
    run = make_run(tmp_path / "a", "selective")
    SelectivePrivacy(plan=Plan(rate=0.1, steps=5, noise=1.2, neighbours="replace"), delta=5e-5).guarantee().write(
        run.path / "privacy.json"
    )
    assert "the guarantee is not valid" in page(gather([run]))


def test_what_was_not_measured_is_said_with_the_command(tmp_path):
    run = make_run(tmp_path / "a", "none")
    html = page(gather([run]))
    assert f"discreet evaluate {run.path}" in html
    assert f"discreet attack {run.path}" in html
    assert "Plots</h2>" not in html


def test_findings_about_other_weights_are_left_out(tmp_path):
    run = make_run(tmp_path / "a", "none")
    add_evaluation(run, 20.0)
    add_attacks(run, 9.0, 0.7)
    assert facts_of(run.path).scores is not None
    (run.model_folder / "model.safetensors").write_bytes(b"trained again")
    facts = facts_of(run.path)
    assert facts.scores is None
    assert facts.findings is None


def test_classifiers_are_told_by_accuracy(tmp_path):
    runs = []
    for name in ("none", "dp-sgd"):
        run = make_run(tmp_path / name, name, task="classification", model="minilm", tokenizer="minilm")
        sums = facts_of(run.path)
        assert sums.is_classifier
        add_evaluation(run, 1.0)
        value = read_json(run.path / "evaluation.json")
        value["splits"]["test"] = {"accuracy": 0.871, "f1": 0.842, "f1_by_label": {}, "loss": 0.3, "records": 400}
        write_json(run.path / "evaluation.json", value)
        runs.append(run)
    html = page(gather(runs))
    assert "Accuracy 0.871, F1 0.842 over 400 records" in html
    assert "Accuracy against ε" in html
    assert "perplexity on all" not in html


def test_metric_privacy_is_not_put_on_the_axis_of_other_notions(tmp_path):
    smdp = make_run(tmp_path / "smdp", "smdp", MetricPrivacy(selective=True, per_distance=10.0, distances=(2.5,)))
    dp = make_run(tmp_path / "dp-sgd", "dp-sgd")
    for run in (smdp, dp):
        add_evaluation(run, 20.0)
    (drawn,) = re.findall(r'<figure id="figure-epsilon-perplexity">.*?</svg>', page(gather([smdp, dp])), re.DOTALL)
    assert "dp-sgd" in drawn
    assert "smdp" not in drawn


def test_no_secret_of_a_run_and_no_name_of_an_author_is_in_the_page(tmp_path):
    secrets = ["Mabel Marlowe", "469.922.9253", "OTJXA3D4AG", "author-Jane-Doe"]
    run = make_run(tmp_path / "a", "selective", policy={"words": {"words": secrets[:3], "kind": "PERSON"}})
    add_evaluation(run, 20.0)
    shown = {"trained_on": {"PERSON": {"secrets": 9, "regurgitated": 2, "continuations": 90, "with_secret": 2}}}
    add_attacks(run, 9.0, 0.7, extraction=shown | {"not_trained_on": {}, "secrets": secrets})
    value = read_json(run.path / "attacks.json")
    value["findings"]["exposure"]["each"] = [{"id": "canary-0", "author": secrets[3], "exposure": 3.0}]
    write_json(run.path / "attacks.json", value)
    html = page(gather([run]))
    assert "2 of 9 secrets came out" in html
    for secret in secrets:
        assert secret not in html


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & b <i>"])
def test_names_are_text_and_never_markup(tmp_path, name):
    run = make_run(tmp_path / name.replace("/", "∕"), "dp-sgd")
    add_evaluation(run, 20.0)
    add_attacks(run, 3.0, 0.6)
    html = page(gather([run]))
    reader = parsed(html)
    assert not {"img", "i"} & {tag for tag, _ in reader.found}
    assert sum(tag == "script" for tag, _ in reader.found) == 1


def test_runs_of_one_name_are_told_apart(tmp_path):
    runs = [make_run(tmp_path / part / "run", "none") for part in ("one", "two")]
    assert [facts.name for facts in gather(runs)] == [str(run.path) for run in runs]
    assert len(gather([runs[0], runs[0].path])) == 1


def test_a_plan_that_a_crash_made_longer_is_told_with_its_real_steps(tmp_path):
    notion = SelectivePrivacy(plan=PLAN, delta=5e-5, spent={PLAN.fingerprint(): 9})
    run = make_run(tmp_path / "a", "selective", notion)
    text = text_of(page(gather([run])))
    assert "9 counted (6 planned)" in text


def test_the_table_sorts_by_numbers_and_puts_what_has_none_last(html):
    orders = re.findall(r'data-title="ε at most"[^>]*data-order="([^"]*)"', html)
    assert orders[0] == ""
    assert all(float(order) > 0 for order in orders[1:])


def test_attributes_and_exposure_by_copies_are_told(tmp_path):
    run = make_run(tmp_path / "a", "none")
    found = {"label": "clinic", "labels": 40, "asked": 300, "accuracy": 0.31, "chance": 0.05, "above_chance": 0.26}
    add_attacks(run, 9.0, 0.7, attribute=found | {"above_chance_interval": [0.21, 0.32]})
    value = read_json(run.path / "attacks.json")
    one = {"canaries": 7, "mean": 3.25, "mean_interval": [2.0, 4.0]}
    value["findings"]["exposure"]["by_repetitions"] = {"10": one | {"mean": 8.5}, "2": one}
    write_json(run.path / "attacks.json", value)
    html = page(gather([run]))
    assert "Inferring the clinic" in html
    assert "31.0% of 300 records right, 0.260 (95 % interval 0.210 to 0.320) above the commonest of 40 values" in html
    assert "×2 3.25 (7), ×10 8.50 (7)" in html
    assert "attribute above chance" in html
