"""What sesstool encrypts, others open, and the other way: age, pyrage and age-encryption (npm).

SESSTOOL_TEST_AGE_JS names the node_modules folder that holds age-encryption.
"""

import base64
import importlib.util
import json
import os
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from sesstool.encryption import age, keys
from tests.test_age import SIZES, open_, seal, text_of, unseal

JS = os.environ.get("SESSTOOL_TEST_AGE_JS", "")
needs_age = pytest.mark.skipif(
    not shutil.which("age") or not shutil.which("age-keygen"),
    reason="the age command is absent: files are not exchanged with it",
)
needs_pyrage = pytest.mark.skipif(
    importlib.util.find_spec("pyrage") is None,
    reason="pyrage is absent: passphrases are not exchanged with it",
)
needs_js = pytest.mark.skipif(
    not (JS and Path(JS, "age-encryption").is_dir() and shutil.which("node")),
    reason="SESSTOOL_TEST_AGE_JS names no folder with age-encryption, or node is absent: "
    "hybrid keys are not exchanged with it",
)
needs_pq = pytest.mark.skipif(
    not keys.pq_available(), reason="the cryptography library has no ML-KEM"
)
SCRIPT = """
const age = await import(process.argv[1]);
const all = JSON.parse((await import("node:fs")).readFileSync(0, "utf8"));
const out = {};
if (all.file) {
    const d = new age.Decrypter();
    if (all.passphrase) d.addPassphrase(all.passphrase); else d.addIdentity(all.identity);
    out.text = Buffer.from(await d.decrypt(Buffer.from(all.file, "base64"))).toString("base64");
} else {
    const e = new age.Encrypter();
    out.identity = await age.generateHybridIdentity();
    if (all.passphrase) e.setPassphrase(all.passphrase);
    else e.addRecipient(await age.identityToRecipient(out.identity));
    out.recipient = await age.identityToRecipient(out.identity);
    e.setScryptWorkFactor(12);
    out.file = Buffer.from(await e.encrypt(Buffer.from(all.text, "base64"))).toString("base64");
}
console.log(JSON.stringify(out));
"""


def run_age(*arguments, data=b""):
    return subprocess.run(["age", *arguments], input=data, check=True, capture_output=True).stdout


