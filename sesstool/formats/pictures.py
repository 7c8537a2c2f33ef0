"""Whether a provider takes the picture that a block holds."""

from __future__ import annotations

import base64
import binascii
import string

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
    b"%PDF": "application/pdf",
}
_ALPHABET = (string.ascii_letters + string.digits + "+/").encode()
_PNG_END = b"IEND\xaeB\x60\x82"
_IMAGE_LIMIT = 5 << 20
ELSEWHERE = "elsewhere"
"""The type of what is a link, a file or a text, and is not looked at."""


def picture_fault(data: str, declared: str) -> str:
    """Why a provider would refuse a picture, "" if it would not.

    `data` is base64, of a `declared` type. Where that is ELSEWHERE there is no data to look at.
    """
    if declared == ELSEWHERE:
        return ""
    if not data:
        return "it is empty"
    if len(data) > _IMAGE_LIMIT:
        return f"it has {len(data)} bytes, over 5 MB"
    try:
        start = base64.b64decode(data[:64], validate=True)
        end = base64.b64decode(data[len(data) // 4 * 4 - 32 :], validate=True)
        if not _is_plain(data):
            binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError):
        return "it is no base64"
    kinds = [kind for magic, kind in _MAGIC.items() if start.startswith(magic)]
    if not kinds:
        return f"it says {declared}, its bytes are no image"
    if declared.replace("jpg", "jpeg") != kinds[0]:
        return f"it says {declared}, its bytes are {kinds[0]}"
    return "it is cut" if kinds[0] == "image/png" and _PNG_END not in end else ""


def _is_plain(data: str) -> bool:
    """Whether a text is surely base64; a fraction of the cost of decoding it."""
    body = data.rstrip("=")
    padded = len(data) % 4 == 0 and len(data) - len(body) <= 2
    return padded and body.isascii() and not body.encode().translate(None, _ALPHABET)
