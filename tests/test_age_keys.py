"""Keys: what people have is read or refused, and no secret is ever told."""

import base64
import pickle
import random
import re
import subprocess
import sys
import traceback
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x448
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from sesstool.encryption import age, bech32, keys, ssh
from sesstool.errors import NoMatchError, SesstoolError, UsageError
from tests.test_age import SSH_ED25519, seal, unseal

# The examples of the specification.
SECRET = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"  # noqa: S105 - public
PUBLIC = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
PQ_SECRET = "AGE-SECRET-KEY-PQ-1XX76JRALNLXDMEW0CRK45QMCCH4X06SE84UN3VPM33W6HWDX0H3SK3ZQFR"  # noqa: S105 - public
WORD = b"six green lamps"
CREATED = "2026-03-01T06:00:00Z"
needs_pq = pytest.mark.skipif(
    not keys.pq_available(), reason="the cryptography library has no ML-KEM"
)


def identities(text, passphrase=None, name="keys.txt"):
    data = text.encode() if isinstance(text, str) else text
    return keys.parse_identities(data, name, passphrase)


def refused(call, *arguments):
    """The error of a call, which tells the next step and nothing of what was given."""
    with pytest.raises(SesstoolError) as caught:
        call(*arguments)
    error = caught.value
    assert error.hint
    told = "".join(traceback.format_exception(error, chain=True)) + error.hint
    for given in arguments:
        text = given.decode("latin-1") if isinstance(given, bytes) else str(given)
        for part in re.findall(r"[\w+/-]{20,}", text):
            assert part not in told
    return error


def asked(answer):
    """A passphrase prompt that keeps what it was asked for."""
    names = []

    def ask(name):
        names.append(name)
        return answer

    return ask, names


def test_the_keys_of_the_specification_belong_together():
    """The secret key has the public key that the specification gives."""
    (found,) = identities(SECRET)
    assert found.recipient().text == PUBLIC
    assert keys.parse_recipient(PUBLIC) == found.recipient()
    assert found.secret_text == SECRET


@needs_pq
def test_the_hybrid_key_of_the_specification_is_drawn_from_its_seed():
    """The recipient is the one of the specification, and reads back."""
    (found,) = identities(PQ_SECRET)
    text = found.recipient().text
    assert len(text) == 7 + 1946 + 6
    assert text.startswith("age1pq1x34nzsvr0rxjsgdn8zgyhfe8j7ceq5r9rdelkjuh3y235jzxshfg87pzf5")
    assert text.endswith("gjtqmwze9pyyzk3tlhl53k2ykx3qheyty7saeq0d3fzv49zc0k")
    assert keys.parse_recipient(text) == found.recipient()
    assert found.secret_text == PQ_SECRET
    assert unseal(seal(b"light", found.recipient()), found) == (b"light", None)


def test_bech32_of_any_length_comes_back_and_no_typing_error_does():
    """Each length has its padding; one sign changed or two swapped are found."""
    for size in range(70):
        data = bytes(range(1, size + 1))
        assert bech32.decode(bech32.encode("age", data)) == ("age", data)
    for at in range(len(PUBLIC)):
        wrong = PUBLIC[:at] + ("q" if PUBLIC[at] != "q" else "p") + PUBLIC[at + 1 :]
        assert isinstance(refused(keys.parse_recipient, wrong), UsageError)
    for bad in ("", "1", "age1", PUBLIC.replace("zv", "zV"), "1qqqqqqqq", "agé1qqqqqqqqqqq"):
        with pytest.raises(ValueError, match=r"\w"):
            bech32.decode(bad)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no recipient"),
        ("lamp", "no recipient"),
        (SECRET, "secret key"),
        (PUBLIC[:-1], "mistake"),
        (PUBLIC.upper(), "no recipient"),
        (bech32.encode("age", bytes(31)), "too long or too short"),
        (bech32.encode("age1pq", bytes(32)), "too long or too short"),
        (bech32.encode("age1tag", bytes(33)), "hardware keys and plugins"),
        (bech32.encode("age1yubikey", bytes(33)), "hardware keys and plugins"),
        ("age1" + "q" * 100_000, "no recipient"),
        ("age1\0" + PUBLIC[4:], "no recipient"),
        ("ssh-ed25519", "malformed"),
        (SSH_ED25519[:-8], "malformed"),
        ("ssh-rsa " + SSH_ED25519.split()[1], "malformed"),
        ("ecdsa-sha2-nistp256 AAAA", "kind"),
        ("sk-ssh-ed25519@openssh.com AAAA", "kind"),
        ("ssh-dss AAAA", "kind"),
        ("ssh-\x85lamp AAAA", "no recipient"),
    ],
)
def test_what_is_no_recipient_is_refused(text, told):
    """The reason is told, and what was given is not."""
    error = refused(keys.parse_recipient, text)
    assert isinstance(error, UsageError)
    assert told in error.message


