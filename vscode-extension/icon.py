"""Draws images/icon.png: a line of text, its grey continuation, and the cursor between them. Standard library alone."""

import struct
import zlib
from pathlib import Path

SIZE = 128
NAVY, WHITE, GREY, AMBER = (20, 33, 61), (255, 255, 255), (108, 122, 150), (252, 163, 17)
BARS = [
    (22, 32, 62, 44, WHITE),
    (22, 58, 46, 70, WHITE),
    (50, 52, 55, 76, AMBER),  # the cursor
    (60, 58, 106, 70, GREY),
    (34, 84, 88, 96, GREY),
]


def pixel(x: int, y: int) -> bytes:
    """Red, green, blue and opacity: bars on a square with round corners."""
    for left, top, right, bottom, colour in BARS:
        if left <= x < right and top <= y < bottom:
            return bytes((*colour, 255))
    radius = 20
    dx, dy = max(radius - x - 1, x - (SIZE - radius), 0), max(radius - y - 1, y - (SIZE - radius), 0)
    return bytes((*NAVY, 255 if dx * dx + dy * dy <= radius * radius else 0))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png() -> bytes:
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(SIZE)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


if __name__ == "__main__":
    (Path(__file__).parent / "images/icon.png").write_bytes(png())
