"""Recipes: the YAML file that makes a run.

    data: {path: dialogs.jsonl}
    policy: customersim
    mechanism: none
    model: {name: lstm, hidden: 200}
    tokenizer: {train: bpe, vocabulary: 2048}
    training: {epochs: 5, learning_rate: 0.003}
    seed: 0

A mistyped key is refused with the nearest one. The recipe stored in a run has every default filled in. A recipe that
differs from another in a few keys names it and gives those:

    extends: dialogs.yaml                   # in the same folder
    mechanism: {name: selective, epsilon: 4}
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from discreet.engine.settings import TrainingSettings
from discreet.errors import InputError, SettingError
from discreet.models.settings import Lora
from discreet.registry import nearest
from discreet.text.reading import Fields


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FieldSettings(Settings):
    """What the file calls the parts of a record."""

    text: str = "text"
    id: str = "id"
    author: str = "author"
    label: str = "label"
    pair: str = "pair"
    secrets: str = "secrets"
    pair_secrets: str = "pair_secrets"
    split: str = "split"
    turns: str = "turns"

    def fields(self) -> Fields:
        return Fields(**self.model_dump())


class DivideSettings(Settings):
    """Shares of the records that become valid and test, where the data is not divided already."""

    valid: Annotated[float, Field(ge=0, lt=1)] = 0.05
    test: Annotated[float, Field(ge=0, lt=1)] = 0.05


class DataSettings(Settings):
    """Where the records come from."""

    path: str
    corpus: str | None = None
    """The name of a public corpus (see `discreet corpora`) whose layout the folder at `path` has."""
    records: Literal["line", "paragraph", "file"] = "line"
    fields: FieldSettings = FieldSettings()
    format: str | None = None
    """The format of files whose extension does not say it."""
    encoding: str = "utf-8"
    on_bad: Literal["stop", "skip"] = "stop"
    divide: DivideSettings = DivideSettings()
    limit: dict[Literal["train", "valid", "test"], Annotated[int, Field(ge=1)]] = {}


class ModelSettings(BaseModel):
    """Which model: `lstm` or `gpt`, fresh, with sizes as further keys, or one that is there already (a folder, a name
    on the hub)."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str = "lstm"
    lora: Lora | None = None
    """Train low-rank adapters only; they are added onto the weights when the run is saved."""
    freeze: tuple[str, ...] = ()
    """Beginnings of the names of parameters that are not trained."""

    @property
    def sizes(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class TokenizerSettings(Settings):
    """A tokenizer to load (`gpt2`, a folder, a hub name), or one to train on redacted text."""

    name: str | None = None
    train: Literal["bpe"] | None = None
    vocabulary: Annotated[int, Field(ge=260)] = 4096

    @model_validator(mode="after")
    def _one_of_two(self) -> "TokenizerSettings":
        if (self.name is None) == (self.train is None):
            raise ValueError("give either name (a tokenizer to load) or train: bpe")
        return self


class RedactionSettings(Settings):
    """How mechanisms that train on redacted text write a secret."""

    style: Literal["mask", "kind", "remove", "surrogate"] = "mask"
    mask: str = "<MASK>"
    on_literal: Literal["refuse", "escape"] = "refuse"


class MechanismSettings(BaseModel):
    """Which mechanism; its own settings are further keys."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str = "none"


class Recipe(Settings):
    """All that makes a run."""

    data: DataSettings | None = None
    """None only for a run made in Python from a corpus that is not in a file."""
    policy: Any = None
    """A policy's name or its YAML form. Needed by mechanisms that go by secrets, and to train a tokenizer."""
    task: Literal["language", "classification"] = "language"
    """Predicting the next token, or the label of a record."""
    mechanism: MechanismSettings = MechanismSettings()
    model: ModelSettings = ModelSettings()
    tokenizer: TokenizerSettings | None = None
    """None: that of the model where it has one, else one trained on redacted text."""
    redaction: RedactionSettings = RedactionSettings()
    training: TrainingSettings = TrainingSettings()
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0

    @field_validator("data", mode="before")
    @classmethod
    def _path_alone(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    @field_validator("model", "mechanism", "tokenizer", mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


def read_recipe(path: Path, changes: Sequence[str] = ()) -> Recipe:
    """Reads a recipe file; `changes` are `key=value` texts such as `training.epochs=3`.

    A relative data or policy path in a recipe is relative to the folder the command runs in.
    """
    return make_recipe(_read_values(path), changes, where=str(path))


def _read_values(path: Path, below: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The keys of a recipe file laid over those of the recipe it extends, if it does."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such recipe.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise InputError(f"{where}: this is not YAML ({getattr(error, 'problem', error)}).") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: a recipe is a list of keys and values, such as 'data: mail.jsonl'.")
    base = values.pop("extends", None)
    if base is None:
        return values
    if path in below:
        raise InputError(f"{path}: this recipe extends itself.")
    return _laid_over(_read_values(path.parent / str(base), (*below, path)), values)


def _laid_over(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Nested keys of both; where both have one, that of `values`. A mechanism of another name starts afresh."""
    merged = dict(base)
    for key, value in values.items():
        old = base.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            same = value.get("name", old.get("name")) == old.get("name")
            merged[key] = _laid_over(old, value) if same else value
        else:
            merged[key] = value
    return merged


def make_recipe(values: Mapping[str, Any], changes: Sequence[str] = (), where: str = "recipe") -> Recipe:
    """Checks the values of a recipe and fills in the defaults."""
    merged = _copy(values)
    for change in changes:
        _apply(merged, change)
    try:
        return Recipe.model_validate(merged)
    except ValidationError as error:
        raise SettingError(f"{where}: {first_problem(error, Recipe)}") from error


def _copy(values: Any) -> Any:
    return {key: _copy(value) for key, value in values.items()} if isinstance(values, Mapping) else values


def _apply(values: dict[str, Any], change: str) -> None:
    key, separator, text = change.partition("=")
    if not separator or not key:
        raise SettingError(f"'{change}' is not of the form key=value, such as training.epochs=3.")
    *path, last = key.strip().split(".")
    for part in path:
        inner = values.get(part)
        if isinstance(inner, str):  # `model: lstm` and then model.hidden=100
            inner = {"path" if part == "data" else "name": inner}
        values[part] = inner if isinstance(inner, dict) else {}
        values = values[part]
    try:
        values[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise SettingError(f"The value in '{change}' cannot be read.") from None


def first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    """One sentence for the first thing that is wrong; a mistyped key comes with the nearest one."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"there is no key '{where}'; {nearest(str(problem['loc'][-1]), _keys_at(model, problem['loc'][:-1]))}"
    if problem["type"] == "missing":
        return f"the key '{where}' is missing."
    return f"{where or 'settings'}: {problem['msg'].removeprefix('Value error, ')}."


def _keys_at(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    """The keys known at a place inside nested settings."""
    for part in path:
        choices = (model.model_fields[str(part)].annotation, *get_args(model.model_fields[str(part)].annotation))
        inner = [c for c in choices if isinstance(c, type) and issubclass(c, BaseModel)]
        if not inner:
            return []
        model = inner[0]
    return list(model.model_fields)
