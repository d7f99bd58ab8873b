"""From norms to factors, and what a record can change the sum by."""

import pytest
import torch

from discreet.engine import clipped_sum
from discreet.engine.clipping.strategies import Clip, ClipGroups, Normalise
from discreet.errors import SettingError
from tests.engine.small_models import LENGTH, RECORDS, WIDTH, causal, floats, gpt2, ids, linear, squares


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_one_records_share_never_exceeds_the_sensitivity() -> None:
    model, batch = gpt2(), ids(7)
    names = [name for name, _ in model.named_parameters()]
    groups = ClipGroups({"transformer.wte": 0.3, "": 0.4})
    for strategy in (Clip(0.5), Normalise(0.5), groups):
        for record in range(RECORDS):
            sums, _ = clipped_sum(model, {"x": batch["x"][record : record + 1]}, causal, strategy, strict=True)
            share = sum(float(sums[name].double().square().sum()) for name in names) ** 0.5
            assert 0.9 * strategy.sensitivity < share <= strategy.sensitivity
    assert groups.sensitivity == pytest.approx(0.5)


def test_a_parameter_in_no_group_is_named() -> None:
    with pytest.raises(SettingError, match=r"'lm|'transformer\.wpe"):
        clipped_sum(gpt2(), ids(7), causal, ClipGroups({"transformer.wte": 1.0}))


@pytest.mark.parametrize("clip", [0.0, -1.0, float("inf"), float("nan")])
def test_a_clip_norm_is_a_positive_number(clip: float) -> None:
    with pytest.raises(SettingError, match="positive number"):
        clipped_sum(linear(), floats(LENGTH, WIDTH), squares, clip)
