"""The JSON Schemas that sesstool ships, and the judging of one record by a schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from sesstool.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.resources.abc import Traversable

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

    from sesstool.formats.base import Format

_SUFFIX = ".schema.json"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NAMED = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
_DATA = {"const", "default", "enum", "examples"}
_DIVERGING = {
    "$dynamicRef",
    "$recursiveRef",
    "multipleOf",
    "pattern",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
}
_TYPES = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_SENTENCES = {
    "additionalProperties": "has a property that the schema does not allow",
    "anyOf": "has none of the shapes that the schema allows",
    "const": "is not {}",
    "dependentRequired": "lacks a property that another one asks for",
    "exclusiveMaximum": "is not below {}",
    "exclusiveMinimum": "is not above {}",
    "maxItems": "has a length above {}",
    "maxLength": "has a length above {}",
    "maximum": "is above {}",
    "minItems": "has a length below {}",
    "minLength": "has a length below {}",
    "minimum": "is below {}",
    "multipleOf": "is no multiple of {}",
    "not": "is not allowed here",
    "oneOf": "has not exactly one of the shapes that the schema allows",
    "pattern": "does not match the pattern {}",
    "uniqueItems": "holds an element twice",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which a record breaks a schema.

    `pointer` is an RFC 6901 JSON pointer; it ends before a property that the schema does not
    name. `message` completes a sentence about that place ("lacks the property 'uuid'") and
    holds no text of the record. `keyword` is the one that the record breaks, or "".
    """

    pointer: str
    message: str
    keyword: str


