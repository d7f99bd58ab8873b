"""Whole models, awkward layouts and several passes: the sums and norms of a loop over single records."""

import subprocess
import sys
from typing import Any

import peft
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import BertConfig, BertForSequenceClassification, RobertaConfig, RobertaForSequenceClassification

from discreet.engine import clipped_sum
from discreet.engine.clipping.clipped import ClippedBackward
from discreet.engine.clipping.trust import SlowClipping
from discreet.engine.output_layer import output_loss
from tests.engine.oracle import Batch, agrees, clipped_by_loop, relative_error
from tests.engine.small_models import (
    LENGTH,
    RECORDS,
    WIDTH,
    WORDS,
    Calls,
    causal,
    causal_fused,
    floats,
    gpt2,
    ids,
    linear,
    llama,
    squares,
)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


# Parameters used in more than one place


def test_a_layer_called_twice_has_its_cross_term() -> None:
    agrees(Calls(lambda m, x: m.a(torch.tanh(m.a(x))) + m.a(x), a=linear()), floats(LENGTH, WIDTH), squares)


def test_two_layers_with_one_weight_have_their_cross_term() -> None:
    model: Any = Calls(lambda m, x: m.b(torch.tanh(m.a(x))), a=linear(), b=linear())
    model.b.weight = model.a.weight
    agrees(model, floats(LENGTH, WIDTH), squares)


def test_an_embedding_shared_by_two_inputs_agrees() -> None:
    model: Any = Calls(
        lambda m, x: torch.tanh(m.e(x)) + m.e(x.flip(1)) * m.p(torch.arange(x.shape[1])),
        e=nn.Embedding(WORDS, 4),
        p=nn.Embedding(9, 4),
    )
    agrees(model, ids(LENGTH), squares)


def test_a_weight_tied_to_an_embedding_through_an_ordinary_head_is_not_missed() -> None:
    model: Any = Calls(lambda m, x: m.head(torch.tanh(m.e(x))), e=nn.Embedding(WORDS, WIDTH), head=linear(WIDTH, WORDS))
    model.head.weight = model.e.weight
    agrees(model, ids(LENGTH), squares)


def test_a_parameter_the_batch_does_not_use_gets_zero() -> None:
    agrees(Calls(lambda m, x: m.a(x), a=linear(), unused=linear()), floats(LENGTH, WIDTH), squares)


# Where the records are


def test_time_may_come_before_records() -> None:
    model: Any = Calls(lambda m, x: m.b(torch.tanh(m.a(x.transpose(0, 1)))).transpose(0, 1), a=linear(), b=linear())
    for length in (LENGTH, RECORDS):
        agrees(model, floats(length, WIDTH), squares)


def test_records_and_time_may_share_a_dimension() -> None:
    model: Any = Calls(lambda m, x: m.a(x.flatten(0, 1)).view(*x.shape[:2], -1), a=linear())
    agrees(model, floats(LENGTH, WIDTH), squares)


def test_time_and_records_flattened_the_other_way_are_noticed() -> None:
    model: Any = Calls(
        lambda m, x: m.a(x.transpose(0, 1).flatten(0, 1)).view(x.shape[1], x.shape[0], -1).transpose(0, 1), a=linear()
    )
    with pytest.warns(SlowClipping, match="rule for a.weight does not give what autograd gives"):
        agrees(model, floats(LENGTH, WIDTH), squares, strict=False)


def test_a_selection_of_rows_is_done_record_by_record() -> None:
    def loss(model: Any, batch: Batch) -> Any:
        chosen = batch["mask"].nonzero()
        rows = model(batch["x"][batch["mask"]]).square().sum(1)
        return torch.zeros(len(batch["x"])).index_add(0, chosen[:, 0], rows)

    mask = torch.tensor([[1, 1, 0], [1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]], dtype=torch.bool)
    with pytest.warns(SlowClipping):
        agrees(linear(), {"x": torch.randn(6, 3, WIDTH), "mask": mask}, loss, strict=False)


def test_a_model_that_sorts_its_records_is_noticed() -> None:
    def forward(m: Any, x: Tensor) -> Any:
        order = x[:, 0, 0].argsort()
        return m.b(torch.tanh(m.a(x))[order])[order.argsort()]

    batch = floats(LENGTH, WIDTH)
    batch["x"][:, 0, 0] = torch.arange(RECORDS)
    with pytest.warns(SlowClipping):
        agrees(Calls(forward, a=linear(), b=linear()), batch, squares, strict=False)


# Models as they come


