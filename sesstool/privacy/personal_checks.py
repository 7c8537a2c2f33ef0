"""Checks on personal data, named in the rules. What is slow to import is imported when needed."""

from __future__ import annotations

import ipaddress
import re
from importlib import import_module

from sesstool.privacy.candidate import Candidate
from sesstool.privacy.number_checks import digits_of

# --- mail -------------------------------------------------------------------------------------

_NOBODY = re.compile(
    rb"(?:no[._-]?reply|do[._-]?not[._-]?reply|git|hg|svn|postmaster|mailer-daemon|nobody)"
    rb"(?:[+._-][\w.-]*)?"
    rb"|(?:\d+\+)?(?:copilot|dependabot|renovate|actions|github-actions|claude|web-flow)",
    re.IGNORECASE,
)
# Of the domains that all may have, those of seven letters and more that people have mail at.
_LONG_DOMAINS = frozenset(
    b"""academy account agency archive association attorney barcelona bargains boutique brussels
    builders business capital careers catering center charity christmas cleaning clinic clothing
    college cologne community company computer consulting contractors cooking country coupons
    creditcard cruises dentist diamonds digital directory discount domains education engineer
    engineering enterprises equipment events exchange express finance financial fitness florist
    foundation gallery graphics hamburg healthcare holdings holiday hosting immobilien industries
    institute insurance intern internal international intranet investments kitchen limited
    localdomain management marketing memorial ministry monster network okinawa organic partners
    pharmacy photography photos pictures plumbing productions properties property recipes rentals
    report republican restaurant reviews schule science security services shopping singles
    software solutions storage studio support surgery systems tattoo technology theater training
    university ventures website wedding wtf yokohama""".split()
)
_NO_MAIL = re.compile(
    rb"""(?:.*\.)?(?:
    example\.[a-z.]{2,}|[a-z.-]*\.?example|test|invalid|localhost|gserviceaccount\.com|yourdomain\.\w+|domain\.(?:com|tld)
    |service|socket|target|timer|mount|automount|slice|scope|swap
    |png|jpe?g|gif|svg|webp|ico|js|mjs|cjs|jsx|ts|tsx|json|css|scss|html?|yml|yaml|toml|lock|txt
    |weight|bias|grad|shape|data|dtype|device|whl|gz|tgz|zip|jar|exe|dll|so|dylib|h|hpp|cc|cpp|java|kt|go|rb|php|csproj|patch|conf|log
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_USER_INFO = re.compile(rb"[a-z][a-z0-9+.-]*:\\?/\\?/[^\s/@\"'<>]{0,256}$", re.IGNORECASE)


def email(candidate: Candidate, _: str) -> bool:
    """An address of somebody: not of a robot, not an example, not what else has an @."""
    local, _at, domain = candidate.value.rpartition(b"@")
    if local.isdigit() and domain[:1].isdigit():
        return False
    if _NOBODY.fullmatch(local) or _NO_MAIL.fullmatch(domain) or candidate.before(7) == b"[bot] <":
        return False
    last = domain.rpartition(b".")[2].lower()
    if len(last) > 6 and last.isalpha() and last not in _LONG_DOMAINS:
        return False
    if candidate.before() == b"@" or re.match(rb"\d+x\.|v?\d+\.\d", domain):
        return False  # a package of a scope, an image for dense screens, a version
    if candidate.behind() in (b"(", b"[") and local.replace(b".", b"").isalnum():
        return False  # a product of matrices
    if candidate.before() in (b":", b"/") and candidate.before(7).lower() != b"mailto:":
        return not _USER_INFO.search(candidate.text, max(candidate.start - 300, 0), candidate.start)
    return True


# --- telephone --------------------------------------------------------------------------------

_DATE = re.compile(
    rb"\+?(?:(?:19|20)\d\d[-./ ]\d\d?[-./ ]\d\d?|\d\d?[-./]\d\d?[-./](?:19|20)\d\d)(?!\d)"
)
_QUAD = re.compile(rb"\d{1,3}(?:\.\d{1,3}){3}")
# Numbers of North America that are kept for stories.
_FICTION = re.compile(r"(?:00)?1?(?:\d{3})?55501\d\d")
_CODE_POINTS = re.compile(rb"00\d\d(?:[ .]\d{4})+")
_ORDERED = ("1234567890", "0123456789", "123456789", "12345678", "1234567")


def phone(candidate: Candidate, _: str) -> bool:
    """An international number that can be somebody's."""
    value = candidate.value
    if _DATE.match(value) or _QUAD.fullmatch(value) or _CODE_POINTS.fullmatch(value):
        return False
    if _FICTION.fullmatch(digits_of(value)):
        return False
    phonenumbers = import_module("phonenumbers")
    text = value.decode()
    if text.startswith("00"):
        text = "+" + text[2:]
    try:
        number = phonenumbers.parse(text, None)
    except phonenumbers.NumberParseException:
        return False
    if phonenumbers.is_valid_number(number):
        return True
    # Many that are made up, and some that are new: if they are written as one writes telephones.
    groups = len(re.findall(rb"[ ().-]+\d", value))
    added_line = candidate.before() in (b"", b"\n")
    return groups >= 2 + added_line and bool(phonenumbers.is_possible_number(number))


def phone_digits(candidate: Candidate, _: str) -> bool:
    """The digits of an international number, without its plus sign."""
    if re.match(rb"20\d\d[01]\d[0-3]\d", candidate.value):
        return False
    phonenumbers = import_module("phonenumbers")
    try:
        number = phonenumbers.parse("+" + candidate.value.decode(), None)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_valid_number(number))