def test_a_recipients_file_has_comments_blank_lines_and_any_line_ends():
    """Errors name the file and the line."""
    data = f"# team\r\n\r\n  {PUBLIC}  \r\n#\n{SSH_ED25519} a@lamp\n".encode()
    found = keys.parse_recipients(data, "team.txt")
    assert [r.text for r in found] == [PUBLIC, SSH_ED25519]
    for wrong in (b"lamp lamp lamp lamp lamp", b"\0" * 30, b"\xff\xfe" + data, SECRET.encode()):
        error = refused(lambda d: keys.parse_recipients(d, "team.txt"), data + wrong)
        assert error.message.startswith("team.txt, line 6: this is ")
    assert "holds no recipient" in refused(keys.parse_recipients, b"# nobody\n", "t").message


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (PUBLIC, "public key"),
        (SSH_ED25519, "public key"),
        ("AGE-PLUGIN-YUBIKEY-1QQQ", "plugins"),
        (SECRET.lower(), "no identity"),
        (SECRET[:-1], "mistake"),
        ("AGE-SECRET-KEY-" + "1" * 100_000, "no identity"),
        ("lamp", "no identity"),
        ("\0" * 50, "no identity"),
        ("\ufeff" + SECRET, "no identity"),
        (SECRET + "\0", "mistake"),
        (bech32.encode("age-secret-key-", bytes(31)).upper(), "length"),
        (bech32.encode("age-secret-key-pq-", bytes(31)).upper(), "length"),
        (bech32.encode("age-secret-key-new-", bytes(32)).upper(), "unknown kind"),
    ],
)
def test_what_is_no_identity_is_refused_by_file_and_line(line, told):
    """The line is named, and not quoted."""
    error = refused(identities, f"# mine\n{SECRET}\n{line}\n")
    assert error.message.startswith("keys.txt, line 3: ")
    assert told in error.message


def test_an_identity_file_without_a_key_is_refused():
    """Empty, or comments alone."""
    for text in ("", "\n\n", "# created: yesterday\n"):
        assert "holds no identity" in refused(identities, text).message


@pytest.mark.parametrize("armor", [False, True])
def test_an_identity_that_is_encrypted_asks_for_its_passphrase_once(armor):
    """By the name of its file; a wrong one, nobody to ask, and damage are told apart."""
    made = keys.generate(pq=False)
    inner = keys.identity_file(made, CREATED)
    data = seal(inner, keys.passphrase_recipient(WORD, 10), armor=armor)
    ask, names = asked(WORD)
    assert identities(data, ask) == [made]
    assert names == ["keys.txt"]
    assert isinstance(refused(identities, data, asked(b"lamps")[0]), NoMatchError)
    assert "nobody can be asked" in refused(identities, data, None).message
    broken = refused(identities, data[:-3], asked(WORD)[0])
    assert isinstance(broken, UsageError)
    assert broken.message.startswith("keys.txt cannot be opened: ")
    other = seal(inner, made.recipient(), armor=armor)
    assert "not with a passphrase" in refused(identities, other, ask).message
    twice = seal(data, keys.passphrase_recipient(WORD, 10), armor=armor)
    assert isinstance(refused(identities, twice, asked(WORD)[0]), UsageError)


def private(key, form=PrivateFormat.OpenSSH, password=None):
    lock = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, form, lock)


@pytest.fixture(scope="module")
def rsa_key():
    # No multiple of eight, which is the size that trips.
    return rsa.generate_private_key(65537, 2049)


@pytest.fixture(scope="module", params=["ed25519", "rsa"])
def ssh_key(request, rsa_key):
    return rsa_key if request.param == "rsa" else ed25519.Ed25519PrivateKey.generate()


@pytest.mark.parametrize("form", [PrivateFormat.OpenSSH, PrivateFormat.PKCS8])
def test_private_ssh_keys_are_read_plain_and_encrypted(ssh_key, form):
    """In both forms; the passphrase is asked for only where there is one."""
    plain = private(ssh_key, form)
    (found,) = identities(plain, None, "id")
    assert unseal(seal(b"light", found.recipient()), found) == (b"light", None)
    ask, names = asked(WORD)
    assert identities(private(ssh_key, form, WORD), ask, "id") == [found]
    assert names == ["id"]
    locked = private(ssh_key, form, WORD)
    for wrong in (b"lamps", b""):
        assert isinstance(refused(identities, locked, asked(wrong)[0]), NoMatchError)
    assert "nobody can be asked" in refused(identities, locked, None).message
    public = ssh_key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    assert keys.parse_recipient(public.decode() + " a@lamp") == found.recipient()


