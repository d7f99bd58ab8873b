"""`discreet budget`: epsilon for a noise, noise for an epsilon; no data touched."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import app, console
from discreet.cli.options import Json
from discreet.errors import SettingError

if TYPE_CHECKING:
    from discreet.accounting.setting import Setting


@app.command()
def budget(
    mechanism: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM", help="dp-sgd, selective, selective-paper, jft, crt, smdp or mdp; 'compare' for all."
        ),
    ],
    epsilon: Annotated[
        float | None, typer.Option(help="Target; then one of noise, steps and rate is left open.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="[1/(10 N) with --records N]")] = None,
    noise: Annotated[
        float | None, typer.Option("--noise", "--phase2-noise", help="Noise on the clipped sum, in clip norms.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", "--phase2-rate", help="Share of the corpus in a batch.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Batch size, with --records, in place of --rate.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", "--phase2-steps", help="Private steps.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the corpus, in place of --steps.")] = None,
    records: Annotated[int | None, typer.Option(help="How many records are protected.")] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="add-remove, replace or zero-out [add-remove for dp-sgd, else replace].")
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(help="poisson, truncated-poisson (with --max-batch), shuffled or fixed-size [poisson]."),
    ] = None,
    max_batch: Annotated[int | None, typer.Option(help="Where truncated Poisson batches are cut.")] = None,
    unit: Annotated[str, typer.Option(help="record or author.")] = "record",
    group: Annotated[int, typer.Option(help="Copies or sentences that hold one secret (dp-sgd, crt).")] = 1,
    segments: Annotated[int, typer.Option(help="Private updates per draw (selective, selective-paper).")] = 1,
    state_noise: Annotated[
        str, typer.Option(help="Noise on hidden states, or 'none' for no state release (selective-paper).")
    ] = "same",
    states: Annotated[int, typer.Option(help="State tensors per segment: 2 for h and c, 1 if clipped jointly.")] = 2,
    public_passes: Annotated[int, typer.Option(help="Public updates that use a noised state (selective).")] = 0,
    phase1_noise: Annotated[
        str, typer.Option(help="Noise of phase 1, or 'none' for plain redacted training (jft).")
    ] = "none",
    phase1_rate: Annotated[float | None, typer.Option(help="[that of phase 2]")] = None,
    phase1_steps: Annotated[int | None, typer.Option(help="[those of phase 2]")] = None,
    screened: Annotated[bool, typer.Option("--screened", help="Phase 1 used hand-screened text only (jft).")] = False,
    missed: Annotated[
        int | None, typer.Option(help="Secrets the policy missed among those checked (jft, crt).")
    ] = None,
    checked: Annotated[int | None, typer.Option(help="Secrets checked by hand.")] = None,
    miss: Annotated[float | None, typer.Option(help="Share of secrets the policy misses (crt).")] = None,
    conservative_miss: Annotated[float, typer.Option(help="Share the conservative policy misses too (crt).")] = 0.0,
    distance: Annotated[
        list[float] | None, typer.Option(help="How far a word may be moved; once, or once per word (smdp, mdp).")
    ] = None,
    words: Annotated[int | None, typer.Option(help="Words changed in one record (smdp, mdp).")] = None,
    draws: Annotated[int, typer.Option(help="How often a secret is perturbed afresh (smdp, mdp).")] = 1,
    dimension: Annotated[int | None, typer.Option(help="Of the embedding: prints the noise's length.")] = None,
    unknown_words: Annotated[
        str, typer.Option(help="fixed-vector, pieces, mask or unchanged (smdp, mdp).")
    ] = "fixed-vector",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where compare writes its plot (.svg, .png).")
    ] = None,
    json_output: Json = False,
) -> None:
    """Plan a private training: how much noise, how many steps, what epsilon."""
    from discreet.accounting.budget import budget as answer_for
    from discreet.accounting.setting import Setting

    setting = Setting(
        epsilon=epsilon,
        delta=delta,
        noise=noise,
        rate=rate,
        batch=batch,
        steps=steps,
        epochs=epochs,
        records=records,
        neighbours=neighbours,
        sampling=sampler,
        max_batch=max_batch,
        unit=unit,
        group=group,
        segments=segments,
        state_noise=_noise("--state-noise", state_noise),
        states=states,
        public_passes=public_passes,
        phase1_noise=_noise("--phase1-noise", phase1_noise),
        phase1_rate=phase1_rate,
        phase1_steps=phase1_steps,
        screened=screened,
        missed=missed,
        checked=checked,
        miss=miss,
        conservative_miss=conservative_miss,
        distances=tuple(distance or ()),
        words=words,
        draws=draws,
        dimension=dimension,
        unknown_words=unknown_words,  # type: ignore[arg-type]  # the notion names what it does not know
    )
    if mechanism == "compare":
        _compare(setting, output, json_output)
        return
    answer = answer_for(mechanism, setting)
    if json_output:
        console.emit(answer.to_json())
        return
    if answer.solved:
        console.say(f"Solved for {answer.solved}.")
    _print_numbers(answer.to_json())
    console.out.print(str(answer.guarantee), markup=False)


def _noise(option: str, value: str) -> Any:
    if value in ("none", "same"):
        return value
    try:
        return float(value)
    except ValueError:
        raise SettingError(f"{option} is a number or 'none', not '{value}'.") from None


def _print_numbers(answer: dict[str, Any]) -> None:
    shown = {name: value for name, value in answer.items() if isinstance(value, (int, float)) and value is not None}
    for name, value in shown.items():
        console.out.print(f"{name:22} {value:,}" if isinstance(value, int) else f"{name:22} {value:.6g}", markup=False)
    console.out.print("")


def _compare(setting: "Setting", output: Path | None, json_output: bool) -> None:
    from rich.table import Table

    from discreet.accounting.compare import compare, drawn, plot

    comparison = compare(setting)
    if output is not None:
        plot(comparison, output)
        console.say(f"The plot of epsilon against steps is in {output}.")
    if json_output:
        console.emit(comparison.to_json() | {"plot": str(output) if output else None})
        return
    table = Table(title=f"One setting, delta {comparison.rows[0].delta:g}")
    for column in ("mechanism", "epsilon", "noise", "neighbours", "protects"):
        table.add_column(column, justify="right" if column in ("epsilon", "noise") else "left")
    for row in comparison.rows:
        epsilon = "no bound" if row.epsilon is None else f"{row.epsilon:,.4g}"
        noise = "" if row.noise is None else f"{row.noise:.4g}"
        table.add_row(row.name, epsilon, noise, row.neighbours, row.protects)
    console.out.print(table)
    console.out.print(drawn(comparison), markup=False)
