"""Metric privacy of words, and the absence of any guarantee."""

import math

import pytest
from scipy.stats import gamma

from discreet.accounting.metric import MetricPrivacy, radius
from discreet.accounting.none import NoGuarantee
from discreet.errors import SettingError


def test_a_record_pays_for_the_sum_of_its_distances_and_every_draw():
    notion = MetricPrivacy(selective=True, per_distance=2.0, distances=(1.0, 0.5), draws=3)
    assert notion.epsilon == pytest.approx(9.0)
    assert notion.epsilon_word == pytest.approx(2.0)
    assert (notion.delta, notion.noise) == (0.0, 0.5)


def test_a_word_that_passes_unchanged_has_no_epsilon():
    guarantee = MetricPrivacy(selective=True, per_distance=2.0, unknown_words="unchanged").guarantee()
    assert guarantee.epsilon is None
    assert any("in clear" in warning for warning in guarantee.warnings)
    assert "No finite bound" in str(guarantee)


def test_only_the_selective_form_depends_on_a_policy():
    names = [
        {item.name for item in MetricPrivacy(selective=selective, per_distance=1.0).guarantee().assumptions}
        for selective in (True, False)
    ]
    assert names[0] - names[1] == {"mask"}


def test_the_radius_is_gamma_distributed():
    found = radius(50, 4.0)
    for quantile, share in ((found.low, 0.01), (found.median, 0.5), (found.high, 0.99)):
        assert gamma.cdf(quantile, 50, scale=1 / 4.0) == pytest.approx(share)


def test_distances_must_be_lengths():
    with pytest.raises(SettingError, match="at least 0"):
        MetricPrivacy(selective=True, per_distance=1.0, distances=(-1.0,))


def test_many_distances_are_abbreviated():
    words = MetricPrivacy(selective=False, per_distance=1.0, distances=(1.0,) * 8).neighbours_in_words()
    assert "and 3 more" in words


def test_no_guarantee_says_so():
    notion = NoGuarantee(mechanism="adversarial")
    guarantee = notion.guarantee()
    assert notion.epsilon == math.inf
    assert (guarantee.epsilon, guarantee.delta, guarantee.accountant) == (None, None, None)
    text = str(guarantee)
    assert text.startswith("No privacy guarantee")
    assert "adversarial" in text
    assert "There is no epsilon" in text
