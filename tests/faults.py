"""Makes the n-th call that changes a file system fail, in a process of its own.

And the sessions and commands that this is done to.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sesstool.cli.main import run
from sesstool.records import live
from tests.conftest import answer, jsonl, prompt, use

_CHANGING = (
    *("open", "write", "ftruncate", "fsync", "replace", "rename", "link", "unlink", "rmdir"),
    *("mkdir", "chmod", "utime", "chown", "fdatasync", "pwrite"),
)
Fault = Callable[[str, Callable[..., Any], tuple[Any, ...]], None]


def kill(name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The process is killed before the call, and in the middle of a write."""
    if name == "write":
        call(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


def error(number: int) -> Fault:
    """The call fails and does nothing, if it is none that frees space."""

    def fail(name: str, _call: Callable[..., Any], _arguments: tuple[Any, ...]) -> None:
        if name not in {"unlink", "rmdir"}:
            raise OSError(number, os.strerror(number))

    return fail


def forked(action: Callable[[], int], before: Callable[[], Any]) -> tuple[int | None, str]:
    """What an action returns in a forked process, and prints; None where that was killed.

    `before` is called first, in that process.
    """
    return _end(*_start(action, before))


def together(action: Callable[[], int], times: int = 2) -> list[tuple[int | None, str]]:
    """The same of an action in several processes, which start it at the same moment."""
    wait, start = os.pipe()

    def ready() -> None:
        os.close(start)
        os.read(wait, 1)

    processes = [_start(action, ready) for _ in range(times)]
    os.close(start)
    os.close(wait)
    return [_end(*process) for process in processes]


def _end(pid: int, read: int) -> tuple[int | None, str]:
    with os.fdopen(read, encoding="utf-8") as pipe:
        said = pipe.read()
    status = os.waitpid(pid, 0)[1]
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status), said


def _start(action: Callable[[], int], before: Callable[[], Any]) -> tuple[int, int]:
    """The number of the process, and where what it prints can be read."""
    sys.stdout.flush()
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    code = 99
    try:
        sys.stdout = sys.stderr = os.fdopen(write, "w", encoding="utf-8")
        before()
        code = action()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the test must see it
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def at_call(step: int, fault: Fault) -> Callable[[], None]:
    """What makes the `step`th change fail, in a process that is thrown away."""
    count = 0

    def at(name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        nonlocal count
        count += 1
        if count == step:
            fault(name, call, arguments)

    return at_calls(at)


def kill_points(action: Callable[[], int], *folders: Path) -> list[int]:
    """The changes before which a kill leaves something in the folders that none before it left.

    Those in between change nothing that stays: a sync, or a write to a file without a name. A file
    is one of them by each write, for that is killed in its middle. The last number is one behind
    all changes. They are told by a run in a process of its own, which does all that it does.
    """
    count, points, left = 0, [], None

    def seen(name: str, _call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        nonlocal count, left
        count += 1
        if name == "write" and os.fstat(arguments[0]).st_nlink:
            points.append(count)
        elif left != (now := [each for folder in folders for each in _tree(folder)]):
            left = now
            points.append(count)

    def refuse(*_: object) -> None:
        raise OSError

    def run_and_tell() -> int:
        # Who has a lease on a file would wait for itself when its files are read here.
        live._lease, live._writers = refuse, lambda _: []  # type: ignore[assignment]
        code = action()
        sys.stdout.write(f"\npoints {json.dumps([*points, count + 1])}")
        return code

    code, said = forked(run_and_tell, at_calls(seen))
    assert code == 0, said
    return json.loads(said.rpartition("points ")[2])  # type: ignore[no-any-return]


def _tree(folder: Path) -> list[tuple[Any, ...]]:
    """All that is below a folder, with what a file holds, its mode and its time."""
    found = []
    for path in sorted(folder.rglob("*")):
        now = path.lstat()
        kept = () if path.is_dir() else (path.read_bytes(), now.st_mtime_ns)
        found.append((path, now.st_mode, *kept))
    return found


def at_calls(fault: Fault) -> Callable[[], None]:
    """What has `fault` called before each change, in a process that is thrown away."""

    def prepare() -> None:
        def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
            def seen(*arguments: Any, **options: Any) -> Any:
                if name != "open" or arguments[1] & os.O_CREAT:
                    fault(name, partial(call, **options), arguments)
                return call(*arguments, **options)

            return seen

        for name in _CHANGING:
            setattr(os, name, wrapped(name, getattr(os, name)))

    return prepare


MTIME = 1_700_000_000_123_456_789
SESSIONS = {
    "cut": jsonl(prompt(1, None), answer(2, 1)) + b'{"cut',
    "append": jsonl(prompt(1, None), answer(2, 1, use("a"))),
    "middle": jsonl(prompt(1, None), b"\0\0\0", answer(2, 1)) + b'{"cut',
}


def make(folder, name):
    """A damaged session, in a folder where nothing was killed yet."""
    path = folder / f"{name}.jsonl"
    path.write_bytes(SESSIONS[name])
    path.chmod(0o640)
    os.utime(path, ns=(MTIME, MTIME))
    return path


def look(path):
    """The bytes, mode and mtime of a file."""
    now = path.stat()
    return path.read_bytes(), stat.S_IMODE(now.st_mode), now.st_mtime_ns


def command(*arguments):
    return lambda: run(list(map(str, arguments)))
