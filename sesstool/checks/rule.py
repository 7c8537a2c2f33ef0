"""The table of rules. A rule is a function whose docstring is its page.

A page has a summary line and these sections, each a line `Name: …` with what follows indented:
Finds, Matters, Example, Repair, Seen. `sesstool rule CODE`, SARIF and the documentation are made
of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sesstool.errors import UsageError
from sesstool.findings import Severity

SECTIONS = {
    "Finds": "What it finds",
    "Matters": "Why it matters",
    "Example": "Example",
    "Repair": "Repair and its safety",
    "Seen": "Seen in",
}
FAMILIES = {
    "B": "bytes",
    "J": "JSON",
    "S": "schema",
    "T": "tool calls",
    "G": "graph",
    "C": "content",
    "M": "meta, time and access",
    "P": "privacy",
}
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}): *", re.MULTILINE)
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its code, its name, how much it matters, and its page by section."""

    code: str
    name: str
    severity: Severity
    summary: str
    sections: dict[str, str]

    @property
    def page(self) -> str:
        """The page as Markdown."""
        lines = [f"# {self.code} {self.name}", "", self.summary, ""]
        lines += [f"Severity: {self.severity}. Family: {FAMILIES[self.code[0]]}.", ""]
        for key, title in SECTIONS.items():
            lines += [f"## {title}", "", self.sections[key], ""]
        return "\n".join(lines)


RULES: dict[str, Rule] = {}


def rule(code: str, name: str, severity: Severity) -> Callable[[_Function], _Function]:
    """Enter a function in the table of rules, under its code and its name."""

    def enter(function: _Function) -> _Function:
        summary, sections = _page(inspect.getdoc(function) or "", code)
        if code in RULES or any(r.name == name for r in RULES.values()):
            raise ValueError(f"rule {code} {name} stands in the table already")
        RULES[code] = Rule(code, name, severity, summary, sections)
        function.code = code  # type: ignore[attr-defined]
        return function

    return enter


def _page(doc: str, code: str) -> tuple[str, dict[str, str]]:
    head, *rest = _SECTION.split(doc)
    sections = {
        key: inspect.cleandoc(body).strip() for key, body in zip(rest[::2], rest[1::2], strict=True)
    }
    missing = SECTIONS.keys() - sections.keys()
    if missing:
        raise ValueError(f"the page of rule {code} lacks {sorted(missing)}")
    return " ".join(head.split()), sections


def find(code_or_name: str) -> Rule:
    """The rule of this code or name. Raises UsageError."""
    wanted = code_or_name.strip()
    found = RULES.get(wanted.upper())
    if found is not None:
        return found
    for known in RULES.values():
        if known.name == wanted.lower():
            return known
    raise UsageError(f"there is no rule {wanted}", hint="sesstool rule lists them all")
