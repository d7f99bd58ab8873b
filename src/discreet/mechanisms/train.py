"""From a recipe to a run: read, mark, tokenise, train, save.

run = discreet.train(corpus, policy, mechanism="redacted", model="lstm", output="runs/a", training={"epochs": 3})
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from discreet.errors import RefusedError, SettingError
from discreet.mechanisms.classification import ClassificationTask
from discreet.mechanisms.contract import mechanism_of
from discreet.mechanisms.language import LanguageTask
from discreet.mechanisms.recipe import DataSettings, Recipe, TokenizerSettings, make_recipe
from discreet.mechanisms.run import Run, begin_run, only_one
from discreet.mechanisms.task import Task
from discreet.mechanisms.training import Training, redacted_records
from discreet.models.adapters import adapted, inner
from discreet.models.language import MODELS, new_model, save_model
from discreet.models.pretrained import (
    add_mask_row,
    context_of,
    load_causal,
    load_classifier,
    name_special_tokens,
    place_of,
    rows_of,
)
from discreet.policy.contract import Policy
from discreet.policy.specs import Spec
from discreet.policy.specs import policy as make_policy
from discreet.progress import TrainingBar
from discreet.text.corpora.contract import named
from discreet.text.corpus import Corpus, divide
from discreet.text.labelled import LabelledEncoder, label_names
from discreet.text.reading import open_records, read
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer, train_bpe, with_mask


def train(
    corpus: Corpus,
    policy: Spec | None = None,
    mechanism: str | Mapping[str, Any] = "none",
    model: str | Mapping[str, Any] = "lstm",
    *,
    output: str | Path,
    overwrite: bool = False,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Trains a model on a corpus and returns the run; further keywords are the keys of a recipe."""
    decided = make_policy(policy) if policy is not None else None
    values = {"mechanism": mechanism, "model": model, "policy": decided.spec() if decided else None, **settings}
    recipe = make_recipe(values, where="train")
    return train_recipe(recipe, Path(output), corpus=corpus, policy=decided, overwrite=overwrite, progress=progress)


