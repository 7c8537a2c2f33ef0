"""Convert sessions and resume them in other real agents, offline: what reaches the model.

Each sound session of an agent goes on in each of the others, and from there comes back: every
text, call and result that the agent itself sends must be sent then.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ("claude-code", "codex", "pi")
Report = dict[str, Any]


def convert(path: Path, to: str, folder: Path) -> Path:
    """The session as one of another agent, in a new folder."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "sesstool", "export", "--isolated", "--to", to, path, "-o", folder],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
    )
    if done.returncode:
        sys.exit(f"{path} was not converted: {done.stderr[-300:]}")
    (made,) = folder.glob("*.jsonl")
    return made


def converted(
    client: str,
    cases: Iterable[tuple[str, Path]],
    resumed: Callable[[str, Path], Report],
    prepared: Callable[[str, Path, Path], Path],
    work: Path,
) -> int:
    """Print the table of sessions of a client in the other agents; returns how many are bad."""
    bad = count = 0
    print(f"{'session':32} {'itself':10} {'in':12} {'there':10} {'back':10} messages/calls")
    for name, path in cases:
        before = resumed(client, path)
        if not before["resumed"]:
            continue  # a fork by reference, whose parent is not beside it
        for other in AGENTS:
            count += 1
            there = prepared(other, convert(path, other, work / f"a{count}"), work / f"b{count}")
            back = convert(there, client, work / f"c{count}")
            reports = [
                resumed(other, there),
                resumed(client, prepared(client, back, work / f"d{count}")),
            ]
            faults = [fault for report in reports for fault in missing(before, report)]
            bad += bool(faults)
            row = f"{name:32} {told(before):10} {other:12} {told(reports[0]):10}"
            print(f"{row} {told(reports[1]):10} {faults or ''}", flush=True)
    print(f"{count} conversions there and back, {bad} bad")
    return bad


def missing(before: Report, after: Report) -> list[str]:
    """What an agent sends of a session and another one does not."""
    from resume_oracle import within  # noqa: PLC0415 - the path to it is set by the caller

    # What an agent tells of the place where it runs is no history, nor is its echo of an error.
    own = ("<", "# AGENTS.md", "API Error")
    said = [text for text in before["texts"] if not text.lstrip().startswith(own)]
    lost = [f"text {text[:40]}" for text in within(said, after["texts"])[1]]
    results = {call[0]: call[2] for call in after["calls"]}
    for call, tool, result in before["calls"]:
        if call not in results:
            lost.append(f"call {tool} {call}")
        elif result is not None and (result or "").strip() not in (results[call] or ""):
            lost.append(f"result {tool} {call}")
    return lost + ["does not resume"] * (not after["resumed"])


def told(report: Report) -> str:
    """A report in a few characters: messages and calls that were sent."""
    sent = f"{len(report['texts'])}/{len(report['calls'])}"
    return sent if report["resumed"] else f"DEAD {sent}"
