"""Searching a session on the screen, and showing what fits a filter alone."""

from __future__ import annotations

from functools import partial

from textual.worker import get_current_worker

from sesstool.api.viewing import View
from sesstool.errors import UsageError
from sesstool.model import query
from sesstool.model.query import Query
from sesstool.records.places import nearest
from sesstool.tui.dialogs import Ask
from sesstool.tui.pace import paced
from sesstool.tui.reader import Reader, Sought


class Searching(Reader):
    """A reader in which things are looked for: a search and a filter, each in its own time."""

    def action_search(self) -> None:
        """Ask for words to look for."""
        self.app.push_screen(Ask("Search for:", value=self.shown.text), self._asked_search)

    def _asked_search(self, words: str | None) -> None:
        if words is None:
            return
        self.shown.text = words
        self.search = None
        self.workers.cancel_group(self, "search")
        if words:
            self.search = Sought(Query(words))
            self._sift("search", self.search)
        self.talk.redraw()
        self.refresh_frame()

    def action_filter(self) -> None:
        """Ask for what is to be shown."""
        question = (
            "Show only (role:user tool:bash is:finding since:2026-03-01 words; nothing: all):"
        )
        self.app.push_screen(Ask(question), self._asked_filter)

    def _asked_filter(self, words: str | None) -> None:
        if words is None:
            return
        try:
            wanted = query.parse(words)
        except UsageError as error:
            self.browser.fail(error)
            return
        self.show_all()
        if wanted:
            self.filter = Sought(wanted)
            self.shown.only = self.filter.found
            self._sift("filter", self.filter)
        self._show(keep=not wanted)

    def show_all(self) -> None:
        """End what is shown alone: a filter, or a branch."""
        self.workers.cancel_group(self, "filter")
        self.filter = self.shown.only = None
        self._leaf = -1

    def renewed(self) -> None:
        """Look for the same in the view that took the place of another."""
        if self.search is not None:
            self.search = self.search.again(self.view)
            self._sift("search", self.search)
        if self.filter is not None:
            self.filter = self.filter.again(self.view)
            self.shown.only = self.filter.found
            self._sift("filter", self.filter)

    def _sift(self, group: str, sought: Sought) -> None:
        """Gather the records that match, in file order, while the rest goes on."""
        work = partial(self._gather, self.view, sought)
        self.run_worker(work, thread=True, exclusive=True, group=group)

    def _gather(self, view: View, sought: Sought) -> None:
        worker = get_current_worker()
        size = max(view.source.size, 1)

        def tell(at: tuple[int, bool]) -> None:
            self.tell(self._gathered, sought, at[0] / size)

        wrong = self.told() if "finding" in sought.query.kinds else None
        sifted = view.sift(sought.query, sought.reached)
        for start, matching in paced(self.unless_closed(view, sifted), tell):
            sought.reached = start
            if matching and (wrong is None or start in wrong):
                sought.found.append(start)
        if not worker.is_cancelled:
            self.tell(self._gathered, sought, 1.0)

    def _gathered(self, sought: Sought, done: float) -> None:
        sought.done = done
        found = sought.found
        if sought is self.filter:
            self.talk.redraw()
            if done >= 1 and not found and not sought.told:
                self.browser.say("nothing matches the filter; f with nothing shows all")
        elif sought is self.search and not sought.told:
            cursor = self.talk.cursor
            if found and cursor is not None:
                self.go(nearest(found, cursor - 1, 1) or found[0])
            elif done >= 1 and not found:
                self.browser.say("no match")
        sought.told = sought.told or bool(found) or done >= 1
        self.refresh_frame()
