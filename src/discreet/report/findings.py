"""What the attacks on a run found, as far as a page may tell: figures, never the text that `--show-secrets` writes.

found = read_findings(run)
found.exposure.mean, found.membership["records"].auc, found.refuted
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import RunError
from discreet.files import read_json
from discreet.mechanisms.run import Run, weights_fingerprint

FILE = "attacks.json"
Interval = tuple[float, float] | None


@dataclass(frozen=True)
class Exposure:
    """How exposed the canaries are, in bits."""

    canaries: int
    mean: float
    interval: Interval
    maximum: float
    most: float
    """What a canary that the model ranks first would have."""
    by_repetitions: "tuple[Repeated, ...]" = ()


@dataclass(frozen=True)
class Membership:
    """The signal that tells members from others best; the best of several is flattered."""

    signal: str
    signals: int
    auc: float
    interval: Interval
    members: int
    at_1_percent: float
    """Members recognised at one false alarm in a hundred."""


@dataclass(frozen=True)
class Bound:
    """A lower bound of an audit beside what the guarantee allows for those canaries."""

    method: str
    detected: bool
    canaries: int
    copies: int
    epsilon: float
    delta: float
    claimed: float | None
    error: float

    @property
    def refutes(self) -> bool:
        return self.claimed is not None and self.epsilon > self.claimed


@dataclass(frozen=True)
class Reconstructed:
    """Texts or secrets that came out of the model."""

    what: str
    tried: int
    came_out: float
    """A count for extraction, a share for tab."""
    beside: str = ""
    """The same of secrets the model has not seen."""


@dataclass(frozen=True)
class Attribute:
    """How well a fresh probe names an attribute of records from the model's states."""

    label: str
    labels: int
    asked: int
    accuracy: float
    chance: float
    above_chance: float
    interval: Interval


@dataclass(frozen=True)
class Repeated:
    """The exposure of the canaries that were planted so often."""

    times: int
    canaries: int
    mean: float
    interval: Interval


@dataclass(frozen=True)
class Findings:
    """All attacks on one run."""

    exposure: Exposure | None = None
    membership: dict[str, Membership] = field(default_factory=dict)
    """Of `records` and of single `secrets`."""
    bounds: tuple[Bound, ...] = ()
    extraction: tuple[Reconstructed, ...] = ()
    tab: tuple[Reconstructed, ...] = ()
    attribute: Attribute | None = None
    engine_ok: bool | None = None
    refuted: tuple[str, ...] = ()
    """Sentences by which attacks refute the guarantee or the engine."""

    @property
    def lower_bound(self) -> Bound | None:
        """The largest lower bound of the audit."""
        return max(self.bounds, key=lambda bound: bound.epsilon, default=None)


def read_findings(run: Run) -> Findings | None:
    """The findings in a run's attacks.json; None where its model, as it is now, was not attacked."""
    path = run.path / FILE
    if not path.is_file():
        return None
    try:
        value = read_json(path)
        if value["model"] != weights_fingerprint(run.path):
            return None
        return findings_of(value)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise RunError(
            f"{path}: these are no findings of attacks; remove the file and run 'discreet attack'."
        ) from None


def findings_of(value: Mapping[str, Any]) -> Findings:
    """The figures of an attacks.json."""
    found: Mapping[str, Any] = value["findings"]
    audit = found.get("audit", {"bounds": []})
    bounds = tuple(_bound(one) for one in audit["bounds"])
    return Findings(
        exposure=_exposure(found["exposure"]) if "exposure" in found else None,
        membership=_memberships(found["membership"]) if "membership" in found else {},
        bounds=bounds,
        extraction=_extraction(found["extraction"]) if "extraction" in found else (),
        tab=_tab(found["tab"]) if "tab" in found else (),
        attribute=_attribute(found["attribute"]) if "attribute" in found else None,
        engine_ok=bool(found["engine"]["ok"]) if "engine" in found else None,
        refuted=_refutations(value, found, bounds),
    )


def _refutations(value: Mapping[str, Any], found: Mapping[str, Any], bounds: tuple[Bound, ...]) -> tuple[str, ...]:
    """Sentences of all attacks: a later command that refutes nothing must not hide an earlier one that does."""
    said = [value.get("refuted"), *(one.get("refuted") for one in found.values())]
    sentences = list(dict.fromkeys(str(sentence) for sentence in said if sentence))
    if not sentences and any(bound.refutes for bound in bounds):
        sentences.append("A lower bound of the audit is above what the guarantee allows; do not release the model.")
    if not found.get("engine", {}).get("ok", True) and not found["engine"].get("refuted"):
        sentences.append("The audit of the engine failed: it does not do what the plan says; do not release the model.")
    return tuple(sentences)


def _exposure(one: Mapping[str, Any]) -> Exposure:
    parts = one.get("by_repetitions", {})
    return Exposure(
        int(one["canaries"]),
        float(one["mean"]),
        _interval(one["mean_interval"]),
        float(one["maximum"]),
        float(one["most"]),
        tuple(_repeated(times, parts[str(times)]) for times in sorted(map(int, parts))),
    )


def _repeated(times: int, one: Mapping[str, Any]) -> Repeated:
    return Repeated(times, int(one["canaries"]), float(one["mean"]), _interval(one["mean_interval"]))


def _attribute(one: Mapping[str, Any]) -> Attribute:
    return Attribute(
        str(one["label"]),
        int(one["labels"]),
        int(one["asked"]),
        float(one["accuracy"]),
        float(one["chance"]),
        float(one["above_chance"]),
        _interval(one["above_chance_interval"]),
    )


def _memberships(one: Mapping[str, Any]) -> dict[str, Membership]:
    return {what: _best(one[what]) for what in ("records", "secrets") if one.get(what)}


def _best(signals: Mapping[str, Any]) -> Membership:
    name = max(signals, key=lambda key: float(signals[key]["auc"]))
    best = signals[name]
    return Membership(
        str(name),
        len(signals),
        float(best["auc"]),
        _interval(best["auc_interval"]),
        int(best["members"]),
        float(best["tpr"]["0.01"]),
    )


def _bound(one: Mapping[str, Any]) -> Bound:
    claimed = one["claimed"]
    return Bound(
        str(one["method"]),
        bool(one["detected"]),
        int(one["canaries"]),
        int(one["copies"]),
        float(one["epsilon"]),
        float(one["delta"]),
        None if claimed is None else float(claimed),
        float(one["error"]),
    )


def _extraction(one: Mapping[str, Any]) -> tuple[Reconstructed, ...]:
    others = one["not_trained_on"]
    return tuple(
        Reconstructed(
            str(kind),
            int(part["secrets"]),
            int(part["regurgitated"]),
            f"{int(others[kind]['regurgitated'])} of {int(others[kind]['secrets'])}" if kind in others else "",
        )
        for kind, part in one["trained_on"].items()
    )


def _tab(one: Mapping[str, Any]) -> tuple[Reconstructed, ...]:
    return tuple(
        Reconstructed(f"{kind} texts, {way}", int(part["texts"]), float(part["exact"]))
        for kind, ways in one["rates"].items()
        for way, part in ways.items()
    )


def _interval(value: Any) -> Interval:
    return None if value is None else (float(value[0]), float(value[1]))
