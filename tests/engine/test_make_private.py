"""Private training in a loop of the user's own: batches as the plan draws them, each stepped once."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, WeightedRandomSampler

from discreet.engine import make_private
from discreet.engine.ledger import Ledger, read_ledger
from discreet.engine.plan import Plan
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import sampler_of
from discreet.errors import InputError, RefusedError, RunError, SettingError

FAST = Randomness("fast", seed=11)


class Points(Dataset[dict[str, torch.Tensor]]):
    """Forty points with answers; remembers which were asked for."""

    def __init__(self, count=40):
        random = torch.Generator().manual_seed(1)
        self.x, self.y = torch.randn(count, 6, generator=random), torch.randn(count, 1, generator=random)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index], "y": self.y[index], "number": torch.tensor(index)}


class Endless(IterableDataset[dict[str, torch.Tensor]]):
    def __iter__(self):
        return iter(Points())


def plan(**changes):
    return Plan(
        **{"rate": 0.2, "steps": 8, "noise": 0.8, "neighbours": "replace", "population": 40, "clip": 0.5, **changes}
    )


def loss(model, batch):
    return ((model(batch["x"]) - batch["y"]) ** 2).flatten(1).sum(1)


def world(tmp_path, *, chosen=None, data=None, dropout=0.0, optimizer=torch.optim.SGD, ledger="ledger.jsonl", **more):
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Dropout(dropout), nn.Linear(5, 1))
    more = {"randomness": FAST, "loss": loss, **more}
    made = optimizer(model.parameters(), lr=0.5)
    data = Points() if data is None else data
    return model, make_private(model, made, data, chosen or plan(), ledger=tmp_path / ledger, **more)


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def finish(private):
    return [private.step(batch) for batch in private.batches()]


def numbers(batch):
    return [number for part in batch for number in part["number"].tolist()]


@pytest.mark.parametrize(
    "changes",
    [{}, {"sampling": "truncated-poisson", "max_batch": 6}, {"sampling": "shuffled"}, {"sampling": "fixed-size"}],
)
def test_batches_hold_the_records_that_the_plan_draws(tmp_path, changes):
    chosen = plan(**changes)
    _, private = world(tmp_path, chosen=chosen)
    sampler = sampler_of(chosen, FAST)
    seen = 0
    for batch in private.batches():
        assert numbers(batch) == sampler.draw(batch.step).records.tolist()
        assert len(batch) == len(numbers(batch))
        assert private.step(batch).units == len(batch)
        seen += 1
    assert seen == chosen.steps == private.spent == private.next_step
    assert private.remaining == 0
    assert list(private.batches()) == []
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 1 + chosen.steps


def test_a_step_is_the_clipped_sum_over_the_expected_batch_when_there_is_almost_no_noise(tmp_path):
    model, private = world(tmp_path, chosen=plan(noise=1e-9, steps=1))
    before = flat(model)
    (batch,) = list(iter_once(private))
    total = torch.zeros_like(before)
    for part in batch:
        for row in range(len(part["x"])):
            value = loss(model, {name: tensor[row : row + 1] for name, tensor in part.items()}).sum()
            gradient = torch.cat([g.flatten() for g in torch.autograd.grad(value, list(model.parameters()))])
            total += gradient * min(1.0, 0.5 / float(gradient.norm()))
    private.step(batch)
    torch.testing.assert_close(before - flat(model), 0.5 * total / (0.2 * 40), rtol=1e-4, atol=1e-6)
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


def iter_once(private):
    for batch in private.batches():
        yield batch
        return


@pytest.mark.parametrize("physical", [1, 3, 100])
def test_physical_batches_do_not_change_the_update(tmp_path, physical):
    whole, private = world(tmp_path, ledger="a")
    finish(private)
    parts, private = world(tmp_path, ledger="b", physical=physical)
    for batch in private.batches():
        assert all(len(part["x"]) <= physical for part in batch)
        private.step(batch)
    torch.testing.assert_close(flat(whole), flat(parts), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # torch's advice on a machine with one core
@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_gives_its_dataset_collator_workers_and_batch_size(tmp_path, workers):
    def doubled(items):
        batch = torch.utils.data.default_collate(items)
        return batch | {"x": 2 * batch["x"]}

    chosen = plan(steps=3)
    loader = DataLoader(Points(), batch_size=4, shuffle=True, collate_fn=doubled, num_workers=workers)
    model, private = world(tmp_path, chosen=chosen, data=loader, ledger="a")
    points, sampler = Points(), sampler_of(chosen, FAST)
    for batch in private.batches():
        drawn = sampler.draw(batch.step).records
        assert [len(part["x"]) for part in batch] == [
            len(c) for c in np.split(drawn, range(4, len(drawn), 4)) if len(c)
        ]
        assert torch.equal(torch.cat([part["x"] for part in batch]), 2 * points.x[drawn])
        private.step(batch)
    other, again = world(tmp_path, chosen=chosen, ledger="b", physical=4, collate_fn=doubled)
    finish(again)
    assert torch.equal(flat(model), flat(other))


def test_an_empty_batch_is_stepped_and_noised_like_any_other(tmp_path):
    model, private = world(tmp_path, chosen=plan(rate=1e-9, steps=2), optimizer=torch.optim.SGD)
    before = flat(model)
    reports = finish(private)
    assert [report.units for report in reports] == [0, 0]
    assert not torch.equal(flat(model), before)
    assert private.spent == 2


def test_a_batch_is_stepped_once(tmp_path):
    _, private = world(tmp_path)
    batches = private.batches()
    first = next(batches)
    private.step(first)
    with pytest.raises(RefusedError, match="not the one that is due"):
        private.step(first)
    assert private.spent == 1
    second = next(batches)
    with pytest.raises(RefusedError, match="not the one that is due"):
        private.step(first)
    private.step(second)


def test_a_batch_of_another_training_or_none_at_all_is_refused(tmp_path):
    _, private = world(tmp_path, ledger="a")
    _, other = world(tmp_path, ledger="b")
    next(private.batches())
    with pytest.raises(RefusedError):
        private.step(next(other.batches()))
    with pytest.raises(InputError, match="hands out"):
        private.step({"x": torch.zeros(1, 6), "y": torch.zeros(1, 1)})
    assert private.spent == 0


def test_leaving_a_batch_out_is_refused(tmp_path):
    _, private = world(tmp_path)
    batches = private.batches()
    next(batches)
    with pytest.raises(RefusedError, match="drawn but not stepped"):
        next(batches)


def test_a_batch_that_waits_is_not_drawn_again(tmp_path):
    _, private = world(tmp_path, randomness=Randomness())
    waiting = next(private.batches())
    assert next(private.batches()) is waiting
    private.resume(0)
    assert next(private.batches()) is waiting
    private.step(waiting)
    assert next(private.batches()).step == 1


def test_two_loops_at_once_cannot_use_a_draw_twice(tmp_path):
    _, private = world(tmp_path)
    one, two = private.batches(), private.batches()
    private.step(next(one))
    private.step(next(two))  # step 1
    with pytest.raises(RefusedError, match="keep one loop"):
        next(one)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_a_seeded_loop_that_is_killed_goes_on_to_the_same_weights(tmp_path, optimizer):
    whole, private = world(tmp_path, ledger="whole", optimizer=optimizer, dropout=0.3)
    finish(private)
    _, private = world(tmp_path, optimizer=optimizer, dropout=0.3)
    assert private.load(tmp_path / "checkpoint") == 0
    for batch in private.batches():
        private.step(batch)
        if batch.step == 2:
            private.save(tmp_path / "checkpoint")
        if batch.step == 4:
            break
    del private, batch
    resumed, private = world(tmp_path, optimizer=optimizer, dropout=0.3)
    assert private.spent == 5
    assert private.load(tmp_path / "checkpoint") == 3
    finish(private)
    assert torch.equal(flat(whole), flat(resumed))
    assert read_ledger(tmp_path / "ledger.jsonl")["train"].releases == 8


def test_a_secure_loop_that_is_killed_goes_on_after_the_last_step_spent(tmp_path):
    _, private = world(tmp_path, randomness=Randomness())
    for batch in private.batches():
        private.step(batch)
        if batch.step == 4:
            break
    del private
    _, private = world(tmp_path, randomness=Randomness())
    assert private.resume(3) == 5
    assert [report.step for report in finish(private)] == [5, 6, 7]
    assert private.spent == 8


def test_weights_that_do_not_follow_the_ledger_are_refused(tmp_path):
    _, private = world(tmp_path)
    finish_some = private.batches()
    private.step(next(finish_some))
    del private, finish_some
    _, private = world(tmp_path)
    with pytest.raises(RefusedError, match="1 steps are spent"):
        next(private.batches())
    with pytest.raises(RunError, match="not of the same run"):
        private.resume(2)


def test_a_step_that_fails_before_it_is_paid_for_can_be_tried_again(tmp_path):
    failing = [True]

    def moody(model, batch):
        if failing:
            raise MemoryError
        return loss(model, batch)

    model, private = world(tmp_path, loss=moody)
    whole, other = world(tmp_path, ledger="other")
    batch = next(private.batches())
    with pytest.raises(MemoryError):
        private.step(batch)
    assert private.spent == 0
    failing.clear()
    private.step(batch)
    other.step(next(other.batches()))
    assert torch.equal(flat(model), flat(whole))


def test_nothing_follows_a_step_that_fails_after_it_is_paid_for(tmp_path):
    class Broken(torch.optim.SGD):
        def step(self, closure=None):
            raise MemoryError

    _, private = world(tmp_path, optimizer=Broken)
    batch = next(private.batches())
    with pytest.raises(MemoryError):
        private.step(batch)
    assert private.spent == 1
    for attempt in (lambda: private.step(batch), lambda: next(private.batches()), lambda: private.save(tmp_path / "c")):
        with pytest.raises(RefusedError, match="put a checkpoint back"):
            attempt()
    assert private.resume(0) == 0  # seeded: the same release again


def test_the_plan_must_be_for_this_dataset(tmp_path):
    with pytest.raises(SettingError, match="40 units"):
        world(tmp_path, data=Points(39))
    with pytest.raises(SettingError, match="population"):
        world(tmp_path, chosen=plan(population=None))
    assert not (tmp_path / "ledger.jsonl").exists()


def test_an_item_is_all_of_an_author_where_the_plan_says_so(tmp_path):
    _, private = world(tmp_path, chosen=plan(unit="author"))
    assert len(finish(private)) == 8


def test_data_that_cannot_be_drawn_from_is_refused_by_name(tmp_path):
    with pytest.raises(SettingError, match="Endless"):
        world(tmp_path, data=Endless())
    with pytest.raises(SettingError, match="Endless"):
        world(tmp_path, data=DataLoader(Endless()))
    weighted = WeightedRandomSampler([1.0] * 40, 40)
    with pytest.raises(RefusedError, match="WeightedRandomSampler"):
        world(tmp_path, data=DataLoader(Points(), sampler=weighted))
    again = torch.utils.data.RandomSampler(Points(), replacement=True)
    with pytest.raises(RefusedError, match="RandomSampler"):
        world(tmp_path, data=DataLoader(Points(), sampler=again))
    with pytest.raises(RefusedError, match="list"):
        world(tmp_path, data=DataLoader(Points(), batch_sampler=[[0, 1], [2]]))


@pytest.mark.parametrize(
    ("collate", "error"),
    [
        (lambda items: torch.stack([item["x"] for item in items]), InputError),
        (lambda items: {"x": torch.stack([item["x"] for item in items]), "names": ["a"] * len(items)}, InputError),
        (lambda items: {"x": torch.cat([item["x"].view(2, 3) for item in items])}, RefusedError),
    ],
)
def test_a_collator_must_keep_each_record_one_row_of_tensors(tmp_path, collate, error):
    _, private = world(tmp_path, collate_fn=collate)
    with pytest.raises(error, match="collate_fn"):
        next(private.batches())


@pytest.mark.parametrize("kind", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_that_would_see_single_gradients_are_refused(tmp_path, kind):
    model = nn.Linear(6, 1)
    getattr(model.weight, kind)(lambda *_: None)
    with pytest.raises(RefusedError, match="weight has a gradient hook"):
        make_private(model, torch.optim.SGD(model.parameters()), Points(), plan(), loss=loss, ledger=tmp_path / "l")


def test_an_optimizer_that_needs_many_losses_a_step_is_refused(tmp_path):
    with pytest.raises(SettingError, match="LBFGS"):
        world(tmp_path, optimizer=torch.optim.LBFGS)


def test_a_failed_start_leaves_the_ledger_free(tmp_path):
    model = nn.Linear(6, 1)
    partial = torch.optim.SGD([model.bias])
    with pytest.raises(SettingError, match="same parameters"):
        make_private(model, partial, Points(), plan(), loss=loss, ledger=tmp_path / "ledger.jsonl")
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        _, private = world(tmp_path, ledger="other")
        assert private.spent == 0
        ledger.begin(plan(), draw=None)


def test_noise_has_the_standard_deviation_of_the_plan(tmp_path):
    """Over 300 steps x 41 coordinates; false alarm below 1e-6 (five standard errors of the variance)."""
    chosen = plan(steps=300, noise=2.0)
    model, private = world(tmp_path, chosen=chosen, loss=lambda m, b: loss(m, b) * 0)
    seen = []
    for batch in private.batches():
        before = flat(model)
        private.step(batch)
        seen.append((flat(model) - before) / 0.5)
    noise = torch.stack(seen).double() * chosen.expected_batch
    assert abs(float(noise.var()) / chosen.noise_std**2 - 1) < 5 * math.sqrt(2 / noise.numel())
