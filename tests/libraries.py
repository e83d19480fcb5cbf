"""A shared library with functions of functors, for tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = r"""
#include <stdint.h>
#include <stdio.h>

int64_t scaled(int64_t x, int64_t by) { return x * by; }
uint64_t top(void) { return UINT64_MAX; }
double ratio(int64_t x, uint64_t y) { return (double)x / y; }
const char* label(int64_t x, const char* s) {
    static char text[99];
    snprintf(text, sizeof text, "%s%lld", s, (long long)x);
    return text;
}
const char* same(const char* s) { return s; }
const char* nothing(const char* s) { return 0; }
const char* bytes(const char* s) { return "\xff"; }
int64_t concatenated(void* symbols, void* records, int64_t a, int64_t b) { return 0; }

int32_t before(int32_t x) { return x - 1; }
uint32_t inverted(uint32_t x) { return ~x; }
float half(float x) { return x / 2; }
"""


def built(folder: Path, name: str = "own") -> Path:
    """Build the library in a folder, which is returned. Skip the test without a compiler; those over libraries of the
    system run in any case."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler `cc`")
    (folder / "own.c").write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / f"lib{name}.so", folder / "own.c"], check=True)
    return folder
