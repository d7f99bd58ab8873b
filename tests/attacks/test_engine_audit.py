"""The audit must catch bugs: five are planted and each is flagged; an intact engine passes 20 of 20.

Every statistical check has a false-alarm probability of 1e-4, so that twenty audits of an intact engine, three such
checks each, go wrong by chance with less than 1 %. (The seeds are fixed: what passes once, passes.)
"""

import numpy as np
import pytest
import torch

from discreet.accounting.dp import DifferentialPrivacy
from discreet.attacks.contract import Target, silent
from discreet.attacks.engine_audit import PLAN, EngineAttack, EngineOptions, audit_engine
from discreet.engine.clipping import joined
from discreet.engine.clipping.strategies import Clip
from discreet.engine.noise import Noise
from discreet.engine.plan import Plan
from discreet.engine.private import PrivateStep
from discreet.engine.sampling import PoissonSampler
from discreet.errors import InputError
from discreet.policy.specs import policy


def wrong(found) -> set[str]:
    return {name for name, check in found.checks.items() if not check.ok}


@pytest.mark.parametrize("seed", range(20))
def test_an_intact_engine_passes(seed):
    plan = (
        PLAN,
        PLAN.with_noise(1.1),
        Plan(rate=0.02, steps=50, noise=0.7, clip=0.3, neighbours="replace", population=400),
    )
    found = audit_engine(plan[seed % 3], seed=seed)
    assert found.ok, found.lines()
    assert found.refuted is None
    assert found.epsilon_shown <= found.epsilon_claimed
    assert set(found.checks) == {"clipping", "noise", "privacy", "sampling"}


def test_secure_randomness_passes_too():
    assert audit_engine().ok


def test_noise_too_small_by_the_root_of_two_is_flagged(monkeypatch):
    right = Noise.add_
    monkeypatch.setattr(Noise, "add_", lambda self, sums, std, **more: right(self, sums, std / 2**0.5, **more))
    found = audit_engine(seed=1)
    assert wrong(found) == {"noise", "privacy"}
    assert found.epsilon_shown > found.epsilon_claimed
    assert "noise" in (found.refuted or "")


@pytest.mark.parametrize("layer", ["embedding.weight", "linear.weight"])
def test_clipping_skipped_for_one_layer_is_flagged(monkeypatch, layer):
    right = Clip.factors

    def factors(self, squares, names):
        found = right(self, squares, names).clone()
        for number, name in enumerate(names):
            if name in (layer, "lstm.weight_hh_l0"):
                found[number] = 1.0
        return found

    monkeypatch.setattr(Clip, "factors", factors)
    found = audit_engine(seed=2)
    assert {"privacy", "clipping"} <= wrong(found)
    assert found.epsilon_shown > found.epsilon_claimed


def test_tied_embeddings_counted_once_are_flagged(monkeypatch):
    """The cross term of a parameter that is used twice is left out, as one well-known engine does."""
    monkeypatch.setattr(joined, "inner", lambda a, b: torch.zeros(a.records))
    found = audit_engine(seed=3)
    assert "clipping" in wrong(found)


def test_noise_forgotten_when_batches_accumulate_is_flagged(monkeypatch):
    right_call, right_noise = PrivateStep.__call__, Noise.add_
    parts = []

    def call(self, step, batches):
        own = list(batches)
        parts.append(len(own))
        return right_call(self, step, own)

    def add(self, sums, std, **more):
        right_noise(self, sums, std if parts[-1] == 1 else 1e-6, **more)

    monkeypatch.setattr(PrivateStep, "__call__", call)
    monkeypatch.setattr(Noise, "add_", add)
    found = audit_engine(seed=4)
    assert {"noise", "privacy"} <= wrong(found)


@pytest.mark.parametrize("kind", ["fixed order", "shuffled epochs", "same units again"])
def test_batches_that_are_no_poisson_samples_are_flagged(monkeypatch, kind):
    def units(self, step):
        size = round(self.rate * self.population)
        per_epoch = self.population // size
        order = np.arange(self.population)
        if kind == "shuffled epochs":
            order = np.random.default_rng(step // per_epoch).permutation(self.population)
        at = 0 if kind == "same units again" else step % per_epoch * size
        return np.sort(order[at : at + size])

    monkeypatch.setattr(PoissonSampler, "units", units)
    found = audit_engine(seed=5)
    assert wrong(found) == {"sampling"}


def test_a_rate_above_the_planned_one_is_flagged(monkeypatch):
    right = PoissonSampler.units
    monkeypatch.setattr(
        PoissonSampler,
        "units",
        lambda self, step: right(type(self)(self.population, 1.1 * self.rate, self.randomness), step),
    )
    assert wrong(audit_engine(seed=6)) == {"sampling"}


def test_the_attack_audits_the_plans_of_a_guarantee(leaky_model, encoder):
    guarantee = DifferentialPrivacy(phases=(PLAN,), delta=1e-4).guarantee()
    target = Target(leaky_model, encoder, policy("gold"), guarantee=guarantee)
    assert target.has("plans")
    found = EngineAttack().run(target, EngineOptions(canaries=300, releases=2), silent)
    assert found.ok
    assert found.to_json()["checks"]["noise"]["expected"] == PLAN.noise
    with pytest.raises(InputError, match="no private phase"):
        EngineAttack().run(Target(leaky_model, encoder, policy("gold")), EngineOptions(), silent)
