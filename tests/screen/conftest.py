"""A small world to screen: invented notes, a policy that finds numbers only, and a person called `me-myself`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from discreet.screen.marking import Mark, mark
from discreet.screen.screening import Screening, open_screening

ME = "me-myself"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Forty notes; each has a number that the policy `digits` finds and a name that it misses."""
    path = tmp_path / "notes.jsonl"
    rows = [{"id": f"n{number}", "text": f"Dear Zebulon, your code is {1000 + number}."} for number in range(40)]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


@pytest.fixture
def opened() -> Iterator[Callable[..., Screening]]:
    """Opens screenings and closes them in the end."""
    open_ones: list[Screening] = []

    def make(*args: object, **options: object) -> Screening:
        open_ones.append(open_screening(*args, **options))  # type: ignore[arg-type]
        return open_ones[-1]

    yield make
    for screening in open_ones:
        screening.close()


def screen_all(screening: Screening, count: int | None = None, name: str = "Zebulon") -> int:
    """Marks every `name` as a PERSON and hands the record in, as a person would; how many records there were."""
    done = 0
    while done != count and (held := screening.store.next(ME)):
        at = screening.record(held.number).text.find(name)
        if at >= 0:
            new = Mark(0, at, at + len(name), "PERSON")
            held = screening.store.change(ME, held.number, held.serial, lambda marks, new=new: mark(marks, new))  # type: ignore[misc]
        screening.store.finish(ME, held.number, held.serial)
        done += 1
    return done
