"""`plucc train`: a config in, weights out; `mine`: where they go wrong; `restore`, `average`: weights to start from."""

import os
from pathlib import Path
from typing import Annotated

import typer

from plucc.cli.console import bar, out


def train(
    config: Annotated[str, typer.Argument(help="A YAML file, or the name of a shipped preset such as swift.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="Override one setting, such as train.lr=3e-4; may be repeated.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Folder of the run: state, weights, logs. Default: runs/ and the config's name."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in that folder where it stopped.")
    ] = False,
) -> None:
    """Train a network; stopped at any moment, it goes on with --resume."""
    from plucc.config import load_config
    from plucc.types import require

    # threads that spin while they wait halve the speed of a machine that does anything else; read when torch loads
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    spec = load_config(config, overrides or [])
    for module in ("torch", "lightning", "timm", "tensorboard"):
        require(module, "train")
    from plucc.training.fit import train as fit

    fit(spec, run or Path("runs") / Path(config).stem, resume=resume, say=_say)


def mine(
    config: Annotated[str, typer.Argument(help="The config of the run, such as runs/NAME/config.yaml.")],
    weights: Annotated[Path, typer.Option(help="The trained weights, such as runs/NAME/best.ckpt.")],
    out_file: Annotated[Path, typer.Option("--out", help="The list to write, for data.datasets[].hard_negatives.")],
    least: Annotated[float, typer.Option(help="Confidence from which a wrong place counts.")] = 0.05,
) -> None:
    """Find where trained weights are sure and wrong on their own training frames, to train on those places more."""
    from plucc.config import load_config
    from plucc.types import require

    spec = load_config(config)
    for module in ("torch", "timm"):
        require(module, "train")
    from plucc.network.checkpoint import load_checkpoint
    from plucc.training.mining import find_mistakes, write_mistakes
    from plucc.training.sources import open_sources

    network = load_checkpoint(weights, expected=spec.network).network
    sources = open_sources(spec).training
    mistakes = [
        mistake for source in sources for mistake in find_mistakes(network, source, spec, least=least, progress=bar)
    ]
    write_mistakes(out_file, mistakes)
    out.print(f"{len(mistakes)} mistakes in {sum(len(source) for source in sources)} frames: {out_file}", markup=False)


def restore(
    config: Annotated[str, typer.Argument(help="The config that training will go on with.")],
    model: Annotated[Path, typer.Option(help="An exported model, such as the shipped swift.onnx.")],
    out_file: Annotated[Path, typer.Option("--out", help="The checkpoint to write, for train.initial_weights.")],
) -> None:
    """Turn an exported model back into a checkpoint that can be trained on."""
    from plucc.config import load_config
    from plucc.types import require

    spec = load_config(config)
    for module in ("torch", "timm", "onnx"):
        require(module, "train")
    from plucc.training.restoring import restore_checkpoint

    restore_checkpoint(model, spec, out_file)
    out.print(f"{out_file}: a checkpoint that says what {model} says", markup=False)


def average(
    mean: Annotated[Path, typer.Argument(help="The checkpoint to write.")],
    parts: Annotated[list[Path], typer.Argument(help="Checkpoints of one network; named twice, one counts twice.")],
    config: Annotated[
        str | None, typer.Option(help="A config on whose training samples the mean's norms are measured anew.")
    ] = None,
) -> None:
    """Write the mean of several checkpoints that were trained from the same start."""
    from plucc.config import load_config
    from plucc.types import require

    for module in ("torch", "timm"):
        require(module, "train")
    from plucc.network.checkpoint import average_checkpoints
    from plucc.training.norms import average_and_remeasure

    if config is None:
        average_checkpoints(parts, mean)
    else:
        average_and_remeasure(parts, mean, load_config(config))
    out.print(f"{mean}: the mean of {len(parts)} checkpoints", markup=False)


def _say(line: str) -> None:
    out.print(line, markup=False)
