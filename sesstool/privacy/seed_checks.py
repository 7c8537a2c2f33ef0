"""The check that words are a seed phrase, of which a wallet is made."""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import pairwise

from sesstool.privacy.candidate import Candidate


def seed_phrase(candidate: Candidate, _: str) -> bool:
    """Twelve to twenty-four words of one of the word lists of BIP-39."""
    text = unicodedata.normalize("NFKD", candidate.value.decode("utf-8", "replace")).lower()
    words = text.replace(",", " ").split()
    # In the order of the alphabet they are a part of the list.
    listed = sum(a > b for a, b in pairwise(words)) < 3
    return not listed and any(known.issuperset(words) for known in _word_lists())


@cache
def _word_lists() -> tuple[frozenset[str], ...]:
    from mnemonic import Mnemonic  # noqa: PLC0415 - slow: only when a candidate needs its lists

    latin = ("english", "spanish", "portuguese", "french", "italian", "czech")
    return tuple(frozenset(Mnemonic(language).wordlist) for language in latin)
