"""Requests: bodies and parameters within limits, and formats, by `Accept` and `Content-Type`."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import TypedDict
from urllib.parse import parse_qsl

from starlette.requests import HTTPConnection, Request

from tidelog.errors import Problem
from tidelog.serve.problems import RequestError, bad_request


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


def choose_format(request: Request, formats: Sequence[MediaFormat]) -> MediaFormat:
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


def unsupported_media_type(found: str, usable: Sequence[str]) -> RequestError:
    """Return the error (E0694) about the media type of a body, with status 415."""
    message = f"the server does not read bodies of the type {found}" if found else "the header Content-Type is missing"
    return RequestError(415, Problem("E0694", message, hint=f"send {', '.join(usable)}"))


FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_MOST_PARAMETERS = 1_000
_SECONDS_TO_SEND = 300


@dataclass(frozen=True)
class ServerLimits:
    """Limits of requests, None for no limit: the seconds, the rows and the bytes of memory of a query, and the bytes of
    a body. `queries` are evaluated at a time, and the others wait for their turn."""

    timeout: float | None = 30.0
    body: int | None = 64 * 1024 * 1024
    rows: int | None = None
    memory: int | None = 2 * 1024**3
    queries: int = field(default_factory=lambda: 2 * (os.cpu_count() or 1))


@dataclass(frozen=True)
class Parameters:
    """The parameters of a request, in their order."""

    pairs: tuple[tuple[str, str], ...]

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def one(self, name: str) -> str | None:
        """Return the value of a parameter, None without one. Raise RequestError (E0692) for several."""
        found = self.all(name)
        if len(found) > 1:
            raise bad_request(f"the request has {len(found)} parameters {name!r}", f"send `{name}` once")
        return found[0] if found else None


def of_address(request: HTTPConnection) -> Parameters:
    """Return the parameters of an address. Raise RequestError (E0692) if they are not UTF-8."""
    return _parameters(request.scope["query_string"].decode("latin-1"))


def _parameters(text: str) -> Parameters:
    try:
        found = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        hint = f"encode UTF-8 by percent signs, and send at most {_MOST_PARAMETERS} parameters"
        raise bad_request(f"the parameters cannot be read: {error}", hint) from None
    return Parameters(tuple(found))


async def body(request: Request, limits: ServerLimits) -> bytes:
    """Return the body of a request. Raise RequestError if it is too large (E0695, 413), packed (E0694, 415), or has not
    come after five minutes (E0692, 408)."""
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed != "identity":
        hint = "send the body without Content-Encoding"
        raise RequestError(415, Problem("E0694", f"the server does not unpack {packed}", hint=hint))
    most = limits.body
    length = request.headers.get("content-length", "")
    if most is not None and length.isdigit() and int(length) > most:
        raise _too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(_SECONDS_TO_SEND):
            async for part in request.stream():
                size += len(part)
                if most is not None and size > most:
                    raise _too_large(most)
                parts.append(part)
    except TimeoutError:
        message = f"the body has not come within {_SECONDS_TO_SEND} seconds"
        problem = Problem("E0692", message, hint="send it in smaller parts")
        raise RequestError(408, problem, {"Connection": "close"}) from None
    return b"".join(parts)


def parts(request: Request, data: bytes) -> list[tuple[str, bytes]]:
    """Return the parts of a body of `MULTIPART`: their media types and bytes. Raise RequestError (E0692) if it has
    none."""
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=HTTP).parsebytes(head + data)
    found = [(part.get_content_type(), part.get_payload(decode=True)) for part in message.iter_parts()]
    if not found:
        raise bad_request("the body has no parts", "separate them by the boundary of the header Content-Type")
    return [(kind, bytes(payload or b"")) for kind, payload in found]


async def operation(
    request: Request, limits: ServerLimits, name: str, media_type: str
) -> tuple[str | None, Parameters]:
    """Return the text of the operation `name` in a POST, None without one, with the other parameters.

    The text is a parameter of a form, or the body itself if that is of `media_type`. Raise RequestError: E0692, E0694
    (415), E0695 (413).
    """
    found = content_type(request)
    if found not in (FORM, media_type):
        raise unsupported_media_type(found, (media_type, FORM))
    text = _decode(await body(request, limits))
    if found == media_type:
        return text, of_address(request)
    parameters = _parameters(text)
    return parameters.one(name), parameters


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"byte {error.start} of the body is not UTF-8"
        raise bad_request(message, "send UTF-8") from None


def base_of(request: Request) -> str:
    """Return the IRI that relative ones of a request are based on: its address without parameters."""
    return str(request.url.replace(query=""))


class ChosenGraphs(TypedDict, total=False):
    """The graphs that a request names, as `Store.query` and `Store.update` take them."""

    default_graphs: list[str]
    named_graphs: list[str]


def graphs(parameters: Parameters, names: tuple[str, str]) -> ChosenGraphs:
    """Return the graphs that parameters name: `names` are the parameters for the default graph and for named ones."""
    default, named = map(parameters.all, names)
    return {"default_graphs": default, "named_graphs": named} if default or named else {}


def _too_large(most: int) -> RequestError:
    message = f"the body is larger than {most:,} bytes"
    hint = "send it in parts, or start the server with a larger --max-body"
    # The rest of the body would be read as the next request.
    return RequestError(413, Problem("E0695", message, hint=hint), {"Connection": "close"})
