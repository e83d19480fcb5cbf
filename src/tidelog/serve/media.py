"""Formats of requests and responses: content negotiation by `Accept`, and `Content-Type`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request

from tidelog.errors import Problem
from tidelog.serve.problems import RequestError


@dataclass(frozen=True)
class MediaFormat:
    """A media type, and the format of tidelog that it stands for."""

    media_type: str
    name: str


_RANGE = re.compile(r"\s*([\w.+-]+|\*)/([\w.+-]+|\*)\s*((?:;[^,]*)?)")
_QUALITY = re.compile(r"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class MediaRange:
    """A range of media types that a client accepts: `*` stands for any, `quality` is from 0 to 1."""

    kind: str
    subtype: str
    quality: float

    def rank(self, media_type: str) -> int:
        """Return how closely the range names a media type, from 1, or 0 if it does not."""
        kind, _, subtype = media_type.partition("/")
        if self.kind == "*":
            return 1
        if self.kind != kind:
            return 0
        return 2 if self.subtype == "*" else 3 * (self.subtype == subtype)


def accepted(request: Request, formats: Sequence[MediaFormat]) -> MediaFormat:
    """Return the format that the client likes best, the first one of several. Raise RequestError (E0694, 406) if it
    accepts none of them, and (E0692, 400) for a header that cannot be read."""
    header = ",".join(request.headers.getlist("accept"))
    if not header.strip():
        return formats[0]
    ranges = [_range(part) for part in header.split(",") if part.strip()]
    best = max(formats, key=lambda each: _quality(each, ranges))
    if not _quality(best, ranges):
        usable = ", ".join(each.media_type for each in formats)
        raise RequestError(406, Problem("E0694", f"the answer has no format {header.strip()}", hint=f"accept {usable}"))
    return best


def _quality(format: MediaFormat, ranges: Sequence[MediaRange]) -> float:
    """Return the quality of the range that names a format most closely."""
    closest = max(ranges, key=lambda each: each.rank(format.media_type))
    return closest.quality if closest.rank(format.media_type) else 0.0


def _range(text: str) -> MediaRange:
    match = _RANGE.fullmatch(text)
    if match is None:
        hint = "write media types such as text/turtle;q=0.5, with commas between them"
        raise RequestError(400, Problem("E0692", f"the header Accept cannot be read: {text.strip()!r}", hint=hint))
    quality = 1.0
    for parameter in match[3].split(";"):
        found = _QUALITY.fullmatch(parameter)
        quality = min(float(found[1]), 1.0) if found else quality
    return MediaRange(match[1].lower(), match[2].lower(), quality)


def content_type(request: Request) -> str:
    """Return the media type of the body, without parameters; the empty text if no header names it."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def unsupported(found: str, usable: Sequence[str]) -> RequestError:
    """Return the error (E0694) about the media type of a body, with status 415."""
    message = f"the server does not read bodies of the type {found}" if found else "the header Content-Type is missing"
    return RequestError(415, Problem("E0694", message, hint=f"send {', '.join(usable)}"))
