"""`sesstool show`: one session as plain text, from its first record to its last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sesstool.cli.common import Common, common
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.streams import destination, noted, single
from sesstool.cli.validate import format_option
from sesstool.errors import UsageError
from sesstool.formats.base import mapping, text
from sesstool.formats.events import (
    Checkpoint,
    Meaning,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
)
from sesstool.model.session import Session, open_session
from sesstool.records.opening import open_source
from sesstool.records.recover import Record
from sesstool.records.source import Source
from sesstool.text import safe


@click.command("show")
@common("text")
@click.argument("path")
@click.option("--records", default="", metavar="FROM:TO", help="Only the records of these lines.")
@click.option(
    "--branch",
    type=click.Choice(["live", "all"]),
    default="all",
    show_default=True,
    help="What a resume reaches, or everything.",
)
@click.option("--raw", is_flag=True, help="Print the records' own bytes.")
@click.option("--thinking", is_flag=True, help="Also print thinking.")
@click.option("--header", is_flag=True, help="Of an encrypted file: what shows without a key.")
@key_options
@format_option
def command(
    shared: Common,
    path: str,
    records: str,
    branch: str,
    raw: bool,
    thinking: bool,
    header: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Print a session as plain text, in file order, for a terminal or a screen reader."""
    first, last = line_range(records)
    found = single(path)
    if header:
        return _header(shared, found)
    keys = keys_of(shared, identities, passphrase_fd)
    with open_source(found, keys) as source, destination(shared) as out:
        for record, lines in _shown(source, format_name or "", branch, thinking=thinking):
            if first <= record.line <= last:
                out.write(record.raw + b"\n" if raw else "".join(lines).encode())
    noted(shared.output, found)
    return 0


def _header(shared: Common, path: Path | str) -> int:
    """Print what an encrypted file tells to everybody."""
    from sesstool.api.sealing import facts_of  # noqa: PLC0415 - few runs ask for it

    if not isinstance(path, Path):
        raise UsageError("--header looks at a file", hint="give its path")
    facts = facts_of(path)
    kinds = zip(facts.kinds, facts.tags, strict=True)
    whom = [
        f"  recipient  {safe(kind[:40])}{f' (key {tag})' if tag else ''}" for kind, tag in kinds
    ]
    lines = [
        f"{safe(str(path))}: age v1{', armored' if facts.armored else ''}",
        *whom,
        f"  header     {facts.header} bytes",
        f"  session    {facts.size} bytes, by arithmetic: nothing here is authenticated",
        f"  overhead   {facts.overhead} bytes",
    ]
    with destination(shared) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())
    return 0


def line_range(value: str) -> tuple[int, int]:
    """The lines that a range names: "10:20", "10:", ":20" or "10"."""
    first, colon, last = value.partition(":")
    try:
        start = int(first) if first else 1
        return start, int(last) if last else start if first and not colon else 1 << 62
    except ValueError as error:
        raise UsageError(f"{value} is no range of lines", hint="write FROM:TO") from error


def _shown(
    source: Source, format_name: str, branch: str, *, thinking: bool
) -> Iterator[tuple[Record, list[str]]]:
    known = open_session(source, format_name)
    for _ in known.read():
        pass
    again = Session(source, known.format, known.reason)
    for record, meaning in again.read():
        if meaning is None:
            yield record, [f"[line {record.line}: {len(record.raw)} bytes are no record]\n\n"]
            continue
        live = _live(known, record, meaning)
        if branch == "live" and not live:
            continue
        lines = [line for event in meaning.events for line in _event(event, thinking=thinking)]
        if lines:
            mark = "" if live else " (not resumed)"
            scope = f" subagent {safe(meaning.scope)}" if meaning.scope else ""
            head = f"[{record.line}] {safe(meaning.time)}{scope}{mark}".rstrip()
            yield record, [head + "\n", *lines, "\n"]


def _live(session: Session, record: Record, meaning: Meaning) -> bool:
    graph = session.graph
    return graph is None or not meaning.linked or bool(graph.live[graph.row_at(record.start)])


def _event(event: object, *, thinking: bool) -> Iterator[str]:
    if isinstance(event, Message):
        words = _words(event.content, thinking=thinking)
        if words:
            yield f"{event.role}: {words}\n"
    elif isinstance(event, ToolCall):
        yield f"call {safe(event.name)} {safe(event.id)}: {_compact(event.arguments)}\n"
    elif isinstance(event, ToolResult):
        state = " (error)" if event.error else ""
        yield f"result {safe(event.id)}{state}: {_words(event.content, thinking=thinking)}\n"
    elif isinstance(event, Checkpoint) and not event.summary:
        yield "--- compaction: what stands above is no longer sent ---\n"
    elif isinstance(event, Thinking) and thinking:
        yield "(thinking)\n"


def _words(content: Any, *, thinking: bool) -> str:
    """The text of a message's content; each kind of block that is no text is named."""
    if type(content) is str:
        return _lines(content)
    parts = []
    for block in content if type(content) is list else ():
        block = mapping(block)  # noqa: PLW2901 - anything may stand here
        kind = text(block.get("type"))
        if kind.endswith("text"):
            parts.append(text(block.get("text")))
        elif kind == "thinking" and thinking:
            parts.append(text(block.get("thinking")))
        elif kind in ("image", "input_image", "image_url", "document"):
            parts.append(f"({kind})")
    return _lines("\n".join(parts))


def _lines(words: str) -> str:
    return "\n".join(safe(line) for line in words.split("\n"))


def _compact(value: Any) -> str:
    if type(value) is str:
        return safe(value)
    try:
        return safe(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "(nested too deep to be shown)"
