"""A session as a folder of pages that lead to each other: for one too long for a single page."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from sesstool.errors import WriteError
from sesstool.export import html
from sesstool.export.sections import Choice, Reading, Section
from sesstool.records.write import cannot_write, create, real_path, sync_folder


class Page(NamedTuple):
    """What the index says of a page: its turns in words, its lines, and its first prompt."""

    number: int
    file: str
    turns: str
    first: int
    last: int
    title: str


def write(reading: Reading, choice: Choice, size: int, folder: Path) -> int:
    """Write pages of `size` turns each, and the index, into a new folder; how many pages there are.

    It is private, and there whole or not at all. Raises WriteError, also where the folder exists
    and is not empty.
    """
    target = real_path(folder)
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise WriteError(
            f"cannot write {folder}: it exists already",
            hint="choose another name, or remove it first",
        )
    made: Path | None = None
    try:
        made = Path(tempfile.mkdtemp(prefix=".sesstool-", dir=target.parent))
        pages = list(_pages(reading, choice, size, made))
        create(made / "index.html", (part.encode() for part in html.index(reading, choice, pages)))
        made.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise cannot_write(folder, error) from error
    except WriteError as error:  # about a page in a folder that is not there any more
        cause = error.__cause__
        raise cannot_write(folder, cause) if isinstance(cause, OSError) else error from cause
    finally:
        if made is not None:
            with suppress(FileNotFoundError):
                shutil.rmtree(made)
    return len(pages)


def _pages(reading: Reading, choice: Choice, size: int, folder: Path) -> Iterator[Page]:
    """Write the pages one after the other."""
    sections = reading.sections(choice)
    ahead = next(sections, None)
    number = 0
    while ahead is not None:
        number += 1
        first = _page_of(ahead, size) * size + 1
        last = max(min(first + size - 1, reading.turns), first)
        about = html.Pages(number, first, last)
        inside = _inside(ahead, sections, size, about)
        chunks = (text.encode() for text in html.render(reading, choice, inside, about))
        create(folder / html.file_of(number), chunks)
        prompt = next(reading.prompts(choice, first, last), None)
        turns = f"turns {first} to {last}" if last > first else f"turn {first}"
        title = prompt.title if prompt else ""
        yield Page(number, html.file_of(number), turns, *about.lines, title)
        ahead = about.behind[0] if about.behind else None


def _inside(
    ahead: Section, sections: Iterator[Section], size: int, about: html.Pages
) -> Iterator[Section]:
    """The sections of the page that one begins; the first of the next page is kept."""
    page = _page_of(ahead, size)
    for section in chain([ahead], sections):
        if _page_of(section, size) != page:
            about.behind.append(section)
            return
        about.saw(section.record.line)
        yield section


def _page_of(section: Section, size: int) -> int:
    return max(section.turn - 1, 0) // size
