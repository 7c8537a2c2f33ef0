"""Checks that tell a secret from what merely stands where one could; `looks.py` has the forms."""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache

from sesstool.privacy.candidate import Candidate
from sesstool.privacy.looks import (
    FILE,
    PIECE,
    STANDS_IN,
    is_id,
    is_made,
    is_member,
    is_random,
    is_value,
    is_wordless,
)

# Words that a key has where its value tells about a secret and is none.
_ABOUT = frozenset(
    b"arg args fn func through context encode decode strip lower upper get format replace"
    b" split startswith endswith match test includes name names id ids file filename path"
    b" dir type types header field len length size count limit ttl url uri endpoint host"
    b" policy min max hint label prompt error errors require required enable enabled"
    b" disable disabled algorithm alg method ref arn version budget usage usages regex"
    b" pattern status provider manager input output index prefix suffix strength rotation"
    b" date time at age format mode text message msg description placeholder reset forgot"
    b" change update show hide toggle visible strategy class style keyword icon button form"
    b" page schema kind scope scopes audience issuer source store storage location rate"
    b" cost price window used total remaining cached reasoning completion tokenizer ring"
    b" board word words stroke map set list exist exists management service client server"
    b" handler helper factory builder event action reducer state prop props public"
    b" publishable pub anon site sitekey integrity checksum sha sha1 sha256 sha512 md5"
    b" digest fingerprint etag hash hashes hasher".split()
)
_ABOUT_BEGINS = (b"expir", b"valid", b"confirm", b"permission", b"util")


def not_placeholder(candidate: Candidate, _: str) -> bool:
    """Not what stands in for a value in documentation."""
    value = candidate.value[:512]
    return len(set(value)) > 3 and not STANDS_IN.search(value)


def random(candidate: Candidate, _: str) -> bool:
    """Drawn, not worded: its characters make no words, and it is no number or date."""
    return is_random(candidate.value)


def drawn(candidate: Candidate, _: str) -> bool:
    """Random, or a UUID."""
    return is_random(candidate.value) or is_id(candidate.value)


def wordless(candidate: Candidate, _: str) -> bool:
    """Letters and digits of which no word is made; less sure than drawn ones."""
    return is_wordless(candidate.value)


def service(candidate: Candidate, _: str) -> bool:
    """Drawn with some digits, or named as a key and no word; surer behind a dash."""
    if candidate.before() == b"-":  # as a part of a name of a file, of which the rest is words
        value = candidate.value
        return is_id(value) or (len(value) >= 24 and value.isalnum() and is_random(value))
    if drawn(candidate, "") and digits(candidate, "3"):
        return True
    return key_word(candidate, "") and is_wordless(candidate.value)


def identifier(candidate: Candidate, least: str) -> bool:
    """What a service calls an account: a UUID, a long number, or drawn, of at least so many."""
    value = candidate.value
    if len(set(value)) < 4 or len(value) < int(least):
        return False
    if value.isdigit():
        return len(value) < _SNOWFLAKE
    return is_id(value) or is_random(value) or (value.isalnum() and digits(candidate, "4"))


# Longer numbers are those of service accounts, which go with a key that is taken out.
_SNOWFLAKE = 20


def account(candidate: Candidate, _: str) -> bool:
    """The number of an account of AWS, and none of those of its manuals."""
    return len(set(candidate.value)) > 4 and candidate.value not in _SAMPLE_ACCOUNTS


_SAMPLE_ACCOUNTS = frozenset(
    b"123456789012 012345678901 123456789123 987654321098 210987654321".split()
)


def tenant(candidate: Candidate, _: str) -> bool:
    """The host of a customer, and none that the vendor or the public uses."""
    labels = re.split(rb"[./:]+", candidate.value.lower())
    return not _PUBLIC_HOSTS.intersection((labels[0], labels[-1]))


