"""The screening page's server: hands out records, takes marks, and says how far the work is.

Every answer about a record is the whole state the page shows. Positions in a text are counted in UTF-16 units here, as
the browser does, and in characters everywhere else. Whatever a person does is in the work file before it is answered.
"""

import json
import sqlite3
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import DiscreetError, MissingPackageError
from discreet.screen.guard import Guard
from discreet.screen.marking import Mark, mark, texts_of, trimmed, unmark
from discreet.screen.offsets import Units
from discreet.screen.screening import Screening
from discreet.screen.store import Held, LostError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

ASSETS = {
    "index.html": "text/html",
    "style.css": "text/css",
    "page.js": "text/javascript",
    "choosing.js": "text/javascript",
    "server.js": "text/javascript",
    "text.js": "text/javascript",
    "words.js": "text/javascript",
    "result.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
INSTALL = "The screening page needs starlette and uvicorn; install them with: pip install 'discreet[screen]'."

Worker = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Count = Annotated[int, Field(ge=0, le=2**40)]


class Asking(BaseModel):
    """A request of one tab."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    worker: Worker


class OnRecord(Asking):
    number: Count
    serial: Count


class OnSpan(OnRecord):
    part: Annotated[int, Field(ge=0, le=1)]
    start: Count
    end: Count


class Marking(OnSpan):
    kind: Annotated[str, Field(min_length=1, max_length=200)]


def make_app(
    screening: Screening,
    token: str,
    *,
    allowed: Callable[[str], bool],
    on_result: Callable[[], dict[str, Any]],
    on_stop: Callable[[], None],
) -> "ASGIApp":
    """The application behind its guard.

    `on_result` is called when all is screened: it writes the files and returns what the page says at the end. `on_stop`
    ends the server.
    """
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ModuleNotFoundError:
        raise MissingPackageError(INSTALL) from None

    desk = Desk(screening, on_result)

    def stop(_: Asking) -> dict[str, Any]:
        on_stop()
        return {}

    actions: dict[str, tuple[type[Asking], Callable[[Any], dict[str, Any]]]] = {
        "next": (Asking, desk.next),
        "beat": (OnRecord, desk.beat),
        "mark": (Marking, desk.mark),
        "unmark": (OnSpan, desk.unmark),
        "undo": (OnRecord, desk.undo),
        "done": (OnRecord, desk.done),
        "back": (Asking, desk.back),
        "stop": (Asking, stop),
    }
    routes = [Route("/api/" + name, _endpoint(*action), methods=["POST"]) for name, action in actions.items()]
    routes += [Route("/" + name, _asset(name), methods=["GET"]) for name in ASSETS]
    routes.append(Route("/", _asset("index.html"), methods=["GET"]))
    return Guard(Starlette(routes=routes), token, allowed)


class Desk:
    """What a tab can ask for."""

    def __init__(self, screening: Screening, on_result: Callable[[], dict[str, Any]]) -> None:
        self._screening, self._store, self._on_result = screening, screening.store, on_result

    def next(self, asked: Asking) -> dict[str, Any]:
        return self._state(asked.worker, self._store.next(asked.worker))

    def beat(self, asked: OnRecord) -> dict[str, Any]:
        self._store.renew(asked.worker, asked.number)
        return {"progress": self._progress()}

    def mark(self, asked: Marking) -> dict[str, Any]:
        if asked.kind not in self._screening.kinds:
            raise LostError("There is no such kind; load the page again.")
        start, end = trimmed(self._text(asked), *self._characters(asked))
        new = Mark(asked.part, start, end, asked.kind)
        return self._changed(asked, lambda marks: mark(marks, new))

    def unmark(self, asked: OnSpan) -> dict[str, Any]:
        start, end = self._characters(asked)
        return self._changed(asked, lambda marks: unmark(marks, asked.part, start, end))

    def undo(self, asked: OnRecord) -> dict[str, Any]:
        return self._state(asked.worker, self._store.undo(asked.worker, asked.number, asked.serial))

    def done(self, asked: OnRecord) -> dict[str, Any]:
        self._store.finish(asked.worker, asked.number, asked.serial)
        return self.next(asked)

    def back(self, asked: Asking) -> dict[str, Any]:
        return self._state(asked.worker, self._store.back(asked.worker) or self._store.next(asked.worker))

    def _changed(self, asked: OnRecord, edit: Callable[[tuple[Mark, ...]], tuple[Mark, ...]]) -> dict[str, Any]:
        return self._state(asked.worker, self._store.change(asked.worker, asked.number, asked.serial, edit))

    def _text(self, asked: OnSpan) -> str:
        if asked.number >= len(self._screening.sample.records):
            raise LostError("There is no such record; load the page again.")
        texts = texts_of(self._screening.record(asked.number))
        if asked.part >= len(texts):
            raise LostError("There is no such text; load the page again.")
        return texts[asked.part]

    def _characters(self, asked: OnSpan) -> tuple[int, int]:
        units = Units(self._text(asked))
        return units.position(asked.start), units.position(asked.end)

    def _progress(self) -> dict[str, int]:
        progress = self._store.progress()
        return {"done": progress.done, "total": progress.total, "held": progress.held}

    def _state(self, worker: str, held: Held | None) -> dict[str, Any]:
        progress = self._progress()
        return {
            "progress": progress,
            "kinds": self._screening.kinds,
            "back": self._store.has_back(worker),
            "record": None if held is None else self._shown(held),
            "result": self._on_result() if progress["done"] == progress["total"] else None,
        }

    def _shown(self, held: Held) -> dict[str, Any]:
        record = self._screening.record(held.number)
        parts = []
        for part, text in enumerate(texts_of(record)):
            units = Units(text)
            marks = [mark for mark in held.marks if mark.part == part]
            gone = [
                old
                for old in held.policy
                if old.part == part and not any(mark.start < old.end and old.start < mark.end for mark in marks)
            ]
            shown = [(mark, "policy" if mark in held.policy else "person") for mark in marks]
            shown += [(mark, "removed") for mark in gone]
            parts.append(
                {
                    "text": text,
                    "marks": [
                        {"start": units.of(mark.start), "end": units.of(mark.end), "kind": mark.kind, "by": by}
                        for mark, by in sorted(shown)
                    ],
                }
            )
        return {
            "number": held.number,
            "serial": held.serial,
            "id": record.id,
            "undoable": held.undoable,
            "parts": parts,
        }


def _endpoint(form: type[Asking], action: Callable[[Any], dict[str, Any]]) -> Any:
    async def endpoint(request: "Request") -> "Response":
        from starlette.concurrency import run_in_threadpool

        try:
            asked = form.model_validate_json(await request.body())
        except ValidationError:  # its message would repeat what was sent
            return _json({"problem": "The request is not understood; load the page again."}, 400)
        try:
            return _json(await run_in_threadpool(action, asked))
        except LostError as error:
            return _json({"problem": str(error)}, 409)
        except DiscreetError as error:
            return _json({"problem": str(error)}, 400)
        except (sqlite3.Error, OSError) as error:
            return _json({"problem": f"It could not be written to disk ({error}); make room and try again."}, 500)

    return endpoint


def _json(value: dict[str, Any], status: int = 200) -> "Response":
    from starlette.responses import Response

    return Response(json.dumps(value), status, media_type="application/json")  # ASCII: a lone surrogate passes too


def _asset(name: str) -> Any:
    def endpoint(_: "Request") -> "Response":
        from starlette.responses import Response

        return Response(asset(name), media_type=ASSETS[name])

    return endpoint


@cache
def asset(name: str) -> bytes:
    """One of the page's files, as it is shipped."""
    return files("discreet.screen").joinpath("page", name).read_bytes()
