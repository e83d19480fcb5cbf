"""Wrong and half-right requests for `tidelog serve`: each must be answered in time, without a status of 500, and with a
problem document where it is refused. The log of the server must have no traceback.

Schemathesis makes requests from the OpenAPI document for half of the time, with values that this server knows among
them (`schemathesis.toml`). The other half are requests that come closer to what the server understands: its own names
and bodies with a few changes, and bytes that are no text.
"""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from tests.fuzz.asked import asked, show
from tests.workbench.serving import PROGRAM

_FACTS = 'edge(1, 2). edge(2, 3). mixed("a", 1.5, 2, [3, 4]). mixed("b", 0.0, 0, nil).'
_DEADLINE = 30.0
_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
_QUIET = ("--suppress-health-check", "all", "--warnings", "off", "--no-color")
_ENDLESS = "/v1/changes"
_WITHOUT_VALUES = (
    "/v1/relations", "/v1/rules", "/v1/graph", "/v1/profile", "/v1/stats", "/v1/check", "/v1/certificate",
    "/v1/openapi.json", "/metrics", "/healthz", "/readyz",
)  # fmt: skip
"""Paths that take no values: a search for requests would ask them the same again and again."""
_JSON = "application/json"
_NAMES = ("edge", "path", "mixed", "nope", "", "edge ", "a/b", "..", "../../x", "\0", "é", "%", "x" * 300)
_ATOMS = (
    "1",
    "-1",
    "2147483648",
    "1e999",
    "1.5",
    "null",
    "true",
    '"a"',
    '"\\ud800"',
    '"\\u0000"',
    "[3,4]",
    "{}",
    "9" * 40,
)
_PARAMETERS = (
    "relation", "tuple", "limit", "rules", "order", "descending", "asserted", "cursor", "filter[x]", "filter[s]",
    "filter[f]", "filter[p]", "filter[]", "since", "dry_run", "change", "x",
)  # fmt: skip
_QUERIES = (
    "edge(x, y)", "path(1, y), y > 1", "mixed(s, f, u, [x, y])", "edge+(x, y)", "!edge(1, 1)",
    "x = count : { edge(x, _) }",
    "edge(x, y), z = x / y", 'mixed(s, _, _, _), match("a+", s)', "z = range(1, 5)",
)  # fmt: skip
_RULES = ("r: path(y, x) :- edge(x, y).", ".decl q(x: number)", "edge(7, 8).", ".type T = A {} | B {t: T}")
_TYPES = (
    "application/json",
    "application/x-ndjson",
    "text/csv",
    "application/vnd.apache.arrow.stream",
    "*/*",
    "x",
    "\xff",
)
_PATHS = (
    "/v1/relations", "/v1/relations/", "/v1/query", "/v1/query-plan", "/v1/transactions", "/v1/explain", "/v1/why-not",
    "/v1/ways-to-remove", "/v1/ways-to-derive", "/v1/blame", "/v1/program", "/v1/rules", "/v1/graph", "/v1/stats",
    "/v1/check", "/v1/openapi.json", "/metrics", "/healthz", "/readyz", "/v2", "/",
)  # fmt: skip


