"""Bech32, the spelling of age keys: BIP 173, without its limit of length."""

from __future__ import annotations

_SIGNS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUES = {sign: value for value, sign in enumerate(_SIGNS)}
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM = 6


def encode(prefix: str, data: bytes) -> str:
    """The text of some bytes, in lower case; so is the prefix."""
    words = _regroup(data, 8, 5)
    if rest := len(data) * 8 % 5:
        words.append((data[-1] << 5 - rest) & 31)
    rest = _remainder(prefix, [*words, *[0] * _CHECKSUM]) ^ 1
    words += [rest >> 5 * (_CHECKSUM - 1 - place) & 31 for place in range(_CHECKSUM)]
    return f"{prefix}1{''.join(_SIGNS[word] for word in words)}"


def decode(text: str) -> tuple[str, bytes]:
    """The prefix, in the case that it has, and the bytes. Raises ValueError."""
    lower = text.lower()
    if text not in {lower, text.upper()}:
        raise ValueError("mixed case")
    prefix, _, signs = lower.rpartition("1")
    if not prefix.isascii() or not prefix.isprintable() or not prefix or len(signs) < _CHECKSUM:
        raise ValueError("no prefix or no checksum")
    try:
        words = [_VALUES[sign] for sign in signs]
    except KeyError:
        raise ValueError("a sign that bech32 does not have") from None
    data = bytes(_regroup(words[:-_CHECKSUM], 5, 8))
    if encode(prefix, data) != lower:
        raise ValueError("wrong checksum, or padding that is not zero")
    return text[: len(prefix)], data


def _regroup(values: bytes | list[int], width: int, to: int) -> list[int]:
    """The bits of the values in whole groups of another width."""
    out = []
    held = bits = 0
    for value in values:
        held = (held << width | value) & 0xFFF
        bits += width
        while bits >= to:
            bits -= to
            out.append(held >> bits & (1 << to) - 1)
    return out


def _remainder(prefix: str, words: list[int]) -> int:
    """What BIP 173 calls polymod."""
    rest = 1
    for word in [*(ord(c) >> 5 for c in prefix), 0, *(ord(c) & 31 for c in prefix), *words]:
        top = rest >> 25
        rest = (rest & 0x1FFFFFF) << 5 ^ word
        for place, generator in enumerate(_GENERATOR):
            if top >> place & 1:
                rest ^= generator
    return rest