def local_phone(candidate: Candidate, argument: str) -> bool:
    """What can be a telephone number where the text says that it is one."""
    value = candidate.value
    found = digits_of(value)
    if not 6 <= len(found) <= 15 or len(set(found)) < 3 or found in _ORDERED:
        return False
    if _FICTION.fullmatch(found):
        return False
    if argument == "grouped" and (len(found) < 9 or value.isdigit()):
        return False
    if _DATE.match(value) or _QUAD.fullmatch(value):
        return False
    return not re.match(rb"[.:%]\d", candidate.behind(2))


# --- addresses of machines --------------------------------------------------------------------

# Name servers that all use, and addresses that stand for any.
_EVERYBODYS = {
    "1.2.3.4",
    "4.3.2.1",
    "5.6.7.8",
    "1.1.1.1",
    "1.0.0.1",
    "8.8.8.8",
    "8.8.4.4",
    "9.9.9.9",
    "208.67.222.222",
}
_PRODUCT = re.compile(rb"(?:^|[\s\"'(;,\\n])[A-Za-z][\w+-]*/$")
_VERSION = re.compile(
    rb"(?:\bv(?:er)?\.?|version\w*|versi[o\xc3]\S*|release|build|revision|\brev|[=~^><]=|[~^])"
    rb"[\s\"':=]*$|[A-Za-z]-v?$",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    rb"\b(?:ip|addr|address|host|client|from|server|peer|remote|x-forwarded-for)\b", re.IGNORECASE
)


def ipv4(candidate: Candidate, argument: str) -> bool:
    """A public address: not a version, an OID, a network or a name server that all use.

    `dashed` takes one with dashes for dots, in the name of a host.
    """
    if argument == "dashed":
        dotted = candidate.value.replace(b"-", b".")
        return ipv4(Candidate(b"host " + dotted, 5, 5 + len(dotted)), "")
    ahead, behind = candidate.before(32), candidate.behind(6)
    if ahead[-1:] == b"." or (behind[:1] == b"." and behind[1:2].isalnum()):
        return False
    if re.match(rb"-(?!\d{1,3}\.)\w", behind):
        return False
    if _VERSION.search(ahead) or (_PRODUCT.search(ahead) and behind[:1] != b":"):
        return False
    text = candidate.value.decode()
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        return False
    if not address.is_global or address.is_multicast or text in _EVERYBODYS:
        return False
    parts = address.packed
    if parts[1] == parts[2] == parts[3] == 0 or (parts[3] == 0 and behind[:1] == b"/"):
        return False
    # Four small numbers are a version rather than an address.
    return max(parts) > 31 or bool(_ADDRESS.search(ahead))


