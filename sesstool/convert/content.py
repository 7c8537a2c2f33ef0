"""What blocks of content say, whichever provider's they are."""

from __future__ import annotations

import json
import re
from typing import Any

from sesstool.convert.losses import Losses
from sesstool.formats.arguments import argument_fault
from sesstool.formats.pictures import picture_fault
from sesstool.formats.turns import Image, Part, Text
from sesstool.formats.values import mapping, text
from sesstool.formats.wording import NO_IMAGE
from sesstool.model.exact import loads, rounded
from sesstool.model.units import encoded
from sesstool.records.heal import decode

_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)


def parts_of(content: Any, losses: Losses, pointer: str, own: frozenset[str]) -> list[Part]:
    """The words and images of a content; blocks at the pointers in `own` are told elsewhere."""
    if type(content) is str:
        return _words(content, losses)
    if content is None:
        return []
    if type(content) is dict and type(content.get("content")) in (str, list):
        content = content["content"]  # as old versions of Codex kept an output
        if type(content) is str:
            return _words(content, losses)
    found: list[Part] = []
    for n, block in enumerate(content if type(content) is list else [content]):
        if f"{pointer}/{n}" not in own:
            found += _block(block, losses)
    return found


def _words(words: str, losses: Losses) -> list[Part]:
    if words and not words.isspace():
        return [Text(words)]
    losses.add("blank", int(bool(words)))
    return []


def _block(block: Any, losses: Losses) -> list[Part]:
    if type(block) is str:
        return _words(block, losses)
    held = mapping(block)
    losses.add("cache-mark", int("cache_control" in held))
    if type(held.get("text")) is str:
        return _words(held["text"], losses)
    image = _image(held)
    if image is not None and (image.url or not picture_fault(image.data, image.media)):
        return [image]
    if image is not None:
        losses.add("image")
        return [Text(NO_IMAGE)]
    losses.add("block")
    return []


def _image(block: dict[str, Any]) -> Image | None:
    """The image that a block is, in the form of any provider."""
    kind, inline = text(block.get("type")), mapping(block.get("inlineData"))
    if kind == "file" or inline:
        told = _DATA.fullmatch(text(block.get("url")))
        media, data = (told[1], told[2]) if told else ("", "")
        media, data = text(inline.get("mimeType")) or media, text(inline.get("data")) or data
        return Image(media, data) if media.startswith("image/") else None
    if kind == "image":
        source = mapping(block.get("source")) or block
        data, media = text(source.get("data")), source.get("media_type", source.get("mimeType"))
        if data:
            return Image(text(media) or "image/png", data)
        return Image(url=text(source["url"])) if text(source.get("url")) else None
    if kind not in ("image_url", "input_image"):
        return None
    link = block.get("image_url")
    link = text(mapping(link).get("url")) or text(link)
    if found := _DATA.fullmatch(link):
        return Image(found[1], found[2])
    return Image(url=link) if link else None


def is_free(arguments: Any, fault: str) -> bool:
    """Whether a call is given a text of its own form, and not JSON that went wrong."""
    return type(arguments) is str and not fault and bool(argument_fault(arguments))


def as_object(arguments: Any) -> dict[str, Any] | None:
    """What a call is given, as an object; None where it is none."""
    if type(arguments) is str:
        try:
            arguments = loads(arguments) if rounded(encoded(arguments)) else decode(arguments)
            json.dumps(arguments, allow_nan=False)
        except (ValueError, RecursionError):
            return None
    return arguments if type(arguments) is dict else None
