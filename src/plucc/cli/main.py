"""The root of the command: global options, groups, and the one place where errors become sentences."""

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer

from plucc.cli import (
    calibrate,
    context,
    data,
    evaluate,
    explain,
    export,
    locate,
    players,
    register,
    reproduce,
    retrain,
    second_look,
    synth,
    train,
)
from plucc.cli.console import err, out
from plucc.types import PluccError

FAULT = 1
BAD_INPUT = 2

app = typer.Typer(
    name="plucc",
    help="Find the puck in ice-hockey broadcast video.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command(name="locate")(locate.locate)
app.command(name="demo")(locate.demo)
app.command(name="calibrate")(calibrate.calibrate)
app.command(name="register")(register.register)
app.add_typer(data.app, name="data")
app.add_typer(synth.app, name="synth")
app.command(name="context")(context.context)
app.add_typer(players.app, name="players")
app.command(name="train")(train.train)
app.command(name="mine")(train.mine)
app.command(name="restore")(train.restore)
app.command(name="average")(train.average)
app.command(name="export")(export.export)
app.add_typer(second_look.app, name="second-look")
app.command(name="evaluate")(evaluate.evaluate)
app.command(name="explain")(explain.explain)
app.command(name="reproduce")(reproduce.reproduce)
app.command(name="retrain")(retrain.retrain)


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
    """Run the command; bad input ends in one sentence and exit code 2, a traceback shows only with --debug."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    try:
        code = app(args=arguments, prog_name="plucc", standalone_mode=False)
    except Exception as error:
        if debug:
            raise
        sentence, code = _explain(error)
        if sentence:
            err.print("[bold red]error:[/]", end=" ")
            err.print(sentence, markup=False)
    raise SystemExit(code if isinstance(code, int) else 0)


def _explain(error: Exception) -> tuple[str, int]:
    """Return the sentence that the user reads and the exit code."""
    if isinstance(error, PluccError):
        return str(error), BAD_INPUT
    if hasattr(error, "format_message"):  # a mistyped command line, found by the parser
        return _explain_usage(error.format_message(), getattr(error, "ctx", None)), BAD_INPUT
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}: check that the path exists, may be used, and has space left", BAD_INPUT
    if isinstance(error, typer.Abort):
        return "stopped", FAULT
    return f"{type(error).__name__}: {error}: this is a fault in plucc, --debug shows where", FAULT


def _explain_usage(message: str, context: Any) -> str:
    if not message:  # no arguments at all: the parser has shown the help already
        return ""
    end = "" if message.endswith((".", "?", "!")) else "."
    return f"{message}{end} See {context.command_path if context else 'plucc'} --help"