# Of vendors themselves, of public downloads, and names that stand for one.
_PUBLIC_HOSTS = frozenset(
    b"www api docs doc help support developer developers dev status login admin community app apps"
    b" go id my files cdn download downloads static assets blog trust partner partners account"
    b" accounts trial test demo your-domain your-org your-site yourdomain yoursite your-company"
    b" your-account your-subdomain account-name account_name mystorageaccount bucket bucket-name"
    b" bucket_name mybucket my-bucket my_bucket bucketname your-bucket your-bucket-name"
    b" amazoncloudwatch-agent aws-cli awscli ec2-downloads-windows cloudformation-templates"
    b" chrome-for-testing-public chromedriver chromium-browser-snapshots kubernetes-release"
    b" flutter_infra_release tensorflow golang releases microsoft azurecliprod dotnetcli".split()
)


def listed(candidate: Candidate, _: str) -> bool:
    """An item, whichever, of a list that bears the name of secrets."""
    value = candidate.value.rstrip(b",;:")
    if not is_value(value) or not (_prose(value) or _token(value)):
        return False
    name = (_flow_name(candidate) or _block_name(candidate)).rstrip(b"sS")
    if not _SEVERAL.search(name) or not _names_secret(name):
        return False
    return (_prose if _PASSWORDS.search(name) else _token)(value)


_SEVERAL = re.compile(
    rb"(?i)(?:token|secret|passw(?:or)?d|credential|senha|clave|contrase\S{1,2}a"
    rb"|(?:api|access|secret|private|auth|signing|encryption|master|licen[cs]e|service)[_.-]?key)\Z"
)
_PASSWORDS = re.compile(rb"(?i)passw|senha|clave|contrase")
_AHEAD = 2048
_ITEMS = re.compile(
    rb"""(?:\s*[bru]?(?:"[^"\n]*"|'[^'\n]*'|(?!//|\#)[^\s"'\[\](){},]+)\s*,
    (?:[ \t]*(?://|\#)[^\n]*(?=\n))?)*\s*[bru]?["']?""",
    re.VERBOSE,
)
_LIST_NAME = re.compile(
    rb"""([A-Za-z0-9_.\x80-\xff-]{3,60})["'\]]{0,2}\s*(?::[^=\n]{0,30}=|:=|=>|[:=])\s*[A-Za-z.\[\]]{0,16}[({]?\Z"""
)
_BLOCK_LINE = re.compile(rb"(?:[ \t]*\d{1,6}(?:[\t:|]|\xe2\x86\x92))?[ \t]*-[ \t]")
_BLOCK_NAME = re.compile(rb"""([A-Za-z0-9_.\x80-\xff-]{3,60})["']?:[ \t]*\Z""")


def _flow_name(candidate: Candidate) -> bytes:
    """The name of the list in brackets that a value is an item of, empty where it is in none."""
    before = candidate.before(_AHEAD)
    opening = max(map(before.rfind, (b"[", b"(", b"{")))
    if opening < 0 or not _ITEMS.fullmatch(before, opening + 1):
        return b""
    name = _LIST_NAME.search(before, max(opening - 120, 0), opening)
    return name[1] if name else b""


def _block_name(candidate: Candidate) -> bytes:
    """The name of the list of YAML, an item on each line, that a value is in; empty if none."""
    *above, line = candidate.before(_AHEAD).split(b"\n")
    if not _BLOCK_LINE.match(line):
        return b""
    while above:
        line = above.pop().rstrip(b"\r")
        if not _BLOCK_LINE.match(line):
            name = _BLOCK_NAME.search(line)
            return name[1] if name else b""
    return b""


def digits(candidate: Candidate, least: str) -> bool:
    """At least so many digits."""
    return sum(48 <= c < 58 for c in candidate.value) >= int(least)


def secret(candidate: Candidate, kind: str) -> bool:
    """A value and no stand-in, reference, code or word, as far as its place lets tell.

    `kind` says what the place promises, and so how much the value itself must show: see `_KINDS`.
    """
    value = candidate.value
    if kind == "url" and value == b"secret":
        return True  # what a weak password is, more often than a sample of one
    value = value.rstrip(b",;:)]}|")
    return len(value) <= 4096 and is_value(value) and _KINDS[kind](value) and _may_name(candidate)


def _any(value: bytes) -> bool:
    return len(value) >= 4


def _literal(value: bytes) -> bool:
    """In quotes: a word will do, but no sentence and no label."""
    if b" " in value:
        return is_made(value, 1) and value.count(b" ") < 6
    return len(value) >= 4 and (is_made(value, 1) or (value[:1].islower() and len(value) >= 6))


