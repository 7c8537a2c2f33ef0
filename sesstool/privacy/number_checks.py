"""Checks on numbers of people: national ids, cards, accounts. Each is named in the rules."""

from __future__ import annotations

import re
from importlib import import_module

from sesstool.privacy.candidate import Candidate

_NO_DIGIT = re.compile(rb"\D")


def digits_of(value: bytes) -> str:
    """The digits of a value alone."""
    return _NO_DIGIT.sub(b"", value).decode()


def stdnum(candidate: Candidate, module: str) -> bool:
    """A number with right check digits, as the named module of python-stdnum has it."""
    value = candidate.value.decode("utf-8", "replace")
    if candidate.before() == b"\\":
        return False  # an escape
    return len(set(digits_of(candidate.value))) > 1 and bool(
        import_module(f"stdnum.{module}").is_valid(value)
    )


def spanish(candidate: Candidate, _: str) -> bool:
    """A DNI: up to eight digits, and the letter that their remainder by 23 asks for."""
    found = digits_of(candidate.value)
    letter = candidate.value[-1:].decode().upper()
    return len(set(found)) > 1 and "TRWAGMYFPDXBNJZSQVHLCKE"[int(found) % 23] == letter


def brazilian(candidate: Candidate, _: str) -> bool:
    """A CPF, also as a number that lost its leading zeros."""
    found = digits_of(candidate.value).zfill(11)
    return len(set(found)) > 1 and bool(import_module("stdnum.br.cpf").is_valid(found))


def argentine(candidate: Candidate, _: str) -> bool:
    """A CUIT, with whatever between its parts."""
    return bool(import_module("stdnum.ar.cuit").is_valid(digits_of(candidate.value)))


def ecuadorian(candidate: Candidate, _: str) -> bool:
    """A cédula, or the RUC that begins with one or is a company's."""
    found = digits_of(candidate.value)
    name = "stdnum.ec.ci" if len(found) == 10 else "stdnum.ec.ruc"
    return len(set(found)) > 1 and bool(import_module(name).is_valid(found))


def american(candidate: Candidate, _: str) -> bool:
    """A social security number that is not all over the documentation."""
    return candidate.value[-4:] != b"0000" and candidate.value not in (
        b"078-05-1120",
        b"219-09-9999",
        b"123-45-6789",
    )


def uruguayan(candidate: Candidate, _: str) -> bool:
    """A Uruguayan cédula: seven digits and the one that their weights ask for."""
    digits = digits_of(candidate.value).zfill(8)
    weighed = sum(int(d) * w for d, w in zip(digits, (2, 9, 8, 7, 6, 3, 4), strict=False))
    return len(digits) == 8 and len(set(digits)) > 1 and -weighed % 10 == int(digits[-1])


def mexican(candidate: Candidate, _: str) -> bool:
    """An RFC: letters, a date, and a homoclave with its check digit or with a person's initial."""
    rfc = import_module("stdnum.mx.rfc")
    value = candidate.value.decode("utf-8", "replace")
    return bool(rfc.is_valid(value, validate_check_digits=len(rfc.compact(value)) == 12))


def digit_count(candidate: Candidate, bounds: str) -> bool:
    """So many digits, and not one digit all over."""
    least, _, most = bounds.partition("-")
    found = digits_of(candidate.value)
    return int(least) <= len(found) <= int(most) and len(set(found)) > 1


_BRANDS = re.compile(
    r"""(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}
    |3[47]\d{13}|3(?:0[0-59]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}
    |6(?:011|4[4-9]\d|5\d\d)\d{12}|62\d{14,17}|220[0-4]\d{12}|9792\d{12}
    |(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}
    |(?:5067|4576|4011|636368|5041|5090|6277|606282|5895|6042|6043|508)\d{10,13})""",
    re.VERBOSE,
)


_OTHER_NUMBER = re.compile(
    rb"(?:order|ref(?:erence)?|id|ids|uid|txn|transaction|invoice|pedido|tracking|trace|span|request|job"
    rb"|build|run|seq|offset|size|bytes|time|timestamp|ts|seed|hash|imei|isbn|ean|gtin|upc|sku)"
    rb"[\s\"'#:=]*$",
    re.IGNORECASE,
)


def card(candidate: Candidate, argument: str) -> bool:
    """A number that a brand of cards gives out; where it is `named` so, any of good form."""
    found = digits_of(candidate.value)
    if re.search(rb"\b(?:[0-9A-F]{3}[A-F]|[A-F][0-9A-F]{3})\s$", candidate.before(6)):
        return False  # code points
    if len(set(found)) < 3 or b"." in (candidate.before(), candidate.behind(2).rstrip(b' \n"')):
        return False
    if not import_module("stdnum.luhn").is_valid(found):
        return argument == "named" and len(found) in (15, 16) and bool(_BRANDS.fullmatch(found))
    if argument == "named":
        return True
    if candidate.value.isdigit() and _OTHER_NUMBER.search(candidate.before(24)):
        return False
    return bool(_BRANDS.fullmatch(found))


def iban(candidate: Candidate, _: str) -> bool:
    """A bank account whose check digits are right."""
    value = candidate.value.decode()
    return bool(import_module("stdnum.iban").is_valid(value, check_country=False))


CHECKS = {
    "ar-cuit": argentine,
    "br-cpf": brazilian,
    "card": card,
    "digit-count": digit_count,
    "ecuadorian": ecuadorian,
    "es-dni": spanish,
    "iban": iban,
    "mexican-rfc": mexican,
    "stdnum": stdnum,
    "uruguayan": uruguayan,
    "us-ssn": american,
}
