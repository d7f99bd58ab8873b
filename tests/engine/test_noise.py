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

from discreet.engine.chunks import CHUNK, chunks_of, length
from discreet.engine.noise import FastNoise, NoiseSource, SecureNoise, noise_of, seed_generator
from discreet.engine.random_bits import Randomness, chosen_cipher, cipher_generator
from discreet.errors import RunError, SettingError

FALSE_ALARM = 3e-7
"""Of one assertion; a test has at most three."""
Z = 5.2
"""Two-sided normal tail 2e-7."""

SOURCES: dict[str, Callable[[], NoiseSource]] = {
    "fast": lambda: FastNoise(Randomness("fast", seed=11), threads=2),
    "secure": lambda: SecureNoise(Randomness(), threads=2),
    "secure, ChaCha-20": lambda: SecureNoise(Randomness(cipher="chacha-20"), threads=2),
    "secure, shared draws": lambda: SecureNoise(Randomness(), threads=2, draws=1),
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

    def test_of_coordinates_that_share_draws(self):
        rows = SecureNoise(Randomness(), draws=1).normals(4 * CHUNK).reshape(4, CHUNK)
        products = [(i, j) for i in range(4) for j in range(i)]
        worst = max(abs(correlation_z(rows[i], rows[j])) for i, j in products)
        # Uncorrelated is not independent: squares would show sums that are merely orthogonal.
        squares = max(abs(correlation_z(rows[i] ** 2 - 1, rows[j] ** 2 - 1)) / 2 for i, j in products)
        assert 24 * 2 * stats.norm.sf(max(worst, squares)) > FALSE_ALARM

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
        one, other = (drawn(FastNoise(Randomness("fast", seed=1), lane=lane)) for lane in (0, 1))
        assert abs(correlation_z(one, other)) < Z

    def test_neighbouring_seeds_differ(self):
        one, other = (drawn(FastNoise(Randomness("fast", seed=seed))) for seed in (1, 2))
        assert abs(correlation_z(one, other)) < Z


ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


class TestCiphers:
    def test_chacha_gives_the_published_key_stream(self):
        """The ChaCha-20 block of the zero key and counter (RFC 8439, A.1, vector 1)."""
        from randomgen import ChaCha  # type: ignore[import-untyped]

        stream = ChaCha(key=0, counter=0, rounds=20).random_raw(2).astype("<u8").tobytes()
        assert stream.hex() == "76b8e0ada0f13d90405d6ae55386bd28"

    def test_aes_gives_the_published_key_stream(self):
        """AES-128 of the zero block under the zero key (the hash key in test case 1 of the GCM specification)."""
        from randomgen import AESCounter

        stream = AESCounter(key=0, counter=0).random_raw(2).astype("<u8").tobytes()
        assert stream.hex() == "66e94bd4ef8a2c3b884cfa59ca342b2e"

    @pytest.mark.parametrize("cipher", ["aes-128-ctr", "chacha-20"])
    def test_every_generator_has_a_key_of_the_operating_system(self, cipher, monkeypatch):
        asked: list[int] = []

        def zeros(size):
            asked.append(size)
            return bytes(size)

        monkeypatch.setattr("os.urandom", zeros)
        assert (
            cipher_generator(cipher).bit_generator.random_raw() == cipher_generator(cipher).bit_generator.random_raw()
        )
        assert asked == ([16] * 2 if cipher == "aes-128-ctr" else [32] * 2)

    def test_secure_noise_uses_one_key_per_chunk(self, monkeypatch):
        keys: list[int] = []
        real = np.random.Generator

        def counted(bits):
            keys.append(int(bits.random_raw()))
            return real(bits)

        monkeypatch.setattr("discreet.engine.random_bits.np.random.Generator", counted)
        drawn(SecureNoise(Randomness(), threads=3), sizes=[5 * CHUNK])
        assert len(set(keys)) == len(keys) == 5

    def test_an_unknown_cipher_is_refused(self):
        with pytest.raises(SettingError, match="rot13"):
            Randomness(cipher="rot13")


class TestFourSum:
    def test_is_half_the_sum_of_four_after_one_thrown_away(self, monkeypatch):
        values = iter(range(10**6))

        class Counting:
            def standard_normal(self, size=None, out=None):
                if out is None:
                    return float(next(values))
                out[...] = [next(values) for _ in out]
                return out

        monkeypatch.setattr(Randomness, "generator", lambda self, *_: Counting())
        assert SecureNoise(Randomness()).normals(2).tolist() == [(1 + 3 + 5 + 7) / 2, (2 + 4 + 6 + 8) / 2]

    def test_shared_draws_are_mixed_by_an_orthogonal_matrix_of_halves(self, monkeypatch):
        columns = np.eye(4)

        class Unit:
            def standard_normal(self, size=None):
                return columns.copy() if size is not None else 0.0

        monkeypatch.setattr(Randomness, "generator", lambda self, *_: Unit())
        mixed = SecureNoise(Randomness(), draws=1).normals(16).reshape(4, 4)
        assert np.array_equal(abs(mixed), np.full((4, 4), 0.5))
        assert np.array_equal(mixed @ mixed.T, np.eye(4))

    def test_noise_is_added_in_float64_and_rounded_once(self, monkeypatch):
        """2^24 + (1 + 2^-27) is above the middle of two float32 numbers; noise rounded first would hit the middle."""
        noise = SecureNoise(Randomness())
        monkeypatch.setattr(noise, "normals", lambda count: np.full(count, 1 + 2.0**-27))
        buffer = torch.full((3,), 2.0**24)
        noise.add_([buffer], 1.0)
        assert buffer.tolist() == [2.0**24 + 2] * 3

    def test_shared_draws_are_not_shown_in_full_precision(self):
        with pytest.raises(SettingError, match="float64"):
            SecureNoise(Randomness(), draws=1).add_([torch.zeros(2, dtype=torch.float64)], 1.0)


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
        SecureNoise(Randomness()).add_([given], 2.0)
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
        one, four = (FastNoise(Randomness("fast", seed=5), threads=threads) for threads in (1, 4))
        for _ in range(2):
            assert np.array_equal(drawn(one), drawn(four))

    def test_fast_noise_goes_on_from_a_checkpoint(self):
        whole = FastNoise(Randomness("fast", seed=5))
        first, state, second = drawn(whole), whole.state(), drawn(whole)
        resumed = FastNoise(Randomness("fast", seed=5))
        resumed.restore(state)
        assert np.array_equal(drawn(resumed), second)
        assert not np.array_equal(first, second)

    def test_secure_noise_cannot_be_replayed(self):
        noise = SecureNoise(Randomness(seed=3))
        state, first = noise.state(), drawn(noise)
        noise.restore(state)
        assert not np.array_equal(drawn(noise), first)
        assert state == {"noise": "secure"}

    def test_another_kind_or_seed_of_noise_is_refused(self):
        fast, secure = FastNoise(Randomness("fast", seed=5)), SecureNoise(Randomness())
        with pytest.raises(RunError, match="secure noise"):
            fast.restore(secure.state())
        with pytest.raises(RunError, match="fast noise"):
            secure.restore(fast.state())
        with pytest.raises(RunError, match="seed"):
            FastNoise(Randomness("fast", seed=6)).restore(fast.state())

    def test_all_words_of_a_torch_generator_are_set(self):
        """numpy's Mersenne Twister with the same words gives the same numbers: torch's layout is what we think."""
        words = np.random.PCG64(1).random_raw(312).view(np.uint32)
        generator, other = torch.Generator(), np.random.MT19937()
        seed_generator(generator, words)
        other.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": 624}}
        ours = torch.empty(1500, dtype=torch.int64).random_(0, 1 << 24, generator=generator)
        assert ours.tolist() == (other.random_raw(1500) % (1 << 24)).tolist()

    def test_noise_goes_with_its_randomness(self):
        assert isinstance(noise_of(Randomness()), SecureNoise)
        assert isinstance(noise_of(Randomness("fast")), FastNoise)
        with pytest.raises(SettingError, match="secure randomness"):
            SecureNoise(Randomness("fast"))
        with pytest.raises(SettingError, match="seed"):
            FastNoise(Randomness())

    def test_the_guarantee_hears_what_the_noise_is_made_of(self):
        secure, fast = noise_of(Randomness()).describe(), noise_of(Randomness("fast")).describe()
        assert secure["generator"] == chosen_cipher() in ("aes-128-ctr", "chacha-20")
        assert "(g1+g2+g3+g4)/2" in secure["noise"]
        assert (secure["replayable"], fast["replayable"]) == (False, True)


class TestDrawAhead:
    def counted(self, monkeypatch, **options) -> tuple[SecureNoise, list[int]]:
        noise = SecureNoise(Randomness(), threads=2, **options)
        counts: list[int] = []
        real = noise.normals

        def normals(count):
            counts.append(count)
            return real(count)

        monkeypatch.setattr(noise, "normals", normals)
        return noise, counts

    def test_draws_no_more_than_its_share_and_the_step_the_rest(self, monkeypatch):
        noise, counts = self.counted(monkeypatch, ahead=0.5)
        noise.draw_ahead([(4, CHUNK), (CHUNK,)])
        noise._pool.submit(int).result()  # behind the draws in the queue of the pool
        assert sum(counts) <= 0.5 * 5 * CHUNK
        assert len(counts) == 2
        noise.add_([torch.zeros(4, CHUNK), torch.zeros(CHUNK)], 1.0)
        assert sum(counts) == 5 * CHUNK

    def test_noise_drawn_ahead_is_good_noise_and_used_once(self):
        noise = SecureNoise(Randomness(), threads=2, ahead=1.0)
        noise.draw_ahead([(size,) for size in SIZES])
        first, second = drawn(noise), drawn(noise)
        assert stats.kstest(first, "norm").pvalue > FALSE_ALARM
        assert abs(correlation_z(first, second)) < Z

    def test_noise_drawn_for_other_buffers_is_not_used(self, monkeypatch):
        noise, counts = self.counted(monkeypatch, ahead=1.0)
        noise.draw_ahead([(CHUNK,)])
        noise._pool.submit(int).result()
        noise.add_([torch.zeros(CHUNK - 1)], 1.0)
        assert counts == [CHUNK, CHUNK - 1]

    def test_a_failing_draw_fails_the_step(self, monkeypatch):
        noise = SecureNoise(Randomness(), ahead=1.0)

        def broken(count):
            raise OSError("no entropy")

        monkeypatch.setattr(noise, "normals", broken)
        noise.draw_ahead([(CHUNK,)])
        with pytest.raises(OSError, match="no entropy"):
            noise.add_([torch.zeros(CHUNK)], 1.0)
