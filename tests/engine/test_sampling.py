"""Sampling: the batches are what the plan says, in law and in letter.

The statistical tests of secure coins draw afresh at every run; each raises a false alarm with probability below 1e-6.
Those of seeded coins have a fixed seed.
"""

import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.engine.plan import Plan
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import (
    FixedSizeSampler,
    PoissonSampler,
    ShuffledSampler,
    TruncatedPoissonSampler,
    sampler_of,
    threshold,
)
from discreet.errors import SettingError

FALSE_ALARM = 4e-7
"""Of one assertion; a test has at most two."""
POPULATION, RATE, STEPS = 100, 0.1, 6000


def plan(**fields: Any) -> Plan:
    own: dict[str, Any] = {"rate": RATE, "steps": 100, "noise": 1.0, "neighbours": "replace", "population": POPULATION}
    return Plan(**own | fields)


def two_sided(statistic: float, freedom: int) -> float:
    """The p-value of a chi-square statistic that may be neither too large nor too small."""
    return float(2 * min(stats.chi2.sf(statistic, freedom), stats.chi2.cdf(statistic, freedom)))


def included(choice, steps=STEPS, population=POPULATION) -> np.ndarray:
    """One row a step, one column a unit, 1 where it was drawn."""
    table = np.zeros((steps, population))
    for step in range(steps):
        table[step, choice.units(step)] = 1
    return table


@pytest.fixture(scope="module", params=["secure", "fast"])
def table(request) -> np.ndarray:
    return included(PoissonSampler(POPULATION, RATE, Randomness(request.param, seed=1)))


class TestPoisson:
    def test_every_unit_is_drawn_as_often_as_the_rate_says(self, table):
        counts = table.sum(0)
        statistic = float(((counts - STEPS * RATE) ** 2).sum() / (STEPS * RATE * (1 - RATE)))
        assert two_sided(statistic, POPULATION) > FALSE_ALARM

    def test_units_are_drawn_independently_of_each_other(self, table):
        z = (table - RATE) / math.sqrt(RATE * (1 - RATE))
        pairs = (z.T @ z / math.sqrt(STEPS))[np.triu_indices(POPULATION, 1)]
        # The products are skewed, so the normal tail is too light far out: a factor of 50 covers it.
        assert 50 * len(pairs) * 2 * stats.norm.sf(abs(pairs).max()) > FALSE_ALARM
        # Pairs that share a unit are not quite independent, which widens the statistic by 6 %: a factor of 10 does.
        assert 10 * two_sided(float((pairs**2).sum()), len(pairs)) > FALSE_ALARM

    def test_batch_sizes_are_binomial(self, table):
        sizes = table.sum(1).astype(int)
        edges = [0, *range(5, 17), POPULATION + 1]
        observed = np.histogram(sizes, edges)[0]
        below = stats.binom.cdf(np.array(edges) - 1, POPULATION, RATE)
        assert stats.chisquare(observed, STEPS * np.diff(below)).pvalue > FALSE_ALARM

    def test_steps_are_independent(self, table):
        z = (table - RATE) / math.sqrt(RATE * (1 - RATE))
        same_unit = (z[1:] * z[:-1]).sum() / math.sqrt(z[1:].size)
        sizes = z.sum(1) / math.sqrt(POPULATION)
        size = sizes[1:] @ sizes[:-1] / math.sqrt(STEPS - 1)
        assert 2 * stats.norm.sf(abs(same_unit)) > FALSE_ALARM
        assert 2 * stats.norm.sf(abs(size)) > FALSE_ALARM

    def test_a_large_population_is_drawn_whole(self):
        """More units than coins are thrown at once; both ends and the seam get their share."""
        population, rate = (1 << 21) + 12345, 0.01
        units = PoissonSampler(population, rate, Randomness("fast", seed=2)).units(0)
        assert (np.diff(units) > 0).all()
        edges = np.linspace(0, population, 65)
        expected = np.diff(edges) * rate
        statistic = float(((np.histogram(units, edges)[0] - expected) ** 2 / (expected * (1 - rate))).sum())
        assert two_sided(statistic, 64) > FALSE_ALARM

    def test_a_rate_of_one_draws_everything(self):
        assert PoissonSampler(7, 1.0, Randomness()).units(0).tolist() == list(range(7))

    def test_empty_batches_are_legal(self):
        draw = sampler_of(plan(rate=1e-12), Randomness()).draw(0)
        assert [len(part) for part in draw] == [0, 0, 0]
        assert draw.records.dtype == np.int64

    def test_seeded_coins_are_a_function_of_seed_and_step(self):
        one, same, other = (PoissonSampler(1000, RATE, Randomness("fast", seed=seed)) for seed in (1, 1, 2))
        assert one.units(5).tolist() == same.units(5).tolist()
        assert one.units(5).tolist() != one.units(6).tolist()
        assert one.units(5).tolist() != other.units(5).tolist()

    def test_secure_coins_cannot_be_thrown_again(self):
        sampler = PoissonSampler(1000, 0.5, Randomness())
        assert sampler.units(5).tolist() != sampler.units(5).tolist()

    def test_secure_coins_come_from_the_cipher(self, monkeypatch):
        asked: list[int] = []

        def zeros(size):
            asked.append(size)
            return bytes(size)

        monkeypatch.setattr("os.urandom", zeros)
        PoissonSampler(10, 0.5, Randomness(cipher="chacha-20")).units(0)
        assert asked == [32]

    @settings(derandomize=True, deadline=None)
    @given(st.floats(min_value=0.0, max_value=1.0, exclude_min=True))
    def test_the_probability_of_a_coin_is_never_above_the_rate_and_below_it_by_less_than_one_value(self, rate):
        exact = Fraction(rate)
        given_probability = Fraction(threshold(rate), 1 << 64)
        assert 0 <= exact - given_probability < Fraction(1, 1 << 64)
        if rate >= 2**-11:
            assert given_probability == exact

    def test_heads_are_the_coins_below_the_threshold(self, monkeypatch):
        bound = threshold(0.25)

        class Coins:
            def words(self, count):
                return np.array([bound, bound - 1, 0, 2**64 - 1], np.uint64)

        monkeypatch.setattr(Randomness, "stream", lambda self, *_: Coins())
        assert PoissonSampler(4, 0.25, Randomness()).units(0).tolist() == [1, 2]


