"""Picture files as small as they can be, of the four kinds that are sent."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 1024, height: int = 768) -> bytes:
    """A whole picture, all black."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((width + 7) // 8 + 1) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def gif(width: int = 10, height: int = 20) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3) + b"\x3b"


def jpeg(width: int = 640, height: int = 480, *, orientation: int = 1, metadata: int = 0) -> bytes:
    """The header of a photograph: `orientation` as a camera writes it, `metadata` bytes before the size."""
    exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0" + struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0) + bytes(4)
    segments = [(0xE1, exif), *[(0xED, bytes(60_000))] * (metadata // 60_000)]
    segments += [(0xC0, struct.pack(">BHHB", 8, height, width, 3) + bytes(9))]
    framed = (b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data for marker, data in segments)
    return b"\xff\xd8" + b"".join(framed) + b"\xff\xd9"


def webp(width: int = 300, height: int = 200) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + sizes
    return b"RIFF" + struct.pack("<I", len(body)) + body