def test_an_rsa_key_in_its_old_form_is_read(rsa_key):
    """What ssh-keygen -m PEM writes."""
    old = PrivateFormat.TraditionalOpenSSL
    wanted = identities(private(rsa_key))
    assert identities(private(rsa_key, old)) == wanted
    assert identities(private(rsa_key, old, WORD), asked(WORD)[0]) == wanted
    locked = private(rsa_key, old, WORD)
    assert isinstance(refused(identities, locked, asked(b"lamps")[0]), NoMatchError)
    start = locked.index(b",", locked.index(b"DEK-Info")) + 1
    for iv in (b"", b"00", b"0" * 30, b"0" * 34, b"lamp"):
        wrong = locked[:start] + iv + locked[start + 32 :]
        assert isinstance(refused(identities, wrong, asked(WORD)[0]), UsageError)


def test_ssh_keys_of_other_kinds_and_sizes_are_refused():
    """Elliptic curves cannot decrypt; short keys protect nothing, long ones take for ever."""
    for form in (PrivateFormat.OpenSSH, PrivateFormat.PKCS8):
        data = private(ec.generate_private_key(ec.SECP256R1()), form)
        assert "cannot decrypt" in refused(identities, data).message
    lines = private(ec.generate_private_key(ec.SECP256R1())).splitlines()
    raw = base64.b64decode(b"".join(lines[1:-1])).replace(b"\0\0\0\x41\4", b"\0\0\0\x41\2")
    compressed = b"\n".join([lines[0], base64.b64encode(raw), lines[-1]])
    assert "no key that can be read" in refused(identities, compressed).message
    data = private(x448.X448PrivateKey.generate(), PrivateFormat.PKCS8)
    assert "cannot decrypt" in refused(identities, data).message
    short = rsa.generate_private_key(65537, 1024)  # noqa: S505 - to be refused
    public = short.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    assert "1024 bits" in refused(identities, private(short)).message
    assert "1024 bits" in refused(keys.parse_recipient, public).message
    long = rsa_public(17_000)
    assert isinstance(refused(keys.parse_recipient, long), UsageError)
    assert keys.parse_recipient(rsa_public(8192)).wrap(bytes(16)).kind == "ssh-rsa"