def ipv6(candidate: Candidate, _: str) -> bool:
    """A public address of a machine."""
    try:
        address = ipaddress.IPv6Address(candidate.value.decode())
    except ValueError:
        return False
    if candidate.behind() == b"/" and int(address) & ((1 << 64) - 1) == 0:
        return False
    return address.is_global and not address.is_multicast


def mac(candidate: Candidate, _: str) -> bool:
    """The address of one device: not of a group, none, or of a container."""
    octets = bytes.fromhex(re.sub(rb"[:.-]", b"", candidate.value).decode())
    if candidate.before() in (b":", b"-") or candidate.behind() in (b":", b"-"):
        return False
    return not octets[0] & 1 and octets[:2] != b"\x02\x42" and len(set(octets)) > 2


_PAIR = re.compile(
    rb"lat(?!e|c)[^\n]{1,60}l(?:o?ng?|ong)|l(?:on|ng|ong)[^\n]{1,60}lat(?!e|c)"
    rb"|\d\.\d{4,}[,; ]{1,3}-?\d{1,3}\.\d{4}",
    re.IGNORECASE,
)


def place(candidate: Candidate, _: str) -> bool:
    """A latitude or longitude in degrees, the other one beside it."""
    text, start, end, _key = candidate
    near = text[max(start - 80, 0) : end + 80]
    return 0 < abs(float(candidate.value)) <= 180 and bool(_PAIR.search(near))


_STREET = re.compile(
    r"\b(?:calle|c/|avda?|avenida|av|plaza|paseo|camino|carrera|cra|calzada|colonia|rua|travessa"
    r"|praça|alameda|estrada|largo|rodovia|residencial|vale|rue|allée|impasse|chemin|quai|via|viale"
    r"|piazza|corso|vicolo|p\.? ?o\.? ?box|apdo|postfach)\b"
    r"|\w+(?:straße|strasse|str\.|weg|platz|allee|gasse)\b",
    re.IGNORECASE,
)


# Where foundations and companies have their seat: it stands in many a licence.
_PUBLIC = re.compile(
    r"(?:51 franklin st|59 temple pl|675 mass(?:achusetts)? ave|31 milk st|171 second st"
    r"|1600 amphitheatre|1 infinite loop|1 apple park|1 microsoft way)",
    re.IGNORECASE,
)


def address(candidate: Candidate, argument: str) -> bool:
    """What can be a postal address: words and a number, or the name of a kind of street."""
    text = candidate.value.decode("utf-8", "replace")
    if re.search(r"@|://|0x|[{}=<>()\[\]$_]|\d\.\d+\.\d|[a-z]:\d|::", text):
        return False
    if _PUBLIC.match(text):
        return False
    words = [w for w in re.findall(r"[^\W\d_]{2,}", text) if w[0].isupper()]
    if not words or " " not in text or text.casefold().startswith(("this ", "the ", "a ", "an ")):
        return False
    kind = _STREET.match(text) if argument == "prose" else _STREET.search(text)
    return bool(kind or re.search(r"\d", text))


def birthday(candidate: Candidate, _: str) -> bool:
    """A date that a living person can be born at."""
    found = re.search(rb"(?:19|20)\d\d", candidate.value)
    return found is not None and 1900 <= int(found[0]) <= 2030


CHECKS = {
    "address": address,
    "birthday": birthday,
    "email": email,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "local-phone": local_phone,
    "mac": mac,
    "phone": phone,
    "phone-digits": phone_digits,
    "place": place,
}
