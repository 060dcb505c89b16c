"""What the `plucc data` commands print: findings by kind, counts as tables."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from plucc.data.findings import Action, Finding
from plucc.data.importers.intake import ROUNDING_PX, Intake
from plucc.data.importers.store import NOTES_FILE, Tally
from plucc.data.splits import Split
from plucc.data.stats import QUANTILES, Counts, Stats

SHOWN = 12  # findings of one kind that are printed before the rest is only counted


def print_findings(console: Console, findings: Iterable[Finding], *, rest: str = "", shown: int = SHOWN) -> None:
    """Print findings under what became of them; past the first few of a kind, only how many more, and where."""
    found = list(findings)
    for action in Action:
        kind = [finding for finding in found if finding.action is action]
        if not kind:
            continue
        console.print(f"{action} ({len(kind)}):", markup=False)
        for finding in kind[:shown]:
            console.print(f"  {finding}", markup=False)
        if len(kind) > shown:
            console.print(f"  … and {len(kind) - shown} more{rest}", markup=False)


def print_import(console: Console, folder: Path, tally: Tally, intake: Intake, *, copied: bool) -> None:
    """Print what an import took, left alone, and decided."""
    wanted = intake.classes.puck | intake.classes.players
    unlabelled = tally.records - tally.pucks - tally.without_puck
    parts = [f"{tally.pucks} with a puck", f"{tally.without_puck} without", f"{unlabelled} not labelled for it"]
    console.print(f"{folder}: {tally.records} records ({', '.join(parts)}), {tally.players} players", markup=False)
    for title, is_wanted in (("classes taken", True), ("classes left alone", False)):
        counts = [
            f"{label} ({count})"
            for label, count in sorted(intake.seen.items(), key=lambda entry: str(entry[0]))
            if bool(wanted.intersection(label.keys)) is is_wanted
        ]
        if counts:
            console.print(f"{title}: {', '.join(counts)}", markup=False)
    if intake.rounded:
        reason = f"by less than {ROUNDING_PX:g} px, as rounding does: clamped"
        console.print(f"{intake.rounded} boxes ran past the frame's edge {reason}", markup=False)
    notes = folder / NOTES_FILE
    print_findings(console, intake.findings, rest=f" in {notes}")
    console.print("pictures were copied" if copied else "pictures stay where they are; the records point to them")


def stats_tables(stats: Stats, *, has_splits: bool) -> list[Table]:
    """Return the tables of a dataset's description."""
    tables = [_counts_table("match", {match: stats.matches[match] for match in sorted(stats.matches)}, stats.total)]
    if has_splits:
        by_split = {str(split or "in none"): stats.splits[split] for split in (*Split, None) if split in stats.splits}
        tables.append(_counts_table("split", by_split, stats.total))
    counted = (
        ("category", {str(key or "not told"): count for key, count in stats.categories.most_common()}),
        ("picture size", {f"{size.width}x{size.height}": count for size, count in stats.sizes.most_common()}),
        ("people", {str(label): count for label, count in stats.people.most_common()}),
        ("also labelled", {name: count for name, count in stats.extras.items() if count}),
    )
    tables += [_pairs_table(title, counts) for title, counts in counted if counts]
    quantiles = stats.box_quantiles_px
    if quantiles is not None:
        table = Table("puck box (720p)", *(_quantile_name(q) for q in QUANTILES))
        for name, row in zip(("width", "height"), quantiles, strict=True):
            table.add_row(name, *(f"{value:.1f}" for value in row))
        tables.append(table)
    return tables


def _counts_table(title: str, rows: dict[str, Counts], total: Counts) -> Table:
    table = Table(title, "frames", "puck", "no puck", "not labelled", "runs")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, counts in rows.items():
        table.add_row(name, *_numbers(counts))
    table.add_section()
    table.add_row("all", *_numbers(total))
    return table


def _numbers(counts: Counts) -> list[str]:
    return [
        f"{number:,}"
        for number in (counts.frames, counts.pucks, counts.without_puck, counts.unlabelled, len(counts.runs))
    ]


def _pairs_table(title: str, counts: dict[str, int]) -> Table:
    table = Table(title, "count")
    table.columns[1].justify = "right"
    for name, count in counts.items():
        table.add_row(name, f"{count:,}")
    return table


def _quantile_name(quantile: float) -> str:
    return {0.0: "least", 0.5: "median", 1.0: "most"}.get(quantile, f"{quantile:.0%}")
