"""`discreet detect`: text with its secrets highlighted by kind."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from discreet.cli import app, console
from discreet.cli.options import (
    Address,
    DataFile,
    Encoding,
    Engine,
    FileFormat,
    IdField,
    Json,
    OnBad,
    PolicyName,
    RecordsAre,
    TextField,
    TurnsField,
)
from discreet.text.records import Record, Secret

if TYPE_CHECKING:
    from discreet.policy.contract import Policy

COLOURS = ("green", "cyan", "magenta", "yellow", "blue", "red")
VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}
"""Control characters as their pictures: a text must not be able to command the terminal."""


@app.command()
def detect(
    file: DataFile,
    policy: PolicyName,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 is one for each core.")] = 1,
    limit: Annotated[int | None, typer.Option(min=0, help="Only so many records.")] = None,
    show_secrets: Annotated[
        bool, typer.Option("--show-secrets", help="With --json: the text of each secret too.")
    ] = False,
    engine: Engine = "local",
    address: Address = None,
    json_output: Json = False,
    on_bad: OnBad = "stop",
    text_field: TextField = "text",
    id_field: IdField = "id",
    turns_field: TurnsField = "turns",
    records_are: RecordsAre = "line",
    encoding: Encoding = "utf-8",
    file_format: FileFormat = None,
) -> None:
    """Print text with the secrets a policy finds, highlighted by kind (piped: as [[KIND:secret]])."""
    from discreet.policy.specs import policy as make_policy
    from discreet.text.formats.contract import Fields
    from discreet.text.reading import open_records

    chosen = make_policy(policy)
    fields = Fields(text=text_field, id=id_field, turns=turns_field)
    records = open_records(
        file, fields=fields, records=records_are, encoding=encoding, on_bad=on_bad, format=file_format
    )
    kinds: Counter[str] = Counter()
    shown = 0
    skipped: list[int] = []
    with contextlib.ExitStack() as stack:
        if engine == "local":
            found = _found(records, chosen, limit, workers or None)
        else:
            from discreet.sanitize.cluster.rows import detect_file

            cluster = stack.enter_context(console.cluster(engine, address))
            found = islice(detect_file(cluster, records, chosen, skipped), limit)
        for record, secrets, of_pair in found:
            shown += 1
            kinds.update(secret.kind for secret in (*secrets, *(of_pair or ())))
            if json_output:
                console.emit(_as_json(record, secrets, of_pair, show_secrets))
            else:
                _print(record, secrets, of_pair, list(kinds))
    if not json_output:
        _print_legend(shown, kinds)
    if left_out := sum(records.skipped.values()) + sum(skipped):
        console.say(f"Bad rows skipped: {left_out:,}.")


def _found(
    records: Iterable[Record], policy: "Policy", limit: int | None, workers: int | None
) -> Iterator[tuple[Record, tuple[Secret, ...], tuple[Secret, ...] | None]]:
    from discreet.policy.many import secrets_on_all_cores

    for record, secrets in secrets_on_all_cores(policy, islice(records, limit), workers):
        yield record, secrets, None if record.pair is None else policy.secrets(record.of_pair())


def _as_json(
    record: Record, secrets: Sequence[Secret], of_pair: Sequence[Secret] | None, in_clear: bool
) -> dict[str, Any]:
    def plain(found: Sequence[Secret], text: str) -> list[dict[str, Any]]:
        spans = [secret._asdict() for secret in found]
        return [span | {"text": text[span["start"] : span["end"]]} for span in spans] if in_clear else spans

    value: dict[str, Any] = {"id": record.id, "secrets": plain(secrets, record.text)}
    return value if of_pair is None else value | {"pair_secrets": plain(of_pair, record.pair or "")}


def _print(record: Record, secrets: Sequence[Secret], of_pair: Sequence[Secret] | None, kinds: list[str]) -> None:
    texts = [(record.text, secrets)] if of_pair is None else [(record.text, secrets), (record.pair or "", of_pair)]
    if not console.out.is_terminal:
        typer.echo(record.id.translate(VISIBLE))
        for text, found in texts:
            typer.echo(marked(text, found))
        typer.echo()
        return
    console.out.print(Text(record.id.translate(VISIBLE), style="dim"))
    for text, found in texts:
        console.out.print(highlighted(text, found, kinds))
    console.out.print()


def marked(text: str, secrets: Sequence[Secret]) -> str:
    """The text with each secret as `[[KIND:secret]]`, for pipes and files."""
    pieces, after = [], 0
    for start, end, kind, _ in secrets:
        pieces += [text[after:start], f"[[{kind}:{text[start:end]}]]"]
        after = end
    return "".join([*pieces, text[after:]]).translate(VISIBLE)


def highlighted(text: str, secrets: Sequence[Secret], kinds: list[str]) -> Text:
    """The text with each secret in the colour of its kind, for terminals."""
    shown = Text(text.translate(VISIBLE))
    for start, end, kind, _ in secrets:
        shown.stylize(_style(kind, kinds), start, end)
    return shown


def _style(kind: str, kinds: list[str]) -> str:
    return f"bold reverse {COLOURS[kinds.index(kind) % len(COLOURS)]}"


def _print_legend(shown: int, kinds: Counter[str]) -> None:
    legend = Text(f"records: {shown:,}  secrets: {kinds.total():,}")
    for kind, count in kinds.items():
        legend.append("  ")
        legend.append(f" {kind} ", style=_style(kind, list(kinds)))
        legend.append(f" {count:,}")
    console.err.print(legend, soft_wrap=True)
