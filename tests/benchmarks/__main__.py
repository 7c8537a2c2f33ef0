"""CPU time and memory of `sesstool`, beside a reference in the same run.

    python tests/benchmarks [--size MB ...] [--runs N] [--only TABLE ...] [--file PATH ...]

CPU time is user and system time of the whole process, start included. Runs of the two commands
alternate, and a ratio is the median of the ratios of the pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import homes
import sequences
import sessions
import storing

from sesstool.privacy.ruleset import shipped

HELP_GOAL = 0.060
VALIDATE_GOAL = 1.0
REPAIR_GOAL = 2.5
MEMORY_GOAL = 120
LINE_GOAL = 4.0
REDACT_GOAL = 25
DIFF_GOAL, DIFF_MEMORY = 4, 300
REDACT_MEMORY = 150
AGE_GOAL, AGE_MEMORY = 1.0, 60
PRUNE_GOAL, PRUNE_MEMORY = 10, 150
EXPORT_GOAL, EXPORT_MEMORY = 15, 120
PRUNE_SESSIONS = 10_000
BROWSE_SIZE = 1000
BROWSE_GOALS = {"first": 0.5, "end": 0.05, "middle": 0.05, "page": 0.02, "busy": 0.05}
TIMELINE_GOAL = 4.0
LIST_GOAL, LIST_RATIO, LIST_MEMORY = 1.0, 3, 60
LIST_SESSIONS = 100_000
STORE_EVENTS, STORE_SECONDS = 100_000, 2
RESUME_GOAL, STORE_MEMORY = 1.0, 120
SEARCH_FILES, SEARCH_INDEXED, SEARCH_KINDS = 20_000, 2000, 40
SEARCH_GOAL, SEARCH_MEMORY = 3.0, 150
OVERVIEW_SESSIONS, OVERVIEW_MEMORY = 20_000, 150
OVERVIEW_GOALS = {"cold": 5.0, "warm": 0.5}
INDEX_GOAL, QUERY_GOAL = 20, 50
ALIGN_GOAL = 1.0
ALIGN_SIZE = 100_000
ALIGN_MEMORY = 100
_LOADS = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
_TIMELINE = """
import sys
from sesstool.model.session import open_session
from sesstool.records.opening import open_source
from sesstool.replay.timeline import build
with open_source(sys.argv[1]) as source: build(open_session(source))
"""
_EACH = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    for line in path.open("rb"): json.loads(line)
"""
# What an overview cannot do without: a look at each file, and at both its ends.
_ENDS = """
import os, sys
for above, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(above, name), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            os.pread(file.fileno(), 4096, 0), os.pread(file.fileno(), 4096, max(size - 4096, 0))
"""
_POLICY = 'version = 1\n[[rule]]\nname = "old"\nexpire_after = "30d"\n'
_SESSTOOL = (sys.executable, "-m", "sesstool")
_VALIDATE = (*_SESSTOOL, "validate", "--isolated")
_SEARCH = (*_SESSTOOL, "search", "--isolated")
_RARE = "quagga zebroid"
_LINE = 100

Command = tuple[str, ...]


class Cost(NamedTuple):
    """CPU seconds, the greatest resident size in MB, and seconds on the clock."""

    cpu: float
    memory: float
    wall: float


def measure(command: Command, allowed: tuple[int, ...] = (0,)) -> Cost:
    """The cost of a command, which must end with one of the exit codes allowed."""
    started = time.perf_counter()
    # Its peak cannot be below the size of this process, which therefore holds no session.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) not in allowed:
        sys.exit(f"failed: {' '.join(command)}")
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, KiB on Linux
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, wall)


def beside(
    runs: int, ours: Callable[[], Cost], theirs: Callable[[], Cost]
) -> tuple[Cost, Cost, float]:
    """The median costs of two commands that take turns, and the median ratio of CPU time."""
    pairs = [(ours(), theirs()) for _ in range(runs)]
    first, second = (
        Cost(*(median(values) for values in zip(*side, strict=True)))
        for side in zip(*pairs, strict=True)
    )
    return first, second, median(a.cpu / b.cpu for a, b in pairs)


def reference() -> tuple[str, Command]:
    """What validate is compared with: jq where it is installed, else Python's own decoder."""
    jq = shutil.which("jq")
    if jq is None:
        return "json.loads", (sys.executable, "-c", _LOADS)
    version = subprocess.run((jq, "--version"), check=True, capture_output=True, text=True)
    return f"{version.stdout.strip()} empty", (jq, "empty")


