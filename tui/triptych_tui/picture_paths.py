"""Which files a prompt means as pictures: paths that are pasted or dropped, and paths typed behind an `@`.

A paste counts when it holds nothing but absolute paths or `file:` addresses, in any of the forms terminals give them:
quoted, with escaped blanks, several on a line, one a line. In the text itself an `@` counts before a path that ends as
pictures' names do; blanks in it are quoted or escaped. All else is ordinary text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from triptych.pictures import Picture, PictureError, read_picture
from triptych.reasons import Reason
from triptych.settings import at_home
from triptych.storage.atomic import is_there

LONGEST_PASTE = 32_768
"""Characters of a paste that may be paths."""

_ENDING = r"\.(?:png|jpe?g|gif|webp)"
_MENTION = re.compile(
    rf"""(?<![\w.%+@-])@(?:"([^"\n]+{_ENDING})"|'([^'\n]+{_ENDING})'|((?:\\.|[^\s\\"'])+?{_ENDING})(?![\w-]|\.\w))""",
    re.IGNORECASE | re.ASCII,
)
_ESCAPED = re.compile(r"\\(.)")


class Pasted(NamedTuple):
    """What a paste holds: its pictures, the text that remains, and why a file that looks like a picture is none."""

    pictures: tuple[Picture, ...]
    text: str
    problem: Reason | None = None


def mentioned_paths(text: str) -> list[str]:
    """The paths behind an `@`, each once, in the text's order."""
    found = (_ESCAPED.sub(r"\1", bare) if bare else quoted or single for quoted, single, bare in _MENTION.findall(text))
    return list(dict.fromkeys(found))


def read_pasted(text: str) -> Pasted:
    """Read the pictures of a paste. Where it is no list of paths, or none of them is a picture, its text is whole."""
    paths = _pasted_paths(text) if len(text) <= LONGEST_PASTE else None
    if not paths:
        return Pasted((), text)
    pictures: list[Picture] = []
    others: list[str] = []
    problem: Reason | None = None
    for path in paths:
        try:
            pictures.append(read_picture(path))
        except PictureError as error:
            others.append(str(path))
            if problem is None and re.search(rf"{_ENDING}\Z", path.name, re.IGNORECASE):
                problem = error.reason
    return Pasted(tuple(pictures), shlex.join(others) if pictures else text, problem)


def read_mentioned(path: str) -> Picture:
    """The picture at a path as it is typed. Raises PictureError."""
    return read_picture(at_home(Path(path)))


def _pasted_paths(text: str) -> list[Path] | None:
    """The paths that a paste holds; None where there is anything else in it."""
    paths: list[Path] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        whole = _path_of(line)
        words = [line] if whole is not None and is_there(whole) else _shell_words(line)
        found = [path for word in words if (path := _path_of(word)) is not None]
        if len(found) < len(words) or not found:
            return None
        paths += found
    return paths


def _shell_words(line: str) -> Sequence[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote that is not closed
        return ()


def _path_of(word: str) -> Path | None:
    """The path that a word is, None where it is not absolute."""
    if word[:5].lower() == "file:":
        return _path_at(word)
    path = at_home(Path(word))
    return path if path.is_absolute() else None


def _path_at(url: str) -> Path | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    path = Path(url2pathname(parts.path))
    return path if parts.netloc in ("", "localhost") and path.is_absolute() else None
