"""From a run, or any causal model's folder, to `attacks.json`: open what is attacked, run the attacks, write it down.

    found = discreet.attack("runs/a", canaries="canaries.json")
    found.findings["exposure"].maximum
    found.refuted                          # a sentence where an audit shows a guarantee to be wrong

What an attack needs is looked for where a run keeps it: the corpus and the policy of its recipe, its `privacy.json`,
and a `canaries.json` beside its data. All can be given instead. `attacks.json` holds no secrets, unless asked for.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from discreet.accounting.guarantee import Guarantee
from discreet.attacks.audit import Audit
from discreet.attacks.contract import ATTACKS, Finding, Particular, Refuting, Target, Told, options_of, silent
from discreet.errors import InputError, SettingError
from discreet.files import read_json, write_json
from discreet.mechanisms.recipe import Recipe
from discreet.mechanisms.run import Run, open_run, weights_fingerprint
from discreet.mechanisms.train import read_corpus
from discreet.models.language import load_model
from discreet.models.pretrained import load_causal, rows_of
from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.sanitize.canaries.manifest import Manifest
from discreet.text.corpus import Corpus, divide
from discreet.text.reading import read
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer

WITHOUT = {
    "canaries": "needs a manifest of canaries (--canaries FILE)",
    "corpus": "needs the records the model was trained on, and others (--data FILE)",
    "canaries or corpus": "needs canaries or the records the model was trained on (--canaries FILE, --data FILE)",
    "plans": "needs the guarantee of a private training",
}


@dataclass(frozen=True)
class Attacked:
    """What all attacks found."""

    target: str
    findings: dict[str, Finding]
    left_out: dict[str, str]
    guarantee: Guarantee | None
    seconds: dict[str, float]

    @property
    def refuted(self) -> str | None:
        """The first sentence by which a finding refutes a guarantee or the engine."""
        sentences = (finding.refuted for finding in self.findings.values() if isinstance(finding, Refuting))
        return next((sentence for sentence in sentences if sentence), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "target": self.target,
            "findings": {name: finding.to_json() for name, finding in self.findings.items()},
            "left_out": self.left_out,
            "seconds": {name: round(seconds, 2) for name, seconds in self.seconds.items()},
            "guarantee": self._promise(),
            "refuted": self.refuted,
        }

    def _promise(self) -> dict[str, Any] | None:
        """The guarantee, and beside it what the audit shows."""
        if self.guarantee is None:
            return None
        audits = [finding for finding in self.findings.values() if isinstance(finding, Audit)]
        shown = [bound.epsilon for audit in audits for bound in audit.bounds]
        names = ("notion", "mechanism", "epsilon", "delta", "neighbours", "unit")
        return {name: getattr(self.guarantee, name) for name in names} | {"lower_bound": max(shown, default=None)}


def attack(
    run: Run | str | Path,
    attacks: Sequence[str] = (),
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    canaries: Manifest | str | Path | None = None,
    data: Corpus | str | Path | None = None,
    policy: Policy | str | None = None,
    reference: nn.Module | str | Path | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    told: Told = silent,
) -> Attacked:
    """Attacks a run, or a folder with a model and its tokenizer, and writes `attacks.json` into it (or to `output`).

    Without names all attacks are made whose needs are met. `settings` holds the options of attacks by their name.
    """
    path = run.path if isinstance(run, Run) else Path(run)
    names = [*attacks] or ATTACKS.names()
    options = {name: options_of(name, dict((settings or {}).get(name, {}))) for name in names}
    for name in settings or {}:
        if name not in options:
            raise SettingError(f"There are settings for '{name}', which is not among the attacks to make.")
    place = Path(output) if output is not None else path / "attacks.json"
    target = open_target(
        path, canaries=canaries, data=data, policy=policy, reference=reference, plots=place.parent, seed=seed
    )
    findings: dict[str, Finding] = {}
    left_out: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for name in names:
        one = ATTACKS[name]()
        missing = next((WITHOUT[need] for need in one.needs if not target.has(need)), None)
        if missing is None and isinstance(one, Particular):
            missing = one.lacks(target, options[name])
        if missing is not None:
            if attacks:
                raise InputError(f"{path}: the attack '{name}' {missing}.")
            left_out[name] = missing
            continue
        begin = time.monotonic()
        findings[name] = one.run(target, options[name], told)
        seconds[name] = time.monotonic() - begin
    if not findings:
        raise InputError(f"{path}: no attack can be made on a model alone; give --canaries or --data.")
    found = Attacked(str(path), findings, left_out, target.guarantee, seconds)
    _write(place, found, target)
    return found


def open_target(
    path: Path,
    *,
    canaries: Manifest | str | Path | None = None,
    data: Corpus | str | Path | None = None,
    policy: Policy | str | None = None,
    reference: nn.Module | str | Path | None = None,
    plots: Path | None = None,
    seed: int = 0,
    model: nn.Module | None = None,
) -> Target:
    """What is attacked: the model of a run with what its recipe names, or the model of a folder.

    `model` takes the place of the weights in the folder; the run may then be still at work.
    """
    recipe: Recipe | None = None
    guarantee: Guarantee | None = None
    folder = path
    if not (path / "config.json").is_file():
        run = open_run(path) if model is None else Run(path)
        recipe, folder = run.recipe, run.model_folder
        guarantee = run.guarantee if run.finished else None
        if recipe.task != "language":
            raise InputError(f"{path}: this run is a classifier, and attacks are for language models.")
    model = (load_model(folder) if model is None else model).float()
    corpus = _corpus(data, recipe)
    spec = policy if policy is not None else recipe.policy if recipe is not None else None
    manifest = canaries if isinstance(canaries, Manifest) else _manifest(canaries, recipe)
    return Target(
        model,
        Encoder(load_tokenizer(str(folder))),
        make_policy(spec if spec is not None else "nothing"),
        corpus,
        manifest,
        _reference(reference, model),
        guarantee,
        plots,
        seed,
        str(path),
    )


def _corpus(data: Corpus | str | Path | None, recipe: Recipe | None) -> Corpus | None:
    if isinstance(data, Corpus):
        return data
    settings = recipe.data if recipe is not None else None
    if data is not None:
        corpus = read(Path(data), fields=settings.fields.fields()) if settings else read(Path(data))
        return divide(corpus) if set(corpus.splits) == {"train"} else corpus
    return read_corpus(settings) if settings is not None and Path(settings.path).exists() else None


def _manifest(path: str | Path | None, recipe: Recipe | None) -> Manifest | None:
    if path is not None:
        return Manifest.read(Path(path))
    if recipe is None or recipe.data is None:
        return None
    data = Path(recipe.data.path)
    beside = (data if data.is_dir() else data.parent) / "canaries.json"
    return Manifest.read(beside) if beside.is_file() else None


def _reference(reference: nn.Module | str | Path | None, model: nn.Module) -> nn.Module | None:
    if reference is None or isinstance(reference, nn.Module):
        return reference
    folder = Path(reference)
    inside = folder / "model"
    other = load_causal(str(inside if (inside / "config.json").is_file() else folder))
    if rows_of(other) != rows_of(model):
        raise SettingError(
            f"{reference}: the reference model has {rows_of(other)} tokens and the attacked one {rows_of(model)}; "
            "train it with the same tokenizer."
        )
    return other


def _write(place: Path, found: Attacked, target: Target) -> None:
    """Findings of other attacks on the very same model stay in the file."""
    value = found.to_json() | {"model": weights_fingerprint(Path(found.target)), "seed": target.seed}
    if place.is_file():
        before = read_json(place)
        if isinstance(before, dict) and before.get("model") == value["model"]:
            for part in ("findings", "seconds"):
                value[part] = before.get(part, {}) | value[part]
            value["left_out"] = {name: why for name, why in value["left_out"].items() if name not in value["findings"]}
    write_json(place, value)
