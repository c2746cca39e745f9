"""Take pictures of the real program: `python -m tests.pictures [NAME …]`, without names all of them.

It runs in a real terminal; its screen is drawn on a strict cell grid. This needs `rsvg-convert`, `pngquant`, the fonts
JetBrains Mono and Noto Sans CJK, and port 11434 of the loopback interface.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support_picture_scenes import PICTURES

FOLDER = Path(__file__).parents[1] / "assets" / "pictures"
COLOURS = "128"


def take(name: str, folder: Path) -> Path:
    picture = PICTURES[name]
    with tempfile.TemporaryDirectory() as home:
        svg = picture.scene(Path(home), picture.size, picture.options)
    drawn = subprocess.run(["rsvg-convert"], input=svg.encode(), capture_output=True, check=True).stdout
    small = subprocess.run(["pngquant", COLOURS, "-"], input=drawn, capture_output=True, check=True).stdout
    path = folder / f"{name}.png"
    path.write_bytes(small)
    return path


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        print(take(name, FOLDER))


if __name__ == "__main__":
    main()
