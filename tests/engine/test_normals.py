"""The ziggurat: every layer's draw is a normal, the fast loop agrees with the careful one, and sums are of four.

Fixed seeds; the false-alarm rate of each statistical assertion, had the seed been drawn, is below 1e-6.
"""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.engine import normals
from discreet.engine.normals import BLOCK, EDGES, HEIGHTS, LAYERS, SURE, TAIL, add_normals, fill_normals
from discreet.engine.random_bits import KeyStream, seed_key

FALSE_ALARM = 1e-6
Z = 5.0


def seeded(seed: int) -> KeyStream:
    return KeyStream(seed_key(seed))


def singles(count: int, seed: int) -> np.ndarray:
    """Normals before they are summed, by the careful function alone."""
    stream = seeded(seed)
    words, spare = stream.words(count), stream.words(count)
    used, found = 0, np.empty(count)
    for i, word in enumerate(words):
        found[i], used = normals._careful(word, spare, used)
    return found


def test_layers_have_the_same_area_and_the_last_ends_at_the_top():
    areas = EDGES[1:-1] * np.diff(HEIGHTS[1:])
    assert areas == pytest.approx(EDGES[0] * HEIGHTS[1], rel=1e-9)
    assert len(EDGES) == LAYERS + 1
    assert SURE[-1] == 0  # the top layer has none above it: each of its points is thrown under the bell or away


def test_a_single_draw_is_normal():
    x = singles(300_000, seed=1)
    assert stats.kstest(x, "norm").pvalue > FALSE_ALARM
    assert abs(x.mean()) * math.sqrt(len(x)) < Z
    assert abs((x * x).mean() - 1) < Z * math.sqrt(2 / len(x))
    assert abs((x**4).mean() - 3) < Z * math.sqrt(96 / len(x))


def test_the_tail_beyond_the_base_layer_is_that_of_a_normal():
    stream = seeded(2)
    spare, used, found = stream.words(200_000), 0, []
    base = np.uint64(((2**55 - 1) << 8) | 0)  # layer 0, its outermost point: always in the tail
    while used < len(spare) - 100:
        value, used = normals._careful(base, spare, used)
        found.append(value)
    below = 1 - stats.norm.sf(np.array(found)) / stats.norm.sf(TAIL)
    assert min(found) > TAIL
    assert stats.kstest(below, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("draws", [1, 4])
def test_a_sum_is_that_of_careful_draws_of_its_words(draws):
    count = 3000
    stream = seeded(3)
    words, spare = stream.words(draws * count), stream.words(count)
    got, again = np.empty(count), np.empty(count + 1, np.int64)
    assert normals.SUMS[draws](words, spare, got, again)
    used, want = 0, np.empty(count)
    for i in range(count):
        total = 0.0
        for word in words[draws * i : draws * i + draws]:
            value, used = normals._careful(word, spare, used)
            total += value
        want[i] = total / math.sqrt(draws)
    assert np.array_equal(got, want)


def test_compiled_and_interpreted_agree():
    stream = seeded(4)
    words, spare = stream.words(4 * 500), stream.words(500)
    one, other = np.empty(500), np.empty(500)
    assert normals.SUMS[4](words, spare, one, np.empty(501, np.int64))
    assert normals.SUMS[4].py_func(words, spare, other, np.empty(501, np.int64))
    assert np.array_equal(one, other)


def test_a_block_without_enough_spare_words_is_thrown_away():
    class Stubborn:
        """The first block's words are all in the tail and its spare words never leave it."""

        def __init__(self):
            self.asked = 0

        def words(self, count):
            self.asked += 1
            if self.asked > 1:
                return seeded(5).words(count)
            words = np.zeros(count, np.uint64)
            words[: 4 * 100] = (2**55 - 1) << 8
            words[4 * 100 :] = np.where(np.arange(count - 400) % 2, np.uint64(2**64 - 1), np.uint64(0))
            return words

    stream = Stubborn()
    x, again = np.empty(100), np.empty(100)
    fill_normals(x, stream, 4)
    assert stream.asked == 2
    fill_normals(again, seeded(5), 4)
    assert np.array_equal(x, again)


@pytest.mark.parametrize("count", [0, 1, BLOCK // 4 - 1, BLOCK // 4, BLOCK // 4 + 1, BLOCK + 17])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_coordinate_gets_noise_of_its_own(count, dtype):
    target = np.full(count, 0.25, dtype)
    add_normals(target, seeded(6), draws=4, std=0.5, share=0.25)
    noise = (target.astype(float) / 0.25 - 0.25) / 0.5
    assert (abs(noise) < 7).all()
    assert len(np.unique(noise)) >= 0.98 * count


def test_more_normals_than_a_block_has_are_refused():
    with pytest.raises(ValueError, match="At most"):
        fill_normals(np.empty(BLOCK + 1), seeded(5), 1)
