"""Edits on whole records and on the parts of one, which keep the tree of a session whole."""

from __future__ import annotations

from collections.abc import Iterator

from sesstool.formats.terms import Place
from sesstool.model.graph import Graph
from sesstool.model.session import Session
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps, locate, parts, without
from sesstool.records.linewise import take_out


def replace_value(session: Session, place: Place, pointer: str, text: bytes) -> list[Edit]:
    """Put `text` in place of the value at a pointer; nothing where there is none."""
    raw = session.raw(place)
    member = locate(raw, pointer)
    if member is None:
        return []
    return [Edit(place.start + member.start, place.start + member.end, text)]


def set_member(session: Session, place: Place, key: str, text: bytes) -> list[Edit]:
    """Set a top-level member of a record, adding it in front where it is missing."""
    found = replace_value(session, place, f"/{key}", text)
    if found:
        return found
    raw = session.raw(place)
    at = place.start + raw.index(b"{") + 1
    return [Edit(at, at, dumps(key) + b":" + text + b",")]


def add_member(session: Session, place: Place, text: bytes) -> list[Edit]:
    """Add the member that a pointer names to the object that should hold it."""
    holder, _, key = place.pointer.rpartition("/")
    raw = session.raw(place)
    member = locate(raw, holder)
    if member is None or raw[member.start : member.start + 1] != b"{":
        return []
    start, end = place.start + member.start, place.start + member.end
    made = dumps(key) + b":" + text
    if raw[member.start + 1 : member.end].lstrip()[:1] == b"}":
        return [Edit(start, end, b"{" + made + b"}")]  # no two can go into the same empty object
    return [Edit(start + 1, start + 1, made + b",")]


def drop_value(session: Session, place: Place, pointer: str) -> list[Edit]:
    """Take the member or item at a pointer out of its record, with one comma."""
    raw = session.raw(place)
    member = locate(raw, pointer)
    if member is None:
        return []
    start, end = without(raw, member)
    return [Edit(place.start + start, place.start + end)]


def siblings(session: Session, place: Place, pointer: str) -> int:
    """How many blocks stand in the list that a pointer points into; 1 where it is in none."""
    value: object = session.value(place)
    for part in parts(pointer)[:-1]:
        value = value[int(part)] if isinstance(value, list) else value[part]  # type: ignore[index]
    return len(value) if isinstance(value, list) else 1


def drop_record(session: Session, place: Place) -> list[Edit]:
    """Take a whole line out; records that hang from it hang from its parent instead."""
    edits = [take_out(session.source, place.start, place.end)]
    graph = session.graph
    if graph is not None:
        row = graph.row_at(place.start)
        if row < len(graph) and graph.place(row).start == place.start:
            edits += relink(session, graph, row)
    return edits


def relink(session: Session, graph: Graph, row: int) -> Iterator[Edit]:
    """Hang a row's children from its parent; a compaction that keeps it keeps the first of them."""
    if row in graph.joined:
        return  # its id is on another record still
    parent = dumps(session.value(graph.place(row)).get(session.format.parent_key))
    first = None
    for child in graph.children(row):
        first = id_of(session, graph, child) if first is None else first
        yield from set_parent(session, graph, child, parent)
    for keeper in graph.keepers(row, id_of(session, graph, row)):
        place = graph.place(keeper)
        yield from set_member(session, place, session.format.keep_key, dumps(first or ""))


def set_parent(session: Session, graph: Graph, row: int, parent: bytes) -> list[Edit]:
    """Hang a row from the record that a JSON text names: an id, or null."""
    return set_member(session, graph.place(row), session.format.parent_key, parent)


def drop_block(session: Session, place: Place) -> list[Edit]:
    """Take out the block that a place points to, or its record where it is the only one."""
    if not place.pointer or siblings(session, place, place.pointer) <= 1:
        return drop_record(session, place)
    return drop_value(session, place, place.pointer)


def id_of(session: Session, graph: Graph, row: int) -> str:
    """The id of a row's record."""
    name = session.value(graph.place(row)).get(session.format.id_key)
    return name if type(name) is str else ""