def train_recipe(
    recipe: Recipe,
    output: Path,
    *,
    corpus: Corpus | None = None,
    policy: Policy | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Run:
    """Makes the run a recipe describes, or goes on with it where an earlier training was killed."""
    mechanism, options = mechanism_of(recipe)
    recipe = filled(recipe)
    corpus = corpus or read_corpus(recipe.data)
    if policy is None and recipe.policy is not None:
        policy = make_policy(recipe.policy)
    if policy is None and recipe.tokenizer is not None and recipe.tokenizer.train:
        raise RefusedError(
            "Training a tokenizer needs a policy, because a vocabulary learned from secrets holds them; "
            "name one (policy: nothing says that there are none) or take a public tokenizer (tokenizer: gpt2)."
        )
    policy = policy or make_policy("nothing")
    with only_one(output):
        facts = {"corpus_fingerprint": corpus.fingerprint(), "policy_fingerprint": policy.fingerprint()}
        run = begin_run(output, recipe, facts, overwrite=overwrite)
        encoder, new_mask = _encoder(recipe, corpus, policy)
        encoder.tokenizer.save_pretrained(run.model_folder)
        with TrainingBar(progress) as bar:
            task, model = _task_and_model(recipe, corpus, encoder, new_mask)
            training = Training(run, recipe, corpus, policy, task, model, bar)
            guarantee = mechanism.train(training, options)
        guarantee.write(run.path / "privacy.json")
        counted = {
            "parameters": sum(p.numel() for p in training.model.parameters()),
            "trained_parameters": sum(p.numel() for p in training.model.parameters() if p.requires_grad),
        }
        save_model(training.model, run.model_folder)
        run.finish(
            skipped=_skipped(recipe.data),
            **counted,
            vocabulary=len(encoder.tokenizer),
        )
    return run


def _skipped(data: DataSettings | None) -> dict[str, int]:
    """How many rows of the data were left out as bad, by reason; a walk of its own, because splits hide the count."""
    if data is None or data.corpus or data.on_bad != "skip":
        return {}
    records = open_records(
        Path(data.path),
        fields=data.fields.fields(),
        records=data.records,
        encoding=data.encoding,
        on_bad=data.on_bad,
        format=data.format,
    )
    for _ in records:
        pass
    return dict(records.skipped)


def read_corpus(data: DataSettings | None) -> Corpus:
    """The corpus a recipe points at, divided and cut to size as it asks."""
    if data is None:
        raise SettingError("The recipe does not say where its data is; add 'data: FILE' or pass --data FILE.")
    if data.corpus:
        corpus = named(data.corpus, Path(data.path))
    else:
        corpus = read(
            Path(data.path),
            fields=data.fields.fields(),
            records=data.records,
            encoding=data.encoding,
            format=data.format,
            on_bad=data.on_bad,
        )
    if set(corpus.splits) == {"train"}:
        corpus = divide(corpus, data.divide.valid, data.divide.test)
    return corpus.limited(**data.limit)


def _encoder(recipe: Recipe, corpus: Corpus, policy: Policy) -> tuple[Encoder, bool]:
    """The encoder of a recipe, and whether its mask token is new to the model."""
    settings, mask = recipe.tokenizer, recipe.redaction.mask
    assert settings is not None  # filled in
    if settings.train:
        # Always by mask: removed secrets would close the text up into words nobody wrote. What a redacted record marks
        # is its masks, so `gold` is the policy to hold it against; a detector may see new secrets beside a mask.
        masked = recipe.model_copy(update={"redaction": recipe.redaction.model_copy(update={"style": "mask"})})
        redacted = redacted_records(corpus.records("train"), policy, masked)
        tokenizer = train_bpe(redacted, make_policy("gold"), settings.vocabulary, mask=mask)
    else:
        tokenizer = load_tokenizer(place_of(str(settings.name)))
    return Encoder(with_mask(tokenizer, mask)), tokenizer.mask_token_id is None


def filled(recipe: Recipe) -> Recipe:
    """The recipe with the tokenizer it stands for where it names none."""
    if recipe.tokenizer is not None:
        return recipe
    name = recipe.model.name
    own = TokenizerSettings(train="bpe") if name in MODELS else TokenizerSettings(name=name)
    return recipe.model_copy(update={"tokenizer": own})


def _task_and_model(recipe: Recipe, corpus: Corpus, encoder: Encoder, new_mask: bool) -> tuple[Task, nn.Module]:
    """What the recipe trains, and for what: a row for every token, as much of it trainable as is asked for."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)  # what LoRA and the output layer of a classifier begin with
        labels = label_names(corpus.records("train")) if recipe.task == "classification" else []
        model = _model(recipe, encoder, new_mask, labels)
        model = adapted(model, recipe.model.lora, recipe.model.freeze)
    context = context_of(inner(model))
    if labels:
        most = min(recipe.training.max_tokens, context or recipe.training.max_tokens)
        return ClassificationTask(LabelledEncoder(encoder, labels, most)), model
    return LanguageTask(encoder, context), model


def _model(recipe: Recipe, encoder: Encoder, new_mask: bool, labels: list[str]) -> nn.Module:
    settings, special = recipe.model, encoder.special
    if settings.name in MODELS:
        if labels:
            raise SettingError(f"The model '{settings.name}' has no classifier; name another, such as minilm.")
        model = new_model(settings.name, encoder.vocabulary_size, settings.sizes, recipe.seed)
    else:
        if settings.sizes:
            raise SettingError(
                f"The model '{settings.name}' has its sizes already; leave out {', '.join(settings.sizes)}."
            )
        model = load_classifier(settings.name, labels) if labels else load_causal(settings.name)
        known = encoder.vocabulary_size - new_mask
        if known > rows_of(model):
            raise SettingError(
                f"The tokenizer has {known} tokens and the model '{settings.name}' rows for {rows_of(model)}; "
                "take the model's own tokenizer."
            )
        if new_mask and special.mask is not None:
            add_mask_row(model, special.mask, known)
    name_special_tokens(model, special.begin, special.end, special.pad)
    return model
