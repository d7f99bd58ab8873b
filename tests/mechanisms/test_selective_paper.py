"""Selective-DPSGD as published: its segments, its releases, its honest epsilon."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.selective import SelectivePaper
from discreet.engine.ledger import Ledger, read_ledger
from discreet.engine.noise import Noise
from discreet.engine.plan import Plan
from discreet.engine.private import PrivateStep
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import Draw
from discreet.engine.settings import TrainingSettings
from discreet.errors import InputError, SettingError
from discreet.mechanisms.segments import Segment, private_segments, segments
from discreet.mechanisms.selective_paper import SegmentBySegment, SelectivePaperOptions, segment_loss
from discreet.mechanisms.train import train
from discreet.models.language import new_model
from discreet.policy.specs import policy
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import train_bpe

PAPER = {"name": "selective-paper", "noise": 20.0, "batch": 6, "clip": 0.01, "randomness": "fast"}


class FakeEncoded:
    """Just what segments look at."""

    def __init__(self, secret: list[bool]) -> None:
        self.secret, self.starts = np.array(secret), np.array([0, len(secret)])

    def __len__(self) -> int:
        return 1


def cut(marks: str, most: int = 100) -> list[str]:
    found = segments(FakeEncoded([mark == "x" for mark in marks]), 0, most)  # type: ignore[arg-type]
    return [f"{'private' if s.private else 'public'} {s.start}-{s.end}" for s in found]


def test_a_private_segment_begins_one_token_before_the_secret_and_ends_with_the_first_loss_after_it():
    assert cut("...xx...") == ["public 0-2", "private 2-5", "public 5-7"]


def test_a_single_public_token_between_secrets_is_swallowed_and_two_are_not():
    assert cut("..x.x..") == ["public 0-1", "private 1-5", "public 5-6"]
    assert cut("..x..x..") == ["public 0-1", "private 1-3", "public 3-4", "private 4-6", "public 6-7"]


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(st.booleans(), min_size=2, max_size=40), st.integers(1, 12))
def test_segments_cover_every_position_once_and_no_secret_is_public(secret, most):
    found = list(segments(FakeEncoded(secret), 0, most))  # type: ignore[arg-type]
    assert [position for s in found for position in range(s.start, s.end)] == list(range(len(secret) - 1))
    assert all(0 < s.end - s.start <= most for s in found)
    for s in found:
        touched = [secret[position] or secret[position + 1] for position in range(s.start, s.end)]
        assert touched == [s.private] * len(touched)


@pytest.fixture
def encoded(notes):
    plain = [Record(str(n), "Thank you for calling us today. Dear you.") for n in range(20)]
    encoder = Encoder(train_bpe(plain, policy("nothing"), 300))
    return encoder.encode_all(policy("gold").secrets_of_all(notes.records("train")))


class Listening(Noise):
    """Zero noise, and a memory of what it was asked to add to."""

    def __init__(self) -> None:
        super().__init__(Randomness("fast", seed=1))
        self.asked: list[tuple[tuple[int, ...], float]] = []

    def add_(self, buffers, std, *, divide=1.0):
        self.asked.append((tuple(buffers[0].shape), std))
        for buffer in buffers:
            buffer.div_(divide)


@pytest.fixture
def stepped(encoded, tmp_path):
    """One batch of four records through Algorithm 1, with everything it touched."""
    model = new_model("lstm", 300, {"embedding": 8, "hidden": 8, "dropout": 0.0}, seed=1).train()
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    plan = Plan(rate=0.1, steps=10, noise=2.0, clip=0.5, neighbours="replace", sampling="shuffled", population=40)
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        step = PrivateStep(model, optimizer, segment_loss, plan, Randomness("fast", seed=1), ledger, strict=True)
        noise = step.noise = Listening()
        options = SelectivePaperOptions(name="selective-paper", noise=2.0)
        turn = SegmentBySegment(model, encoded, options, TrainingSettings(max_tokens=64))  # type: ignore[arg-type]
        numbers = np.arange(4)
        report = turn(step, optimizer, 0, Draw(numbers, numbers, numbers))
        spent = ledger.spent(plan)
    return model, encoded, noise, report, spent


def test_a_batch_is_paid_for_once_and_noised_at_every_gradient_and_state(stepped):
    _, encoded, noise, report, spent = stepped
    rounds = max(sum(s.private for s in segments(encoded, record, 64)) for record in range(4))
    assert spent == 1
    assert report.units == 4
    states = [asked for asked in noise.asked if len(asked[0]) == 4]
    gradients = [asked for asked in noise.asked if len(asked[0]) != 4]
    assert len(gradients) == len(states) == rounds
    assert all(std == 1.0 for _, std in noise.asked)  # noise 2 times clip .5, for gradients and for states


def test_states_that_leave_a_private_segment_are_clipped_apart(encoded, tmp_path):
    model = new_model("lstm", 300, {"embedding": 8, "hidden": 8, "dropout": 0.0}, seed=1)
    options = SelectivePaperOptions(name="selective-paper", noise=2.0, state_clip=0.25)
    turn = SegmentBySegment(model, encoded, options, TrainingSettings(max_tokens=64))  # type: ignore[arg-type]
    state = torch.randn(2, 3, 1, 8)
    state[0, 1] = float("nan")
    state[1, 2] = float("inf")

    class Step:
        plan = Plan(rate=0.1, steps=1, noise=2.0, clip=9.0, neighbours="replace", sampling="shuffled")
        noise = Listening()

    released = turn._released(state, Step())  # type: ignore[arg-type]
    norms = released.flatten(2).norm(dim=2)
    assert torch.isfinite(released).all()
    assert (norms <= 0.25).all()
    assert norms[0, 0] == pytest.approx(0.25, rel=1e-4)
    assert norms[1, 0] == pytest.approx(0.25, rel=1e-4)
    assert norms[0, 1] == norms[1, 2] == 0
    assert Step.noise.asked == [((2, 3, 1, 8), 0.5)]


def test_the_state_handed_on_is_that_after_a_rows_own_last_token(encoded):
    """Rows of one batch have different lengths: padding must not be read into the state."""
    model = new_model("lstm", 300, {"embedding": 8, "hidden": 8, "dropout": 0.0}, seed=1).eval()
    options = SelectivePaperOptions(name="selective-paper", noise=2.0)
    turn = SegmentBySegment(model, encoded, options, TrainingSettings())  # type: ignore[arg-type]
    taken = {0: Segment(0, 0, 3, False), 1: Segment(1, 0, 7, False)}
    after = turn._state_after(turn._batch(taken, torch.zeros(2, 2, 1, 8)))
    for row, segment in taken.items():
        ids = torch.from_numpy(encoded[segment.record].ids[: segment.end].astype(np.int64))[None]
        _, (h, c) = model.hidden(ids)  # type: ignore[operator]
        torch.testing.assert_close(after[0, row], h[:, 0])
        torch.testing.assert_close(after[1, row], c[:, 0])


def test_the_guarantee_is_formula_a_with_the_papers_count_beside_it(tmp_path, notes, small):
    run = train(notes, "gold", PAPER, output=tmp_path / "run", progress=False, **small)
    (phase,) = read_ledger(run.path / "ledger.jsonl").values()
    assert phase.plan.sampling == "shuffled"
    assert phase.releases == 20  # ten batches of six, two epochs
    want = SelectivePaper(plan=phase.plan, segments=2, state_noise=20.0, delta=1 / 600).epsilon
    assert run.guarantee.epsilon == pytest.approx(want)
    assert run.guarantee.paper is not None
    assert (run.guarantee.paper.epsilon or 0) < want
    reset = train(notes, "gold", {**PAPER, "reset": True}, output=tmp_path / "reset", progress=False, **small)
    assert (reset.guarantee.epsilon or 0) < want


def test_private_segments_are_counted_at_their_most(encoded):
    assert private_segments(encoded, 100) == 2
    assert private_segments(encoded, 1) > 2


def test_what_it_cannot_do_is_refused(tmp_path, notes, small):
    gpt = small | {"model": {"name": "gpt", "width": 16, "layers": 1, "heads": 2}}
    with pytest.raises(SettingError, match="carries the state of an LSTM"):
        train(notes, "gold", PAPER, output=tmp_path / "a", progress=False, **gpt)
    with pytest.raises(SettingError, match="goes by records"):
        train(notes, "gold", {**PAPER, "unit": "author"}, output=tmp_path / "b", progress=False, **small)
    bare = Corpus({"train": [Record(str(n), f"hello {n} you") for n in range(30)]}, "bare")
    with pytest.raises(InputError, match="finds no secrets"):
        train(bare, "nothing", PAPER, output=tmp_path / "c", progress=False, **small)
