"""Noise: what it is made of, its distribution, its streams, and what a checkpoint keeps of it.

The statistical tests of secure noise draw afresh at every run; each raises a false alarm with probability below 1e-6.
Those of fast noise have a fixed seed.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import stats

from discreet.engine import normals
from discreet.engine.chunks import CHUNK, chunks_of, length
from discreet.engine.noise import Noise, NoiseSource
from discreet.engine.random_bits import Randomness
from discreet.errors import RunError, SettingError

FALSE_ALARM = 3e-7
"""Of one assertion; a test has at most three."""
Z = 5.2
"""Two-sided normal tail 2e-7."""

SOURCES: dict[str, Callable[[], NoiseSource]] = {
    "fast": lambda: Noise(Randomness("fast", seed=11), threads=2),
    "secure": lambda: Noise(Randomness(), threads=2),
    "secure, ChaCha-20": lambda: Noise(Randomness(cipher="chacha-20"), threads=2),
}
SIZES = [3 * CHUNK + 1001, 7, CHUNK // 2]


@pytest.fixture(params=list(SOURCES))
def source(request) -> NoiseSource:
    return SOURCES[request.param]()


def drawn(source: NoiseSource, sizes=SIZES, std: float = 1.0) -> np.ndarray:
    """One step's noise, all buffers in a row."""
    buffers = [torch.zeros(size) for size in sizes]
    source.add_(buffers, std)
    return torch.cat(buffers).double().numpy()


def correlation_z(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / math.sqrt(len(x)))


class TestDistribution:
    def test_has_the_variance_it_is_asked_for(self, source):
        std = 0.37
        x = drawn(source, std=std) / std
        assert abs(x.mean()) * math.sqrt(len(x)) < Z
        assert abs((x * x).mean() - 1) < Z * math.sqrt(2 / len(x))

    def test_is_gaussian(self, source):
        x = drawn(source)
        assert stats.kstest(x, "norm").pvalue > FALSE_ALARM
        assert abs((x**3).mean()) < Z * math.sqrt(15 / len(x))
        assert abs((x**4).mean() - 3) < Z * math.sqrt(96 / len(x))

    def test_has_the_tails_of_a_gaussian(self, source):
        x = drawn(source)
        for bound in (2.0, 3.0, 3.7):
            expected = 2 * stats.norm.sf(bound)
            count = int((abs(x) > bound).sum())
            assert stats.binomtest(count, len(x), expected).pvalue > FALSE_ALARM / 3

    def test_small_buffers_get_the_same_noise_as_large_ones(self, source):
        x = drawn(source, sizes=[5] * 20_000)
        assert stats.kstest(x, "norm").pvalue > FALSE_ALARM


class TestIndependence:
    def test_of_two_steps(self, source):
        assert abs(correlation_z(drawn(source), drawn(source))) < Z

    def test_of_neighbouring_coordinates(self, source):
        x = drawn(source)
        worst = max(abs(correlation_z(x[lag:], x[:-lag])) for lag in (1, 2, 3, 4, 8, 16, 624))
        assert 7 * 2 * stats.norm.sf(worst) > FALSE_ALARM

    def test_of_chunks(self, source):
        x = drawn(source, sizes=[6 * CHUNK]).reshape(6, CHUNK)
        worst = max(abs(correlation_z(x[i], x[j])) for i in range(6) for j in range(i))
        assert 15 * 2 * stats.norm.sf(worst) > FALSE_ALARM

    def test_no_block_comes_twice(self, source):
        """Neither within a step nor between steps, wherever it starts. Chance alone: 1e6^2/2 pairs of 64-bit keys."""
        x = np.concatenate([drawn(source), drawn(source)]).astype(np.float32)
        bits = x.view(np.uint32).astype(np.uint64)
        with np.errstate(over="ignore"):
            keys = sum(
                (np.roll(bits, shift) * np.uint64(factor) for shift, factor in enumerate(ODD)),
                np.zeros(len(bits), np.uint64),
            )
        assert len(np.unique(keys)) == len(keys)

    def test_lanes_of_one_seed_differ(self):
        one, other = (drawn(Noise(Randomness("fast", seed=1), lane=lane)) for lane in (0, 1))
        assert abs(correlation_z(one, other)) < Z

    def test_neighbouring_seeds_differ(self):
        one, other = (drawn(Noise(Randomness("fast", seed=seed))) for seed in (1, 2))
        assert abs(correlation_z(one, other)) < Z


ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


