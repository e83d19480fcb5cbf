"""Regular expressions of SPARQL with the engine of the language's `match`, whose time is linear in the text.

Source: XPath and XQuery Functions 3.1, section 5.6, for the flags.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tidelog.language.regex import LENGTH

_FLAGS = "imsxq"


@lru_cache(maxsize=1024)
def compiled(pattern: str, flags: str) -> Any:
    """Return a compiled pattern. Raise re2.error for an invalid one."""
    import re2

    if "q" in flags:
        pattern = re2.escape(pattern)
    elif "x" in flags:
        pattern = "".join(pattern.split())
    options = re2.Options()
    options.log_errors = False
    mode = "".join(flag for flag in "ims" if flag in flags)
    return re2.compile(f"(?{mode}){pattern}" if mode else pattern, options)


def why_wrong(pattern: str, flags: str) -> str:
    """Return why a pattern cannot be used, the empty text if it can."""
    import re2

    unknown = set(flags) - set(_FLAGS)
    if unknown:
        return f"unknown flag {min(unknown)}"
    if len(pattern) > LENGTH:
        return f"it has {len(pattern):,} characters, the limit is {LENGTH:,}"
    try:
        compiled(pattern, flags)
    except re2.error as error:
        reason = error.args[0] if error.args else "it cannot be read"
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    return ""