def _argument(value: bytes) -> bool:
    """One of several: names stand there as well."""
    return len(value) >= 6 and b" " not in value and value.count(b"_") < 2 and is_made(value, 2)


def _bare(value: bytes) -> bool:
    """Could be code: must hold what names do not."""
    return len(value) >= 5 and not is_member(value) and is_made(value, 1)


def _made_up(value: bytes) -> bool:
    if value.isdigit():
        return len(value) >= 16
    return len(value) >= 8 and b" " not in value and (is_made(value, 2) or is_id(value))


def _token(value: bytes) -> bool:
    if value.isdigit():
        return len(value) >= 16
    digits = len(_DIGIT.findall(value))
    if (len(value) < 20 and not digits) or (len(value) < 12 and digits < 3):
        return False
    return not is_member(value) and (is_random(value) or is_id(value))


def _variable(value: bytes) -> bool:
    """Of an environment: all is a literal there."""
    if value.isdigit():
        return len(value) >= 16
    return len(value) >= 8 and (is_made(value, 1) or is_id(value) or _WORD.match(value) is not None)


def _loose(value: bytes) -> bool:
    digits = sum(48 <= c < 58 for c in value)
    if is_id(value) or (digits == len(value) and digits >= 20):
        return True
    return (
        (digits >= 3 or (len(value) >= 20 and value.isalnum()))
        and value.count(b"/") < 3
        and is_random(value)
    )


def _url(value: bytes) -> bool:
    if b"/" in value:
        return is_random(value) and not value.split(b"/")[0].isdigit()
    return len(value) >= 3 and not (value.isdigit() and len(value) < 6)


def _query(value: bytes) -> bool:
    return (
        (len(value) >= 16 and is_random(value))
        or is_id(value)
        or (len(value) >= 8 and is_made(value, 2))
    )


def _header(value: bytes) -> bool:
    if is_member(value):
        return False
    return is_random(value) or is_id(value) or (len(value) >= 16 and is_made(value, 3))


def _option(value: bytes) -> bool:
    if value.lower() in _BEHIND_OPTIONS:
        return False
    return len(value) >= 4 and not FILE.match(value) and (len(value) >= 6 or is_made(value, 1))


# How a sentence about options goes on.
_BEHIND_OPTIONS = frozenset(
    b"option options flag flags argument arguments parameter parameters setting settings switch"
    b" instead when with from is are must should together value values string variable".split()
)


def _pair(value: bytes) -> bool:
    return len(value) >= 4 and not value.isdigit()


def _prose(value: bytes) -> bool:
    if value.startswith(b"_") or (is_member(value) and not re.search(rb"\d\d", value)):
        return False
    return is_made(value, 1) and len(value) >= 6


def _told(value: bytes) -> bool:
    """Behind a user's name and a mark that paths have as well."""
    return _prose(value) and (is_random(value) or len(re.findall(rb"[^A-Za-z_-]", value)) > 1)


def _worded(value: bytes) -> bool:
    return is_random(value) or (
        len(value) >= 6
        and is_made(value, 1)
        and any(48 <= c < 58 for c in value)
        and (any(65 <= c < 91 for c in value) or any(c in b"!@#$%^&*+?~" for c in value))
    )


_KINDS = {
    "any": _any,
    "literal": _literal,
    "argument": _argument,
    "bare": _bare,
    "made": _made_up,
    "token": _token,
    "variable": _variable,
    "loose": _loose,
    "url": _url,
    "query": _query,
    "header": _header,
    "option": _option,
    "pair": _pair,
    "prose": _prose,
    "told": _told,
    "worded": _worded,
}
_DIGIT = re.compile(rb"\d")
_WORD = re.compile(rb"[a-z]{12,}$")


def cookie(candidate: Candidate, _: str) -> bool:
    """Some cookie among these holds what a server drew."""
    values = [pair.partition(b"=")[2] for pair in candidate.value.split(b";")]
    return any(is_random(value) or is_id(value) for value in values)


def key_word(candidate: Candidate, _: str) -> bool:
    """A word for a secret stands close before the value."""
    return (
        _KEY_WORD.search(candidate.text, max(candidate.start - 32, 0), candidate.start) is not None
    )


