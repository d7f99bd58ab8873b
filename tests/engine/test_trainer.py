"""The Trainer of transformers, private: the plan's steps, no more, nothing of the data told besides."""

import json

import pytest
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel, TrainingArguments

from discreet.engine.ledger import read_ledger
from discreet.engine.plan import Plan
from discreet.engine.private import StepReport
from discreet.engine.random_bits import Randomness
from discreet.engine.record_losses import causal_loss, class_loss, loss_of
from discreet.engine.sampling import sampler_of
from discreet.engine.trainer import PrivateTrainer
from discreet.errors import InputError, RefusedError, SettingError

FAST = Randomness("fast", seed=3)


class Sentences(Dataset[dict[str, object]]):
    """Random tokens; `name` is a column that no model takes."""

    def __init__(self, count=24, length=6, labels=None):
        self.ids = torch.randint(50, (count, length), generator=torch.Generator().manual_seed(1))
        self.labels = labels

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        labels = self.ids[index] if self.labels is None else self.labels[index]
        return {"input_ids": self.ids[index], "labels": labels, "name": str(index)}


def plan(**changes):
    return Plan(**{"rate": 0.25, "steps": 6, "noise": 0.7, "neighbours": "replace", "population": 24, **changes})


def gpt2(**changes):
    torch.manual_seed(0)
    sizes = {"n_layer": 1, "n_embd": 16, "n_head": 2, "vocab_size": 50, "n_positions": 8}
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, **changes))


def arguments(folder, **changes):
    quiet = {"report_to": [], "disable_tqdm": True, "save_strategy": "no", "dataloader_pin_memory": False}
    return TrainingArguments(
        str(folder), use_cpu=True, **{**quiet, "per_device_train_batch_size": 4, "learning_rate": 0.05, **changes}
    )


def trainer(folder, *, chosen=None, model=None, **changes):
    settings = {name: changes.pop(name) for name in list(changes) if hasattr(TrainingArguments, name)}
    chosen = chosen or plan()
    more = {"randomness": FAST, "train_dataset": Sentences(), "ledger": folder / "ledger.jsonl", **changes}
    return PrivateTrainer(model or gpt2(), arguments(folder / "out", **settings), plan=chosen, **more)


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_training_makes_the_steps_of_the_plan_on_the_batches_of_the_plan(tmp_path):
    reports: list[StepReport] = []
    made = trainer(tmp_path, watch=reports.append)
    before = flat(made.model).clone()
    done = made.train()
    assert done.global_step == made.state.global_step == 6
    sampler = sampler_of(plan(), FAST)
    assert [(r.step, r.units) for r in reports] == [(step, len(sampler.draw(step).records)) for step in range(6)]
    assert [r.learning_rate for r in reports] == pytest.approx([0.05 * (6 - step) / 6 for step in range(6)])
    assert not torch.equal(flat(made.model), before)
    assert made.state.epoch == pytest.approx(1.5)
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 1 + 6
    assert read_ledger(tmp_path / "ledger.jsonl")["train"].releases == 6
    assert not any(module._forward_hooks for module in made.model.modules())


def test_the_gradient_is_the_one_a_private_loop_makes_and_the_optimizer_applies_it(tmp_path):
    from discreet.engine import make_private

    off = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    made = trainer(tmp_path, model=gpt2(**off), optim="sgd", lr_scheduler_type="constant", max_grad_norm=0.0)
    made.train()
    model = gpt2(**off).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def collate(items):
        return {
            "input_ids": torch.stack([i["input_ids"] for i in items]),
            "labels": torch.stack([i["labels"] for i in items]),
        }

    private = make_private(
        model,
        optimizer,
        Sentences(),
        plan(),
        loss=causal_loss,
        ledger=tmp_path / "l",
        randomness=FAST,
        collate_fn=collate,
    )
    for batch in private.batches():
        private.step(batch)
    torch.testing.assert_close(flat(made.model), flat(model), rtol=1e-4, atol=1e-6)


def test_empty_batches_are_noised_and_counted(tmp_path):
    made = trainer(tmp_path, chosen=plan(rate=1e-9, steps=2), lr_scheduler_type="constant")
    before = flat(made.model).clone()
    assert made.train().global_step == 2
    assert not torch.equal(flat(made.model), before)
    assert read_ledger(tmp_path / "ledger.jsonl")["train"].releases == 2


def test_what_the_data_says_is_in_no_log_and_no_checkpoint(tmp_path):
    made = trainer(
        tmp_path, save_strategy="steps", save_steps=3, logging_steps=1, eval_strategy="steps", eval_steps=3,
        eval_dataset=Sentences(6),
    )  # fmt: skip
    done = made.train()
    told = {name for entry in made.state.log_history for name in entry}
    assert {"eval_loss", "grad_norm", "learning_rate"} <= told
    assert not told & {"loss", "train_loss", "total_flos"}
    assert done.training_loss != done.training_loss
    assert "train_loss" not in done.metrics
    stored = json.loads((tmp_path / "out" / "checkpoint-6" / "trainer_state.json").read_text())
    assert stored["total_flos"] == 0
    assert not {name for entry in stored["log_history"] for name in entry} & {"loss", "train_loss"}
    assert done.metrics["train_samples_per_second"] > 0


def dies_after(step):
    def watch(report):
        if report.step == step:
            raise KeyboardInterrupt

    return watch


