"""The report: one HTML page that needs nothing else, neither a network nor a script.

    page(gather(["runs/a", "runs/b"]))

The page forbids itself to load anything (its content security policy allows its own style and script by their
fingerprints and nothing more), and jinja2 escapes whatever comes from a run.
"""

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from discreet.report import leaks, words
from discreet.report.facts import RunFacts
from discreet.report.plots import figures
from discreet.report.tables import compared, utility


def page(runs: Sequence[RunFacts], *, now: datetime | None = None) -> str:
    """The whole page."""
    style, script = (_part(name) for name in ("style.css", "sort.js"))
    return (
        _environment()
        .get_template("page.html")
        .render(
            runs=runs,
            table=compared(runs),
            figures=figures(runs),
            refuted=[(facts, sentence) for facts in runs for sentence in facts.refuted],
            words=words,
            attacked=leaks.attacked,
            utility=utility,
            written=(now or datetime.now(UTC)).strftime("%-d %B %Y"),
            version=version("discreet"),
            style=Markup(style),  # our own files, not data
            script=Markup(script),
            policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
            "form-action 'none'",
        )
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _part(name: str) -> str:
    return (files("discreet.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
