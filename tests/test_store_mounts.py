"""Sessions on a disk of another machine: a lock and an append promise less there."""

from __future__ import annotations

import warnings

import pytest

from sesstool import SessionStore
from sesstool.records import mounts
from tests.test_store import ASK

TABLE = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw - nfs4 server:/export rw,vers=4.2
31 30 8:2 / /home/mina/local rw - xfs /dev/vdb rw
32 22 0:41 / /mnt/two\040words rw - fuse.sshfs mina@harbour: rw
33 22 0:42 / /mnt/share rw shared:9 master:3 - cifs //harbour/share rw
34 22 0:43 / /mnt/over rw - smb3 //harbour/over rw
35 34 0:44 / /mnt/over rw - tmpfs tmpfs rw
36 22 0:45 / /mnt/fuse rw - fuse.ext2 /dev/vdc rw

no line of that table
- - -
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    path = tmp_path / "mountinfo"
    path.write_text(TABLE)
    monkeypatch.setattr(mounts, "_TABLE", path)
    return path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/sessions", ""),
        ("/home/mina", "nfs4"),
        ("/home", "nfs4"),
        ("/homes/mina", ""),
        ("/home/mina/local/a", ""),
        ("/mnt/two words/a", "fuse.sshfs"),
        ("/mnt/share", "cifs"),
        ("/mnt/over/a", ""),
        ("/mnt/fuse/a", ""),
    ],
)
@pytest.mark.usefixtures("table")
def test_the_deepest_mount_point_tells_the_kind_of_disk(path, kind):
    """Of two at one place the later; a name that only begins alike is another one."""
    assert mounts.network_disk(mounts.Path(path)) == kind


def test_without_a_table_nothing_is_told(table):
    """As on other systems, and whatever bytes it holds."""
    table.write_bytes(b"\xff \xff \xff / / \\777 - \xff\n\0\n - nfs\n")
    assert mounts.network_disk(mounts.Path("/home")) == ""
    table.unlink()
    assert mounts.network_disk(mounts.Path("/home")) == ""


def test_a_session_on_a_network_disk_is_opened_with_a_warning(table, tmp_path):
    """It names the folder and the kind; on a local disk there is none."""
    folder = tmp_path / "sessions"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with SessionStore(folder).open("harbour") as session:
            session.append(ASK)
    table.write_text(f"{TABLE}40 22 0:50 / {tmp_path} rw - nfs server:/a rw\n")
    with pytest.warns(RuntimeWarning, match=rf"{folder} is on a network disk \(nfs\)") as caught:
        SessionStore(folder).open("harbour").close()
    assert caught[0].filename == __file__
    # Where warnings are errors, nothing is held.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            SessionStore(folder).open("harbour")
        warnings.simplefilter("ignore")
        SessionStore(folder).open("harbour").close()
