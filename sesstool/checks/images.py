"""Family C, the images: one that a provider refuses kills a session."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from sesstool.checks.context import Context, unsafe
from sesstool.checks.rule import rule
from sesstool.checks.surgery import replace_value
from sesstool.findings import Finding, Severity
from sesstool.formats.pictures import ELSEWHERE, picture_fault
from sesstool.formats.terms import Place
from sesstool.formats.values import mapping, text
from sesstool.formats.wording import removed_text
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps
from sesstool.records.recover import Record

_KINDS = frozenset({"image", "document", "input_image", "image_url"})


@rule("C603", "bad-image", Severity.ERROR)
def bad_image(context: Context, place: Place, block: dict[str, Any], fault: str) -> Finding:
    """An image or document would be refused.

    Finds: Data that is empty, cut, no base64, over 5 MB, or not of the kind that it says.
    Matters: The request is refused, in every turn to come: one image kills a session.
    Example: An HTML error page as `image/png`.
    Repair: Unsafe: a text takes its place, and that of its copies in the record, that tells size
        and hash; the bytes are kept in lost+found.
    Seen: 10 reports; Claude Code 2104, 20021, 34025.
    """
    data, _ = _data(block)
    digest = hashlib.sha256(data.encode()).hexdigest()
    words = removed_text("image", len(data), digest)
    kind = "input_text" if block.get("type") == "input_image" else "text"
    put = dumps({"type": kind, "text": words})
    value = context.session.value(place)
    edits: list[Edit] = []
    for pointer in _copies(value, block, ""):
        edits += replace_value(context.session, place, pointer, put)
    fix = unsafe("put a text with its size and hash in its place", edits)
    return context.finding("C603", place, f"an image would be refused: {fault}", fix=fix)


def image_findings(
    context: Context, record: Record, content: list[Any], pointer: str
) -> list[Finding]:
    """The findings about the images among the blocks at a pointer."""
    found = []
    for n, block in enumerate(content):
        if type(block) is not dict or text(block.get("type")) not in _KINDS:
            continue
        fault = picture_fault(*_data(block))
        if fault:
            place = Place(record.line, record.start, record.end, f"{pointer}/{n}")
            found.append(bad_image(context, place, block, fault))
    return found


def _data(block: dict[str, Any]) -> tuple[str, str]:
    """The base64 data and the declared type of an image block.

    The type is "elsewhere" where the data is a link, a file or a text, which is not looked at.
    """
    kind = block.get("type")
    if "mimeType" in block:
        return text(block.get("data")), text(block.get("mimeType"))
    if kind in ("image", "document"):
        source = mapping(block.get("source"))
        if "source" in block and not source:
            return "", ""
        if source.get("type") != "base64":
            return "", ELSEWHERE
        return text(source.get("data")), text(source.get("media_type"))
    url = block.get("image_url")
    url = text(mapping(url).get("url")) if type(url) is dict else text(url)
    if not url.startswith("data:"):
        return "", ELSEWHERE if url or "image_url" not in block else ""
    head, _, data = url[5:].partition(",")
    return data, head.partition(";")[0]


def _copies(value: Any, block: dict[str, Any], pointer: str) -> Iterator[str]:
    """Where a block stands in a record: the agent keeps results twice."""
    if value == block:
        yield pointer
    elif type(value) is dict:
        for key, inner in value.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from _copies(inner, block, f"{pointer}/{escaped}")
    elif type(value) is list:
        for n, inner in enumerate(value):
            yield from _copies(inner, block, f"{pointer}/{n}")
