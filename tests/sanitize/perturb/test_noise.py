"""The noise is what the proof is about: a Gamma radius, a uniform direction, independent from label to label."""

import numpy as np
import pytest
from scipy.stats import beta, gamma, kstest, uniform

from discreet.errors import SettingError
from discreet.sanitize.perturb.noise import Draws

ALARM = 1e-6
"""The false-alarm rate of each test below, were the seed not fixed."""


def labels(count: int, name: str = "label") -> list[bytes]:
    return [f"{name} {number}".encode() for number in range(count)]


@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 1.0), (2, 0.5), (5, 3.0), (50, 10.0), (300, 10.0)])
def test_the_radius_is_gamma_distributed_and_the_direction_uniform(dimension, epsilon):
    noise = Draws.of_seed(3).noise(labels(4000), dimension, epsilon)
    radii = np.linalg.norm(noise, axis=1)
    assert kstest(radii, gamma(dimension, scale=1 / epsilon).cdf).pvalue > ALARM
    if dimension > 1:
        directions = noise / radii[:, None]
        for coordinate in (0, dimension // 2, dimension - 1):
            assert kstest(directions[:, coordinate] ** 2, beta(0.5, (dimension - 1) / 2).cdf).pvalue > ALARM
            assert kstest(directions[:, coordinate], lambda x: _direction(x, dimension)).pvalue > ALARM


def _direction(x, dimension):
    """The distribution of one coordinate of a uniform direction."""
    return 0.5 + 0.5 * np.sign(x) * beta(0.5, (dimension - 1) / 2).cdf(np.asarray(x) ** 2)


def test_the_numbers_of_the_accounting_note_come_out():
    """300 dimensions, epsilon 10: mean 30, variance 3; of 20,000 draws the mean is within .074 but once in 10^9."""
    radii = np.linalg.norm(Draws.of_seed(1).noise(labels(20_000), 300, 10.0), axis=1)
    assert radii.mean() == pytest.approx(30, abs=0.075)
    assert radii.var() == pytest.approx(3, rel=0.07)
    assert np.quantile(radii, [0.01, 0.99]) == pytest.approx([26.118, 34.176], abs=0.3)


def test_laplace_noise_in_each_coordinate_would_be_noticed():
    iid = np.random.Generator(np.random.PCG64(0)).laplace(scale=0.1, size=(4000, 300))
    assert kstest(np.linalg.norm(iid, axis=1), gamma(300, scale=0.1).cdf).pvalue < ALARM


def test_radius_and_direction_are_independent_and_so_are_labels():
    directions, radii = Draws.of_seed(2).parts(labels(20_000), 4)
    for coordinate in range(4):
        assert abs(np.corrcoef(directions[:, coordinate], radii)[0, 1]) < 0.04  # 5.6 standard errors
    assert abs(np.corrcoef(radii[1:], radii[:-1])[0, 1]) < 0.04
    assert kstest(Draws.of_seed(2)._uniform(labels(2000), 9).ravel(), uniform.cdf).pvalue > ALARM


def test_a_label_has_one_noise_under_one_key_and_another_under_another():
    first, second = Draws.of_seed(1), Draws.of_seed(2)
    both = [b"ann", b"bob", b"ann"]
    noise = first.noise(both, 5, 2.0)
    assert (noise[0] == noise[2]).all()
    assert (noise[0] != noise[1]).all()
    assert (first.noise([b"ann"], 5, 2.0)[0] == noise[0]).all()
    assert (second.noise([b"ann"], 5, 2.0)[0] != noise[0]).all()
    assert (first.noise([b"ann"], 5, 1.0)[0] == 2 * noise[0]).all()


def test_without_a_seed_nobody_knows_the_key_and_it_is_not_shown():
    one, two = Draws.of_seed(None), Draws.of_seed(None)
    assert one.key != two.key
    assert len(one.key) == 32
    assert not one.seeded
    assert "key" not in repr(one)


def test_an_embedding_has_dimensions():
    with pytest.raises(SettingError):
        Draws().noise([b"a"], 0, 1.0)
