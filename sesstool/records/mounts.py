"""Which disk a file lies on, as far as it matters to writers: whether it is another machine's."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TABLE = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_NETWORK = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "ncpfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.davfs"),
    )
)


def network_disk(path: Path) -> str:
    """The kind of the network file system that a real path lies on, such as "nfs4".

    "" for a disk of this machine, and where the system does not tell.
    """
    try:
        lines = _TABLE.read_bytes().splitlines()
    except OSError:
        return ""
    place, deepest, kind = os.fsencode(path) + b"/", 0, b""
    for line in lines:
        before, _, after = line.partition(b" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = _ESCAPED.sub(lambda code: bytes([int(code[1], 8) & 255]), fields[4])
        point = point.rstrip(b"/") + b"/"
        # Of two at the same place the later one is seen.
        if place.startswith(point) and len(point) >= deepest:
            deepest, kind = len(point), after.split()[0]
    name = kind.decode("ascii", "replace")
    return name if name in _NETWORK else ""
