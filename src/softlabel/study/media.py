"""Pictures and recordings: their type is read from the first bytes and never from the name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from softlabel.study.findings import Refused, require_file
from softlabel.study.model import Media

HEAD = 256  # bytes that are read
MARKUP = re.compile(rb"\s*<[!?a-z]", re.IGNORECASE)
NAMES = {"image": "PNG, JPEG, GIF, WebP and AVIF", "audio": "WAV, MP3, Ogg and FLAC"}
MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
    b"ID3": "audio/mpeg",
}

Channel = Literal["image", "audio"]


def detect_type(head: bytes) -> str | None:
    """Return the media type of a file that begins so, or None if it cannot be served."""
    for magic, mime in MAGIC.items():
        if head.startswith(magic):
            return mime
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12])
    if head[4:8] == b"ftyp":
        brands = head[8 : int.from_bytes(head[:4], "big")]
        return "image/avif" if b"avif" in brands or b"avis" in brands else None
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    # an MPEG frame: eleven bits set, a valid version, layer, bit rate and sampling rate
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    rate, sampling = head[2] >> 4, head[2] >> 2 & 3
    valid = version != 1 and layer != 0 and rate not in (0, 15) and sampling != 3
    return "audio/mpeg" if valid else None


def open_media(path: Path, channel: Channel | None = None) -> Media:
    """Return the picture or recording at this path; refuse anything else."""
    require_file(path)
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from error
    mime = detect_type(head)
    if mime is None and MARKUP.match(head.removeprefix(b"\xef\xbb\xbf")):
        raise Refused("is SVG, HTML or XML, which can contain scripts; save the picture as PNG")
    if mime is None or (channel and not mime.startswith(channel)):
        known = NAMES[channel] if channel else f"{NAMES['image']}; {NAMES['audio']}"
        raise Refused(f"is {mime or 'of an unknown type'}; what can be shown is {known}")
    return Media(path, mime)