def missed(value: float, goal: float) -> str:
    """The goal, and a mark where it was not reached."""
    return f"goal {abs(goal):g}" + ("" if value <= goal else "  MISSED")


@contextmanager
def session(form: str, megabytes: int) -> Iterator[Path]:
    """A sound session of so many MB, which only its owner may read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{form}.jsonl"
        sessions.write(path, form, megabytes * 10**6)
        path.chmod(0o600)
        yield path


def start(options: argparse.Namespace) -> None:
    """What `--help` costs over a bare interpreter."""
    shown, bare, _ = beside(
        options.runs * 5,
        lambda: measure((*_SESSTOOL, "--help")),
        lambda: measure((sys.executable, "-c", "pass")),
    )
    over = (shown.cpu - bare.cpu) * 1e3
    print(f"sesstool --help: {over:.0f} ms CPU over bare Python; {missed(over, HELP_GOAL * 1e3)}")


def validate(options: argparse.Namespace) -> None:
    """What `validate` costs on sound sessions, and on the files named, beside the reference."""
    name, _ = reference()
    print(f"\nvalidate beside {name}: CPU seconds, {options.runs} pairs")
    print(f"{'session':24}{'MB':>6}{'sesstool':>10}{'reference':>11}{'ratio':>8}{'peak MB':>9}")
    for path in options.file:
        _validate(path, options.runs)
    for size in options.size:
        for form in sessions.FORMATS:
            with session(form, size) as path:
                _validate(path, options.runs)


def _validate(path: Path, runs: int) -> None:
    _, command = reference()
    ours, theirs, ratio = beside(
        runs,
        lambda: measure((*_VALIDATE, str(path)), (0, 1)),
        lambda: measure((*command, str(path))),
    )
    size = path.stat().st_size / 1e6
    print(
        f"{path.stem:24}{size:6.0f}{ours.cpu:10.2f}{theirs.cpu:11.2f}{ratio:8.2f}"
        f"{ours.memory:9.0f}  {missed(ratio, VALIDATE_GOAL)}; {missed(ours.memory, MEMORY_GOAL)} MB"
    )


def line(options: argparse.Namespace) -> None:
    """The memory that one long line takes."""
    with session("claude-code", 0) as path:
        sessions.write_line(path, _LINE * 10**6)
        peak = median(measure((*_VALIDATE, str(path))).memory for _ in range(options.runs))
        times = peak / (path.stat().st_size / 1e6)
    print(
        f"\none line of {_LINE} MB: {peak:.0f} MB, {times:.1f} its size; {missed(times, LINE_GOAL)}"
    )


def repair(options: argparse.Namespace) -> None:
    """What `repair --write` of one fault costs beside `validate` of the same file."""
    print(f"\nrepair --write of one fault beside validate: CPU seconds, {options.runs} pairs")
    print(f"{'session':24}{'MB':>6}{'repair':>10}{'validate':>11}{'ratio':>8}{'peak MB':>9}")
    for size in options.size:
        for form in sessions.FORMATS:
            with session(form, size) as path:
                sessions.drop_result(path)
                ours, theirs, ratio = beside(
                    options.runs,
                    partial(_repair, path),
                    partial(measure, (*_VALIDATE, str(path)), (1,)),
                )
            print(
                f"{form:24}{size:6}{ours.cpu:10.2f}{theirs.cpu:11.2f}{ratio:8.2f}"
                f"{ours.memory:9.0f}  {missed(ratio, REPAIR_GOAL)}"
            )


def _repair(path: Path) -> Cost:
    """The cost of a repair, done to a copy; its undo entry goes with the folder."""
    copy = path.with_name("copy.jsonl")
    shutil.copyfile(path, copy)
    copy.chmod(0o600)
    state = path.with_name("state")
    cost = measure(
        ("env", f"XDG_STATE_HOME={state}", *_SESSTOOL, "repair", "--isolated", "--write", str(copy))
    )
    shutil.rmtree(state)
    copy.unlink()
    return cost


def folder(options: argparse.Namespace) -> None:
    """What a second process saves on a folder of four sessions."""
    with session("claude-code", options.size[0] // 4) as path:
        for number in range(3):
            shutil.copyfile(path, path.with_name(f"{number}.jsonl"))
        command = (*_VALIDATE, "--jobs")
        two, one, ratio = beside(
            options.runs,
            lambda: measure((*command, "2", str(path.parent)), (0, 1)),
            lambda: measure((*command, "1", str(path.parent)), (0, 1)),
        )
    print(
        f"\na folder of 4 sessions, {options.size[0]} MB: one process {one.wall:.1f} s,"
        f" two {two.wall:.1f} s, with {ratio:.2f} of the CPU time"
    )


def redact(options: argparse.Namespace) -> None:
    """What it costs to look for secrets and personal data, beside a search and a peer.

    The search is for the literals that stand in tokens, by ripgrep or grep; the peer, betterleaks,
    looks for secrets alone. Sparse is a value in each fiftieth record, dense one in each.
    """
    with tempfile.TemporaryDirectory() as folder:
        literals = Path(folder) / "literals"
        literals.write_text(
            "\n".join({a for rule in shipped() for a in rule.anchors if len(a) > 3})
        )
        search = shutil.which("rg") or "grep"
        peer = shutil.which("betterleaks")
        others: dict[str, tuple[str, ...]] = {Path(search).name: (search, "-ciFf", str(literals))}
        if peer:
            others["betterleaks"] = (peer, "--no-color", "-j", "1", "--exit-code", "0")
        print(f"\nredact --check: CPU seconds, and times those of others; {options.runs} pairs")
        heads = "".join(f"{name:>12}" for name in others)
        print(f"{'session':24}{'MB':>6}{'seconds':>9}{'MB/s':>7}{heads}{'peak MB':>9}")
        for size in options.size:
            for form in sessions.FORMATS:
                with session(form, size) as path:
                    _redact(path.stem, path, others, options.runs)
            for name, every in (("sparse", 50), ("dense", 1)):
                with session("claude-code", size) as path:
                    sessions.plant(path, every)
                    _redact(name, path, others, options.runs)
        with session("claude-code", 0) as path:
            sessions.write_line(path, 10**7)
            _redact("one line", path, others, options.runs)


def _redact(name: str, path: Path, others: dict[str, Command], runs: int) -> None:
    size = path.stat().st_size / 1e6
    ratios = []
    for other in others.values():
        ours, _, ratio = beside(
            runs,
            partial(measure, (*_SESSTOOL, "redact", "--isolated", "--check", str(path)), (0, 1)),
            partial(measure, (*other, str(path)), (0, 1)),
        )
        ratios.append(f"{ratio:12.1f}")
    print(
        f"{name:24}{size:6.0f}{ours.cpu:9.2f}{size / ours.cpu:7.1f}{''.join(ratios)}"
        f"{ours.memory:9.0f}  {missed(-size / ours.cpu, -REDACT_GOAL)} MB/s;"
        f" {missed(ours.memory, REDACT_MEMORY)} MB"
    )


def diff(options: argparse.Namespace) -> None:
    """What it costs to align two sequences of hashes, and to find what moved."""
    print(
        f"\nalign {ALIGN_SIZE:,} values a side: CPU seconds of the call, median of {options.runs}"
    )
    print(f"{'sequences':24}{'align':>10}{'moved':>11}{'matched':>8}{'peak MB':>9}")
    for name in sequences.pairs(ALIGN_SIZE):
        command = (sys.executable, sequences.__file__, name, str(ALIGN_SIZE))
        outputs = [
            subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            for _ in range(options.runs)
        ]
        aligned, after, matched, peak = (
            median(map(float, column)) for column in zip(*outputs, strict=True)
        )
        print(
            f"{name:24}{aligned:10.2f}{after:11.2f}{matched:8.0f}{peak:9.0f}"
            f"  {missed(aligned, ALIGN_GOAL)}; {missed(peak, ALIGN_MEMORY)} MB"
        )
    print(f"\ndiff of {ALIGN_SIZE:,} records beside git diff --no-index: CPU seconds")
    print(f"{'sessions':24}{'sesstool':>10}{'git':>8}{'peak MB':>9}")
    for kind in sessions.FORKS:
        with tempfile.TemporaryDirectory() as folder:
            pair = [str(Path(folder) / name) for name in ("left.jsonl", "right.jsonl")]
            sessions.fork(Path(pair[0]), Path(pair[1]), kind, ALIGN_SIZE)
            ours, theirs, _ = beside(
                options.runs,
                partial(measure, (*_SESSTOOL, "diff", "--isolated", *pair), (0, 1)),
                partial(measure, ("git", "diff", "--no-index", *pair), (0, 1)),
            )
        print(
            f"{kind:24}{ours.cpu:10.2f}{theirs.cpu:8.2f}{ours.memory:9.0f}"
            f"  {missed(ours.cpu, DIFF_GOAL)}; {missed(ours.memory, DIFF_MEMORY)} MB"
        )


def encrypt(options: argparse.Namespace) -> None:
    """What it costs to encrypt and to decrypt, beside `age`, and to read anywhere in between.

    The command verifies what it wrote and has it on disk before it ends; the format alone is what
    `age` does. Seconds are those on the clock.
    """
    age = shutil.which("age")
    if age is None:
        print("\nencrypt: there is no age here to compare with")
        return
    print(f"\nencrypt beside age: seconds on the clock, {options.runs} pairs")
    print(f"{'what':24}{'MB':>6}{'sesstool':>10}{'age':>8}{'ratio':>8}{'peak MB':>9}")
    for size in options.size:
        with session("claude-code", size) as path:
            key, sealed = path.with_name("key"), path.with_name("sealed.age")
            made = (*_SESSTOOL, "keygen", "-o", str(key))
            whom = subprocess.run(made, check=True, capture_output=True, text=True).stdout.strip()
            theirs = (age, "-r", whom, "-o", str(sealed), str(path))
            back = (age, "-d", "-i", str(key), "-o", str(path.with_name("back")), str(sealed))
            output = ("-o", str(path.with_name("out")), "--force", "--isolated")
            command = (*_SESSTOOL, "encrypt", *output, "-r", whom, str(path))
            _beside_age("encrypt", size, command, theirs, options.runs)
            command = (*_SESSTOOL, "decrypt", *output, "-i", str(key), str(sealed))
            _beside_age("decrypt", size, command, back, options.runs)
            script = str(Path(__file__).with_name("sealing.py"))
            for what, other in (("seal", theirs), ("unseal", back)):
                command = (sys.executable, script, what, str(key), str(path), str(sealed))
                _beside_age(f"{what}, the format alone", size, command, other, options.runs)
            command = (sys.executable, script, "seek", str(key), str(path), str(sealed))
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            half, most = map(float, done.stdout.split())
            print(
                f"2 kB anywhere: {half:.3f} ms, 99 of 100 within {most:.3f}; {missed(most, 1)} ms"
            )


def _beside_age(name: str, size: int, ours: Command, theirs: Command, runs: int) -> None:
    pairs = [(measure(ours), measure(theirs)) for _ in range(runs)]
    one, other = (median(cost.wall for cost in side) for side in zip(*pairs, strict=True))
    ratio = median(a.wall / b.wall for a, b in pairs)
    memory = max(a.memory for a, _ in pairs)
    print(
        f"{name:24}{size:6}{one:10.2f}{other:8.2f}{ratio:8.2f}{memory:9.0f}"
        f"  {missed(ratio, AGE_GOAL)}; {missed(memory, AGE_MEMORY)} MB"
    )


def prune(options: argparse.Namespace) -> None:
    """A preview over many sessions, most of which are due, beside json.loads of all their lines."""
    print(f"\nprune, {PRUNE_SESSIONS:,} sessions; reference: json.loads of each line")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        homes.make(folder, PRUNE_SESSIONS)
        policy = folder / "policy.toml"
        policy.write_text(_POLICY)
        ours = (*_SESSTOOL, "prune", "--isolated", "--policy", str(policy), str(folder))
        environment = dict(os.environ)
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        cost, other, ratio = beside(
            options.runs,
            partial(measure, (*ours, "--as-of", "2027-01-01"), (1,)),
            partial(measure, (sys.executable, "-c", _EACH, str(folder))),
        )
        os.environ.clear()
        os.environ.update(environment)
    print(
        f"  {cost.cpu:.1f} s CPU ({ratio:.1f} times {other.cpu:.1f} s), {cost.memory:.0f} MB;"
        f" {missed(cost.cpu, PRUNE_GOAL)} s, {missed(cost.memory, PRUNE_MEMORY)} MB"
    )


def browse(options: argparse.Namespace) -> None:
    """What a session of 1 GB costs in the app, beside an app with nothing in it."""
    program = str(Path(__file__).with_name("browsing.py"))
    with session("claude-code", BROWSE_SIZE) as path:
        runs = [
            json.loads(subprocess.check_output([sys.executable, program, str(path)]))
            for _ in range(options.runs)
        ]
    found = {name: median(run[name] for run in runs) for name in runs[0]}
    print(f"\nbrowse, a session of {BROWSE_SIZE} MB: CPU seconds, median of {options.runs} runs")
    over = found["first"] / found["bare"]
    print(f"{'first screen of an empty app':32}{found['bare']:8.3f}")
    for name, goal in BROWSE_GOALS.items():
        times = f"  {over:.1f} times the empty app" if name == "first" else ""
        print(f"{name:32}{found[name]:8.3f}  {missed(found[name], goal)}{times}")
    print(f"{'read to its end':32}{found['read']:8.3f}")
    print(f"{'peak MB':32}{found['memory']:8.0f}  {missed(found['memory'], MEMORY_GOAL)}")


def replay(options: argparse.Namespace) -> None:
    """What the timeline of a replay costs beside json.loads of each line."""
    print(f"\ntimeline beside json.loads: CPU seconds, {options.runs} pairs")
    print(f"{'session':24}{'MB':>6}{'timeline':>10}{'loads':>8}{'ratio':>8}{'peak MB':>9}")
    for size in options.size:
        for form in sessions.FORMATS:
            with session(form, size) as path:
                ours, theirs, ratio = beside(
                    options.runs,
                    partial(measure, (sys.executable, "-c", _TIMELINE, str(path))),
                    partial(measure, (sys.executable, "-c", _LOADS, str(path))),
                )
            print(
                f"{form:24}{size:6}{ours.cpu:10.2f}{theirs.cpu:8.2f}{ratio:8.2f}{ours.memory:9.0f}"
                f"  {missed(ratio, TIMELINE_GOAL)}; {missed(ours.memory, MEMORY_GOAL)} MB"
            )


def listed(options: argparse.Namespace) -> None:
    """What it costs to list many sessions, beside a walk with a stat each, and to show a page."""
    program = str(Path(__file__).with_name("listing.py"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / ".claude" / "projects"
        homes.make_small(folder, LIST_SESSIONS)
        command = (sys.executable, program, str(folder))
        runs = [json.loads(subprocess.check_output(command)) for _ in range(options.runs)]
        app = (sys.executable, str(Path(__file__).with_name("browsing.py")), str(folder))
        shown = [json.loads(subprocess.check_output(app)) for _ in range(options.runs)]
    assert all(run["count"] == LIST_SESSIONS for run in runs)
    cost, memory, page = (median(run[what] for run in runs) for what in ("list", "memory", "page"))
    ratio = median(run["list"] / run["walk"] for run in runs)
    print(
        f"\nlist, {LIST_SESSIONS:,} sessions: {cost:.2f} s CPU, {ratio:.1f} times a walk with"
        f" stat, {memory:.0f} MB; a page {page * 1e3:.0f} ms; {missed(cost, LIST_GOAL)} s,"
        f" {missed(ratio, LIST_RATIO)} times, {missed(memory, LIST_MEMORY)} MB"
    )
    rows, whole, bare = (median(run[what] for run in shown) for what in ("rows", "all", "bare"))
    print(
        f"in the app: the first rows {rows:.2f} s CPU, {rows / bare:.0f} times an app with nothing"
        f" in it, all {whole:.2f} s; {missed(rows, LIST_GOAL)} s"
    )


def overview(options: argparse.Namespace) -> None:
    """What `list` and `status` cost in a home of many sessions, at first and with what was kept.

    Beside a program that does nothing but open each file and read 4 KB of both its ends.
    """
    with tempfile.TemporaryDirectory() as name:
        home, kept = Path(name) / "home", Path(name) / "cache"
        size = _home_of(home, OVERVIEW_SESSIONS)
        bare: Command = (sys.executable, "-c", _ENDS, str(home))
        environment = dict(os.environ)
        os.environ |= {"HOME": str(home), "XDG_CACHE_HOME": str(kept)}
        print(
            f"\n{OVERVIEW_SESSIONS:,} sessions, {size:.0f} MB, beside both ends read: CPU seconds"
        )
        print(f"{'what':16}{'sesstool':>10}{'bare':>8}{'ratio':>8}{'peak MB':>9}")
        for command in ("list", "status"):
            for what, goal in OVERVIEW_GOALS.items():
                ours = partial(_overview, command, kept, cold=what == "cold")
                cost, other, ratio = beside(options.runs, ours, partial(measure, bare))
                print(
                    f"{command + ', ' + what:16}{cost.cpu:10.2f}{other.cpu:8.2f}{ratio:8.2f}"
                    f"{cost.memory:9.0f}  {missed(cost.cpu, goal)} s;"
                    f" {missed(cost.memory, OVERVIEW_MEMORY)} MB"
                )
        os.environ.clear()
        os.environ.update(environment)


def _overview(command: str, kept: Path, *, cold: bool) -> Cost:
    if cold:
        shutil.rmtree(kept, ignore_errors=True)
    return measure((*_SESSTOOL, command, "--isolated"))


def _home_of(home: Path, count: int) -> float:
    """Make a home with many sessions of two agents, some hundred kB each; returns MB."""
    total = 0
    kinds: list[Path] = []
    for number in range(SEARCH_KINDS):
        kinds.append(home.parent / f"{number}.jsonl")
        form = ("claude-code", "codex")[number % 2]
        sessions.write(kinds[-1], form, 50_000 + 10_000 * number)
    for number in range(count):
        kind = kinds[number % SEARCH_KINDS]
        name = str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))
        file = home / ".claude" / "projects" / f"-srv-p{number % 40}" / f"{name}.jsonl"
        if number % 2:
            day = f"2026/01/{number % 28 + 1:02}"
            file = home / ".codex" / "sessions" / day / f"rollout-2026-01-01T06-00-00-{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        os.link(kind, file)
        total += kind.stat().st_size
    return total / 1e6


def search(options: argparse.Namespace) -> None:
    """What a search costs beside `rg -F` over the same files, and one that asks its index."""
    rg = shutil.which("rg")
    if rg is None:
        print("\nsearch: there is no rg here to compare with")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "sessions"
        size = _many(folder, SEARCH_FILES)
        print(f"\nsearch beside rg -F, {SEARCH_FILES:,} files of {size:.0f} MB: CPU seconds")
        print(f"{'what':24}{'sesstool':>10}{'rg':>8}{'ratio':>8}{'peak MB':>9}")
        for what, own, theirs in (("as it is", ("-s",), ()), ("in any case", (), ("-i",))):
            cost, other, ratio = beside(
                options.runs,
                partial(measure, (*_SEARCH, *own, _RARE, str(folder)), (1,)),
                partial(measure, (rg, "-F", "--no-ignore", *theirs, _RARE, str(folder)), (1,)),
            )
            print(
                f"{what:24}{cost.cpu:10.2f}{other.cpu:8.2f}{ratio:8.2f}{cost.memory:9.0f}"
                f"  {missed(ratio, SEARCH_GOAL)}; {missed(cost.memory, SEARCH_MEMORY)} MB"
            )
        folder = Path(name) / "indexed"
        size = _many(folder, SEARCH_INDEXED)
        environment = dict(os.environ)
        os.environ["XDG_CACHE_HOME"] = name
        first, again = (measure((*_SEARCH, "--index", _RARE, str(folder)), (1,)) for _ in range(2))
        program = str(Path(__file__).with_name("searching.py"))
        asked = json.loads(subprocess.check_output([sys.executable, program, f"{_RARE} *"]))
        os.environ.clear()
        os.environ.update(environment)
        kept = (Path(name) / "sesstool" / "search.db").stat().st_size / 1e6
    rate = size / (first.cpu - again.cpu)
    print(
        f"index of {SEARCH_INDEXED:,} files: {rate:.0f} MB/s, {kept / size:.2f} of their size,"
        f" {first.memory:.0f} MB;"
        f" {missed(-rate, -INDEX_GOAL)} MB/s, {missed(first.memory, SEARCH_MEMORY)} MB"
    )
    print(
        f"asked: {asked['query']:.1f} ms in process, {again.cpu:.2f} s CPU with all that changed"
        f" looked for; {missed(asked['query'], QUERY_GOAL)} ms"
    )


def _many(folder: Path, files: int) -> float:
    """Make many sessions of some sizes, each with many names; returns how many MB they are."""
    folder.mkdir()
    total = 0
    for number in range(SEARCH_KINDS):
        first = folder / f"{number:03}.jsonl"
        form = sessions.FORMATS[number % len(sessions.FORMATS)]
        sessions.write(first, form, 50_000 + 10_000 * number)
        for copy in range(1, files // SEARCH_KINDS):
            os.link(first, folder / f"{number:03}-{copy}.jsonl")
        total += first.stat().st_size * (files // SEARCH_KINDS)
    return total / 1e6


def export(options: argparse.Namespace) -> None:
    """What it costs to show a session and to export it, beside json.loads of each of its lines."""
    print(f"\nexport beside json.loads of each line: CPU seconds, {options.runs} pairs")
    print(f"{'what':24}{'MB':>6}{'sesstool':>10}{'reference':>11}{'ratio':>8}{'peak MB':>9}")
    commands: dict[str, Command] = {"show": (*_SESSTOOL, "show", "--isolated")}
    for name in ("html", "md", "json"):
        commands[name] = (*_SESSTOOL, "export", "--isolated", "--to", name)
    for size in options.size:
        with session("claude-code", size) as path:
            for name, command in commands.items():
                ours, theirs, ratio = beside(
                    options.runs,
                    partial(measure, (*command, str(path))),
                    partial(measure, (sys.executable, "-c", _LOADS, str(path))),
                )
                print(
                    f"{name:24}{size:6}{ours.cpu:10.2f}{theirs.cpu:11.2f}{ratio:8.2f}"
                    f"{ours.memory:9.0f}  {missed(ratio, EXPORT_GOAL)};"
                    f" {missed(ours.memory, EXPORT_MEMORY)} MB"
                )


def store(options: argparse.Namespace) -> None:
    """What the store appends by each policy, beside SQLite (WAL) at the same durability; a resume.

    Both sync for each record (record); for each but the results of tools (turn); now and then
    (interval: SQLite when it moves its log into the database, after some 4 MB); not at all (never).
    Without syncs SQLite commits each record.
    """
    print(f"\nrecords appended a second, and those of SQLite; medians of {options.runs} pairs")
    print(f"{'policy':24}{'sesstool':>10}{'SQLite':>10}{'ratio':>8}")
    for policy in ("record", "turn", "interval", "never"):
        pairs = [(_rate("append", policy), _rate("sqlite", policy)) for _ in range(options.runs)]
        ours, theirs = (median(side) for side in zip(*pairs, strict=True))
        print(f"{policy:24}{ours:10.0f}{theirs:10.0f}{median(a / b for a, b in pairs):8.2f}")
    with tempfile.TemporaryDirectory() as folder:
        storing.write(Path(folder), events=STORE_EVENTS)
        size = storing.size(Path(folder)) / 1e6
        runs = [(_figure("resume", folder), _figure("loads", folder)) for _ in range(options.runs)]
        cpu, loads = (median(side) for side in zip(*runs, strict=True))
        print(
            f"resume of {STORE_EVENTS:,} events, {size:.0f} MB: {cpu:.2f} s CPU,"
            f" json.loads {loads:.2f}; {missed(cpu, RESUME_GOAL)} s"
        )
    for megabytes in options.size:
        with tempfile.TemporaryDirectory() as folder:
            for what, last in (("grow", (str(megabytes),)), ("resume", ())):
                script = str(Path(storing.__file__))
                peak = measure((sys.executable, script, what, folder, *last)).memory
                print(f"{what:24}{megabytes:10} MB: {peak:.0f} MB; {missed(peak, STORE_MEMORY)}")


def _rate(what: str, policy: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return _figure(what, policy, folder, str(STORE_SECONDS))


def _figure(*arguments: str) -> float:
    command = (sys.executable, str(Path(storing.__file__)), *arguments)
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


TABLES = {
    "start": start,
    "validate": validate,
    "line": line,
    "repair": repair,
    "folder": folder,
    "redact": redact,
    "diff": diff,
    "encrypt": encrypt,
    "prune": prune,
    "browse": browse,
    "replay": replay,
    "list": listed,
    "overview": overview,
    "export": export,
    "search": search,
    "store": store,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python tests/benchmarks", description=__doc__)
    parser.add_argument(
        "--size", type=int, nargs="+", default=[50], help="MB of each session: 200 1000"
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--file", type=Path, nargs="+", default=[], help="validate these as well")
    options = parser.parse_args()
    for name in options.only:
        TABLES[name](options)


if __name__ == "__main__":
    main()
