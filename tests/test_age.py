"""The age format: the vectors of CCTV, streams, seeking, damage, hostile headers."""

import hashlib
import zlib
from itertools import product

import pytest

from sesstool.encryption import age, keys
from sesstool.errors import (
    ArmorError,
    AuthError,
    HeaderError,
    HeaderMacError,
    NewerFormatError,
    NoMatchError,
    PayloadError,
)
from tests.conftest import SHARED

VECTORS = SHARED / "age-vectors" / "testdata"
NAMES = sorted(p.name for p in VECTORS.iterdir()) if VECTORS.is_dir() else []
OUTCOMES = {
    "success": None,
    "no match": NoMatchError,
    "HMAC failure": HeaderMacError,
    "header failure": HeaderError,
    "armor failure": ArmorError,
    "payload failure": PayloadError,
}
CHUNK = 1 << 16
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 1_000_003]


@pytest.fixture(scope="module")
def me():
    return keys.generate(pq=False)


def text_of(size):
    """Bytes of which no two chunks are alike."""
    return hashlib.shake_128(b"lamp").digest(size)


def cut(data, step):
    """Bytes in pieces of some size, with empty ones between."""
    for at in range(0, len(data), step):
        yield data[at : at + step]
        yield b""


def seal(text, *recipients, armor=False, step=50_021):
    return b"".join(age.encrypt(cut(text, step), recipients, armor=armor))


def unseal(data, *identities, step=50_021):
    """All that `decrypt` gives, and the error that it ends with."""
    out = []
    try:
        out.extend(age.decrypt(cut(data, step), identities))
    except AuthError as error:
        return b"".join(out), error
    return b"".join(out), None


def open_(data, *identities):
    """What is read by position, all at once, and the error."""
    try:
        opened = age.open_at(lambda start, end: data[start:end], len(data), identities)
        return opened.read(0, opened.size), None
    except AuthError as error:
        return b"", error


def vector(name):
    """The identities, the file, the outcome and the hash of the payload."""
    head, _, data = (VECTORS / name).read_bytes().partition(b"\n\n")
    lines = [line.split(": ", 1) for line in head.decode().splitlines()]
    fields = dict(lines)
    if fields.get("compressed"):
        data = zlib.decompress(data)
    identities = []
    for key, value in lines:
        if key == "identity":
            identities += keys.parse_identities(value.encode(), "vector", None)
        if key == "passphrase":
            identities.append(keys.passphrase_identity(value.encode()))
    return identities, data, OUTCOMES[fields["expect"]], fields.get("payload")


def test_all_vectors_are_there(shared):
    """The folder holds the whole of the test kit."""
    assert shared.is_dir()
    assert len(NAMES) == 143


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_has_its_outcome_and_its_payload(name):
    """In a stream the very class of error comes, behind the very bytes that are good."""
    identities, data, outcome, payload = vector(name)
    for step in (len(data) + 1, 4093, 1) if len(data) < 1 << 16 else (len(data) + 1, 70_001):
        text, error = unseal(data, *identities, step=step)
        assert (type(error) if outcome else error) in {outcome, NewerFormatError}
        assert isinstance(error, NewerFormatError) == (name == "version_unsupported")
        assert payload in {None, hashlib.sha256(text).hexdigest()}
        if isinstance(error, PayloadError):
            assert error.verified == len(text)
        if outcome and outcome is not PayloadError:
            assert not text or outcome is ArmorError


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_is_the_same_by_position(name):
    """Read by position a file has the same outcome; armor may be refused as irregular."""
    identities, data, outcome, payload = vector(name)
    text, error = open_(data, *identities)
    assert isinstance(error, outcome) if outcome else error is None
    if not outcome:
        assert hashlib.sha256(text).hexdigest() == payload


@pytest.mark.parametrize(("size", "armor"), list(product(SIZES, (False, True))))
def test_what_is_encrypted_comes_back(me, size, armor):
    """Around each boundary of chunks, in streams, by position, and in the facts."""
    text = text_of(size)
    data = seal(text, me.recipient(), armor=armor)
    assert unseal(data, me) == (text, None)
    assert open_(data, me) == (text, None)
    assert age.is_age(data[:64])
    seen = age.facts(lambda start, end: data[start:end], len(data))
    assert seen.kinds == ("X25519",)
    assert (seen.armored, seen.size, seen.overhead) == (armor, size, len(data) - size)
    chunks = max(-(-size // CHUNK), 1)
    assert seen.payload == 16 + size + 16 * chunks
    assert seen.header == age.encrypt([], [me.recipient()]).__next__().__len__()


def test_any_range_can_be_read(me):
    """Ranges within chunks, over them, and beyond the end."""
    text = text_of(3 * CHUNK + 77)
    edges = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, len(text) - 1, len(text), len(text) + 9]
    for armor in (False, True):
        data = seal(text, me.recipient(), armor=armor)
        opened = age.open_at(lambda a, b, data=data: data[a:b], len(data), [me])
        assert opened.size == len(text)
        for start, end in product(edges, edges):
            assert opened.read(start, end) == text[start:end]
