"""What a value looks like: drawn by a machine, made up by a person, a word, code, a stand-in.

No dictionary is shipped: that a text reads like words is told by the pairs of letters in it.
"""

from __future__ import annotations

import re
from functools import lru_cache

# What documentation and templates put in place of a value; matched anywhere in it.
STANDS_IN = re.compile(
    rb"(?i)example|redacted|xxxx|place_?-?holder|change_?-?(?:me|this|it)|replace_?-?(?:me|this|with)"
    rb"|(?:your|my|some|the|insert|enter|tu|seu|dein|votre)[_-][\w-]{0,30}(?:key|token|secret|pass"
    rb"|password|api|id|value|here|clave|senha|name)|\.\.\.|\xe2\x80\xa6|\*\*\*|_here\b|-here\b"
    rb"|dummy|fake[_-]|not[_-]?a?[_-]?real|todo|lorem|<[\w -]+>|\[[A-Z_ -]+\]|fixme|sample[_-]"
)
# What refers to a value that stands elsewhere: variables, templates, calls, members.
_REFERENCE = re.compile(
    rb"[$%@#]?\{|\$\(|\$[A-Za-z_(]|\$\d+$|%[A-Za-z_]+%|<%|%\(|%[sdv]$|@@|!(?:Ref|Sub|GetAtt|vault)\b"
    rb"|&?[A-Za-z_][\w.\-]*(?:\?\.|::|->|\(|\[)|(?:process|import\.meta)\.env|os\.|ENV\b|env[.:(]"
    rb"|secrets?\.|vars?\.|config\.|self\.|this\.|args?\.|req(?:uest)?\.|op://|vault:|arn:|ssm:"
    rb"|keyring:|file:|projects/|data:|[!~<>=&|^]+$|\|\||&&|[,;:)\]} ]|=>|\\[wdsb]"
)
# What tests and samples call a password.
_TEST_WORD = re.compile(
    rb"(?i)(?:test(?:ing)?|my|some|any|the|your|user|wrong|bad|invalid|valid|correct|good|new|old)"
    rb"[ _-]?(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|key)$|(?:pass|password|test|secret)123$"
)
# The line under the heading of a table.
_RULER = re.compile(rb"[-+=|:]{5,}")
_COLOUR = re.compile(rb"#[0-9A-Fa-f]{3,8}$")
_CAPITALS = re.compile(rb"[A-Z_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASS)[A-Z_]*$")
_PATH = re.compile(
    rb"(?:~|\.{0,2})/[\w.@%+~-]*(?:/[\w.@%+~-]*)+$|[A-Za-z]:\\|\.{1,2}/|/[\w.-]+$|~/"
)
FILE = re.compile(
    rb"(?i)^[\w./\\-]+\.(?:py|js|ts|tsx|jsx|json|ya?ml|toml|txt|md|go|rs|java|rb|php|sh|pem|key|crt"
    rb"|env|html|css|xml|cfg|ini|conf|log|sql|lock|svg|png|vue|cs|kt|c|h|cpp)$"
)
_MEMBER = re.compile(rb"^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+[()\[\]]*$")
_URL = re.compile(rb"(?i)^[a-z][a-z0-9+.-]*://")
_NUMBER = re.compile(rb"^[+-]?[\d.,_:eE+%/ -]*$")
_DATED = re.compile(
    rb"\d{4}-\d\d-\d\d(?:[T ]\d\d:|$)|(?:^|-)20\d\d-?\d\d-?\d\d(?:$|-)"
    rb"|^v?\d+\.\d+(?:\.\d+)*[\w.+-]{0,24}$"
)
_UUID = re.compile(rb"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
PIECE = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# The commonest pairs of letters in English, Spanish, Portuguese, German, French and Italian.
_PAIRS = frozenset(
    b"th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou"
    b" io le ve co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di"
    b" fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em"
    b" ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig"
    b" tu ev ry ke do qu ue fe bl".split()
)
# Words for a secret, and other values that say nothing.
_COMMON = frozenset(
    b"aws4-hmac-sha256 name identifier password passwd pass pwd passwort kennwort"
    b" contrasena clave senha secret secrets token tokens key keys apikey api_key auth"
    b" credentials credential none null nil nan true false yes no on off undefined unknown"
    b" empty default required optional string str int integer bytes number bool boolean"
    b" object any text hidden input optional[str] admin root user username test testing"
    b" tester foo bar baz qux foobar value values missing invalid valid incorrect wrong"
    b" expired env prompt ask always never required. set unset present absent basic bearer"
    b" digest oauth oauth2 postgres mysql redis mongo guest changeit sha256 sha512 md5"
    b" base64 utf8 utf-8 hs256 rs256 es256 aes256 aes128 bcrypt argon2 scrypt pbkdf2"
    b" disabled enabled inherit write read readonly owner mot_de_passe chave"
    b" contrase\xc3\xb1a parola self this here file stdin masked omitted removed asc desc"
    b" new old current next previous confirm confirmation reset forgot change update delete".split()
)
_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") | frozenset(
    range(128, 256)
)
_NINE = ord("9")