SAVING = {"save_strategy": "steps", "save_steps": 2, "lr_scheduler_type": "linear"}


@pytest.mark.parametrize("last", [2, 4])
def test_a_seeded_training_that_is_killed_goes_on_to_the_same_weights(tmp_path, last):
    whole = trainer(tmp_path / "whole", **SAVING)
    whole.train()
    killed = trainer(tmp_path / "killed", watch=dies_after(last), **SAVING)
    with pytest.raises(KeyboardInterrupt):
        killed.train()
    reports: list[StepReport] = []
    resumed = trainer(tmp_path / "killed", watch=reports.append, **SAVING)
    done = resumed.train(resume_from_checkpoint=True)
    assert [report.step for report in reports] == list(range(last, 6))
    assert done.global_step == 6
    assert torch.equal(flat(whole.model), flat(resumed.model))
    assert read_ledger(tmp_path / "killed" / "ledger.jsonl")["train"].releases == 6


def test_a_secure_training_that_is_killed_goes_on_after_the_last_step_spent(tmp_path):
    secure = {"randomness": Randomness(), **SAVING}
    with pytest.raises(KeyboardInterrupt):
        trainer(tmp_path, watch=dies_after(3), **secure).train()
    reports: list[StepReport] = []
    resumed = trainer(tmp_path, watch=reports.append, **secure)
    assert resumed.train(resume_from_checkpoint=True).global_step == 6
    assert [report.step for report in reports] == [4, 5]
    assert resumed.lr_scheduler.get_last_lr()[0] == pytest.approx(0.0)
    assert read_ledger(tmp_path / "ledger.jsonl")["train"].releases == 6


def test_training_again_on_a_spent_ledger_is_refused(tmp_path):
    made = trainer(tmp_path)
    made.train()
    with pytest.raises(RefusedError, match="6 steps are spent"):
        made.train()
    with pytest.raises(RefusedError, match="another plan"):
        trainer(tmp_path, chosen=plan(steps=7)).train(resume_from_checkpoint=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gradient_accumulation_steps", 2),
        ("train_sampling_strategy", "group_by_length"),
        ("auto_find_batch_size", True),
        ("max_steps", 7),
        ("torch_compile", True),
        ("include_num_input_tokens_seen", "all"),
        ("compute_loss_func", lambda *_: None),
    ],
)
def test_settings_that_would_break_the_guarantee_are_refused_by_name(tmp_path, name, value):
    with pytest.raises(SettingError, match=name):
        trainer(tmp_path, **{name: value})


def test_evaluating_on_the_training_data_and_fresh_models_are_refused(tmp_path):
    data = Sentences()
    with pytest.raises(SettingError, match="eval_dataset"):
        trainer(tmp_path, train_dataset=data, eval_dataset=data)
    with pytest.raises(SettingError, match="model_init"):
        PrivateTrainer(
            None, arguments(tmp_path), plan=plan(), ledger=tmp_path / "l", model_init=gpt2, train_dataset=data
        )


def test_the_plan_must_be_for_the_training_data(tmp_path):
    with pytest.raises(SettingError, match="24 units"):
        trainer(tmp_path, train_dataset=Sentences(23)).train()


def test_the_callers_arguments_are_left_alone(tmp_path):
    args = arguments(tmp_path)
    made = PrivateTrainer(gpt2(), args, plan=plan(), ledger=tmp_path / "l", train_dataset=Sentences())
    assert (args.max_steps, made.args.max_steps) == (-1, 6)


def test_half_precision_works(tmp_path):
    reports: list[StepReport] = []
    assert trainer(tmp_path, bf16=True, watch=reports.append).train().global_step == 6
    assert not any(report.skipped for report in reports)


def test_a_classifier_trains_too(tmp_path):
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertForSequenceClassification(BertConfig(**sizes, vocab_size=50, max_position_embeddings=8, num_labels=3))
    before = flat(model).clone()
    made = trainer(
        tmp_path, model=model, train_dataset=Sentences(labels=torch.arange(24) % 3), label_smoothing_factor=0.1
    )
    assert made.train().global_step == 6
    assert not torch.equal(flat(model), before)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_a_record_is_the_models_own_for_that_record_alone(smoothing):
    from transformers.trainer_pt_utils import LabelSmoother

    model = gpt2().eval()
    ids = Sentences(5).ids
    labels = ids.clone()
    labels[0, 3:] = labels[1, :5] = -100
    batch = {"input_ids": ids, "labels": labels}
    losses = loss_of(model, label_smoothing=smoothing)(model, batch)
    for row, value in enumerate(losses.tolist()):
        own = {name: tensor[row : row + 1] for name, tensor in batch.items()}
        with torch.no_grad():
            output = model(**own)
        want = LabelSmoother(smoothing)(output, own["labels"], shift_labels=True) if smoothing else output.loss
        assert value == pytest.approx(float(want), rel=1e-5)


def test_losses_that_are_not_one_for_each_record_are_refused():
    with pytest.raises(SettingError, match="Linear"):
        loss_of(torch.nn.Linear(2, 2))
    with pytest.raises(InputError, match="labels"):
        causal_loss(gpt2(), {"input_ids": torch.zeros(1, 3, dtype=torch.long)})
    with pytest.raises(InputError, match="whole number"):
        class_loss(gpt2(), {"input_ids": torch.zeros(1, 3, dtype=torch.long), "labels": torch.zeros(1, 2)})
