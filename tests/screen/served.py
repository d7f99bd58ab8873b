"""A screening page served from a thread of the test, for a browser to open."""

import contextlib
import json
import queue
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from discreet.screen.screening import Screening, open_screening
from discreet.screen.serving import serve


class Served(NamedTuple):
    url: str
    screening: Screening
    folder: Path

    def marked(self) -> dict[str, list[str]]:
        """The marked words of the screened records, by id."""
        texts = dict(enumerate(self.screening.sample.records))
        return {
            texts[number].id: [texts[number].text[mark.start : mark.end] for mark in marks]
            for number, marks in self.screening.store.done().items()
        }


@contextlib.contextmanager
def served(folder: Path, texts: Sequence[str], **options: Any) -> Iterator[Served]:
    """Serves texts in which the policy finds digits; closes the server in the end."""
    path = folder / "texts.jsonl"
    rows = [json.dumps({"id": f"t{number}", "text": text}) + "\n" for number, text in enumerate(texts)]
    path.write_text("".join(rows), encoding="utf-8")
    screening = open_screening(path, "digits", **options)
    urls: queue.Queue[str] = queue.Queue()
    thread = threading.Thread(target=serve, args=(screening,), kwargs={"on_ready": urls.put})
    thread.start()
    url = urls.get(timeout=120)
    try:
        yield Served(url, screening, folder)
    finally:
        stop = urllib.request.Request(url + "api/stop", b'{"worker": "the-end-"}', {"Content-Type": "application/json"})
        with contextlib.suppress(OSError):  # it may have been closed from the page
            urllib.request.urlopen(stop).close()
        thread.join()
        screening.close()
