"""What a session tells of the world beside it: the files that it touched, and its to-dos."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sesstool.formats.base import Format
from sesstool.formats.events import Meaning, ToolCall
from sesstool.formats.values import mapping, text
from sesstool.model.effects import decoded, effects, files_read, folder_of
from sesstool.model.paths import located
from sesstool.store.remarks import TASKS, is_ended, todos

MOST = 1000
"""How many files are kept, those that were touched last."""
_NAME = 64  # characters of a task's id that are kept
_LONGEST = 4096  # bytes of a path: no system opens a longer one


class Touched:
    """Follows the records of a session, in file order and constant memory.

    `cwd` is the folder that the session tells first, "" for none; `line` that of the record which
    told last what is to be done, 0 for none; `more` whether files were left out.
    """

    def __init__(self, form: Format, folder: str) -> None:
        """`folder` is where the session runs as long as it tells nothing else."""
        self.cwd = ""
        self.line = 0
        self.more = False
        self._form = form
        self._folder = folder
        self._files: dict[str, None] = {}
        self._open = 0
        self._tasks: dict[str, bool] = {}
        self._made = 0

    @property
    def files(self) -> list[str]:
        """The files, each once, in their order."""
        return sorted(self._files)

    @property
    def todos(self) -> int:
        """How many to-dos are open."""
        return self._open + max(self._made - sum(self._tasks.values()), 0)

    def see(self, meaning: Meaning, line: int) -> None:
        """Take in a record; `line` is 0 for one of a subagent, whose to-dos are its own."""
        self._folder = meaning.cwd or self._folder
        if line:
            self.cwd = self.cwd or meaning.cwd
        for event in meaning.events:
            if type(event) is ToolCall:
                self._call(event.name, decoded(event.arguments), line)

    def _call(self, name: str, given: Any, line: int) -> None:
        for path in self._paths(name, given):
            if len(path.encode(errors="replace")) <= _LONGEST:
                self._files.pop(path, None)  # it is the newest now
                self._files[path] = None
        while len(self._files) > MOST:
            del self._files[next(iter(self._files))]
            self.more = True
        if line:
            self._list(name, given, line)

    def _paths(self, name: str, given: Any) -> Iterator[str]:
        """Where the files of a call are."""
        form = self._form
        changed = effects(name, given, form.harmless, form.waits)
        spelled = [e.target for e in changed if e.kind == "file" and e.target]
        spelled += files_read(name, given)
        if spelled:
            folder = folder_of(given, self._folder)
            yield from (located(path, folder) for path in spelled)

    def _list(self, name: str, given: Any, line: int) -> None:
        """Count what is open, by the newest list, or by single tasks where these are newer."""
        listed = todos(name, given)
        tool = name.lower().replace("_", "")
        if listed is not None:
            self._open = sum(not is_ended(state) for state, _ in listed)
            self._made, self._tasks = 0, {}
        elif tool == TASKS[0]:
            self._made += 1
            self._open = 0
        elif tool == TASKS[1]:
            fields = mapping(given)
            told = fields.get("taskId")
            task = str(told)[:_NAME] if type(told) in (int, str) else ""
            if task in self._tasks or len(self._tasks) < MOST:
                self._tasks[task] = is_ended(text(fields.get("status")))
        else:
            return
        self.line = line
