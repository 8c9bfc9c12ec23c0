"""What pairs of runs came to (scripts/pairs.sh): a row for each figure, the ratio of new to old with its interval of 95 %.

    python3 scripts/pairs.py FOLDER     holds BENCHMARK-old-N and BENCHMARK-new-N
"""

import math
import re
import statistics
import sys
from pathlib import Path

# Of Student's distribution, two sides, by pairs less one; beyond, that of the normal distribution.
STUDENT = [math.nan, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13]
PLACED = re.compile(r"^(written|durable) +(\d+) +(\d+) +([\d.]+) +([\d.]+)$")
FRAMES = re.compile(r"^\| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \|$")


def figures(run: Path) -> dict[str, float]:
    """Of a report: what is compared, by name."""
    found = {}
    for line in run.read_text().splitlines():
        if row := PLACED.match(line):
            found[f"{row[1]}, {row[2]} connections, x bare"] = float(row[4])
            found[f"{row[1]}, {row[2]} connections, server us a request"] = float(row[5])
        elif row := FRAMES.match(line):
            found[f"{row[1]} subscribers, frames/s"] = float(row[2])
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    pairs: dict[str, list[tuple[float, float]]] = {}
    for old in folder.glob("*-old-*"):
        benchmark, _, number = old.name.split("-")
        before, after = figures(old), figures(folder / f"{benchmark}-new-{number}")
        for name, value in before.items():
            pairs.setdefault(f"{benchmark} {name}", []).append((value, after[name]))
    if not pairs:
        sys.exit(f"no pairs in {folder}")
    print(f"{'':<52} {'pairs':>5} {'old':>10} {'new':>10}  new / old")
    for name, of in sorted(pairs.items()):
        logs = [math.log(after / before) for before, after in of]
        middle = statistics.mean(logs)
        student = STUDENT[min(len(logs) - 1, len(STUDENT) - 1)]
        half = student * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
        before, after = (statistics.median(side) for side in zip(*of))
        interval = f"{math.exp(middle):.3f} [{math.exp(middle - half):.3f}, {math.exp(middle + half):.3f}]"
        print(f"{name:<52} {len(logs):>5} {before:>10.2f} {after:>10.2f}  {interval}")


if __name__ == "__main__":
    main()