class TestRounding:
    def test_noise_is_added_and_divided_in_float64_and_rounded_once(self, monkeypatch):
        """2^24 + (1 + 2^-27) is above the middle of two float32 numbers; noise rounded first would hit the middle."""
        monkeypatch.setattr(normals, "fill_normals", lambda out, stream, draws: out.fill(1 + 2.0**-27))
        for divide in (1.0, 8.0):
            buffer = torch.full((3,), 2.0**24)
            Noise(Randomness()).add_([buffer], 1.0, divide=divide)
            assert buffer.tolist() == [(2.0**24 + 2) / divide] * 3

    @pytest.mark.parametrize(("mode", "draws"), [("secure", 4), ("fast", 1)])
    def test_a_release_sums_four_draws_and_an_experiment_one(self, mode, draws, monkeypatch):
        asked = []

        def counted(out, stream, draws):
            asked.append(draws)
            out.fill(0.0)

        monkeypatch.setattr(normals, "fill_normals", counted)
        Noise(Randomness(mode)).add_([torch.zeros(9)], 1.0)
        assert asked == [draws]


class TestBuffers:
    def test_noise_is_added_to_what_is_there(self, source):
        buffers = [torch.full((40, 50), 1e4), torch.full((3,), -1e4, requires_grad=True)]
        source.add_(buffers, 1.0)
        assert (buffers[0] - 1e4).abs().max() < 10
        assert (buffers[1] + 1e4).abs().max() < 10
        assert len(np.unique(buffers[0].numpy())) > 1000

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
    @pytest.mark.parametrize("transposed", [False, True])
    def test_of_any_kind_of_float_and_layout(self, dtype, transposed):
        buffer = torch.zeros(300, 200, dtype=dtype)
        given = buffer.t() if transposed else buffer
        Noise(Randomness()).add_([given], 2.0)
        x = buffer.double().numpy().ravel() / 2
        assert buffer.dtype == dtype
        assert abs((x * x).mean() - 1) < Z * math.sqrt(2 / len(x)) + (1e-3 if dtype == torch.bfloat16 else 0)

    def test_a_buffer_given_twice_is_refused(self, source):
        buffer = torch.zeros(4)
        with pytest.raises(SettingError, match="twice"):
            source.add_([buffer, buffer], 1.0)

    @pytest.mark.parametrize("std", [0.0, -1.0, math.nan, math.inf])
    def test_a_standard_deviation_that_protects_nothing_is_refused(self, source, std):
        with pytest.raises(SettingError, match="positive"):
            source.add_([torch.zeros(4)], std)

    @pytest.mark.parametrize("divide", [0.0, -1.0, math.nan, math.inf])
    def test_a_divisor_that_is_not_a_positive_number_is_refused(self, source, divide):
        with pytest.raises(SettingError, match="divisor"):
            source.add_([torch.zeros(4)], 1.0, divide=divide)

    def test_nothing_to_do_is_fine(self, source):
        source.add_([], 1.0)
        source.add_([torch.zeros(0)], 1.0)

    def test_chunks_cover_every_coordinate_once(self):
        sizes = [5, 0, 2 * CHUNK, 1, CHUNK - 3, 7]
        seen = [np.zeros(size, int) for size in sizes]
        chunks = chunks_of(sizes)
        for chunk in chunks:
            for piece in chunk:
                seen[piece.buffer][piece.start : piece.stop] += 1
        assert all((counts == 1).all() for counts in seen)
        assert [length(chunk) for chunk in chunks[:-1]] == [CHUNK] * (len(chunks) - 1)


class TestReplay:
    def test_fast_noise_is_a_function_of_seed_and_step_whatever_the_threads(self):
        one, four = (Noise(Randomness("fast", seed=5), threads=threads) for threads in (1, 4))
        for _ in range(2):
            assert np.array_equal(drawn(one), drawn(four))

    def test_fast_noise_goes_on_from_a_checkpoint(self):
        whole = Noise(Randomness("fast", seed=5))
        first, state, second = drawn(whole), whole.state(), drawn(whole)
        resumed = Noise(Randomness("fast", seed=5))
        resumed.restore(state)
        assert np.array_equal(drawn(resumed), second)
        assert not np.array_equal(first, second)

    def test_secure_noise_cannot_be_replayed(self):
        noise = Noise(Randomness(seed=3))
        state, first = noise.state(), drawn(noise)
        noise.restore(state)
        assert not np.array_equal(drawn(noise), first)
        assert state == {"noise": "secure"}

    def test_another_kind_or_seed_of_noise_is_refused(self):
        fast, secure = Noise(Randomness("fast", seed=5)), Noise(Randomness())
        with pytest.raises(RunError, match="secure noise"):
            fast.restore(secure.state())
        with pytest.raises(RunError, match="fast noise"):
            secure.restore(fast.state())
        with pytest.raises(RunError, match="seed"):
            Noise(Randomness("fast", seed=6)).restore(fast.state())

    def test_the_guarantee_hears_what_the_noise_is_made_of(self):
        secure, fast = Noise(Randomness()).describe(), Noise(Randomness("fast")).describe()
        assert secure["generator"] == "aes-256-ctr"
        assert "(g1+g2+g3+g4)/2" in secure["noise"]
        assert (secure["replayable"], fast["replayable"]) == (False, True)
