"""How long the command takes to say its help, beside the bare interpreter: python benchmarks/startup.py."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

RUNS = 15
PLUCC = str(Path(sys.executable).with_name("plucc"))
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import plucc": [sys.executable, "-c", "import plucc"],
    "plucc --version": [PLUCC, "--version"],
    "plucc --help": [PLUCC, "--help"],
    "plucc data --help": [PLUCC, "data", "--help"],
}


def seconds(command: list[str]) -> float:
    """Return the wall time of one run."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> None:
    """Run all commands in turn, so that a busy moment hits all alike, and print the medians."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    bare = statistics.median(times["python -c pass"])
    table = Table("command", "median", "best", "times the bare interpreter")
    for name, values in times.items():
        median = statistics.median(values)
        table.add_row(name, f"{median:.3f} s", f"{min(values):.3f} s", f"{median / bare:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