@lru_cache(4096)
def is_member(value: bytes) -> bool:
    """Looks like a member of an object, and not like two runs of drawn letters with a dot."""
    if not _MEMBER.match(value):
        return False
    return not all(is_mixed(part) for part in value.split(b".")) or not is_random(value)


def is_mixed(part: bytes) -> bool:
    """Small and large letters or digits that change oftener than the words of a name do."""
    return part.isalnum() and len(part) >= 5 and len(PIECE.findall(part)) >= 3


def is_id(value: bytes) -> bool:
    """A UUID."""
    return _UUID.match(value) is not None


@lru_cache(4096)
def is_value(value: bytes) -> bool:
    """No stand-in, reference, path, colour or common word."""
    return (
        len(set(value)) > 2
        and value.strip(b" ,;.:!?").lower() not in _COMMON
        and (not _REFERENCE.match(value) or is_dollared(value))
        and not _TEST_WORD.match(value)
        and not _RULER.match(value)
        and not _COLOUR.match(value)
        and not _CAPITALS.match(value)
        and not STANDS_IN.search(value)
        and not _PATH.match(value)
        and not FILE.match(value)
        and not _URL.match(value)
    )


def is_dollared(value: bytes) -> bool:
    """Begins with a dollar sign as a variable does, and is none by its letters."""
    name = value[1:]
    return value[:1] == b"$" and name.isalnum() and not name.isupper() and is_random(name)


def is_made(value: bytes, digits: int) -> bool:
    """Not a plain word or name: has enough that words do not have."""
    if _NUMBER.match(value) or _DATED.search(value):
        return False
    if is_random(value):
        return True
    others = sum(not (c in _LETTERS or c in b"-_./: ,'") for c in value)
    return others >= digits and not (b" " in value and value.count(b" ") > 3)


def is_wordless(value: bytes) -> bool:
    """Letters and digits, with few of the pairs of letters that words are made of."""
    pairs = common = 0
    for piece in PIECE.findall(value):
        if piece[0] > _NINE:
            lowered = piece.lower()
            pairs += len(piece) - 1
            common += sum(lowered[n : n + 2] in _PAIRS for n in range(len(piece) - 1))
    return value.isalnum() and not value.isdigit() and common * 5 < pairs * 2


@lru_cache(4096)  # the rules and the views of a text ask for the same values again and again
def is_random(value: bytes) -> bool:
    """Drawn by a machine, by how letters and digits change in it."""
    if len(value) < 8 or _NUMBER.match(value) or _DATED.search(value) or _UUID.match(value):
        return False
    value = value[:80]
    pieces = PIECE.findall(value)
    alnum = sum(map(len, pieces))
    if alnum < 8:
        return False
    digits = len(value) - len(value.translate(None, b"0123456789"))
    if not digits and (b"_" in value or b"." in value):
        return False
    pairs = common = 0
    for piece in pieces:
        if piece[0] > 57:
            lowered = piece.lower()
            pairs += len(piece) - 1
            common += sum(lowered[n : n + 2] in _PAIRS for n in range(len(piece) - 1))
    if digits * 4 >= alnum and len(pieces) > 4:
        return pairs < 10 or common * 100 < pairs * 65
    # Of the pairs in words three quarters are common ones, of random pairs a fifth.
    if len(pieces) * 3.2 >= alnum and len(pieces) > 3:
        return common * 100 < pairs * (60 if digits else 45) or (pairs < 8 and digits > 0)
    if digits >= 6 and alnum >= 12:
        return digits < alnum and common * 100 < pairs * 45
    if not digits:
        return pairs >= 10 and common * 4 <= pairs and (len(pieces) == 1 or alnum > 24)
    return pairs >= 8 and common * 100 < pairs * 45
