"""CPU time and memory of `sesstool`, beside a reference in the same run.

    python tests/benchmarks [--size MB] [--runs N]

CPU time is user and system time of the whole process, start included, the least of N runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import sessions

HELP_GOAL = 0.060
_LOADS = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
_SESSTOOL = (sys.executable, "-m", "sesstool")


class Cost(NamedTuple):
    """CPU seconds, and the greatest resident size in MB."""

    cpu: float
    memory: float


def measure(command: tuple[str, ...], runs: int) -> Cost:
    """The least cost of a command, which must exit 0."""
    return min(_once(command) for _ in range(runs))


def _once(command: tuple[str, ...]) -> Cost:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"failed: {' '.join(command)}")
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, KiB on Linux
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def reference() -> tuple[str, tuple[str, ...]]:
    """What validate is compared with: jq where it is installed, else Python's own decoder."""
    jq = shutil.which("jq")
    if jq is None:
        return "json.loads", (sys.executable, "-c", _LOADS)
    version = subprocess.run((jq, "--version"), check=True, capture_output=True, text=True)
    return f"{version.stdout.strip()} empty", (jq, "empty")


def start(runs: int) -> None:
    """What `--help` costs over a bare interpreter."""
    bare = measure((sys.executable, "-c", "pass"), runs * 5).cpu
    shown = measure((*_SESSTOOL, "--help"), runs * 5).cpu
    over = shown - bare
    verdict = "" if over <= HELP_GOAL else "  MISSED"
    print(
        f"sesstool --help: {over * 1e3:.0f} ms CPU over bare Python ({bare * 1e3:.0f} ms);"
        f" goal {HELP_GOAL * 1e3:.0f} ms{verdict}\n"
    )


def validate(size: int, runs: int) -> None:
    """What `validate` costs on a sound session of `size` MB, beside the reference."""
    name, command = reference()
    print(f"validate, {size} MB, least CPU seconds of {runs} runs")
    print(f"{'format':14}{'sesstool':>10}{name:>16}{'ratio':>8}{'peak MB':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for form in sessions.FORMATS:
            path = Path(folder) / f"{form}.jsonl"
            sessions.write(path, form, size * 10**6)
            path.chmod(0o600)
            ours = measure((*_SESSTOOL, "validate", "--isolated", str(path)), runs)
            theirs = measure((*command, str(path)), runs)
            path.unlink()
            ratio = ours.cpu / theirs.cpu
            print(f"{form:14}{ours.cpu:10.2f}{theirs.cpu:16.2f}{ratio:8.2f}{ours.memory:10.0f}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python tests/benchmarks", description=__doc__)
    parser.add_argument("--size", type=int, default=50, help="MB of each session: 50, 200, 1000")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    start(options.runs)
    validate(options.size, options.runs)


if __name__ == "__main__":
    main()
