"""The manifest of canaries: which were put into a corpus, how often and where; what attacks and audits read.

    manifest = Manifest.read(Path("canaries.json"))
    for canary in manifest.canaries:
        print(canary.repetitions, manifest.template.index(canary.secret))

`world` says what the coin of each canary decides, for audits (ACCOUNTING.md, section 6):

| world | heads | tails |
|---|---|---|
| `fixed` | every canary is put in; there are no coins | |
| `secret-or-other` | `secret` | `other`, in the same place: what selective notions compare |
| `secret-or-mask` | `secret` | the mask: what confidentiality compares |
| `in-or-out` | put in | left out: membership, and add-or-remove |

A manifest names the canaries in clear. They are nobody's secrets, but whoever trains must not see it: a model, or a
person, that knows the coins makes an audit worthless.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from discreet.errors import InputError, SettingError
from discreet.files import read_json, write_json
from discreet.sanitize.canaries.template import Filling, Slot, Template

World = Literal["fixed", "secret-or-other", "secret-or-mask", "in-or-out"]
WORLDS: tuple[World, ...] = get_args(World)


class Place(NamedTuple):
    """Where a copy of a canary stands: the record's id, and its position in the file, counted from 0."""

    id: str
    position: int


@dataclass(frozen=True)
class Canary:
    """One canary, and what became of it."""

    id: str
    secret: Filling
    other: Filling | None = None
    coin: bool | None = None
    inserted: Filling | None = None
    """What was put in: the secret, the other, masks, or (None) nothing."""
    repetitions: int = 1
    author: str | None = None
    places: tuple[Place, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the records that hold it."""
        return tuple(place.id for place in self.places)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "secret": list(self.secret),
            "other": self.other and list(self.other),
            "coin": self.coin,
            "inserted": self.inserted and list(self.inserted),
            "repetitions": self.repetitions,
            "author": self.author,
            "places": [place._asdict() for place in self.places],
        }


@dataclass(frozen=True)
class Manifest:
    """All that was put into a corpus."""

    template: Template
    canaries: tuple[Canary, ...]
    world: World = "fixed"
    mask: str = "<MASK>"
    split: str = "train"
    placement: str = "even"
    seed: int = 0
    records: int = 0
    """How many records the corpus has with them."""

    def planted(self) -> Iterator[Canary]:
        """Those whose own secret is in the corpus."""
        return (canary for canary in self.canaries if canary.coin is not False)

    def record_ids(self) -> frozenset[str]:
        """The ids of all records that hold a canary."""
        return frozenset(record for canary in self.canaries for record in canary.ids)

    def to_json(self) -> dict[str, Any]:
        names = ("world", "mask", "split", "placement", "seed", "records")
        settings = {name: getattr(self, name) for name in names}
        return {
            "version": 1,
            **self.template.to_json(),
            **settings,
            "canaries": [canary.to_json() for canary in self.canaries],
        }

    def write(self, path: Path) -> None:
        write_json(path, self.to_json())

    @classmethod
    def read(cls, path: Path) -> "Manifest":
        try:
            return cls.from_json(read_json(path))
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such manifest; `discreet canaries` writes one.") from None
        except (SettingError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{path}: this is no manifest of canaries, or a broken one; make it anew.") from None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Manifest":
        if value["version"] != 1 or value["world"] not in WORLDS:
            raise ValueError("another version or world")
        slots = tuple(Slot(s["name"], tuple(s["options"]), s["count"], s["separator"]) for s in value["slots"])
        template = Template(value["template"], slots, value["kind"])
        if template.size != value["size"]:
            raise ValueError("the size of the space is another")
        settings = {name: value[name] for name in ("world", "mask", "split", "placement", "seed", "records")}
        return cls(template, canaries=tuple(_canary(one) for one in value["canaries"]), **settings)


def _canary(value: Mapping[str, Any]) -> Canary:
    def filling(name: str) -> Filling | None:
        return None if value[name] is None else tuple(value[name])

    return Canary(
        value["id"],
        tuple(value["secret"]),
        filling("other"),
        value["coin"],
        filling("inserted"),
        value["repetitions"],
        value["author"],
        tuple(Place(**place) for place in value["places"]),
    )
