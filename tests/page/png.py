# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a browser's PNG small: its 256 commonest colours, the others as the nearest of them."""

import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {2: 3, 6: 4}


def _chunks(data):
    at = len(SIGNATURE)
    while at < len(data):
        length, = struct.unpack_from(">I", data, at)
        yield data[at + 4:at + 8], data[at + 8:at + 8 + length]
        at += 12 + length


def _chunk(name, body):
    return (struct.pack(">I", len(body)) + name + body
            + struct.pack(">I", zlib.crc32(name + body)))


def _paeth(left, up, corner):
    guess = left + up - corner
    distances = (abs(guess - left), abs(guess - up), abs(guess - corner))
    nearest = min(distances)
    return left if distances[0] == nearest else up if distances[1] == nearest else corner


def _unfilter(kind, line, above, size):
    """One row's bytes, in place; `size` bytes a pixel."""
    for at, byte in enumerate(line):
        left = line[at - size] if at >= size else 0
        up = above[at]
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) >> 1
        else:
            guess = _paeth(left, up, above[at - size] if at >= size else 0)
        line[at] = (byte + guess) & 255


def rows(data):
    """Width, and each row as a list of its pixels' three bytes."""
    parts = list(_chunks(data))
    width, height, depth, kind = struct.unpack_from(">IIBB", parts[0][1])
    if not data.startswith(SIGNATURE) or depth != 8 or kind not in CHANNELS:
        raise ValueError("no PNG of a kind that browsers write")
    size = CHANNELS[kind]
    raw = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    above = bytearray(width * size)
    found = []
    for row in range(height):
        begin = row * (width * size + 1)
        line = bytearray(raw[begin + 1:begin + 1 + width * size])
        if raw[begin] != 0:
            _unfilter(raw[begin], line, above, size)
        found.append([bytes(line[at:at + 3]) for at in range(0, len(line), size)])
        above = line
    return width, found


def shrink(data):
    width, picture = rows(data)
    counts = collections.Counter(color for row in picture for color in row)
    palette = [color for color, _ in counts.most_common(256)]
    numbers = {color: number for number, color in enumerate(palette)}
    for color in counts:
        if color not in numbers:
            numbers[color] = min(range(len(palette)), key=lambda at: sum(
                (a - b) ** 2 for a, b in zip(palette[at], color)))
    body = b"".join(b"\0" + bytes(numbers[color] for color in row) for row in picture)
    head = struct.pack(">IIBBBBB", width, len(picture), 8, 3, 0, 0, 0)
    return (SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"PLTE", b"".join(palette))
            + _chunk(b"IDAT", zlib.compress(body, 9)) + _chunk(b"IEND", b""))