class TestTruncatedPoisson:
    def test_batches_are_cut_and_every_unit_loses_alike(self):
        cap = 8
        table = included(TruncatedPoissonSampler(POPULATION, RATE, cap, Randomness("fast", seed=4)))
        sizes = table.sum(1)
        assert sizes.max() == cap
        at_cap = stats.binomtest(int((sizes == cap).sum()), STEPS, stats.binom.sf(cap - 1, POPULATION, RATE))
        assert at_cap.pvalue > FALSE_ALARM
        chance = sizes.sum() / table.size
        statistic = float(((table.sum(0) - STEPS * chance) ** 2).sum() / (STEPS * chance * (1 - chance)))
        assert stats.chi2.sf(statistic, POPULATION - 1) > FALSE_ALARM

    def test_batches_below_the_cap_are_left_alone(self):
        randomness = Randomness("fast", seed=4)
        whole = PoissonSampler(POPULATION, RATE, randomness)
        cut = TruncatedPoissonSampler(POPULATION, RATE, 10, randomness)
        for step in range(50):
            units = whole.units(step).tolist()
            if len(units) <= 10:
                assert cut.units(step).tolist() == units
            else:
                assert set(cut.units(step).tolist()) < set(units)


class TestFixedSize:
    def test_every_subset_is_alike(self):
        table = included(FixedSizeSampler(6, 2, Randomness()), 3000, 6)
        assert (table.sum(1) == 2).all()
        pairs = table.T @ table
        assert stats.chisquare(pairs[np.triu_indices(6, 1)]).pvalue > FALSE_ALARM


class TestShuffled:
    @pytest.mark.parametrize(("population", "rate"), [(100, 0.1), (101, 0.3), (7, 1 / 3), (10, 1.0)])
    def test_every_unit_comes_once_an_epoch(self, population, rate):
        shuffled = plan(sampling="shuffled", population=population, rate=rate)
        sampler = sampler_of(shuffled, Randomness())
        epochs = [
            [sampler.draw(epoch * shuffled.steps_per_epoch + step).units for step in range(shuffled.steps_per_epoch)]
            for epoch in range(2)
        ]
        for batches in epochs:
            assert sorted(np.concatenate(batches).tolist()) == list(range(population))
            assert max(len(batch) for batch in batches) <= math.ceil(rate * population)
        if len(epochs[0]) > 1:
            assert [batch.tolist() for batch in epochs[0]] != [batch.tolist() for batch in epochs[1]]

    @pytest.mark.parametrize("mode", ["secure", "fast"])
    def test_a_run_resumed_within_an_epoch_keeps_its_order(self, mode):
        """Or some units would be used twice, and the accountant counts each once an epoch."""
        before = ShuffledSampler(100, 0.1, 10, Randomness(mode, seed=3))
        after = ShuffledSampler(100, 0.1, 10, Randomness(mode, seed=3))
        seen = np.concatenate([before.units(step) for step in range(4)])
        rest = np.concatenate([after.units(step) for step in range(4, 10)])
        assert sorted([*seen.tolist(), *rest.tolist()]) == list(range(100))


