"""Run the benchmarks named on the command line, or all."""

from __future__ import annotations

import sys

from tests.benchmarks import append, first_paint, journal, keys, layers, others, replay, streaming
from tests.benchmarks.table import print_table

BENCHMARKS = {
    "first_paint": first_paint.run,
    "keys": keys.run,
    "append": append.run,
    "streaming": streaming.run,
    "journal": journal.run,
    "layers": layers.run,
    "replay": replay.run,
    "others": others.run,
}


def main() -> None:
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in names:
        print_table(BENCHMARKS[name]())


if __name__ == "__main__":
    main()
