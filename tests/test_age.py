"""The age format: the vectors of CCTV, streams, seeking, damage, hostile headers."""

import hashlib
import tracemalloc
import zlib
from itertools import product

import pytest

from sesstool.encryption import age, armor, keys
from sesstool.errors import (
    ArmorError,
    AuthError,
    HeaderError,
    HeaderMacError,
    NewerFormatError,
    NoMatchError,
    PayloadError,
    UsageError,
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
# The key of the seed 00 01 … 1f, and how its SHA-256 begins.
SSH_ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
SSH_TAG = "95b9aca0"
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
    for armored in (False, True):
        data = seal(text, me.recipient(), armor=armored)
        opened = age.open_at(lambda a, b, data=data: data[a:b], len(data), [me])
        assert opened.size == len(text)
        for start, end in product(edges, edges):
            assert opened.read(start, end) == text[start:end]


def test_every_flip_and_every_cut_of_a_small_file_is_found(me):
    """No byte of a file counts for nothing: changed or cut anywhere, no text comes out."""
    ssh = keys.parse_recipient(SSH_ED25519)
    data = seal(b"the lamp burns", me.recipient(), ssh)
    assert unseal(data, me) == (b"the lamp burns", None)
    for at in range(len(data)):
        for bit in (0x01, 0x20, 0x80):
            flipped = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
            for how in (unseal, open_):
                text, error = how(flipped, me)
                assert (text, isinstance(error, AuthError)) == (b"", True), at
        for how in (unseal, open_):
            text, error = how(data[:at], me)
            assert (text, isinstance(error, AuthError)) == (b"", True), at
    for how in (unseal, open_):
        text, error = how(data + b"\0", me)
        assert (text, type(error)) == (b"", PayloadError)


def test_every_flip_and_cut_of_armor_is_found(me):
    """Armor has no byte to spare but the last line end."""
    data = seal(b"the lamp burns", me.recipient(), armor=True)
    for at in range(len(data)):
        for bit in (0x01, 0x10, 0x80):
            flipped = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
            assert isinstance(unseal(flipped, me)[1], AuthError), at
            assert isinstance(open_(flipped, me)[1], AuthError), at
        if at < len(data) - 1:
            assert isinstance(unseal(data[:at], me)[1], AuthError), at
            assert isinstance(open_(data[:at], me)[1], AuthError), at


def test_a_cut_payload_gives_what_is_good_and_says_how_much(me):
    """Cut anywhere, the whole chunks before come out, in armor too."""
    text = text_of(3 * CHUNK + 500)
    data = seal(text, me.recipient())
    start = len(data) - len(text) - 4 * 16
    for chunks, more in product(range(4), (0, 1, 15, 16, 17, 400)):
        cut_at = start + chunks * (CHUNK + 16) + more
        got, error = unseal(data[:cut_at], me)
        assert type(error) is PayloadError
        assert got == text[: chunks * CHUNK]
        assert error.verified == len(got)
        assert open_(data[:cut_at], me)[0] == b""
    armored = seal(text, me.recipient(), armor=True)
    got, error = unseal(armored[: len(armored) // 2], me)
    assert type(error) is ArmorError
    assert got == text[: len(got)]
    assert len(got) == CHUNK


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (0, 0, 1, 2, 3), (0, 2, 3), (0, 1, 2, 3, 3)])
def test_moved_doubled_and_missing_chunks_are_found(me, order):
    """Chunks count: none can stand in another's place."""
    text = text_of(3 * CHUNK + 500)
    data = seal(text, me.recipient())
    start = len(data) - len(text) - 4 * 16
    chunks = list(cut(data[start:], CHUNK + 16))[::2]
    got, error = unseal(data[:start] + b"".join(chunks[n] for n in order), me)
    assert type(error) is PayloadError
    assert got == text[: len(got)]


def test_a_chunk_that_is_read_is_verified_though_the_end_is_good(me):
    """By position a damaged chunk is refused when it is read, and the others are not."""
    text = text_of(3 * CHUNK)
    data = bytearray(seal(text, me.recipient()))
    data[-2 * CHUNK] ^= 1
    opened = age.open_at(lambda a, b: bytes(data[a:b]), len(data), [me])
    assert opened.read(0, CHUNK) == text[:CHUNK]
    with pytest.raises(PayloadError, match="chunk 2 is damaged") as caught:
        opened.read(CHUNK - 1, CHUNK + 1)
    assert caught.value.verified == 0


def test_only_those_whom_it_is_for_open_it(me):
    """Each of several recipients does, another does not; what it is for is told."""
    other, stranger = keys.generate(pq=False), keys.generate(pq=False)
    data = seal(b"light", me.recipient(), other.recipient())
    assert unseal(data, me) == unseal(data, stranger, other) == (b"light", None)
    for nobody in ([], [stranger], [keys.passphrase_identity(b"x")]):
        _, error = unseal(data, *nobody)
        assert type(error) is NoMatchError
        assert "encrypted for X25519" in error.message
        assert error.hint


def test_a_wrong_passphrase_is_told_from_a_missing_one(me):
    """Whoever gave a passphrase hears that it is wrong, others that one is needed."""
    data = seal(b"light", keys.passphrase_recipient(b"six green lamps", 10))
    assert unseal(data, keys.passphrase_identity(b"six green lamps")) == (b"light", None)
    assert "passphrase is wrong" in str(unseal(data, keys.passphrase_identity(b"lamps"))[1])
    assert "encrypted with a passphrase" in str(unseal(data, me)[1])


def test_kinds_that_the_format_keeps_apart_are_refused(me):
    """A passphrase stands alone, a hybrid key among its own; the two kinds are named."""
    word = keys.passphrase_recipient(b"word", 10)
    for given, told in (
        ([], "nobody to encrypt for"),
        ([word, word], "scrypt.*scrypt"),
        ([me.recipient(), word], "scrypt.*X25519"),
    ):
        with pytest.raises(UsageError, match=told):
            age.encrypt([], given)
    if not keys.pq_available():
        pytest.skip("the cryptography library has no ML-KEM: hybrid keys are not mixed")
    hybrid = keys.generate(pq=True).recipient()
    with pytest.raises(UsageError, match="mlkem768x25519 and X25519 cannot be mixed"):
        age.encrypt([], [hybrid, me.recipient()])
    assert b"".join(age.encrypt([], [hybrid, hybrid]))


def test_more_recipients_than_could_be_read_again_are_refused(me):
    """What is written can always be read."""
    with pytest.raises(UsageError, match="too many"):
        age.encrypt([], [Fixed()] * 12_000)
    assert unseal(seal(b"light", me.recipient(), *[Fixed()] * 100), me) == (b"light", None)


class Fixed:
    """A recipient of a kind that nobody knows."""

    kind = text = "example.com/fixed"

    def wrap(self, _):
        return keys.Stanza(self.kind, ("a",), bytes(48))  # of which the last line is empty


V1 = b"age-encryption.org/v1\n"
STANZA = b"-> X25519 CQ" + b"A" * 41 + b"\n" + b"B" * 42 + b"A\n"
HOSTILE = {
    "lines": (V1, b"-> a\n\n" * 4096),
    "one line": (V1 + b"-> a ", b"a" * 65536),
    "base64": (V1 + b"-> a\n", (b"A" * 64 + b"\n") * 1000),
    "version": (b"age-encryption.org/", b"v" * 65536),
    "zeros": (b"", bytes(65536)),
    "no end of the MAC": (V1 + STANZA + b"--- ", b"A" * 65536),
    "spaces": (V1 + b"->", b" " * 65536),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_endless_header_is_refused_soon(me, name):
    """Not much more than a MiB is read of what never ends."""
    start, more = HOSTILE[name]
    taken = 0

    def endless():
        nonlocal taken
        yield start
        while True:
            taken += len(more)
            yield more

    with pytest.raises(HeaderError):
        age.decrypt(endless(), [me])
    assert taken <= (1 << 20) + 2 * len(more)


def test_endless_armor_is_refused_soon(me):
    """A line that never ends, and lines of nothing."""
    for more in (b"A" * 65536, b"\n" * 65536, b"-" * 65536):

        def endless(more=more):
            yield b"-----BEGIN AGE ENCRYPTED FILE-----\n"
            while True:
                yield more

        with pytest.raises(ArmorError):
            list(age.decrypt(endless(), [me]))


def test_ten_thousand_stanzas_are_looked_through(me):
    """As many as fit, none of them ours."""
    data = V1 + STANZA * 10_000 + b"--- " + b"A" * 43 + b"\n" + bytes(100)
    assert type(unseal(data, me)[1]) is NoMatchError


@pytest.mark.parametrize("work", ["23", "60", "1152921504606846976", "9" * 10_000])
def test_a_work_factor_beyond_the_bound_is_refused_at_once(work):
    """No file decides how long we work."""
    data = V1 + b"-> scrypt " + b"A" * 22 + b" " + work.encode() + b"\n" + b"B" * 42 + b"A\n"
    _, error = unseal(data + b"--- " + b"A" * 43 + b"\n", keys.passphrase_identity(b"x"))
    assert isinstance(error, HeaderError)
    assert "work factor" in error.message
    assert len(error.message) < 200


def test_a_newer_format_is_told_from_damage(me):
    """Another version is no damage, and the hint is to update."""
    for data in (b"age-encryption.org/v2\n\0\xff", b"age-encryption.org/v1.1\n" + STANZA):
        _, error = unseal(data, me)
        assert type(error) is NewerFormatError
        assert "update" in error.hint


def test_the_facts_name_kinds_and_ssh_tags():
    """Without a key: the kinds in order, and the tags that ssh keys have."""
    me = keys.generate(pq=False)
    ssh = keys.parse_recipient(SSH_ED25519)
    data = seal(b"light", me.recipient(), ssh, Fixed())
    seen = age.facts(lambda a, b: data[a:b], len(data))
    assert seen.kinds == ("X25519", "ssh-ed25519", "example.com/fixed")
    assert seen.tags == ("", SSH_TAG, "")
    assert (seen.size, seen.payload) == (5, 16 + 5 + 16)
    assert seen.header + seen.payload == len(data)
    for cut_at in (len(data) - 6, seen.header + 16, seen.header + 3):
        with pytest.raises(PayloadError):
            age.facts(lambda a, b: data[a:b], cut_at)
    longer = seal(text_of(2 * CHUNK), me.recipient())
    for missing in range(CHUNK, CHUNK + 16):  # a second chunk with a tag and nothing else, or less
        with pytest.raises(PayloadError):
            age.facts(lambda a, b: longer[a:b], len(longer) - missing)
    assert age.facts(lambda a, b: longer[a:b], len(longer) - CHUNK + 1).size == CHUNK + 1


def test_irregular_armor_is_streamed_and_not_read_by_position(me):
    """Mixed line ends are good in a stream; by position they are refused, with a hint."""
    data = seal(text_of(500), me.recipient(), armor=True)
    mixed = data.replace(b"\n", b"\r\n", 4)
    spaced = b" " * 5000 + data
    for irregular in (mixed, spaced):
        assert unseal(irregular, me) == (text_of(500), None)
        _, error = open_(irregular, me)
        assert type(error) is ArmorError
        assert "from start to end" in error.hint
    for regular in (data.replace(b"\n", b"\r\n"), b"\n \t" + data + b" \r\n\n", data[:-1]):
        assert open_(regular, me) == unseal(regular, me) == (text_of(500), None)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_armor_may_come_in_any_pieces(end):
    """Cut anywhere, with a last line of each length, even a full one that is padded."""
    for size in (0, 1, 2, 3, 46, 47, 48, 49, 95, 96, 200):
        text = b"".join(armor.armor([text_of(size)])).replace(b"\n", end)
        for step in range(1, 140):
            assert b"".join(armor.dearmor(cut(text, step))) == text_of(size)


def test_padding_within_armor_is_refused():
    """A full line with padding ends the base64, even where pieces end with it."""
    lines = [b"A" * 63 + b"=", b"A" * 64, b"A" * 64]
    text = b"\n".join([armor.BEGIN, *lines, armor.END])
    for step in (1, 65, len(text)):
        with pytest.raises(ArmorError):
            list(armor.dearmor(cut(text, step)))


@pytest.mark.parametrize("more", [b"-----END", b"x", b"-", b"\0", b"AAAA\n"])
def test_nothing_but_white_space_follows_armor(more):
    """Neither at once nor behind spaces, however it is cut; nor is the end line stretched."""
    whole = b"".join(armor.armor([b"light"]))
    stretched = whole.replace(b"END AGE", b"END" + b" " * 40 + b"AGE")
    for text in (whole + more, whole + b" " * 50 + more, whole.strip() + more, stretched):
        for step in (1, 40, len(text)):
            with pytest.raises(ArmorError):
                list(armor.dearmor(cut(text, step)))


@pytest.mark.parametrize("armored", [False, True])
def test_a_long_header_may_come_in_any_pieces(me, armored):
    """Wherever the header, the nonce and the first chunk are cut."""
    data = seal(b"light", *[Fixed()] * 80, me.recipient(), armor=armored)
    assert age.facts(lambda a, b: data[a:b], len(data)).header > 4096
    for step in (1, 2, 3, 5, 7, 15, 16, 17, 4096):
        assert unseal(data, me, step=step) == (b"light", None)
    assert open_(data, me) == (b"light", None)


def test_what_is_no_age_file_is_not_taken_for_one(me):
    """Neither by its head nor by its errors."""
    for head in (b"", b"{}", b"age", b"-----BEGIN RSA PRIVATE KEY-----", b" age-encryption.org/v1"):
        assert not age.is_age(head)
        assert isinstance(unseal(head, me)[1], HeaderError | ArmorError)
    for head in (b"age-encryption.org/v9", b" \n-----BEGIN AGE ENCRYPTED FILE-----"):
        assert age.is_age(head)


def test_memory_does_not_grow_with_the_file(me):
    """Sixty times as much text takes no more memory, in any direction."""
    tracemalloc.start()
    peaks = []
    for count in (4, 240):
        tracemalloc.reset_peak()
        sealed = age.encrypt((bytes(CHUNK) for _ in range(count)), [me.recipient()])
        assert sum(map(len, age.decrypt(sealed, [me]))) == count * CHUNK
        peaks.append(tracemalloc.get_traced_memory()[1])
    data = seal(bytes(240 * CHUNK), me.recipient())
    opened = age.open_at(lambda a, b: data[a:b], len(data), [me])
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert not any(any(opened.read(at, at + 9)) for at in range(0, opened.size, CHUNK))
    peaks.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    assert max(peaks[1:]) < 8 << 20