def test_classifiers_of_transformers_agree() -> None:
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
    more = {"vocab_size": WORDS, "max_position_embeddings": 20, "num_labels": 3}
    batch = ids(LENGTH) | {"mask": torch.ones(RECORDS, LENGTH, dtype=torch.long), "y": torch.randint(3, (RECORDS,))}
    batch["x"].clamp_(min=2)
    batch["x"][1, 3:], batch["mask"][1, 3:] = 1, 0

    def loss(model: Any, batch: Batch) -> Any:
        logits = model(input_ids=batch["x"], attention_mask=batch["mask"]).logits
        return F.cross_entropy(logits, batch["y"], reduction="none")

    agrees(BertForSequenceClassification(BertConfig(**sizes, **more)).eval(), batch, loss)
    agrees(RobertaForSequenceClassification(RobertaConfig(**sizes, **more, pad_token_id=1)).eval(), batch, loss)


@pytest.mark.parametrize("base", [gpt2, llama])
def test_lora_layers_agree_when_fresh_and_when_trained(base) -> None:
    targets = ["c_attn", "c_proj"] if base is gpt2 else ["q_proj", "v_proj"]
    model = peft.get_peft_model(base(), peft.LoraConfig(r=2, target_modules=targets, fan_in_fan_out=base is gpt2))
    batch = ids(7)
    agrees(model, batch, causal)
    backward = ClippedBackward(model, causal, 1.0, strict=True)
    backward.add(batch, backward.zeros())
    for name, p in model.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(p)
    sums = backward.zeros()
    backward.add(batch, sums)
    assert relative_error(sums, clipped_by_loop(model, batch, causal, 1.0)[0]) < 1e-5


def test_training_biases_only_agrees() -> None:
    model = gpt2()
    for name, p in model.named_parameters():
        p.requires_grad_(name.endswith("bias"))
    agrees(model, ids(7), causal)


def test_a_frozen_embedding_under_a_trained_head_agrees() -> None:
    model = gpt2(tie_word_embeddings=False)
    model.transformer.wte.requires_grad_(False)
    model.transformer.wpe.requires_grad_(False)
    agrees(model, ids(7), causal_fused)


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradient_checkpointing_changes_nothing(reentrant: bool) -> None:
    model = gpt2()
    batch = ids(7)
    want, norms = clipped_by_loop(model, batch, causal, 0.5)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    model.enable_input_require_grads()
    got, got_norms = clipped_sum(model, batch, causal, 0.5, strict=True)
    torch.testing.assert_close(got_norms, norms, rtol=1e-5, atol=0)
    assert relative_error(got, want) < 1e-5


def test_dropout_masks_are_those_of_a_plain_backward() -> None:
    model = gpt2(resid_pdrop=0.3, embd_pdrop=0.3, attn_pdrop=0.3)
    batch = ids(7)
    torch.manual_seed(5)
    sums, _ = clipped_sum(model, batch, causal, 1e9, strict=True)
    torch.manual_seed(5)
    names, parameters = zip(*model.named_parameters(), strict=True)
    plain = torch.autograd.grad(causal(model, batch).sum(), parameters)
    assert relative_error(sums, dict(zip(names, plain, strict=True))) < 1e-5


@pytest.mark.parametrize("loss", [causal, causal_fused])
def test_bfloat16_autocast_is_right_to_bfloat16(loss) -> None:
    model, batch = gpt2(), ids(7)
    want, norms = clipped_by_loop(model, batch, loss, 0.5)

    def half(model: Any, batch: Batch) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return loss(model, batch).float()

    got, got_norms = clipped_sum(model, batch, half, 0.5, strict=True)
    torch.testing.assert_close(got_norms, norms, rtol=0.03, atol=0)
    assert relative_error(got, want) < 0.05
    assert all(total.dtype == torch.float32 for total in got.values())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        around, _ = clipped_sum(model, batch, loss, 0.5, strict=True)
    assert relative_error(around, got) < 1e-5


