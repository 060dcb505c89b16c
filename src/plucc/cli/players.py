"""`plucc players`: train, export and score the network that finds players."""

from pathlib import Path
from typing import Annotated

import typer

from plucc.cli.console import bar, out
from plucc.cli.context import WayOption

app = typer.Typer(help="Train, export and score the network that finds players.", no_args_is_help=True)


@app.command()
def train(
    checkpoint: Annotated[
        Path, typer.Argument(help="Written every few steps; where it exists, training goes on from it.")
    ],
    data: Annotated[list[str], typer.Option(help="DATASET, DATASET=MASKS.jsonl, either with @SHARE; may be repeated.")],
    hold_out: Annotated[list[str] | None, typer.Option(help="Matches that are not trained on.")] = None,
    validate_on: Annotated[list[str] | None, typer.Option(help="Matches not trained on whose IoU is logged.")] = None,
    start_from: Annotated[Path | None, typer.Option(help="Checkpoint to take the first weights from.")] = None,
    steps: Annotated[int, typer.Option(min=1)] = 6000,
    batch: Annotated[int, typer.Option(min=1)] = 8,
    learning_rate: Annotated[float, typer.Option(min=0)] = 3e-3,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; all of them by default.")] = None,
) -> None:
    """Train the player network on frames with player masks."""
    import logging

    from plucc.training.player_plan import PlayerPlan, train_players
    from plucc.training.players import PlayerTraining
    from plucc.training.shares import parse_source

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sources = tuple(parse_source(text, "masks") for text in data)
    shares = tuple(source.share for source in sources)
    training = PlayerTraining(steps=steps, batch=batch, learning_rate=learning_rate, seed=seed, shares=shares)
    plan = PlayerPlan(sources, training, frozenset(hold_out or ()), frozenset(validate_on or ()), start_from, threads)
    fit = train_players(plan, checkpoint, progress=bar)
    out.print(f"{fit.step} steps done; the weights are in {checkpoint}")


@app.command()
def export(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint of plucc players train.")],
    model: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
    name: Annotated[str, typer.Option(help="Version that the file carries.")] = "1",
    data: Annotated[str, typer.Option(help="What it was trained on, for the file's own record.")] = "",
    cut: Annotated[float, typer.Option(help="Logit above which a pixel is a player's.")] = 0.0,
    margin_px: Annotated[int, typer.Option(min=0, help="Growth of the mask, in pixels of the network's own size.")] = 0,
) -> None:
    """Write a trained player network as ONNX, with what must be known to run it."""
    from plucc.training.player_export import MaskRule, export_players
    from plucc.training.players import load_average

    rule = MaskRule(cut, margin_px)
    difference = export_players(load_average(checkpoint), model, version=name, data=data, mask=rule)
    out.print(f"{model} written; it differs from the checkpoint by at most {difference:.1g} in a logit")


@app.command()
def score(
    dataset: Annotated[Path, typer.Argument(help="A dataset whose records have players.")],
    match: Annotated[list[str] | None, typer.Option(help="Only these matches; all by default.")] = None,
    way: Annotated[WayOption, typer.Option(help="How to find players.")] = WayOption.SHIPPED,
    weights: Annotated[str | None, typer.Option(help="Weights for that way.")] = None,
    detector: Annotated[str | None, typer.Option(help="Detector for SAM 2.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Score every n-th record only.")] = 1,
) -> None:
    """Compare the players that are found with the labelled ones."""
    from plucc.context.backends import FinderChoice, open_finder
    from plucc.context.judge import judge
    from plucc.data.manifest import read_dataset

    finder = open_finder(FinderChoice(way.value, weights, detector))
    content = read_dataset(dataset)
    records = [record for record in content.records if not match or record.match in match][::every]
    quality = judge(content, records, finder, progress=bar)
    out.print(f"{finder.version} on {len(records)} frames, {len(quality.coverages)} labelled players")
    out.print(f"  players covered to at least 40 % of their box  {quality.found:7.1%}")
    out.print(f"  mask outside every box enlarged by 20 %        {quality.outside:7.2%}")
    out.print(f"  puck pixels under the mask                     {quality.puck_share:7.2%}")
    if quality.ious:
        out.print(f"  IoU of the bodies with {len(quality.ious):4d} labelled masks      {quality.iou:7.3f}")


@app.command()
def compare(
    dataset: Annotated[Path, typer.Argument(help="A dataset with labelled pucks.")],
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="Where players come from: shipped, labels, boxes, none, sam2-onnx=FOLDER, sam2=NAME, or masks "
            "in a .jsonl file; may be repeated. By default whatever the dataset has, shipped, and none."
        ),
    ] = None,
    model: Annotated[str, typer.Option(help="The puck network: .onnx, .ckpt, shipped or swift-l.")] = "shipped",
    matches: Annotated[str, typer.Option(help="Score these matches only, with commas between.")] = "",
    every: Annotated[int, typer.Option(min=1, help="Score every n-th frame only.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the networks. Default: all cores.")] = None,
) -> None:
    """Say how well the puck is found with players from several sources, on the same frames."""
    from plucc.evaluate.player_sources import compare_players
    from plucc.evaluate.selection import Selection

    chosen = Selection(matches=tuple(name.strip() for name in matches.split(",") if name.strip()), every=every)
    report = compare_players(model, dataset, chosen, source or (), threads=threads, progress=bar)
    out.print(report.summary(), markup=False)
