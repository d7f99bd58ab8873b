"""`discreet attack`: what a run's model gives away, and whether its guarantee holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import app, console
from discreet.cli.options import Json


@app.command()
def attack(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run, or a model's folder with its tokenizer.")],
    attacks: Annotated[
        list[str] | None, typer.Option("--attack", "-a", help="Only this attack; may be given several times [all].")
    ] = None,
    canaries: Annotated[
        Path | None, typer.Option(help="The manifest of planted canaries [canaries.json beside the run's data].")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Records trained on, and others [the run's own].")] = None,
    policy: Annotated[str | None, typer.Option("--policy", "-p", help="What is secret [the run's policy].")] = None,
    reference: Annotated[
        Path | None, typer.Option(help="A model of the same tokenizer that has not seen the secrets, to compare with.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write [RUN/attacks.json].")] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same samples.")] = 0,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="attack.key=value, e.g. membership.records=500.")
    ] = None,
    over_time: Annotated[
        bool,
        typer.Option("--over-time", help="Exposure and membership at each epoch that 'train --keep-epochs' kept."),
    ] = False,
    show_secrets: Annotated[
        bool, typer.Option("--show-secrets", help="Tell which secrets came out, in clear.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Attack a model: exposure of canaries, membership, tab, extraction, attributes, and lower bounds on epsilon."""
    from discreet.errors import RefusedError, SettingError

    settings = _settings(changes or [])
    if over_time:
        for given, name in ((attacks, "--attack"), (policy, "--policy"), (reference, "--reference"), (output, "-o")):
            if given:
                raise SettingError(f"--over-time makes its own attacks and takes no {name}.")
        _over_time(run, settings, canaries=canaries, data=data, seed=seed, json_output=json_output)
        return
    if show_secrets:
        settings.setdefault("extraction", {})["show"] = True
    from discreet.attacks.attack import attack as attack_run  # loads torch: after the options are known to be right

    with console.progress() as bar:
        found = attack_run(
            run,
            attacks or (),
            settings=settings,
            canaries=canaries,
            data=data,
            policy=policy,
            reference=reference,
            output=output,
            seed=seed,
            told=_teller(bar),
        )
    if json_output:
        console.emit(found.to_json())
    else:
        for name, finding in found.findings.items():
            console.out.print(f"{name} ({found.seconds[name]:.1f} s)", style="bold", markup=False)
            for line in finding.lines():
                console.out.print(f"  {line}", markup=False)
    for name, why in found.left_out.items():
        console.say(f"Left out: {name} {why}.")
    console.say(f"Written to {output or run / 'attacks.json'}.")
    if found.refuted:
        raise RefusedError(found.refuted)


def _teller(bar: Any) -> Callable[[str, int, int | None], None]:
    """Shows what an attack tells on a bar, a line for each thing it does."""
    tasks: dict[str, Any] = {}

    def told(what: str, done: int, total: int | None) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)

    return told


def _over_time(
    run: Path,
    settings: dict[str, dict[str, Any]],
    *,
    canaries: Path | None,
    data: Path | None,
    seed: int,
    json_output: bool,
) -> None:
    """Attacks every kept epoch and shows the rows."""
    from discreet.errors import SettingError

    known = {("membership", "records"): "records", ("exposure", "samples"): "samples"}
    given = {(name, key): value for name, own in settings.items() for key, value in own.items()}
    for name, key in given.keys() - known.keys():
        raise SettingError(f"--over-time takes membership.records and exposure.samples, not {name}.{key}.")
    from rich.table import Table

    from discreet.attacks.over_time import attack_epochs

    with console.progress() as bar:
        more = {known[key]: value for key, value in given.items()}
        points = attack_epochs(run, canaries=canaries, data=data, seed=seed, told=_teller(bar), **more)
    if json_output:
        console.emit([point._asdict() for point in points])
        return
    table = Table("epoch", "step", "exposure", "membership AUC")
    for point in points:
        found = (point.exposure, point.membership_auc)
        shown = ["-" if value is None else f"{value:.2f}" for value in found]
        table.add_row(str(point.epoch), f"{point.step:,}", *shown)
    console.out.print(table)
    console.say(f"Written to {run / 'attacks-over-time.jsonl'}.")


def _settings(changes: list[str]) -> dict[str, dict[str, Any]]:
    """`attack.key=value` texts as the settings of each attack."""
    import yaml

    from discreet.errors import SettingError

    found: dict[str, dict[str, Any]] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        name, dot, setting = key.strip().partition(".")
        if not equals or not dot or not name or not setting:
            raise SettingError(f"'{change}' is not of the form attack.key=value, such as membership.records=500.")
        try:
            found.setdefault(name, {})[setting] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise SettingError(f"The value in '{change}' cannot be read.") from None
    return found
