"""The age format alone: a file encrypted or decrypted, or read in 2 kB pieces anywhere.

python sealing.py seal|unseal|seek KEY PLAIN SEALED
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from sesstool.encryption.age import decrypt, encrypt, open_at
from sesstool.encryption.keys import parse_identities

PIECE = 1 << 20


def main() -> None:
    what, key, plain, sealed = sys.argv[1:]
    identities = parse_identities(Path(key).read_bytes(), key, None)
    if what == "seek":
        seek(Path(sealed), identities)
        return
    source = Path(plain if what == "seal" else sealed)
    recipients = [identity.recipient() for identity in identities]
    with source.open("rb") as read, source.with_name("made").open("wb") as write:
        pieces = iter(lambda: read.read(PIECE), b"")
        made = encrypt(pieces, recipients) if what == "seal" else decrypt(pieces, identities)
        for piece in made:
            write.write(piece)


def seek(path, identities) -> None:
    with path.open("rb") as file:
        size = path.stat().st_size
        text = open_at(lambda a, b: os.pread(file.fileno(), b - a, a), size, identities)
        rng, took = random.Random(1), []
        for _ in range(2000):
            at = rng.randrange(text.size - 2000)
            started = time.perf_counter()
            text.read(at, at + 2000)
            took.append((time.perf_counter() - started) * 1e3)
    took.sort()
    print(took[len(took) // 2], took[len(took) * 99 // 100])


main()
