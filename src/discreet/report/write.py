"""From runs to a file: a report in HTML, or the model card of one run."""

from collections.abc import Sequence
from pathlib import Path

from discreet.errors import RefusedError, SettingError
from discreet.files import whole_text
from discreet.mechanisms.run import Run
from discreet.report.facts import RunFacts, gather

FORMATS = ("html", "md")


def write_report(
    runs: Run | str | Path | Sequence[Run | str | Path],
    output: str | Path | None = None,
    *,
    format: str = "html",
    verify: bool = True,
    miss_rate: str | Path | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes a report or a card and returns where; see `discreet.report.report`."""
    chosen = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    if format not in FORMATS:
        raise SettingError(f"There is no report in the format '{format}'; it is html or md.")
    if format == "md" and len(chosen) > 1:
        raise SettingError(f"A model card is about one model; give one run, not {len(chosen)}.")
    facts = gather(chosen, verify=verify, miss_rate=None if miss_rate is None else Path(miss_rate))
    place = Path(output) if output is not None else _usual_place(facts, format)
    if place.is_dir():
        raise SettingError(f"{place}: this is a folder; name the file to write.")
    if format == "md" and place.exists() and not overwrite:
        raise RefusedError(f"{place}: there is a model card already, perhaps with your changes; pass --overwrite.")
    text = _text(facts, format)
    with whole_text(place) as out:
        out.write(text)
    return place


def _usual_place(facts: Sequence[RunFacts], format: str) -> Path:
    if format == "md":
        return facts[0].path / "model" / "README.md"
    return facts[0].path / "report.html" if len(facts) == 1 else Path("report.html")


def _text(facts: Sequence[RunFacts], format: str) -> str:
    if format == "md":
        from discreet.report.card import card

        return card(facts[0])
    from discreet.report.page import page

    return page(facts)