class RequestMaker:
    """Requests at random, by a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def request(self) -> tuple[str, str, bytes | None, dict[str, str]]:
        """Return the method, the address, the body and the headers of a request."""
        rng = self._rng
        path = rng.choice(_PATHS)
        if path.endswith("relations/"):
            path += quote(rng.choice(_NAMES), safe="")
        given = [f"{quote(name, safe='[]')}={self._value(name)}" for name in self._chosen(path)]
        address = path + ("?" + "&".join(given) if given else "")
        headers = {"Accept": rng.choice(_TYPES)} if rng.random() < 0.3 else {}
        if path not in ("/v1/query", "/v1/transactions") and rng.random() < 0.95:
            return ("POST" if path == "/v1/check" and rng.random() < 0.5 else "GET"), address, None, headers
        headers["Content-Type"] = _JSON if rng.random() < 0.95 else "multipart/form-data; boundary=cut"
        if rng.random() < 0.1:
            headers["Idempotency-Key"] = rng.choice(("a", "b", "\xe9", "k" * 300))
        text = self._query() if path == "/v1/query" else self._transaction()
        return "POST", address, self._changed(text.encode()), headers

    def _chosen(self, path: str) -> list[str]:
        rng = self._rng
        if (
            path in ("/v1/explain", "/v1/why-not", "/v1/ways-to-remove", "/v1/repair", "/v1/blame")
            and rng.random() < 0.9
        ):
            return ["relation", "tuple", *rng.sample(_PARAMETERS, rng.choice((0, 0, 1)))]
        if path == "/v1/transactions" and rng.random() < 0.7:
            return ["dry_run"]
        return rng.sample(_PARAMETERS, rng.choice((0, 0, 1, 2)))

    def _value(self, name: str) -> str:
        rng = self._rng
        if rng.random() < 0.05:
            return rng.choice(("%ff", "%00", "%ed%a0%80", "x" * 5_000, "[" * 2_000))
        if name == "tuple":
            return quote(f"[{','.join(rng.choice(_ATOMS) for _ in range(rng.choice((1, 2, 2, 4))))}]")
        if name in ("relation", "order"):
            return quote(rng.choice((*_NAMES[:3], *_NAMES, "x", "x,y")))
        return quote(rng.choice(("", "true", "false", "0", "1", "-1", "7", "rows", *_ATOMS)))

    def _query(self) -> str:
        rng = self._rng
        values = ",".join(f'"{rng.choice("xysfu_")}":{rng.choice(_ATOMS)}' for _ in range(rng.choice((0, 0, 1, 2))))
        limit = rng.choice(("", "", ',"limit":2', ',"limit":-1', ',"cursor":"x"'))
        return f'{{"query":{json.dumps(self._text(rng.choice(_QUERIES)))},"parameters":{{{values}}}{limit}}}'

    def _transaction(self) -> str:
        rng = self._rng
        row = f"[{','.join(rng.choice(_ATOMS) for _ in range(rng.choice((1, 2, 2, 4))))}]"
        name = json.dumps(rng.choice((*_NAMES[:3], *_NAMES)))
        return rng.choice(
            (
                f'{{"insert":{{{name}:[{row},{row}]}}}}',
                f'{{"delete":{{{name}:[{row}]}},"clear":[{name}]}}',
                f'{{"rules":{{"{rng.choice(("add", "replace"))}":[{json.dumps(self._text(rng.choice(_RULES)))}]}}}}',
                f'{{"rules":{{"replace":[{{"text":{json.dumps(self._text(rng.choice(_RULES)))},"earlier":{name}}}]}}}}',
                f'{{"rules":{{"remove":[{name}]}}}}',
                f'{{"insert":{{{name}:{rng.choice(_ATOMS)}}}}}',
            )
        )

    def _text(self, text: str) -> str:
        """Return a text, sometimes with a part that is missing or doubled."""
        rng = self._rng
        if rng.random() < 0.5:
            return text
        start = rng.randrange(len(text))
        end = min(len(text), start + rng.randint(1, 4))
        return text[:start] + rng.choice(("", text[start:end] * 2, '"', "(", "\0", "é")) + text[end:]

    def _changed(self, data: bytes) -> bytes:
        rng = self._rng
        if rng.random() < 0.8 or not data:
            return data
        found = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            found[rng.randrange(len(found))] = rng.randrange(256)
        return bytes(found)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a small store; provide the address. Raise AssertionError if the log has a traceback in the end."""
    program, log = folder / "program.dl", folder / "log"
    program.write_text(f"{PROGRAM}{_FACTS}\n")
    command = [sys.executable, "-m", "tidelog", "serve", str(folder / "store"), "--program", str(program)]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--port", "0", "--timeout", "3"], stdout=subprocess.PIPE, stderr=output, text=True
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield next(word for word in line.replace(";", " ").split() if word.startswith("http"))
        assert process.poll() is None, "the server has ended"
    except BaseException:
        show(f"the end of the server's log:\n{log.read_text()[-6_000:]}")
        raise
    finally:
        process.terminate()
        process.wait(_DEADLINE)
    assert "Traceback" not in log.read_text(), log.read_text()[-3_000:]


def send(address: str, seconds: float, seed: int) -> Counter[int]:
    """Send requests at random; return how often the server answered with each status."""
    maker, found, end = RequestMaker(seed), Counter[int](), time.monotonic() + seconds
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=_DEADLINE)
    while time.monotonic() < end:
        request = maker.request()
        try:
            connection.request(*request)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise AssertionError(f"{error!r} after {request}") from error
        found[response.status] += 1
        kind = response.headers.get("content-type")
        assert response.status < 500 or response.status == 503, (request, data)
        assert response.status < 400 or kind == "application/problem+json", (request, response.status, data)
    connection.close()
    return found


def explore(address: str, seconds: float, seed: int, folder: Path) -> None:
    """Let Schemathesis send boundary values to all paths, then sequences of requests to those that take values."""
    config = Path(__file__).with_name("schemathesis.toml")
    schemathesis = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)]
    given = [
        f"{address}/v1/openapi.json",
        "--checks",
        _CHECKS,
        "--seed",
        str(seed),
        "--exclude-path",
        _ENDLESS,
        *_QUIET,
    ]
    subprocess.run([*schemathesis, "run", *given, "--phases", "coverage"], check=True, cwd=folder)
    # The phase `fuzzing` of `run` would spend most of the time on simpler requests with the same status.
    given += [word for path in _WITHOUT_VALUES for word in ("--exclude-path", path)]
    given += ["--max-time", str(max(1, round(seconds)))]  # It takes whole numbers.
    subprocess.run([*schemathesis, "fuzz", *given], check=True, cwd=folder)
    with urlopen(f"{address}/metrics") as response:
        lines = response.read().decode().splitlines()
    show("\n".join(line for line in lines if line.startswith("tidelog_requests_total")))


def main() -> None:
    """Look for faults until the time is up."""
    seconds, seed = asked()
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as address:
        found = send(address, seconds / 2, seed)
        statuses = ", ".join(f"{count:,} times {status}" for status, count in sorted(found.items()))
        show(f"{found.total():,} requests of seed {seed}: {statuses}")
        explore(address, seconds / 2, seed, Path(name))


if __name__ == "__main__":
    main()
