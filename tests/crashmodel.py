"""A file system that loses power: what a run did to it, and every tree that may be left.

`record` runs an action and looks at the tree around each call of `os`, so that what goes
through a buffer is seen, too; so are files that have no name yet. The model is as pessimistic as
POSIX allows. What was not synced may be there or not, each name and each file for itself: data
that was added may be cut at any length, or be zeros before or behind any length; mode and time
are apart from the data. A name is on disk when its folder was synced. Only a rename is atomic.
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from sesstool.records import live

_CALLS = (
    *("open", "write", "ftruncate", "fsync", "replace", "rename", "link", "unlink", "remove"),
    *("mkdir", "rmdir", "chmod", "chown", "utime", "setxattr", "pwrite", "fdatasync"),
)
# Empty files that are made anew where they are missing.
_LOCKS = {"locks", "audit.lock", "tombstones.lock"}
_WRITER_LOCK = ".jsonl.lock"
_SYNCS = {"fsync", "fdatasync"}
# Longer additions are cut at some lengths only.
_EVERY = 24


class File(NamedTuple):
    """A file in a tree. The mode and the time are those that matter, else 0."""

    data: bytes
    mode: int
    mtime: int


Tree = dict[str, "File | None"]
"""Relative paths; None stands for a folder."""


class Step(NamedTuple):
    """One thing that happened. `site` tells which functions of the product asked for a sync.

    `told` is how far the action said that it had come.
    """

    kind: str
    node: int
    value: object = None
    site: tuple[str, ...] = ()
    told: int = 0


@dataclass
class _Node:
    """A file or a folder: the last synced state first, then what came since."""

    folder: bool
    data: list[bytes] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    changes: list[dict[str, int | None]] = field(default_factory=list)


class _Look(NamedTuple):
    folder: bool
    data: bytes
    mode: int
    mtime: int
    names: dict[str, int]


@dataclass
class Recording:
    """The tree before an action, and the steps of the action; `told` is what it said at its end."""

    root: Path
    before: dict[int, _Look]
    steps: list[Step]
    told: int = 1

    def sites(self) -> set[tuple[str, ...]]:
        """Where the product syncs."""
        return {step.site for step in self.steps if step.kind in _SYNCS}

    def without(self, site: tuple[str, ...]) -> Recording:
        """The same, had the product not synced there."""
        steps = [step for step in self.steps if step.site != site]
        return Recording(self.root, self.before, steps, self.told)

    def needed(
        self, sites: Iterable[tuple[str, ...]], problem: Callable[[Tree, int], object]
    ) -> set[tuple[str, ...]]:
        """Those without whose syncs a tree may be left that has a `problem`.

        Most trees are left without any of them: each that is good is looked at once.
        """
        good, needed = set(), set()
        for site in sorted(sites):
            for tree, told in self.without(site).trees():
                key = frozenset(tree.items()), told
                if key not in good and problem(tree, told):
                    needed.add(site)
                    break
                good.add(key)
        return needed

    def trees(self) -> Iterator[tuple[Tree, int]]:
        """Each tree that a power cut may leave, once; and how far the action had told to be then.

        Where the action tells nothing that is 1 at its end, and else 0.
        """
        disk = _Disk(self.before)
        seen: set[frozenset[tuple[str, File | None]]] = set()
        last = 0
        for step in [*self.steps, Step("end", 0, told=self.told)]:
            # What was told before this step was made, was told of the trees behind the last one.
            if step.told != last:
                last = step.told
                seen.clear()
                yield from _new(disk, seen, last)
            if step.kind != "end":
                disk.take(step)
                yield from _new(disk, seen, last)


def record(
    root: Path,
    action: Callable[[], object],
    exact: Iterable[Path],
    named: Iterable[str] = (),
    told: Callable[[], int] | None = None,
) -> Recording:
    """Run an action, and record what it does below `root`.

    Of the folders in `exact`, and of all that are `named` so, the modes and times of files count as
    well. `told` is asked all the time how far the action is.
    """
    places = {os.path.realpath(folder) for folder in exact}
    recorder = _Recorder(root, places, set(named), told or (lambda: 0))
    before = dict(recorder.last)
    with recorder:
        action()
    return Recording(root, before, recorder.steps, told() if told else 1)


def _new(
    disk: _Disk, seen: set[frozenset[tuple[str, File | None]]], told: int
) -> Iterator[tuple[Tree, int]]:
    for tree in disk.trees():
        key = frozenset(tree.items())
        if key not in seen:
            seen.add(key)
            yield tree, told


def only_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have syncs only recorded, and nobody held off: the recorder reads the files meanwhile.

    Nor are all processes asked for writers, each time: who asks for a lease is not answered.
    """

    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(live, "_lease", refuse)
    monkeypatch.setattr(live, "_writers", lambda _: [])
    monkeypatch.setattr(os, "fsync", os.fstat)
    monkeypatch.setattr(os, "fdatasync", os.fstat)