def javascript(**fields):
    """What age-encryption makes of a request; bytes go and come in base64."""
    given = {k: base64.b64encode(v).decode() if k in PACKED else v for k, v in fields.items()}
    module = Path(JS, "age-encryption", "dist", "index.js").resolve().as_uri()
    command = ["node", "--input-type=module", "-e", SCRIPT, "--", module]
    done = subprocess.run(
        command, input=json.dumps(given), check=True, capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    return {k: base64.b64decode(v) if k in PACKED else v for k, v in answer.items()}


PACKED = {"file", "text"}


def identity(kind):
    """An identity of sesstool and the bytes of its file, as others read them."""
    if kind == "X25519":
        made = keys.generate(pq=False)
        return made, keys.identity_file(made, "2026-03-01T06:00:00Z")
    key = (
        ed25519.Ed25519PrivateKey.generate()
        if kind == "ssh-ed25519"
        else rsa.generate_private_key(65537, 2048)
    )
    data = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    (found,) = keys.parse_identities(data, "key", None)
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    assert found.recipient().text == public
    return found, data


@pytest.fixture(scope="module", params=["X25519", "ssh-ed25519", "ssh-rsa"])
def both(request, tmp_path_factory):
    """An identity, and the file that gives it to age."""
    path = tmp_path_factory.mktemp("keys") / "identity"
    made, data = identity(request.param)
    path.write_bytes(data)
    path.chmod(0o600)
    return made, path


@needs_age
@pytest.mark.parametrize(("size", "armor"), list(product(SIZES, (False, True))))
def test_age_opens_what_sesstool_encrypts(both, size, armor):
    """For each kind of key, and each size around a boundary, with another recipient before it."""
    made, path = both
    other = keys.generate(pq=False).recipient()
    data = seal(text_of(size), other, made.recipient(), armor=armor)
    assert run_age("-d", "-i", str(path), data=data) == text_of(size)


@needs_age
@pytest.mark.parametrize(("size", "armor"), list(product(SIZES, (False, True))))
def test_sesstool_opens_what_age_encrypts(both, size, armor):
    """In a stream and by position, as one of several recipients."""
    made, _ = both
    other = keys.generate(pq=False).recipient().text
    options = ["-a"] if armor else []
    recipients = ["-r", other, "-r", made.recipient().text]
    data = run_age(*options, *recipients, data=text_of(size))
    assert unseal(data, made) == open_(data, made) == (text_of(size), None)
    assert age.facts(lambda a, b: data[a:b], len(data)).kinds == ("X25519", made.kind)


@needs_age
def test_identities_of_age_keygen_are_read_and_ours_by_it(tmp_path):
    """The file has the very form of age-keygen's, and the same public key is drawn from it."""
    theirs = subprocess.run(["age-keygen"], check=True, capture_output=True).stdout
    (found,) = keys.parse_identities(theirs, "theirs", None)
    assert found.recipient().text.encode() in theirs
    created = theirs.splitlines()[0].removeprefix(b"# created: ").decode()
    assert keys.identity_file(found, created) == theirs
    made = keys.generate(pq=False)
    path = tmp_path / "identity"
    path.write_bytes(keys.identity_file(made, created))
    done = subprocess.run(["age-keygen", "-y", str(path)], check=True, capture_output=True)
    assert done.stdout.decode().strip() == made.recipient().text


@needs_age
def test_recipients_files_mean_the_same_to_age(tmp_path):
    """One file of age and ssh keys, with comments, gives the same recipients to both."""
    made = [identity(kind)[0] for kind in ("X25519", "ssh-ed25519", "ssh-rsa")]
    path = tmp_path / "recipients"
    lines = ["# team", *(m.recipient().text for m in made), ""]
    path.write_text("\n\n".join(lines))
    data = run_age("-R", str(path), data=b"light")
    for each in made:
        assert unseal(data, each) == (b"light", None)
    ours = keys.parse_recipients(path.read_bytes(), "recipients")
    assert ours == [m.recipient() for m in made]


@needs_pyrage
def test_passphrases_work_both_ways_with_pyrage():
    """What one encrypts with a passphrase, the other opens."""
    import pyrage  # noqa: PLC0415 - absent where the test is skipped

    words = "sechs grüne lampen"
    for size in SIZES:
        data = seal(text_of(size), keys.passphrase_recipient(words.encode(), 12))
        assert pyrage.passphrase.decrypt(data, words) == text_of(size)
    # Once: they take as much work as a second of this machine allows.
    theirs = pyrage.passphrase.encrypt(text_of(65537), words)
    assert unseal(theirs, keys.passphrase_identity(words.encode())) == (text_of(65537), None)


@needs_js
@needs_pq
@pytest.mark.parametrize("size", SIZES)
def test_hybrid_keys_work_both_ways_with_age_encryption(size):
    """The post-quantum keys of both are the same keys."""
    text = text_of(size)
    theirs = javascript(text=text)
    (found,) = keys.parse_identities(theirs["identity"].encode(), "theirs", None)
    assert found.recipient().text == theirs["recipient"]
    assert unseal(theirs["file"], found) == (text, None)
    made = keys.generate(pq=True)
    data = seal(text, keys.parse_recipient(theirs["recipient"]), made.recipient())
    for secret in (theirs["identity"], made.secret_text):
        assert javascript(file=data, identity=secret)["text"] == text


@needs_js
def test_passphrases_work_both_ways_with_age_encryption():
    """A third implementation agrees."""
    words = {"passphrase": "lamps"}
    data = seal(b"light", keys.passphrase_recipient(b"lamps", 12))
    assert javascript(file=data, **words)["text"] == b"light"
    theirs = javascript(text=b"light", **words)
    assert unseal(theirs["file"], keys.passphrase_identity(b"lamps")) == (b"light", None)
