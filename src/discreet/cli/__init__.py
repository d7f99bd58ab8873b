"""The command line: one file per command, each a thin layer over the Python function of the same name.

Results go to stdout (with `--json` as one JSON document, or one per line), everything else to stderr.
Exit code 0 for success, 1 for a user's mistake with one sentence, 2 for wrong usage.
"""

import importlib
import os
import pkgutil
import sys

import typer

from discreet.cli import console
from discreet.errors import DiscreetError

app = typer.Typer(
    name="discreet",
    help="Train language models that keep secrets.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def load_commands() -> None:
    """Imports every command's file, which registers it."""
    for module in pkgutil.iter_modules(__path__, __name__ + "."):
        importlib.import_module(module.name)


def main() -> None:
    """The console command `discreet`."""
    load_commands()
    try:
        app()
    except DiscreetError as error:
        console.error(str(error))
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; do not complain at exit
        sys.exit(1)
    except KeyboardInterrupt:
        console.error("Stopped.")
        sys.exit(130)
    except OSError as error:
        console.error(f"{error.filename or 'A file'}: {error.strerror or error}.")
        sys.exit(1)
