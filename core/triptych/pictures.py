"""Pictures beside the text of a message: read from files, sent as parts, and seen in any list.

Nothing here decodes a picture; its header tells its size.
"""

from __future__ import annotations

import base64
import io
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from triptych.messages import Message, picture_parts
from triptych.reasons import TriptychError

LARGEST_PICTURE = 20_000_000
"""Bytes of the largest picture that is sent, as OpenAI's guide to images states it."""

PATCH = 28
"""Pixels of a patch's side where one patch is one token.

Qwen2-VL and Qwen2.5-VL publish it so (14-pixel patches, two by two merged into one token); Anthropic's published rule,
width × height ÷ 750, is nearly the same (√750 = 27.4). Other endpoints count by tiles, so this is a second opinion.
"""

_FURTHEST_SIZE = 1 << 20
"""Bytes of a picture within which its size is sought when a list is shown."""
_BEGINNING = 4096
_SIGNATURE = 16


class PictureSize(NamedTuple):
    """Width and height in pixels, as the picture is looked at."""

    width: int
    height: int

    @property
    def patches(self) -> int:
        """How many tokens the picture is by `W·H/P²`, with P the side of a patch."""
        return round(self.width * self.height / PATCH**2)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture to be sent with a question: the name of its file, its size, and all of it as a `data:` URL."""

    name: str
    size: PictureSize
    data_url: str = field(repr=False)


class SeenPicture(NamedTuple):
    """What a message's part tells of its picture: its size where its data is there, its host where it is elsewhere."""

    size: PictureSize | None = None
    host: str = ""


class PictureError(TriptychError):
    """The file cannot be sent as a picture; the reason says why."""


def read_picture(path: Path) -> Picture:
    """A picture file, whole. Waits for no pipe and opens no device.

    Raises PictureError: `picture.missing`, `.special`, `.unreadable`, `.unknown_kind`, `.too_large` or `.broken`.
    """
    name = path.name or str(path)
    try:
        data = _read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise PictureError("picture.missing", name=name) from None
    except OSError as error:
        raise PictureError("picture.unreadable", name=name, error=error.strerror or type(error).__name__) from None
    except ValueError:  # a null character or a lone surrogate: no file has such a name
        raise PictureError("picture.missing", name=name) from None
    media_type = _media_type(data)
    if media_type is None:
        raise PictureError("picture.unknown_kind", name=name)
    if len(data) > LARGEST_PICTURE:
        raise PictureError("picture.too_large", name=name, megabytes=LARGEST_PICTURE // 1_000_000)
    size = _size_in(data)
    if size is None:
        raise PictureError("picture.broken", name=name)
    return Picture(name, size, f"data:{media_type};base64,{base64.b64encode(data).decode()}")


def user_message(text: str, pictures: Sequence[Picture] = ()) -> Message:
    """A question in wire form: plain text, or where there are pictures a part for the text and one for each of them."""
    if not pictures:
        return {"role": "user", "content": text}
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    parts += [{"type": "image_url", "image_url": {"url": picture.data_url}} for picture in pictures]
    return {"role": "user", "content": parts}


def seen_pictures(message: Message) -> tuple[SeenPicture, ...]:
    """The pictures of a message, in order."""
    return tuple(map(_seen, picture_parts(message)))


def _read_regular(path: Path) -> bytes:
    """At most one byte more than a picture may have; of what does not begin as a picture, only the beginning."""
    # Looked at before it is opened: opening alone wakes whoever writes to a FIFO, and moves some devices.
    _require_regular(path, path.stat())
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        _require_regular(path, os.fstat(handle))
        beginning = file.read(_SIGNATURE) or b""  # None from files of the kernel that would have to be waited for
        return beginning if _media_type(beginning) is None else beginning + file.read(LARGEST_PICTURE + 1 - _SIGNATURE)


def _require_regular(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise PictureError("picture.special", name=path.name or str(path))


def _media_type(data: bytes) -> str | None:
    """What a file's first bytes say it is, None for all that endpoints do not take."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _size_in(data: bytes) -> PictureSize | None:
    if _media_type(data) is None:  # nothing else is looked into
        return None
    import imagesize  # not needed for the first picture of the screen

    # Given a file object it opens nothing by name, and a header that makes no sense gives it no size.
    width, height = imagesize.get(io.BytesIO(data))
    return PictureSize(width, height) if width > 0 and height > 0 else None


def _seen(part: dict[str, Any]) -> SeenPicture:
    source = next((part[key] for key in ("image_url", "source", "image") if key in part), None)
    if isinstance(source, dict):
        if isinstance(source.get("data"), str):
            return SeenPicture(_size_in_base64(source["data"]))
        source = source.get("url")
    if not isinstance(source, str):
        return SeenPicture()
    if source[:5].lower() == "data:":
        head, _, data = source[: _FURTHEST_SIZE * 2].partition(",")
        return SeenPicture(_size_in_base64(data) if head.lower().endswith(";base64") else None)
    return SeenPicture(host=_host_of(source))


def _size_in_base64(text: str) -> PictureSize | None:
    """The size, sought in the beginning, and further only where that does not tell."""
    for characters in (_BEGINNING, _FURTHEST_SIZE // 3 * 4):
        try:
            data = base64.b64decode(text[:characters])
        except ValueError:
            return None
        if (size := _size_in(data)) is not None or len(text) <= characters:
            return size
    return None


def _host_of(url: str) -> str:
    try:
        return urlsplit(url[:2000]).hostname or ""
    except ValueError:
        return ""