def put(root: Path, tree: Tree) -> None:
    """Make the tree below `root` the given one."""
    for path in root.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name, file in sorted(tree.items()):
        path = root / name
        if file is None:
            path.mkdir(mode=0o700)
        else:
            path.write_bytes(file.data)
            path.chmod(file.mode or 0o600)
            if file.mtime:
                os.utime(path, ns=(file.mtime, file.mtime))


class _Recorder:
    """Wraps functions of `os`, and compares the tree before and after each call."""

    def __init__(
        self, root: Path, exact: set[str], named: set[str], told: Callable[[], int]
    ) -> None:
        self.root, self._told = root, told
        self.is_exact = lambda folder: folder in exact or Path(folder).name in named
        self.steps: list[Step] = []
        self._numbers: dict[int, int] = {}
        self._next = itertools.count(1)
        # Files that have no name yet: the descriptor and the folder, by inode.
        self._nameless: dict[int, tuple[int, str]] = {}
        self._real = {name: getattr(os, name) for name in _CALLS if hasattr(os, name)}
        self.last = self._look()

    def __enter__(self) -> None:
        for name, call in self._real.items():
            setattr(os, name, self._wrapped(name, call))

    def __exit__(self, *_: object) -> None:
        for name, call in self._real.items():
            setattr(os, name, call)
        self._observe()

    def _wrapped(self, name: str, call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*arguments: object, **options: object) -> object:
            self._observe()
            result = call(*arguments, **options)
            if name == "open" and arguments[1] & os.O_TMPFILE == os.O_TMPFILE:  # type: ignore[operator]
                folder = os.path.realpath(arguments[0])  # type: ignore[call-overload]
                if Path(folder).is_relative_to(self.root):
                    self._nameless[os.fstat(result).st_ino] = result, folder  # type: ignore[arg-type,assignment]
            self._observe()
            if name in _SYNCS:
                number = self._numbers.get(os.fstat(arguments[0]).st_ino)  # type: ignore[arg-type]
                if number is not None:
                    self._add(name, number, site=_site())
            return result

        return wrapped

    def _add(self, kind: str, node: int, value: object = None, site: tuple[str, ...] = ()) -> None:
        self.steps.append(Step(kind, node, value, site, self._told()))

    def _look(self) -> dict[int, _Look]:
        found: dict[int, _Look] = {}
        seen: set[int] = set()

        def number(inode: int) -> int:
            seen.add(inode)
            return self._numbers.setdefault(inode, next(self._next))

        def walk(folder: Path, inode: int) -> None:
            names = {}
            exact = self.is_exact(str(folder))
            for item in os.scandir(folder):
                if item.name in _LOCKS or item.name.endswith(_WRITER_LOCK):
                    continue
                now = item.stat(follow_symlinks=False)
                names[item.name] = number(now.st_ino)
                if item.is_dir(follow_symlinks=False):
                    walk(Path(item.path), now.st_ino)
                else:
                    data = Path(item.path).read_bytes()
                    mode = stat.S_IMODE(now.st_mode) if exact else 0
                    mtime = now.st_mtime_ns if exact else 0
                    found[number(now.st_ino)] = _Look(False, data, mode, mtime, {})
            found[number(inode)] = _Look(True, b"", 0, 0, names)

        walk(self.root, self.root.stat().st_ino)
        for inode, (descriptor, place) in list(self._nameless.items()):
            try:
                now = os.fstat(descriptor)
            except OSError:
                now = None
            if now is None or now.st_ino != inode or now.st_nlink:
                del self._nameless[inode]
                continue
            data = os.pread(descriptor, now.st_size, 0)
            exact = self.is_exact(place)
            mode, mtime = (stat.S_IMODE(now.st_mode), now.st_mtime_ns) if exact else (0, 0)
            found[number(inode)] = _Look(False, data, mode, mtime, {})
        # The number of a file that is gone may be given to a new one.
        self._numbers = {i: n for i, n in self._numbers.items() if i in seen}
        return found

    def _observe(self) -> None:
        now, then = self._look(), self.last
        self.last = now
        if now == then:
            return
        for number, look in now.items():
            if number not in then:
                self._add("new", number, look)
            elif not look.folder:
                for kind in ("data", "mode", "mtime"):
                    value = getattr(look, kind)
                    if value != getattr(then[number], kind):
                        self._add(kind, number, value)
        for number, look in now.items():
            old = then[number].names if number in then else {}
            names = {**dict.fromkeys(old), **look.names}
            change = {name: new for name, new in names.items() if old.get(name) != new}
            if change:
                self._add("names", number, change)


