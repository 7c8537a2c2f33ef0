"""The retention preview: what a policy does with each session, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import BindingType
from textual.widget import Widget
from textual.worker import get_current_worker

from sesstool import api
from sesstool.api import holding, retaining
from sesstool.api.previews import Without
from sesstool.api.retaining import Done, Plan, Row
from sesstool.errors import SesstoolError, WriteError
from sesstool.report import retention as report
from sesstool.report.amounts import size
from sesstool.retention import holds, units
from sesstool.retention.decide import days
from sesstool.retention.entries import Entry
from sesstool.retention.policy import Hold, chosen
from sesstool.retention.trash import PURGED
from sesstool.text import quoted, safe
from sesstool.tui import plans
from sesstool.tui.dialogs import Ask
from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Line, Prose, Span, Table, column
from sesstool.tui.scroller import Scroller
from sesstool.tui.writing import FOREVER, Proposal, Writing, Written

if TYPE_CHECKING:
    from sesstool.tui.app import Options

_SORTS = ("action", "age", "size", "session")
_LISTED = 12
_STYLES = {"delete": "bad", PURGED: "bad", "trash": "warn", "keep": "good", "skip": "dim"}


class Retaining(Writing):
    """What a retention policy would do with the sessions of some paths, or of all agents."""

    NAME = "prune"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("space", "leave", "leave out this time", "prune.leave", show=True),
        key("a", "filter", "filter by action", "prune.filter", show=True),
        key("s", "sort", "sort", "prune.sort", show=True),
        key("p", "as_of", "what-if date", "prune.as-of", show=True),
        key("H", "hold", "hold", "write.hold", show=True),
        *pair("[", "]", "change", "session that changes", "prune.change"),
        key("t", "trust", "take the clock's time as it is", "prune.trust"),
        key("ctrl+r", "again", "look at the sessions anew", "prune.again"),
    ]
    no_undo = "sesstool trash restore gives back what is in the trash; the rest is gone"

    def __init__(self, paths: Sequence[Path] = (), policy: str = "") -> None:
        """Preview a policy file, where none is named the user's own."""
        super().__init__(classes="table")
        self.paths = paths
        self.retention: Plan | None = None
        self.rows: list[Row | Entry] = []
        self._policy = policy
        self._now: datetime | None = None
        self._out: set[str] = set()
        self._filter, self._sort = "", _SORTS[0]
        self._holds: list[Hold] = []
        self._names: dict[str, str] = {}
        self._looking = self._trust = False
        self._fault: SesstoolError | None = None

    # Frame

    def panes(self) -> Iterable[Widget]:
        """The sessions above; below one of them, and the policy."""
        yield Scroller(id="pane-1").add_class("pane")
        yield Scroller(id="pane-2", pick=False).add_class("pane")
        policy = Scroller(id="pane-3", pick=False)
        policy.add_class("pane", "details")
        yield policy

    @property
    def table(self) -> Scroller:
        """The widget with the sessions."""
        return self.query_one("#pane-1", Scroller)

    def where(self) -> str:
        """See `Frame`."""
        name = self.retention.policy.name if self.retention is not None else self._policy
        return f"prune  policy {name}" if name else "prune"

    def place(self) -> str:
        """See `Frame`."""
        if self._looking:
            return "looking at the sessions"
        if self.retention is None:
            return ""
        return f"{'what if: ' * bool(self._now)}as of {self.retention.now:%Y-%m-%d %H:%M} UTC"

    def on_mount(self) -> None:
        """Look at the sessions."""
        for number, title in enumerate(("Plan", "Session", "Policy"), start=1):
            self.query_one(f"#pane-{number}").border_title = title
        self.table.focus()
        super().on_mount()
        self.plan()

    # Planning, in the background

    def plan(self) -> None:
        """See `Writing`."""
        if self.busy:
            return  # it comes when the write is done
        self._looking = True
        self.refresh_frame()
        self._plan(self._now, frozenset(self._out), trust=self._trust)

    @work(thread=True, exclusive=True, group="plan")
    def _plan(self, now: datetime | None, out: frozenset[str], *, trust: bool) -> None:
        worker, names = get_current_worker(), [str(path) for path in self.paths]
        try:
            policy = chosen(self._policy)
            saved, keys = Without(out) if out else None, self.browser.options.keys
            made = retaining.plan(names, policy, now, saved=saved, trust_clock=trust, keys=keys)
            held = [*policy.holds, *holds.read(api.state_folder())]
            short = report.short_names(map(plans.session_of, plans.every(made)))
        except SesstoolError as error:
            if not worker.is_cancelled:
                self.tell(self._failed, error)
            return
        if not worker.is_cancelled:
            self.tell(self._planned, made, held, short)

    def _planned(self, made: Plan, held: list[Hold], short: dict[str, str]) -> None:
        self.retention, self._holds, self._names = made, held, short
        self._looking, self._fault = False, None
        self._fill()

    def _failed(self, error: SesstoolError) -> None:
        self._looking = False
        self.retention, self._fault = None, error
        self._fill()

    # What is shown

    def _fill(self) -> None:
        at, before = self._row(), len(self.rows)
        plan = self.retention
        every = plans.every(plan) if plan is not None else []
        self.rows = [row for row in every if self._filter in ("", plans.action_of(row))]
        self.rows.sort(key=self._order)
        if self.rows:
            self.table.show(Table(len(self.rows), self._draw), keep=len(self.rows) == before)
        else:
            self.table.show(Prose(list(self._nothing())))
        same = [
            n for n, row in enumerate(self.rows) if at and plans.path_of(row) == plans.path_of(at)
        ]
        if same:
            self.table.go(same[0])
        title = report.summary(plan, None) if plan is not None else "Plan"
        shown = f" (only {self._filter})" if self._filter else ""
        self.table.border_title = f"{title}{shown}"
        self._tell()

    def _order(self, row: Row | Entry) -> tuple[object, ...]:
        if self._sort == "size":
            return -plans.size_of(row), plans.path_of(row)
        if self._sort == "session":
            return plans.session_of(row), plans.path_of(row)
        age = row.decision.age if isinstance(row, Row) else None
        if self._sort == "age":
            return age is None, -age.total_seconds() if age else 0.0, plans.path_of(row)
        return report.rank(row) if isinstance(row, Row) else (-1,)

    def _row(self) -> Row | Entry | None:
        at = self.table.cursor
        return self.rows[at] if at is not None and at < len(self.rows) else None

    def on_scroller_moved(self, event: Scroller.Moved) -> None:
        """Tell of the session under the cursor."""
        if event.scroller is self.table:
            self._tell()

    def _draw(self, number: int, cells: int) -> Line:
        row = self.rows[number]
        action = plans.action_of(row)
        age = row.decision.age if isinstance(row, Row) else None
        begun = row.group.created if isinstance(row, Row) else None
        words = report.why(row) if isinstance(row, Row) else report.gone_by(row)
        none = self.browser.signs("–")
        return [
            Span(column(action, 15), _STYLES.get(action, "warn")),
            Span(column(self._names[plans.session_of(row)], 14)),
            Span(" " + column(f"{begun:%Y-%m-%d}" if begun else none, 11), "dim"),
            Span(column(days(age) if age is not None else none, 5, right=True)),
            Span(column(size(plans.size_of(row)), 9, right=True)),
            Span(f"  {safe(words)}", "dim"),
        ]

    def _tell(self) -> None:
        plan, row = self.retention, self._row()
        about = plans.about(plan, row) if plan is not None and row is not None else ()
        rules = plans.rules(plan, self._holds) if plan is not None else ()
        self.query_one("#pane-2", Scroller).show(Prose(list(about)))
        self.query_one("#pane-3", Scroller).show(Prose(list(rules)))
        self.refresh_frame()

    def _nothing(self) -> Iterator[Span | str]:
        """Why there is no row."""
        if self._fault is not None:
            yield Span(self._fault.message, "warn")
            yield ""
            yield self._fault.hint
        elif self._looking:
            yield "looking at the sessions"
        else:
            yield "none has this action: a shows all" if self._filter else "no session is here"

    # Looking at it in other ways

    def action_filter(self) -> None:
        """Show the sessions of the next action alone, behind the last one all."""
        plan = self.retention
        if plan is None:
            return
        there = sorted(set(map(plans.action_of, plans.every(plan))))
        names = ["", *there]
        at = names.index(self._filter) if self._filter in names else 0
        self._filter = names[(at + 1) % len(names)]
        self._fill()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = _SORTS[(_SORTS.index(self._sort) + 1) % len(_SORTS)]
        self._fill()
        self.browser.say(f"sorted by {self._sort}")

    def action_as_of(self) -> None:
        """Ask for a date, and show what would be done then."""
        value = f"{self._now:%Y-%m-%d}" if self._now else ""
        question = "As of which day or time, in UTC, such as 2027-01-31 (nothing: now)?"
        self.app.push_screen(Ask(question, value=value), self._as_of)

    def _as_of(self, words: str | None) -> None:
        if words is None:
            return
        try:
            self._now = units.end(words.strip()) if words.strip() else None
        except SesstoolError as error:
            self.browser.say(f"that {error.message}: {error.hint}", bad=True)
            return
        self.plan()

    def action_trust(self) -> None:
        """Take the time of the clock as it is, or not."""
        self._trust = not self._trust
        self.browser.say(f"the clock is {'taken as it is' if self._trust else 'doubted'}")
        self.plan()

    def action_change(self, step: int) -> None:
        """Go to the next session that something is done with."""
        at = self.table.cursor
        able = [n for n, row in enumerate(self.rows) if not isinstance(row, Row) or row.changes]
        beyond = [n for n in able if at is not None and (n - at) * step > 0]
        if beyond:
            self.table.go(beyond[0] if step > 0 else beyond[-1])
        else:
            self.browser.say(f"no change {'below' if step > 0 else 'above'}")

    def action_again(self) -> None:
        """Look at the sessions anew."""
        self.plan()

    def action_leave(self) -> None:
        """Leave a session out of this run, or have it in again."""
        row = self._row()
        if row is None:
            return
        name = row.id if isinstance(row, Entry) else row.group.path
        if name not in self._out and isinstance(row, Row) and not row.changes:
            self.browser.say("nothing would be done with it")
            return
        self._out ^= {name}
        self.plan()

    # Writing

    def action_hold(self) -> None:
        """Ask for the name and the reason of a hold on the session, and then make it."""
        row = self._row()
        if row is None or not self.may_write():
            return
        path = plans.path_of(row)

        def named(name: str | None) -> None:
            if name:
                self.app.push_screen(Ask("Why must it be kept?"), lambda why: asked(name, why))

        def asked(name: str, why: str | None) -> None:
            if why:
                self.propose(_holding(name, path, why))

        self.app.push_screen(Ask("A name for the hold, such as a case number:"), named)

    def proposal(self) -> Proposal | str:
        """See `Writing`."""
        plan = self.retention
        if plan is None or self._looking:
            return "the sessions are still looked at" if self._looking else "there is no plan"
        if self._now is not None:
            return "this is what would be done then: p with nothing shows what is to be done now"
        if not plan:
            return "nothing to do: all sessions stay"
        if plan.limit:
            return f"nothing can be done from here: {plan.limit}; see --max-delete of the command"
        rows = sorted(plan.changes, key=report.rank)
        told: list[Span | Line | str] = [
            f"{row.decision.action}  {self._names[row.group.session]}  {report.why(row)}"
            for row in rows[:_LISTED]
        ]
        told += (f"{PURGED}  {entry.id}" for entry in plan.ended[: _LISTED - len(told)])
        if (more := len(rows) + len(plan.ended) - len(told)) > 0:
            told.append(f"and {more:,} more")
        told.append("")
        acts = Counter(row.decision.action for row in rows) + Counter({PURGED: len(plan.ended)})
        told += (f"{name}: {words}." for name in acts if (words := plans.comes(name, plan)))
        told += [plans.BEYOND, "Whether a policy meets the law, a person must judge."]
        return Proposal(f"Do it? {report.summary(plan, None)}", told, lambda: self._do(plan))

    def _do(self, plan: Plan) -> Written:
        """Do a plan, and tell of all that was skipped; who leaves meanwhile stops it."""
        done: list[Done] = []
        errors: list[SesstoolError] = []
        try:
            for one in retaining.apply(plan):
                done.append(one)
                errors += filter(None, (one.skipped, one.unfinished))
                if self.then is not None:
                    hint = "the same run goes on with it"
                    errors.append(WriteError("it was stopped; the rest is as it was", hint=hint))
                    break
        except SesstoolError as error:
            errors.append(error)
        told = "; ".join(filter(None, (report.summary(plan, done), report.afterwards(done))))
        return Written(told, errors=errors)

    def written(self, done: Written) -> str:
        """See `Writing`."""
        return FOREVER if done.told or self.mode == FOREVER else self.mode


def _holding(name: str, path: str, why: str) -> Proposal:
    def write() -> Written:
        holds.add(api.state_folder(), *holding.holds(name, [path], reason=why))
        return Written(f"to end it: sesstool hold release {quoted(name)} --reason TEXT")

    told = [path, f"reason: {why}", "", "It counts at once, and changes no session."]
    return Proposal(f"Hold the session under the name {safe(name)}?", told, write)


def screen(paths: Sequence[Path], options: Options) -> Retaining:
    """The screen of some sessions, of all where none is given."""
    return Retaining(paths, options.policy)
