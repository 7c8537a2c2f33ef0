"""`sesstool diff`: two sessions side by side, or two branches of one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from sesstool.api import diffing
from sesstool.cli.common import Common, common
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import destination
from sesstool.cli.streams import noted, single
from sesstool.encryption.keyring import Keys
from sesstool.errors import UsageError, WriteError
from sesstool.heap import lean_heap
from sesstool.report import diff_text
from sesstool.report.amounts import count
from sesstool.report.diff_lines import SIDE_BY_SIDE
from sesstool.report.difference import Rows
from sesstool.text import safe

# Around a difference so many equal units are shown.
_CONTEXT = 2
# Of what one side has alone in a row so many are shown, unless all is asked for.
_MOST = 100


class Facts(click.ParamType[frozenset[str]]):
    """Names of facts of envelopes with commas between them."""

    name = "facts"

    def convert(
        self,
        value: str | frozenset[str],
        param: click.Parameter | None,  # noqa: ARG002 - click's signature
        ctx: click.Context | None,  # noqa: ARG002 - click's signature
    ) -> frozenset[str]:
        """Split the text of an option. Refuses unknown names."""
        names = value.split(",") if isinstance(value, str) else value
        facts = frozenset(name.strip() for name in names if name.strip())
        unknown = sorted(facts.difference(diffing.FACTS))
        if unknown:
            known = ", ".join(diffing.FACTS)
            raise UsageError(f"--ignore does not know {unknown[0]}", hint=f"it knows {known}")
        return facts


class _Diff(click.Command):
    """Takes -@LEAF, a branch of standard input, for no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See `click.Command.parse_args`."""
        # No word of a command line has NUL in it.
        marked = ["\0" + word if word.startswith("-@") else word for word in args]
        rest = super().parse_args(ctx, marked)
        for name, value in ctx.params.items():
            if isinstance(value, str | Path):
                ctx.params[name] = type(value)(str(value).replace("\0", ""))
        return rest


@click.command("diff", cls=_Diff)
@common("text", "json")
@click.argument("left", metavar="A")
@click.argument("right", metavar="[B]", required=False)
@click.option(
    "--branches",
    is_flag=True,
    help="List the branches of A; compare the live one, or A@LEAF, and the newest other one.",
)
@click.option("--base", metavar="FILE", help="The session that both were forked from.")
@click.option("--side-by-side", "view", flag_value="side-by-side", help="Two columns.")
@click.option("--unified", "view", flag_value="unified", help="One column.")
@click.option("--stat", "view", flag_value="stat", help="Counts alone.")
@click.option("--effects", is_flag=True, help="Tell what each side may have changed in the world.")
@click.option("--html", type=click.Path(path_type=Path), help="Also write a page to this new file.")
@click.option(
    "--context",
    type=click.IntRange(min=0),
    default=_CONTEXT,
    show_default=True,
    help="How many equal units text and page show around a difference.",
)
@click.option(
    "--whole", is_flag=True, help="Show all of long texts and stretches; JSON always holds all."
)
@click.option(
    "--ignore",
    type=Facts(),
    default=",".join(diffing.FACTS),
    show_default=True,
    help="Facts of envelopes that are no difference.",
)
@click.option("--no-ignore", is_flag=True, help="Every fact of an envelope is a difference.")
@key_options
def command(
    shared: Common,
    left: str,
    right: str | None,
    branches: bool,
    base: str | None,
    view: str | None,
    effects: bool,
    html: Path | None,
    context: int,
    whole: bool,
    ignore: frozenset[str],
    no_ignore: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
) -> int:
    """Compare two forks of a session: what both share, and what each then said and did.

    A and B are sessions; PATH@LEAF names a branch of one by the line or the id of its last
    record, -@LEAF one of standard input. Exit 0 where they say the same, 1 where they do not.
    """
    if html is not None:
        _refuse(html, shared)
    lean_heap()
    keys = keys_of(shared, identities, passphrase_fd)
    sides = _branches(shared, left, right, keys) if branches else _two(left, right)
    if sides is None:
        return 0
    told = frozenset(diffing.FACTS).difference(frozenset() if no_ignore else ignore)
    ancestor = _named(base) if base else None
    with diffing.diff(*sides, ancestor, told=told, keys=keys) as found:
        with destination(shared) as out:
            if shared.output_format == "json":
                from sesstool.report import diff_json  # noqa: PLC0415 - few runs need it

                out.writelines(diff_json.document(found, effects=effects))
            else:
                for line in _text(shared, found, view, context, whole=whole, effects=effects):
                    out.write(f"{line}\n".encode("utf-8", "replace"))
        if html is not None:
            from sesstool.report import diff_html  # noqa: PLC0415 - few runs need it

            diff_html.save(html, found, context)
        for target in (shared.output, html):
            noted(target, *(side.path for side in sides))
        if shared.output_format == "text":
            _summary(shared, found)
        return int(found.differs)


def _refuse(page: Path, shared: Common) -> None:
    """Refuse a page that could not be written, before anything is."""
    if str(page) == "-" or page == shared.output:
        raise UsageError("--html takes a file of its own", hint="sesstool diff A B --html FILE")
    if os.path.lexists(page):
        raise WriteError(f"{page} exists already", hint="give another name, or remove it first")


def _two(left: str, right: str | None) -> tuple[diffing.Name, diffing.Name]:
    if right is None:
        raise UsageError("a second session is missing", hint="sesstool diff A B, or A --branches")
    if left == right == "-":
        raise UsageError("standard input can be one side only", hint="give a file for the other")
    return _named(left), _named(right)


def _named(given: str) -> diffing.Name:
    name = diffing.name_of(given)
    return diffing.Name(single(str(name.path)), name.leaf)


def _branches(
    shared: Common, left: str, right: str | None, keys: Keys
) -> tuple[diffing.Name, diffing.Name] | None:
    """List the leaves of a session; the live branch and the newest other one are compared.

    None where there is but one.
    """
    if right is not None:
        raise UsageError("--branches takes one session", hint="name branches as PATH@LEAF")
    name = _named(left)
    found = diffing.branches(name.path, keys)
    for leaf in found:
        live = "  live" if leaf.live else ""
        said = count(leaf.messages, "message")
        shared.note(f"leaf at line {leaf.line}  {safe(leaf.id)}  {said} of its own{live}")
    if len(found) < 2:
        shared.note(f"{safe(left)} has no other branch")
        return None
    named = [leaf for leaf in found if name.leaf in (str(leaf.line), leaf.id)] or found
    if name.leaf and named is found:
        raise UsageError(f"{left} is no leaf", hint="name one of the leaves above by line or id")
    first = named[0]
    other = next(leaf for leaf in found if leaf is not first)
    return diffing.Name(name.path, str(first.line)), diffing.Name(name.path, str(other.line))


def _text(
    shared: Common,
    found: diffing.Comparison,
    view: str | None,
    context: int,
    *,
    whole: bool,
    effects: bool,
) -> Iterator[str]:
    columns = shutil.get_terminal_size((80, 24)).columns
    color = shared.output is None and shared.colored(sys.stdout)
    style = diff_text.Style(columns, color=color, whole=whole)
    yield from diff_text.head(found)
    if view == "stat":
        yield from diff_text.stat(found)
    elif found.differs:
        yield ""
        wide = columns >= SIDE_BY_SIDE
        beside = view == "side-by-side" or (view is None and wide)
        show = diff_text.side_by_side if beside else diff_text.unified
        yield from show(Rows(found, context, 1 << 30 if whole else _MOST), style)
    if effects:
        yield from diff_text.world_lines(diffing.world(found))


def _summary(shared: Common, found: diffing.Comparison) -> None:
    counts = found.counts
    if not found.differs:
        shared.note(f"no difference: {count(counts['equal'], 'unit')} on both sides")
        return
    words: dict[diffing.Kind, str] = {
        "equal": "equal",
        "changed": "changed",
        "moved": "moved",
        "left": "on the left only",
        "right": "on the right only",
    }
    told = ", ".join(f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind])
    shared.note(f"different: {told}")
