"""Policies by name, in YAML and back: what `--policy`, recipes and `discreet.policy(...)` understand.

    policy("digits")                                    a name
    policy("regex:CASE-[0-9]{6}")                       a name and its first setting
    policy("ours.yaml")                                 a file that holds any of these forms
    policy({"words": {"source": "names.txt", "kind": "PERSON"}})
    policy({"union": ["digits", {"minus": ["gold", {"words": ["Acme"]}]}]})

and in a YAML file

    union:
      - digits
      - words: {source: names.txt, kind: PERSON}        # relative to the YAML file
      - regex: {pattern: 'CASE-[0-9]{6}', kind: CASE}

A mapping has one key, the name; below it stand the settings, or the first setting alone, or for `union`, `both` and
`minus` the list of policies. The signature of the registered function is what settings are checked against: a
parameter annotated `Policy` takes any form above, one that accepts a `Path` is resolved beside the YAML file.
"""

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from discreet.errors import SettingError
from discreet.policy.contract import POLICIES, Policy
from discreet.registry import nearest

Spec = str | Mapping[str, Any] | Path | Policy
YAML = (".yaml", ".yml")


def policy(spec: Spec) -> Policy:
    """The policy that a name, `name:argument`, YAML file or mapping describes."""
    return _build(spec, ())


def _build(spec: Any, within: tuple[Path, ...]) -> Policy:
    """`within` are the YAML files being read, the innermost last."""
    if isinstance(spec, Policy):
        return spec
    if isinstance(spec, Path):
        return _from_file(spec, within)
    if isinstance(spec, str):
        name, colon, argument = spec.partition(":")
        if spec.endswith(YAML) and not (colon and name in POLICIES):
            return _from_file(Path(spec), within)
        return _make(name, argument if colon else None, within)
    if isinstance(spec, Mapping) and len(spec) == 1:
        ((name, settings),) = spec.items()
        return _make(str(name), settings, within)
    raise SettingError(
        f"{_where(within)}A policy is a name or one name with its settings below it; see docs/policies.md."
    )


def _from_file(path: Path, within: tuple[Path, ...]) -> Policy:
    path = _beside(path, within)
    if path in within:
        raise SettingError(f"{path}: the policy contains itself; take the reference to this file out.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"{path}: there is no such policy file; check the path.") from None
    except UnicodeDecodeError:
        raise SettingError(f"{path}: not UTF-8; save the policy as UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise SettingError(f"{path}{line}: not valid YAML, {problem}; put patterns in single quotes.") from None
    return _build(content, (*within, path))


def _beside(path: Path, within: tuple[Path, ...]) -> Path:
    return within[-1].parent / path if within else path


def _where(within: tuple[Path, ...]) -> str:
    return f"{within[-1]}: " if within else ""


def _make(name: str, settings: Any, within: tuple[Path, ...]) -> Policy:
    """Calls the registered function with settings checked against its signature."""
    maker: Callable[..., Policy] = POLICIES[name]
    signature = inspect.signature(maker)
    hints = typing.get_type_hints(maker)
    many = next((p for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    what = f"{_where(within)}The policy '{name}'"
    if many is not None:
        if not isinstance(settings, list | tuple):
            raise SettingError(f"{what} needs a list of policies.")
        return maker(
            *(_setting(value, hints.get(many.name, Any), f"{what}, '{many.name}'", within) for value in settings)
        )
    given = _named(settings, list(signature.parameters), what)
    for parameter in signature.parameters.values():
        if parameter.default is parameter.empty and parameter.name not in given:
            raise SettingError(f"{what} needs the setting '{parameter.name}'.")
    return maker(
        **{
            key: _setting(value, hints.get(key, Any), f"{what}, setting '{key}'", within)
            for key, value in given.items()
        }
    )


def _named(settings: Any, known: list[str], what: str) -> dict[str, Any]:
    """Settings by name; a single value stands for the first setting."""
    if settings is None or settings == {}:
        return {}
    if not known:
        raise SettingError(f"{what} takes no settings.")
    if not isinstance(settings, Mapping):
        return {known[0]: settings}
    for key in settings:
        if key not in known:
            raise SettingError(f"{what} has no setting '{key}'; {nearest(str(key), known)}")
    return dict(settings)


def _setting(value: Any, hint: Any, what: str, within: tuple[Path, ...]) -> Any:
    if hint is Policy:
        return _build(value, within)
    if not _fits(value, hint):
        raise SettingError(f"{what}: {_described(hint)} is expected, not {type(value).__name__}.")
    if isinstance(value, str | Path) and Path in _choices(hint):
        return _beside(Path(value), within)
    return value


def _choices(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has the type of a parameter (types that YAML does not know are the function's to check)."""
    choices = _choices(hint)
    if len(choices) > 1:
        return any(_fits(value, choice) for choice in choices)
    if typing.get_origin(hint) is Sequence:
        (item,) = typing.get_args(hint)
        return isinstance(value, list | tuple) and all(_fits(one, item) for one in value)
    if typing.get_origin(hint) is dict:
        return isinstance(value, Mapping) and all(_fits(one, typing.get_args(hint)[1]) for one in value.values())
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    if hint is Path:
        return isinstance(value, str | Path)
    return hint is Any or not isinstance(hint, type) or isinstance(value, hint)


def _described(hint: Any) -> str:
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
    choices = [choice for choice in _choices(hint) if choice is not type(None)]
    words |= {choice: "a mapping" for choice in choices if typing.get_origin(choice) is dict}
    return " or ".join(words.get(choice, "a list" if typing.get_origin(choice) else str(choice)) for choice in choices)
