"""Checks on what an expression matched, named in the rules: `CHECKS` is their table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from sesstool.privacy import (
    name_checks,
    number_checks,
    personal_checks,
    secret_checks,
    seed_checks,
)
from sesstool.privacy.candidate import Candidate

Check = Callable[[Candidate, str], bool]


def holds(check: str, candidate: Candidate) -> bool:
    """Whether a check, as rules write it (`name` or `name:argument`), holds for a candidate."""
    name, _, argument = check.partition(":")
    return CHECKS[name](candidate, argument)


def _entropy(candidate: Candidate, least: str) -> bool:
    """At least so many bits a byte."""
    value = candidate.value
    counts = Counter(value).values()
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
    return bits >= float(least)


CHECKS: dict[str, Check] = {
    "account": secret_checks.account,
    "basic": secret_checks.basic,
    "cookie": secret_checks.cookie,
    "digits": secret_checks.digits,
    "drawn": secret_checks.drawn,
    "entropy": _entropy,
    "identifier": secret_checks.identifier,
    "key-body": secret_checks.key_body,
    "key-size": secret_checks.key_size,
    "key-word": secret_checks.key_word,
    "length": secret_checks.length,
    "listed": secret_checks.listed,
    "not-placeholder": secret_checks.not_placeholder,
    "random": secret_checks.random,
    "secret": secret_checks.secret,
    "seed-phrase": seed_checks.seed_phrase,
    "service": secret_checks.service,
    "tenant": secret_checks.tenant,
    "wordless": secret_checks.wordless,
    **number_checks.CHECKS,
    **name_checks.CHECKS,
    **personal_checks.CHECKS,
}