def test_no_record_adds_more_than_the_clip_norm_in_bfloat16() -> None:
    layers = {"e": nn.Embedding(WORDS, WIDTH), "rnn": nn.LSTM(WIDTH, WIDTH), "out": linear(WIDTH, WORDS)}
    model: Any = Calls(lambda m, x: m.rnn(m.e(x))[0], **layers)

    def loss(model: Any, batch: Batch) -> Any:
        return output_loss(model(batch["x"].t()), model.out.weight, model.out.bias, batch["y"].t()).sum(0)

    long = 64
    batch = ids(long) | {"y": torch.randint(WORDS, (RECORDS, long))}
    batch["y"][1, 20:] = batch["y"][2, 40:] = -100
    clip = 0.01
    with torch.autocast("cpu", dtype=torch.bfloat16):
        together, norms = clipped_sum(model, batch, loss, clip, strict=True)
        alone = []
        for record in range(RECORDS):
            own = {name: values[record : record + 1] for name, values in batch.items()}
            alone.append(clipped_sum(model, own, loss, clip, strict=True)[0])
    assert (norms > clip).all()
    for sums in alone:
        assert float(sum(total.double().square().sum() for total in sums.values())) ** 0.5 <= clip * (1 + 1e-5)
    added = {name: torch.stack([sums[name] for sums in alone]).sum(0) for name in together}
    assert relative_error(together, added) < 0.02
    want, exact = clipped_by_loop(model, batch, loss, clip)
    torch.testing.assert_close(norms, exact, rtol=0.03, atol=0)
    assert relative_error(together, want) < 0.05


def test_an_lstm_language_model_agrees_time_first_and_with_ignored_targets() -> None:
    layers = {"e": nn.Embedding(WORDS, WIDTH), "rnn": nn.LSTM(WIDTH, WIDTH, 2), "out": linear(WIDTH, WORDS)}
    model: Any = Calls(lambda m, x: m.rnn(m.e(x))[0], **layers)

    def loss(model: Any, batch: Batch) -> Any:
        hidden, targets = model(batch["x"].t()), batch["y"].t()
        return output_loss(hidden, model.out.weight, model.out.bias, targets).sum(0)

    batch = ids(LENGTH) | {"y": torch.randint(WORDS, (RECORDS, LENGTH))}
    agrees(model, batch, loss)
    batch["y"][1, 2:] = batch["y"][3] = -100
    agrees(model, batch, loss)


def test_double_precision_models_agree() -> None:
    model: Any = Calls(lambda m, x: m.b(m.n(m.a(x))), a=linear(), n=nn.LayerNorm(WIDTH), b=linear()).double()
    batch = {"x": torch.randn(RECORDS, LENGTH, WIDTH, dtype=torch.float64)}
    got, _ = clipped_sum(model, batch, lambda m, b: m(b["x"]).square().flatten(1).sum(1), 0.5, strict=True)
    want, _ = clipped_by_loop(model, batch, lambda m, b: m(b["x"]).square().flatten(1).sum(1), 0.5)
    assert relative_error(got, want) < 2e-6


def test_an_activation_in_place_after_a_layer_is_no_trouble() -> None:
    model = nn.Sequential(linear(), nn.ReLU(inplace=True), linear())
    agrees(model, floats(LENGTH, WIDTH), squares)


def test_physical_batches_add_up_on_buffers_that_hold_noise() -> None:
    model, batch = gpt2(), ids(7)
    backward = ClippedBackward(model, causal, 0.5, strict=True)
    noise = {name: torch.randn_like(total) for name, total in backward.zeros().items()}
    totals = {name: total.clone() for name, total in noise.items()}
    norms = [backward.add({"x": batch["x"][part]}, totals).norms for part in (slice(0, 3), slice(3, 4), slice(4, 4))]
    want, want_norms = clipped_by_loop(model, batch, causal, 0.5)
    assert relative_error({name: totals[name] - noise[name] for name in totals}, want) < 1e-5
    torch.testing.assert_close(torch.cat(norms), want_norms, rtol=1e-5, atol=0)


def test_freezing_a_layer_between_passes_is_noticed() -> None:
    model, batch = gpt2(), ids(7)
    backward = ClippedBackward(model, causal, 0.5, strict=True)
    backward.add(batch, backward.zeros())
    model.transformer.h[0].requires_grad_(False)
    sums = backward.zeros()
    backward.add(batch, sums)
    assert relative_error(sums, clipped_by_loop(model, batch, causal, 0.5)[0]) < 1e-5


def test_random_numbers_of_the_pass_are_not_used_up_by_trials() -> None:
    model = nn.Sequential(linear(), nn.Dropout(0.5), linear())
    torch.manual_seed(3)
    first, _ = clipped_sum(model, floats(LENGTH, WIDTH), squares, 1.0)
    torch.manual_seed(3)
    batch = floats(LENGTH, WIDTH)
    backward = ClippedBackward(model, squares, 1.0)
    with torch.random.fork_rng():
        backward.add(batch, backward.zeros())
    second = backward.zeros()
    backward.add(batch, second)
    assert relative_error(second, first) < 1e-6


def test_the_plan_of_a_run_is_read_without_torch() -> None:
    code = "import sys, discreet.engine; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
