"""Chromium without a window, for tests of pages and of the editor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser that scripts/browser has found, and end it."""
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=os.environ["TIDELOG_CHROMIUM"])
        yield found
        found.close()
