"""Selective differential privacy: formula A for the published algorithm, formula B for ours."""

import math
from dataclasses import replace

import pytest

from discreet.accounting.gaussian import Gaussian
from discreet.accounting.samplers import compose, profile_of
from discreet.accounting.selective import SelectivePaper, SelectivePrivacy
from discreet.engine.plan import Plan
from discreet.errors import RefusedError, SettingError

PLAN = Plan(rate=0.02, steps=100, noise=2.0, neighbours="replace")
EPOCHS = replace(PLAN, rate=0.1, steps=100, sampling="shuffled")


def test_one_joint_update_is_a_replaced_record():
    assert SelectivePrivacy(plan=PLAN, delta=1e-6).epsilon == profile_of(PLAN).epsilon(1e-6)


def test_segments_divide_the_noise_by_their_root():
    four = SelectivePrivacy(plan=PLAN, segments=4, delta=1e-6)
    assert four.epsilon == profile_of(PLAN.with_noise(1.0)).epsilon(1e-6)


def test_a_state_carry_is_an_unamplified_release_on_top():
    carried = SelectivePrivacy(plan=PLAN, state_noise=20.0, states=2, public_passes=5, delta=1e-6)
    release = Gaussian(math.sqrt(5 * 2) * 2 / 20.0)
    assert carried.epsilon == pytest.approx(compose([profile_of(PLAN), release]).epsilon(1e-6), rel=1e-9)
    assert carried.epsilon > release.epsilon(1e-6)
    assert carried.guarantee().cross_check is None
    with pytest.raises(SettingError, match="needs both"):
        _ = SelectivePrivacy(plan=PLAN, state_noise=20.0, delta=1e-6).epsilon


def test_the_published_algorithm_is_not_amplified():
    paper = SelectivePaper(plan=PLAN, delta=1e-6)
    assert paper.epsilon > 5 * SelectivePrivacy(plan=PLAN, delta=1e-6).epsilon
    assert any("no amplification" in warning for warning in paper.guarantee().warnings)


def test_epoch_passes_count_by_epochs_and_releases_by_squares():
    paper = SelectivePaper(plan=EPOCHS, segments=3, state_noise=4.0, states=2, delta=1e-6)
    mu = math.sqrt(3 * ((2 / 2.0) ** 2 + 2 * (2 / 4.0) ** 2))
    assert paper.participation_mu() == pytest.approx(mu)
    assert paper.epsilon == pytest.approx(Gaussian(mu * math.sqrt(10)).epsilon(1e-6))


def test_clipping_h_and_c_jointly_halves_their_cost():
    apart = SelectivePaper(plan=EPOCHS, state_noise=4.0, states=2, delta=1e-6)
    jointly = SelectivePaper(plan=EPOCHS, state_noise=4.0, states=1, delta=1e-6)
    assert jointly.state_mu() ** 2 == pytest.approx(apart.state_mu() ** 2 / 2)


@pytest.mark.parametrize("form", [SelectivePrivacy, SelectivePaper])
@pytest.mark.parametrize("neighbours", ["add-remove", "zero-out"])
def test_another_relation_than_replacement_is_refused(form, neighbours):
    with pytest.raises(RefusedError, match="use neighbours 'replace'"):
        form(plan=replace(PLAN, neighbours=neighbours), delta=1e-6)


def test_formula_a_is_refused_for_batches_it_has_no_proof_for():
    with pytest.raises(RefusedError, match="fixed-size"):
        SelectivePaper(plan=replace(PLAN, sampling="fixed-size"), delta=1e-6)


def test_noise_on_states_must_be_noise():
    with pytest.raises(SettingError, match="must be positive"):
        SelectivePaper(plan=PLAN, state_noise=0.0, delta=1e-6)


def test_the_papers_count_stands_beside_and_is_smaller():
    guarantee = SelectivePaper(plan=EPOCHS, segments=2, state_noise=2.0, delta=1e-6).guarantee()
    assert guarantee.paper is not None
    assert guarantee.epsilon is not None
    assert guarantee.paper.epsilon is not None
    assert guarantee.paper.epsilon < guarantee.epsilon
    assert "hidden states left out" in guarantee.paper.recipe


def test_repeated_steps_are_counted():
    spent = {EPOCHS.fingerprint(): 101}
    again = SelectivePaper(plan=EPOCHS, delta=1e-6, spent=spent)
    assert again.epsilon == SelectivePaper(plan=EPOCHS.with_steps(101), delta=1e-6).epsilon
    assert again.epsilon > SelectivePaper(plan=EPOCHS, delta=1e-6).epsilon