class RecordValidator:
    """Judges one decoded record by one schema.

    jsonschema-rs picks out the records that are surely valid, jsonschema judges the rest. Where
    a schema uses what the two are known to read differently, jsonschema judges every record.
    """

    def __init__(self, schema: dict[str, Any], name: str = "the schema") -> None:
        """Compile a schema; `name` is for messages.

        Raises UsageError where it is no valid schema, or refers to one outside itself.
        """
        self._schema = schema
        self._filter: jsonschema_rs.Validator | None = _filter(schema, name)
        self._judge: Validator | None = None
        self._names = {
            key
            for word, value in keywords(schema)
            if word == "properties" and isinstance(value, dict)
            for key in value
        }
        if diverging(schema):
            self._filter = None
            self._judge = _judge(schema)
            _check(self._judge, schema, name)

    @classmethod
    def shipped(cls, name: str) -> RecordValidator:
        """Take a schema that sesstool ships. Raises UsageError for other names."""
        return cls(json.loads(schema_text(name)), f"the schema {name}")

    @classmethod
    def of_format(cls, form: Format) -> RecordValidator | None:
        """Take the schema of a format, None where it has none. Raises InputError."""
        schema = record_schema(form)
        try:
            return cls(schema, f"the schema of {form.name}") if schema is not None else None
        except UsageError as error:
            raise _unfit(form) from error

    @classmethod
    def from_file(cls, path: Path) -> RecordValidator:
        """Take a schema of the user's. Raises UsageError where it cannot be read or used."""
        name = f"the schema {path}"
        hint = "give a file with one JSON Schema; sesstool schema claude-code prints an example"
        try:
            schema = json.loads(path.read_bytes())
        except OSError as error:
            raise UsageError(f"cannot read {name}: {_reason(error)}", hint) from error
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise UsageError(f"{name} is no JSON at {place}", hint) from error
        except (UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{name} is no JSON in UTF-8", hint) from error
        if not isinstance(schema, dict):
            raise UsageError(f"{name} is no JSON object", hint)
        return cls(schema, name)

    def valid(self, value: Any) -> bool:
        """Whether a decoded record surely obeys the schema.

        Never raises. False means: ask `explain`, which has the last word.
        """
        if self._filter is not None:
            try:
                return self._filter.is_valid(value)
            except ValueError:
                pass  # a lone surrogate, which jsonschema-rs does not take
        return not self.explain(value)

    def explain(self, value: Any) -> list[Violation]:
        """List what a decoded record breaks in the schema; nothing where it obeys."""
        if self._judge is None:
            self._judge = _judge(self._schema)
        try:
            errors = list(self._judge.iter_errors(value))
        except RecursionError:
            return [Violation("", "is nested too deeply to be judged", "")]
        return list(dict.fromkeys(self._violation(error) for error in errors))

    def _violation(self, error: ValidationError) -> Violation:
        """Take the deepest of the errors that explain this one."""
        from jsonschema.exceptions import best_match  # noqa: PLC0415 - see _judge

        error = best_match([error]) or error
        path = list(error.absolute_path)
        named = list(takewhile(lambda step: isinstance(step, int) or step in self._names, path))
        holds = "holds something that " if len(named) < len(path) else ""
        return Violation(_pointer(named), holds + _sentence(error), str(error.validator or ""))


def names() -> list[str]:
    """List the schemas that sesstool ships: of records, of its own outputs, of policies."""
    return sorted(_shipped())


def schema_text(name: str) -> str:
    """Read a schema that sesstool ships. Raises UsageError for other names."""
    shipped = _shipped()
    if name not in shipped:
        raise UsageError(f"no schema is named {name}", hint=f"name one of {', '.join(names())}")
    return shipped[name].read_text(encoding="utf-8")


def record_schema(form: Format) -> dict[str, Any] | None:
    """The schema of a format's records, None where it has none.

    Raises InputError where that of a plug-in is no JSON object.
    """
    text = schema_text(form.schema) if form.schema else form.own_schema()
    try:
        schema = json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        raise _unfit(form) from error
    if schema is None or isinstance(schema, dict):
        return schema
    raise _unfit(form)


def keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    """Every keyword of a schema and of the schemas inside it, with its value."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            for word, value in one.items():
                yield word, value
                if word in _NAMED and isinstance(value, dict):
                    waiting += value.values()
                elif word not in _DATA:
                    waiting.append(value)


def diverging(schema: Any) -> set[str]:
    """List what a schema uses that jsonschema-rs and jsonschema are known to read differently."""
    return {
        word
        for word, value in keywords(schema)
        if word in _DIVERGING
        or (word == "$schema" and value != _DRAFT)
        or (word == "$ref" and not str(value).startswith("#"))
    }


def _shipped() -> dict[str, Traversable]:
    """Find the shipped schema files, by name."""
    folder: Traversable = resources.files("sesstool").joinpath("schemas")
    if not folder.is_dir():  # a checkout has them beside the package
        folder = Path(__file__).parents[2] / "schemas"
    return {
        file.name.removesuffix(_SUFFIX): file
        for group in (folder, *(inside for inside in folder.iterdir() if inside.is_dir()))
        for file in group.iterdir()
        if file.name.endswith(_SUFFIX)
    }


def _filter(schema: dict[str, Any], name: str) -> jsonschema_rs.Validator:
    """Build the fast engine. Raises UsageError where it does not take the schema."""
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=False, offline=True)
    except jsonschema_rs.ValidationError as error:
        if error.kind.name == "$ref":
            raise UsageError(
                f"{name} refers to a schema that it does not hold, and none is fetched",
                hint="put the other schema under $defs and refer to it as #/$defs/NAME",
            ) from error
        raise _broken(name, error.instance_path) from error
    except ValueError as error:
        raise _broken(name, []) from error


def _judge(schema: dict[str, Any]) -> Validator:
    """Build the slow engine."""
    import jsonschema_specifications as drafts  # type: ignore[import-untyped] # noqa: PLC0415 - untyped; 100 ms
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 100 ms; most files need none
    from jsonschema.validators import validator_for  # noqa: PLC0415 - the same

    # The registry is given because jsonschema's own fetches what a schema refers to.
    return validator_for(schema, default=Draft202012Validator)(schema, registry=drafts.REGISTRY)


def _check(judge: Validator, schema: dict[str, Any], name: str) -> None:
    """Raise UsageError where the slow engine does not take its schema."""
    from jsonschema import SchemaError  # noqa: PLC0415 - see _judge

    try:
        judge.check_schema(schema)
    except SchemaError as error:
        raise _broken(name, error.absolute_path) from error


def _unfit(form: Format) -> InputError:
    return InputError(
        f"the plug-in {form.release} has no valid JSON Schema for the records of {form.name}",
        hint="tell its authors; SESSTOOL_PLUGINS=off reads without it",
    )


def _broken(name: str, path: Iterable[str | int]) -> UsageError:
    return UsageError(
        f"{name} is no valid JSON Schema at {_pointer(path) or 'its root'}",
        hint="compare the value there with the specification of JSON Schema 2020-12",
    )


def _pointer(path: Iterable[str | int]) -> str:
    """Write a path as a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _sentence(error: ValidationError) -> str:
    """Say what is wrong in words of the schema; jsonschema's own messages quote the record."""
    keyword = str(error.validator)
    expected: Any = error.validator_value
    found: Any = error.instance
    if "propertyNames" in error.absolute_schema_path:
        return "has a property name that the schema does not allow"
    if keyword == "type":
        types = [expected] if isinstance(expected, str) else expected
        allowed = " or ".join(_TYPES[name] for name in types)
        return f"is {_TYPES[_type(found)]} where {allowed} is expected"
    if keyword == "required":
        missing = [_shown(name) for name in expected if name not in found]
        return f"lacks the propert{'y' if len(missing) == 1 else 'ies'} {', '.join(missing)}"
    if keyword == "enum":
        return f"is none of {', '.join(map(_shown, expected))}"
    template = _SENTENCES.get(keyword, "is not what the schema allows")
    return template.format(_shown(expected))


def _type(value: Any) -> str:
    """Name the JSON type of a value."""
    if isinstance(value, bool):  # before int, which a bool is as well
        return "boolean"
    kinds = {type(None): "null", int: "number", float: "number", str: "string", list: "array"}
    return kinds.get(type(value), "object")


def _shown(expected: Any) -> str:
    """Quote a value of the schema."""
    return f"'{expected}'" if isinstance(expected, str) else json.dumps(expected)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