_KEY_WORD = re.compile(
    rb"(?i)key|token|secret|passw|pass\b|auth|access|credential|private|\bpat\b|bearer|\bapi\b"
)


def key_body(candidate: Candidate, _: str) -> bool:
    """Holds a line of what a private key is made of."""
    return _KEY_LINE.search(candidate.value) is not None


_KEY_LINE = re.compile(rb"[A-Za-z0-9+/]{32}")


def length(candidate: Candidate, least: str) -> bool:
    """At least so many bytes."""
    return len(candidate.value) >= int(least)


def key_size(candidate: Candidate, sizes: str) -> bool:
    """One of these lengths in bytes."""
    return str(len(candidate.value)) in sizes.split(",")


def basic(candidate: Candidate, _argument: str) -> bool:
    """Base64 of a user name, a colon and a password."""
    try:
        text = base64.b64decode(candidate.value + b"=" * (-len(candidate.value) % 4), validate=True)
        text.decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    _, colon, password = text.partition(b":")
    return bool(colon and password) and text.decode().isprintable()


def _may_name(candidate: Candidate) -> bool:
    """Whether the name of the value is that of a secret, not of something about one."""
    key = candidate.key
    if not key:
        return True
    start = candidate.text.rfind(key, max(candidate.start - len(key) - 80, 0), candidate.start)
    before = _BEFORE.search(candidate.text[max(start - 40, 0) : max(start, 0)])
    if candidate.text[start - 1 : start] == b":" == candidate.text[candidate.start - 1 :][:1]:
        return False  # a part of a name with colons
    name = (before[0] if before else b"") + key[:80]
    return _names_secret(name) or (_SESSION_KEY.search(name) is not None and _signs(candidate))


# What signs sessions, and what names one, bear the same name.
_SESSION_KEY = re.compile(rb"(?i)session_?key\Z")


def _signs(candidate: Candidate) -> bool:
    value = candidate.value
    return len(value) >= 32 and value.isalnum() and is_random(value)


@lru_cache(4096)
def _names_secret(name: bytes) -> bool:
    words = [word.lower() for word in PIECE.findall(name)]
    if words and (words[0] in _LEADS or (len(words) == 1 and words[0] in _NO_KEYS)):
        return False
    if any(word in _ABOUT or word.startswith(_ABOUT_BEGINS) for word in _tail(words)):
        return False
    return not any(
        (word == b"key" and words[at - 1] in _OTHER_KEYS)
        or (word == b"token" and words[at - 1] in _OTHER_TOKENS)
        for at, word in enumerate(words)
        if at
    )


# Keys that lock nothing.
_OTHER_KEYS = frozenset(
    b"cache public partition sort primary foreign idempotency dedup dedupe unique group"
    b" row object s3 3 publishable anon site react tab lookup index map json dict registry"
    b" hot arrow shortcut message translation i18n event query mutation storage record db"
    b" column field sha hash header routing request response build commit session"
    b" conversation thread prompt tool file turbo nx item node composite natural surrogate"
    b" range order list entity config property attribute on not no any".split()
)
# Tokens that open nothing: where a list goes on, or which try of a request it is.
_OTHER_TOKENS = frozenset(
    b"next starting start change idempotency page paging pagination continuation continue resume"
    b" sync request sequence cancellation cancel punctuation operator end eos bos pad stop"
    b" dkim".split()
)
_BEFORE = re.compile(rb"[A-Za-z0-9_.-]*\Z")
_NO_KEYS = frozenset(
    b"monkey turkey hockey donkey jockey whiskey hotkey bypass compass trespass".split()
)
_LEADS = frozenset(
    b"max min num total public publishable has is no reset forgot show hide toggle".split()
)
_HEADS = re.compile(
    rb"(?i)pass\w*|pwd|psw|secret\w*|token|key|auth|clave|senha|kennwort|credential\w*|jwt|pat"
    rb"|chave|clef?|segredo|segreto"
)


def _tail(words: list[bytes]) -> list[bytes]:
    """The words behind the last that means a secret."""
    for at in range(len(words) - 1, -1, -1):
        if _HEADS.fullmatch(words[at]):
            return words[at + 1 :]
    return []