def rsa_public(bits):
    """An RSA public key of some size, of which nobody has the private one."""
    modulus = (1 << bits - 1 | 1).to_bytes(bits // 8 + 1, "big")
    fields = (b"ssh-rsa", (65537).to_bytes(3, "big"), modulus)
    wire = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    return f"ssh-rsa {base64.b64encode(wire).decode()}"


def test_an_ssh_key_that_asks_for_endless_work_is_refused():
    """The rounds of bcrypt are bounded."""
    key = ed25519.Ed25519PrivateKey.generate()
    lines = private(key, password=WORD).splitlines()
    raw = bytearray(base64.b64decode(b"".join(lines[1:-1])))
    at = raw.index(b"bcrypt") + 6 + 4 + 4 + 16
    assert int.from_bytes(raw[at : at + 4], "big") == 16
    raw[at : at + 4] = b"\xff\xff\xff\xff"
    data = b"\n".join([lines[0], base64.b64encode(raw), lines[-1]])
    assert "rounds of bcrypt" in refused(identities, data, asked(WORD)[0]).message


def test_keys_that_open_to_everybody_are_not_encrypted_for():
    """Points of low order, and what is no point at all."""
    low = [bytes(32), b"\1" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]
    for key in low:
        recipient = keys.parse_recipient(bech32.encode("age", key))
        assert isinstance(refused(recipient.wrap, bytes(16)), UsageError)
        assert isinstance(refused(ssh.Ed25519Recipient(key).wrap, bytes(16)), UsageError)
    for none in (b"\2" + bytes(31), b"\xff" * 32):
        assert isinstance(refused(ssh.Ed25519Recipient(none).wrap, bytes(16)), UsageError)


def test_an_ssh_stanza_that_names_the_key_and_does_not_open_is_damage(ssh_key):
    """Neither is another key blamed, nor does a traceback come of any other form."""
    (found,) = identities(private(ssh_key))
    stanza = found.recipient().wrap(bytes(range(16)))
    assert found.unwrap([stanza]) == bytes(range(16))
    body = stanza.body[:-1] + bytes([stanza.body[-1] ^ 1])
    arguments = stanza.arguments
    for wrong in (
        stanza._replace(body=body),
        stanza._replace(body=b""),
        stanza._replace(body=stanza.body * 50),
        stanza._replace(arguments=()),
        stanza._replace(arguments=(*arguments, "a")),
        stanza._replace(arguments=("AAAAAAAA", *arguments[1:])),
        stanza._replace(arguments=(*arguments[:-1], "*")),
    ):
        assert "malformed" in refused(found.unwrap, [wrong]).message
    assert found.unwrap([stanza._replace(arguments=("AAAAAA", *arguments[1:]))]) is None


def everyone():
    made = [keys.generate(pq=False), keys.passphrase_identity(WORD)]
    made += identities(private(ed25519.Ed25519PrivateKey.generate()))
    made += identities(private(rsa.generate_private_key(65537, 2048)))
    return made + ([keys.generate(pq=True)] if keys.pq_available() else [])


def test_identities_go_to_workers_and_show_nothing():
    """Each can be pickled, and neither it nor its recipient shows a secret."""
    for identity in everyone():
        again = pickle.loads(pickle.dumps(identity))  # noqa: S301 - made a line above
        assert again == identity
        recipient = identity.recipient() or keys.passphrase_recipient(WORD, 10)
        assert unseal(seal(b"light", recipient), again) == (b"light", None)
        secret = identity.secret
        for shown in (repr(identity), str(identity), repr([recipient])):
            assert secret.hex() not in shown
            assert repr(secret)[2:-1] not in shown
            assert "SECRET" not in shown


def test_generated_keys_differ():
    """No two are the same, and none encrypts alike twice."""
    one, two = keys.generate(pq=False), keys.generate(pq=False)
    assert one != two
    assert seal(b"light", one.recipient()) != seal(b"light", one.recipient())


def test_an_identity_file_reads_back():
    """In the form of age-keygen."""
    made = keys.generate(pq=False)
    data = keys.identity_file(made, CREATED)
    assert data.startswith(f"# created: {CREATED}\n# public key: age1".encode())
    assert identities(data) == [made]


def test_a_library_without_ml_kem_is_told_so(monkeypatch):
    """Everything else goes on working."""
    (hybrid,) = identities(PQ_SECRET)
    data = seal(b"light", hybrid.recipient()) if keys.pq_available() else b""
    for module in ("hpke", "asymmetric.mlkem"):
        monkeypatch.setitem(sys.modules, f"cryptography.hazmat.primitives.{module}", None)
    assert not keys.pq_available()
    with pytest.raises(UsageError, match="no ML-KEM") as caught:
        keys.generate(pq=True)
    assert "cryptography 48" in caught.value.hint
    if data:
        with pytest.raises(UsageError, match="no ML-KEM"):
            age.decrypt([data], [hybrid])
    plain = keys.generate(pq=False)
    assert unseal(seal(b"light", plain.recipient()), hybrid, plain) == (b"light", None)


def test_an_empty_passphrase_and_odd_work_are_refused():
    """The bound of reading is the bound of writing."""
    assert "empty" in refused(keys.passphrase_recipient, b"").message
    for work in (0, 23, -1):
        assert "no work factor" in refused(keys.passphrase_recipient, b"x", work).message


def test_without_memory_for_scrypt_there_is_no_traceback(monkeypatch):
    """The work that the file asks for is named."""

    def derive(*_):
        raise MemoryError

    monkeypatch.setattr("sesstool.encryption.passphrase.Scrypt.derive", derive, raising=False)
    error = refused(keys.passphrase_recipient(b"x", 20).wrap, bytes(16))
    assert "1024 MiB" in error.message


@pytest.mark.parametrize("kind", ["age", "encrypted", "openssh", "locked", "pkcs8"])
def test_damaged_key_files_never_end_in_a_traceback(kind):
    """Bytes flipped, cut and put in: identities, or an error of ours."""
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    data = {
        "age": SECRET.encode(),
        "encrypted": seal(SECRET.encode(), keys.passphrase_recipient(WORD, 1), armor=True),
        "openssh": private(key),
        "locked": private(key, PrivateFormat.PKCS8, WORD),
        "pkcs8": private(key, PrivateFormat.PKCS8),
    }[kind]
    choose = random.Random(kind)
    for _ in range(300):
        at = choose.randrange(len(data))
        new = bytes([choose.choice([0, 10, 45, 65, 255, data[at] ^ 1])])
        wrong = choose.choice(
            [data[:at], data[:at] + new + data[at:], data[:at] + new + data[at + 1 :]]
        )
        with suppress(SesstoolError):
            keys.parse_identities(wrong, "keys.txt", lambda _: WORD)


def test_a_file_is_told_to_be_of_age_without_cryptography():
    """Its head and its facts need no library."""
    script = (
        "import sys; from sesstool.encryption import age; "
        "assert age.is_age(b'age-encryption.org/v1'); "
        "assert 'cryptography' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
