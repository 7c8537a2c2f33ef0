"""What the store costs, beside SQLite and beside Python's own decoder, in a process of its own.

    python tests/benchmarks/storing.py append POLICY FOLDER SECONDS
    python tests/benchmarks/storing.py sqlite POLICY FOLDER SECONDS
    python tests/benchmarks/storing.py resume|loads FOLDER
    python tests/benchmarks/storing.py grow FOLDER MB

`append` and `sqlite` print records a second, `resume` and `loads` the CPU seconds of the reading;
`grow` appends so many MB, with a checkpoint behind every 500 events.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sesstool import SessionStore
from sesstool.api.storing import Durability
from sesstool.store.facts import Checkpoint, Fact, Phase, Said

SESSION = "be7c"
WORDS = "anchor beacon buoy cable chart compass current deck drift fog gale harbour heave keel " * 4


def messages() -> Iterator[tuple[dict[str, Any], bool]]:
    """Messages of some 400 bytes, four a turn, and whether each ends what a policy calls a turn."""
    number = 0
    while True:
        number += 1
        function = {"name": "look", "arguments": json.dumps({"path": WORDS[:200]})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        yield {"role": "user", "content": WORDS}, True
        yield {"role": "assistant", "content": None, "tool_calls": [call]}, True
        yield {"role": "tool", "tool_call_id": call["id"], "content": WORDS}, False
        yield {"role": "assistant", "content": WORDS}, True


def facts() -> Iterator[Fact]:
    """What a recorder writes of such turns: seven events each."""
    for message, _ in messages():
        yield Said(message)
        for call in message.get("tool_calls", ()):
            function = call["function"]
            for name in ("requested", "started"):
                yield Phase(call["id"], function["name"], name, function["arguments"])
            yield Phase(call["id"], function["name"], "completed", WORDS)


def write(folder: Path, events: int = 0, most: int = 0, every: int = 0) -> None:
    """A transcript of so many events, or bytes; with a checkpoint behind every so many of them."""
    with SessionStore(folder, "mycodeagent", durability="never").open(SESSION) as session:
        for number, fact in enumerate(facts(), 1):
            session.record(fact)
            if every and number % every == 0:
                count = session.history.count
                session.record(Checkpoint(WORDS, max(count - 20, 0), count))
            if number == events or (most and session.path.stat().st_size >= most):
                return


def size(folder: Path) -> int:
    """The bytes of the transcript in a folder."""
    return SessionStore(folder, "mycodeagent").path(SESSION).stat().st_size


def _append(policy: Durability, folder: Path) -> Callable[[dict[str, Any], bool], object]:
    session = SessionStore(folder, durability=policy).open(SESSION)
    return lambda message, _: session.append(message)


def _sqlite(policy: str, folder: Path) -> Callable[[dict[str, Any], bool], object]:
    """The same in a database: a commit where the store syncs; where it does not, one a record."""
    base = sqlite3.connect(folder / "base.db", isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    # NORMAL syncs at a checkpoint of the log only: the nearest that there is to an interval.
    level = {"record": "FULL", "turn": "FULL", "interval": "NORMAL", "never": "OFF"}[policy]
    base.execute(f"PRAGMA synchronous={level}")
    base.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, message TEXT)")
    base.execute("BEGIN")

    def add(message: dict[str, Any], ends: bool) -> None:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        base.execute("INSERT INTO messages (message) VALUES (?)", (line,))
        if ends or policy != "turn":
            base.execute("COMMIT")
            base.execute("BEGIN")

    return add


def _rate(add: Callable[[dict[str, Any], bool], object], seconds: float) -> float:
    source = messages()
    started = time.perf_counter()
    done = 0
    while time.perf_counter() < started + seconds:
        for _ in range(20):
            add(*next(source))
        done += 20
    return done / (time.perf_counter() - started)


def _loads(path: Path) -> None:
    with path.open("rb") as lines:
        for line in lines:
            json.loads(line)


def main(what: str, *rest: str) -> None:
    """See the module."""
    folder = Path(rest[-2] if what in ("append", "sqlite", "grow") else rest[-1])
    if what in ("append", "sqlite"):
        make = {"append": _append, "sqlite": _sqlite}[what]
        print(_rate(make(rest[0], folder), float(rest[-1])))  # type: ignore[operator]
    elif what == "grow":
        write(folder, most=int(rest[-1]) * 10**6, every=500)
    else:
        store = SessionStore(folder, "mycodeagent")
        started = time.process_time()
        if what == "resume":
            store.resume(SESSION)
        else:
            _loads(store.path(SESSION))
        print(time.process_time() - started)


if __name__ == "__main__":
    main(*sys.argv[1:])