class TestAuthors:
    AUTHORS: tuple[list[int], ...] = ([4, 9], [], [0], [1, 2, 3], [8])

    def test_a_draw_holds_all_records_of_each_drawn_author_and_says_whose_they_are(self):
        sampler = sampler_of(plan(unit="author", population=5, rate=0.5), Randomness(), authors=self.AUTHORS)
        sizes = set()
        for step in range(60):
            draw = sampler.draw(step)
            sizes.add(len(draw.units))
            owned: list[list[int]] = [[] for _ in draw.units]
            for record, owner in zip(draw.records, draw.owners, strict=True):
                owned[owner].append(record)
            assert owned == [self.AUTHORS[unit] for unit in draw.units]
        assert len(sizes) > 2

    def test_authors_are_drawn_at_the_rate_and_their_records_together(self):
        sampler = sampler_of(plan(unit="author", population=5), Randomness(), authors=self.AUTHORS)
        table = np.zeros((STEPS, 10))
        for step in range(STEPS):
            table[step, sampler.draw(step).records] = 1
        assert (table[:, 4] == table[:, 9]).all()
        assert (table[:, 1] == table[:, 3]).all()
        both = stats.binomtest(int((table[:, 4] * table[:, 1]).sum()), STEPS, RATE**2)
        one = stats.binomtest(int(table[:, 1].sum()), STEPS, RATE)
        assert min(both.pvalue, one.pvalue) > FALSE_ALARM

    @pytest.mark.parametrize("mode", ["secure", "fast"])
    def test_of_an_authors_records_so_many_are_used_each_subset_alike(self, mode):
        own = plan(unit="author", population=5, rate=0.9, records_per_author=2)
        sampler = sampler_of(own, Randomness(mode, seed=3), authors=self.AUTHORS)
        seen: Counter[tuple[int, ...]] = Counter()
        for step in range(STEPS):
            draw = sampler.draw(step)
            owned: list[list[int]] = [[] for _ in draw.units]
            for record, owner in zip(draw.records, draw.owners, strict=True):
                owned[owner].append(int(record))
            for unit, records in zip(draw.units, owned, strict=True):
                assert len(records) == min(2, len(self.AUTHORS[unit]))
                assert set(records) <= set(self.AUTHORS[unit])
                if len(self.AUTHORS[unit]) > 2:
                    seen[tuple(records)] += 1
        assert set(seen) == {(1, 2), (1, 3), (2, 3)}
        assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM

    def test_the_choice_of_an_authors_records_does_not_depend_on_who_else_is_drawn(self):
        own = plan(unit="author", population=2, rate=0.5, records_per_author=3)
        found = []
        for other in ([20], [20, 21, 22, 23, 24, 25]):
            sampler = sampler_of(own, Randomness("fast", seed=5), authors=[list(range(10)), other])
            draws = [sampler.draw(step) for step in range(40)]
            found.append([draw.records[draw.records < 10].tolist() for draw in draws])
        assert found[0] == found[1]
        assert len({tuple(records) for records in found[0] if records}) > 10

    def test_seeded_choices_of_records_repeat_themselves_and_secure_ones_do_not(self):
        own = plan(unit="author", population=2, rate=1.0, records_per_author=5)
        authors = [range(40), range(40, 80)]

        def drawn(mode: str) -> list[int]:
            draw = sampler_of(own, Randomness(mode, seed=5), authors=authors).draw(7)
            return [int(record) for record in draw.records]

        assert drawn("fast") == drawn("fast")
        assert drawn("secure") != drawn("secure")

    def test_a_record_of_two_authors_is_refused(self):
        with pytest.raises(SettingError, match="two authors"):
            sampler_of(plan(unit="author", population=2), Randomness(), authors=[[0, 1], [1]])

    def test_units_and_records_must_fit(self):
        with pytest.raises(SettingError, match="records of each author"):
            sampler_of(plan(unit="author"), Randomness())
        with pytest.raises(SettingError, match="unit is the record"):
            sampler_of(plan(population=2), Randomness(), authors=[[0], [1]])
        with pytest.raises(SettingError, match="100 units"):
            sampler_of(plan(unit="author"), Randomness(), authors=[[0], [1]])


class TestPlan:
    @pytest.mark.parametrize(
        ("fields", "kind"),
        [
            ({}, PoissonSampler),
            ({"sampling": "truncated-poisson", "max_batch": 12}, TruncatedPoissonSampler),
            ({"sampling": "shuffled"}, ShuffledSampler),
            ({"sampling": "fixed-size"}, FixedSizeSampler),
        ],
    )
    def test_the_sampler_is_the_plans(self, fields, kind):
        sampler = sampler_of(plan(**fields), Randomness())
        assert type(sampler.choice) is kind
        assert sampler.describe()["sampling"] == plan(**fields).sampling

    def test_another_population_than_the_plans_is_refused(self):
        with pytest.raises(SettingError, match="100 units"):
            sampler_of(plan(), Randomness(), population=99)
        with pytest.raises(SettingError, match="set population"):
            sampler_of(plan(population=None), Randomness())
        assert len(sampler_of(plan(population=None, rate=1.0), Randomness(), population=9).draw(0).units) == 9

    def test_a_fixed_size_that_is_not_whole_is_refused(self):
        with pytest.raises(SettingError, match="whole number"):
            sampler_of(plan(sampling="fixed-size", population=None), Randomness(), population=99)

    def test_sampling_and_ledger_start_without_torch(self):
        code = "import sys, discreet.engine.sampling, discreet.engine.ledger; print('torch' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"
