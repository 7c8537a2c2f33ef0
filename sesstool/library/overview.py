"""All the sessions of this computer at one look: what each is.

Only what has changed since the last look is opened; see `kept`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from sesstool.library.arrange import Row
from sesstool.library.discover import Item
from sesstool.library.glance import look
from sesstool.library.kept import Kept
from sesstool.library.kinship import in_projects, with_owners

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys


def survey(
    items: Iterable[Item],
    keys: Keys | None = None,
    *,
    kept: bool = True,
) -> list[Row]:
    """The sessions with what both their ends tell, briefly; see `glance.look`. Never raises.

    `kept` says that the cache is used.
    """
    rows: list[Row] = []
    fresh: list[int] = []
    with Kept(wanted=kept) as cache:
        for folder, members in groupby(items, lambda item: item.folder):
            known = cache.of(folder)
            for item in members:
                glance = known.take(item)
                if glance is None:
                    glance = look(item, keys, brief=True)
                    fresh.append(len(rows))
                rows.append((item, glance))
        if fresh:
            rows = with_owners(rows)
        cache.keep(rows, (rows[at] for at in fresh))
    return in_projects(rows)
