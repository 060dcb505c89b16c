"""`plucc data`: import, check, split, describe and export datasets."""

import typer

app = typer.Typer(help="Import, check, split, describe and export datasets.", no_args_is_help=True)
