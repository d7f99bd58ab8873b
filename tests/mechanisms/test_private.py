"""Private mechanisms: what they train on, what they pay, what they prove."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

from discreet.accounting.verify import verify
from discreet.engine.clipping.clipped import clipped_sum
from discreet.engine.ledger import read_ledger
from discreet.engine.sampling import Draw
from discreet.errors import InputError, RefusedError, SettingError
from discreet.evaluate.perplexity import evaluate
from discreet.mechanisms.language import LanguageUnits, authors_of, unit_loss
from discreet.mechanisms.train import train
from discreet.models.language import new_model
from discreet.policy.specs import policy
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from discreet.text.tokenize import Encoded, Encoder
from discreet.text.vocabulary import train_bpe

MODELS = {
    "lstm": {"name": "lstm", "embedding": 16, "hidden": 16, "dropout": 0.0},
    "gpt": {"name": "gpt", "width": 16, "layers": 1, "heads": 2, "context": 16},
}
BUDGET = {"epsilon": 4.0, "batch": 20, "epochs": 3, "randomness": "fast", "clip": 0.5}
DP_SGD = {"name": "dp-sgd", **BUDGET, "public_vocabulary": True}
MECHANISMS = {"dp-sgd": DP_SGD, "selective": {"name": "selective", **BUDGET}, "jft": {"name": "jft", **BUDGET}}


@pytest.fixture(params=list(MODELS))
def model(request):
    return MODELS[request.param]


@pytest.fixture
def encoded(notes) -> Encoded:
    marked = policy("gold").secrets_of_all(notes.records("train"))
    plain = [Record(str(n), "Thank you for calling us today. Dear you.") for n in range(20)]
    return Encoder(train_bpe(plain, policy("nothing"), 300)).encode_all(marked)


def whole_draw(count: int) -> Draw:
    numbers = np.arange(count)
    return Draw(numbers, numbers, numbers)


@pytest.mark.parametrize("mechanism", list(MECHANISMS))
def test_a_mechanism_trains_pays_and_proves(tmp_path, notes, small, model, mechanism):
    run = train(
        notes,
        "gold",
        MECHANISMS[mechanism],
        output=tmp_path / "run",
        progress=False,
        **small | {"model": model},
    )
    guarantee = run.guarantee
    assert guarantee.mechanism == mechanism
    assert guarantee.epsilon == pytest.approx(4.0, rel=1e-3)
    assert (guarantee.epsilon or 9) <= 4.0
    assert guarantee.delta == pytest.approx(1 / 600)
    (phase,) = read_ledger(run.path / "ledger.jsonl").values()
    assert phase.releases == 9
    assert [check for check in verify(run.path) if check.problem] == []
    assert evaluate(run, notes).tokens > 0
    assert not any("train_loss" in row for row in run.metrics if row.get("phase") is not None)


@pytest.mark.parametrize("mechanism", list(MECHANISMS))
def test_a_seeded_training_repeats_itself(tmp_path, notes, small, mechanism):
    runs = [
        train(notes, "gold", MECHANISMS[mechanism], output=tmp_path / name, progress=False, **small)
        for name in ("a", "b")
    ]
    first, second = ((run.model_folder / "model.safetensors").read_bytes() for run in runs)
    assert first == second


def test_noise_can_be_given_instead_of_a_budget_but_not_with_it(tmp_path, notes, small):
    mechanism = {"name": "dp-sgd", "noise": 1.3, "epochs": 1, "batch": 20, "public_vocabulary": True}
    run = train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)
    assert (run.guarantee.epsilon or 0) > 0
    for wrong in ({"name": "dp-sgd"}, {"name": "dp-sgd", "noise": 1.0, "epsilon": 2.0}):
        with pytest.raises(SettingError, match="either epsilon"):
            train(notes, "gold", wrong, output=tmp_path / "no", progress=False, **small)


def test_authors_are_protected_as_a_whole(tmp_path, notes, small):
    mechanism = {**DP_SGD, "unit": "author", "batch": 4}
    run = train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)
    assert run.guarantee.unit == "author"
    assert read_ledger(run.path / "ledger.jsonl")["train"].plan.population == 8
    nameless = Corpus({"train": [Record(str(n), "hello you") for n in range(9)]}, "nameless")
    with pytest.raises(InputError, match="has none"):
        train(nameless, "nothing", mechanism, output=tmp_path / "no", progress=False, **small)


def test_of_an_author_so_many_records_a_step_are_used_as_asked(tmp_path, notes, small):
    capped = {**DP_SGD, "unit": "author", "batch": 4, "records_per_author": 2}
    drawn: list[int] = []
    batches = LanguageUnits.batches

    def watched(units: LanguageUnits, draw: Draw) -> Any:
        drawn.extend(np.bincount(draw.owners, minlength=len(draw.units)).tolist())
        return batches(units, draw)

    with patch.object(LanguageUnits, "batches", watched):
        run = train(notes, "gold", capped, output=tmp_path / "run", progress=False, **small)
    assert set(drawn) == {2}
    assert read_ledger(run.path / "ledger.jsonl")["train"].plan.records_per_author == 2
    assert "at most 2" in run.guarantee.accesses[0].sampler
    assert [check for check in verify(run.path) if check.problem] == []
    whole = train(
        notes, "gold", {**capped, "records_per_author": None}, output=tmp_path / "all", progress=False, **small
    )
    assert whole.guarantee.epsilon == run.guarantee.epsilon
    with pytest.raises(SettingError, match="unit: author"):
        train(notes, "gold", {**capped, "unit": "record"}, output=tmp_path / "no", progress=False, **small)


def test_a_corpus_without_secrets_has_nothing_selective(tmp_path, small):
    corpus = Corpus({"train": [Record(str(n), f"hello {n} you") for n in range(30)]}, "bare")
    with pytest.raises(InputError, match="finds no secrets"):
        train(corpus, "nothing", {"name": "selective", **BUDGET}, output=tmp_path / "r", progress=False, **small)


def test_a_vocabulary_of_the_records_is_not_covered_by_dp_sgd(tmp_path, notes, small):
    with pytest.raises(RefusedError, match="vocabulary"):
        train(notes, "gold", {"name": "dp-sgd", **BUDGET}, output=tmp_path / "no", progress=False, **small)
    public = train(notes, "gold", "none", output=tmp_path / "public", progress=False, **small).model_folder
    runs = {
        "checked by code": train(
            notes, "gold", {"name": "dp-sgd", **BUDGET}, output=tmp_path / "a", progress=False,
            **small | {"tokenizer": {"name": str(public)}},
        ),
        "claimed by the user": train(notes, "gold", DP_SGD, output=tmp_path / "b", progress=False, **small),
    }  # fmt: skip
    for status, run in runs.items():
        assert {item.name: item.status for item in run.guarantee.assumptions}["vocabulary"] == status


class TestUnits:
    def test_every_target_of_a_draw_is_in_one_batch_and_a_unit_in_one_row(self, encoded):
        units = LanguageUnits(encoded, max_tokens=9, physical_tokens=200)
        found, rows = 0, 0
        for batch in units.batches(whole_draw(len(encoded))):
            assert batch["input_ids"].shape == batch["targets"].shape
            assert batch["targets"].numel() <= 200
            assert batch["input_ids"].dim() == 3  # every note is longer than nine tokens
            found += int((batch["targets"] >= 0).sum())
            rows += len(batch["targets"])
        assert found == int((np.diff(encoded.starts) - 1).sum())
        assert rows == len(encoded)

    def test_records_that_fit_are_plain_rows(self, encoded):
        shapes = [b["input_ids"].dim() for b in LanguageUnits(encoded, 200, 500).batches(whole_draw(12))]
        assert set(shapes) == {2}

    def test_secret_targets_alone(self, encoded):
        units = LanguageUnits(encoded, 200, 10_000, secrets_only=True)
        batches = list(units.batches(whole_draw(len(encoded))))
        kept = torch.cat([b["targets"][b["targets"] >= 0] for b in batches]).sort().values
        assert kept.tolist() == sorted(encoded.ids[encoded.secret].tolist())

    def test_an_empty_draw_has_no_batches(self, encoded):
        assert list(LanguageUnits(encoded, 20, 100).batches(whole_draw(0))) == []

    def test_an_author_is_one_row_with_all_their_windows(self, encoded):
        authors = authors_of(encoded)
        records = np.concatenate(authors[:3])
        owners = np.repeat(np.arange(3), [len(own) for own in authors[:3]])
        batches = list(LanguageUnits(encoded, 200, 10**6).batches(Draw(np.arange(3), records, owners)))
        assert sum(len(batch["targets"]) for batch in batches) == 3
        targets = sum(int((batch["targets"] >= 0).sum()) for batch in batches)
        assert targets == sum(len(encoded[int(record)]) - 1 for record in records)

    @pytest.mark.parametrize("name", list(MODELS))
    def test_units_of_several_windows_are_clipped_as_one(self, encoded, name):
        """The engine's clipped sum against a loop over single units."""
        settings = {key: value for key, value in MODELS[name].items() if key != "name"}
        model = new_model(name, 300, settings, seed=1)
        (batch,) = LanguageUnits(encoded, max_tokens=9, physical_tokens=10**6).batches(whole_draw(7))
        sums, norms = clipped_sum(model, batch, unit_loss, clip=0.3, strict=True)
        want = {key: torch.zeros_like(total) for key, total in sums.items()}
        parameters = dict(model.named_parameters())
        for unit in range(7):
            one = {key: values[unit : unit + 1] for key, values in batch.items()}
            grads = torch.autograd.grad(unit_loss(model, one).sum(), list(parameters.values()))
            norm = torch.cat([g.double().flatten() for g in grads]).norm()
            assert float(norms[unit]) == pytest.approx(float(norm), rel=1e-4)
            for key, grad in zip(parameters, grads, strict=True):
                want[key] += grad * min(1.0, 0.3 / float(norm))
        for key, total in sums.items():
            torch.testing.assert_close(total, want[key], rtol=1e-4, atol=1e-6)


def test_records_with_secrets_are_chosen(encoded):
    chosen = encoded.with_secrets()
    assert len(chosen) == len(encoded)
    some = encoded.chosen(np.array([5, 2]))
    assert some.record_ids == (encoded.record_ids[5], encoded.record_ids[2])
    assert some[0].ids.tolist() == encoded[5].ids.tolist()
    assert len(encoded.chosen(np.array([], np.int64))) == 0
