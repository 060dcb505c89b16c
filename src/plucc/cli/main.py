"""The root of the command: global options, groups, and the one place where errors become sentences."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from plucc.cli import data
from plucc.cli.console import err, out
from plucc.types import PluccError

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="plucc",
    help="Find the puck in ice-hockey broadcast video.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"plucc {version('plucc')}")
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Find the puck in ice-hockey broadcast video."""


@app.command()
def doctor() -> None:
    """Say what is installed here, what it runs on, and which weights are found."""
    from plucc.cli.doctor import report

    out.print(report())


def run() -> None:
    """Run the command; bad input ends in one sentence and exit code 2, a traceback only with --debug."""
    debug = "--debug" in sys.argv
    try:
        app()
    except PluccError as error:
        if debug:
            raise
        err.print(f"[bold red]error:[/] {error}", markup=True)
        raise SystemExit(BAD_INPUT) from None
    except KeyboardInterrupt:
        err.print("interrupted")
        raise SystemExit(INTERRUPTED) from None