def _site() -> tuple[str, ...]:
    """The functions of the product that lead to this call, the innermost first."""
    names = []
    frame = sys._getframe(2)
    while frame and len(names) < 3:
        if Path(frame.f_code.co_filename).parent.name in {"records", "audit"}:
            names.append(frame.f_code.co_name)
        frame = frame.f_back
    return tuple(names)


class _Disk:
    """What is surely on disk, and what is on its way there."""

    def __init__(self, before: dict[int, _Look]) -> None:
        self.nodes = {}
        for number, look in before.items():
            self._add(number, look)
            self.nodes[number].names = dict(look.names)
        inside = {n for look in before.values() for n in look.names.values()}
        (self.root,) = set(before) - inside

    def _add(self, number: int, look: _Look) -> None:
        node = _Node(look.folder, [look.data], [look.mode], [look.mtime])
        self.nodes[number] = node

    def take(self, step: Step) -> None:
        if step.kind == "new":
            look = step.value
            assert isinstance(look, _Look)
            self._add(step.node, look._replace(data=b""))
            if look.data:
                self.nodes[step.node].data.append(look.data)
            return
        node = self.nodes[step.node]
        if step.kind == "fdatasync":
            del node.data[:-1]
        elif step.kind == "fsync":
            for values in (node.data, node.modes, node.times):
                del values[:-1]
            for change in node.changes:
                node.names = _changed(node.names, change)
            node.changes.clear()
        elif step.kind == "names":
            node.changes.append(step.value)  # type: ignore[arg-type]
        else:
            values = {"data": node.data, "mode": node.modes, "mtime": node.times}[step.kind]
            values.append(step.value)  # type: ignore[arg-type]

    def trees(self) -> Iterator[Tree]:
        return iter(self._below(self.root, ""))

    def _below(self, number: int, prefix: str) -> list[Tree]:
        node = self.nodes[number]
        found = []
        for names in _namings(node):
            parts = []
            for name, child in names.items():
                path = prefix + name
                inner = self.nodes[child]
                if inner.folder:
                    parts.append([{path: None, **t} for t in self._below(child, path + "/")])
                else:
                    parts.append([{path: file} for file in _files(inner)])
            found += [
                {path: file for part in chosen for path, file in part.items()}
                for chosen in itertools.product(*parts)
            ]
        return found


def _changed(names: dict[str, int], change: dict[str, int | None]) -> dict[str, int]:
    return {name: n for name, n in {**names, **change}.items() if n is not None}


def _namings(node: _Node) -> list[dict[str, int]]:
    """The names that a folder may have: those on disk, and any of the later changes."""
    found: list[dict[str, int]] = []
    for chosen in itertools.product((False, True), repeat=len(node.changes)):
        names = node.names
        for change in itertools.compress(node.changes, chosen):
            names = _changed(names, change)
        if names not in found:
            found.append(names)
    return found


def _files(node: _Node) -> list[File]:
    data = set(node.data)
    for old, new in [*itertools.pairwise(node.data), (node.data[0], node.data[-1])]:
        if new.startswith(old):
            data.update(_torn(old, new[len(old) :]))
    return [File(*each) for each in itertools.product(data, set(node.modes), set(node.times))]


def _torn(old: bytes, added: bytes) -> Iterator[bytes]:
    size = len(added)
    lengths = range(size) if size <= _EVERY else (0, 1, 2, size // 2, size - 2, size - 1)
    for at in lengths:
        yield old + added[:at]
        yield old + added[:at] + bytes(size - at)
        yield old + bytes(at) + added[at:]
