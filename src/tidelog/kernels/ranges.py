"""Ranges: levels that multiply bindings by the values of `range(first, last, step)`."""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import FLOAT, L_KEYS, L_LIVE, L_OBJECT, S_CURSOR, S_IN, S_INNER, S_NEXT
from tidelog.kernels.registers import register, spread_value
from tidelog.kernels.scalars import fits, inside, less, range_length
from tidelog.kernels.words import as_bits, as_float, kernel, load, load64, store, wrap


@kernel
def expand_range(level, st, at, registers, size, w):
    """Multiply bindings by the values of a range; -1 when a value does not fit into a word."""
    kind, keys, live = load64(level, L_OBJECT), load64(level, L_KEYS), load64(level, L_LIVE)
    target = register(registers, level, keys + 1, size, w)
    i, j, m, n = st[at + S_CURSOR], st[at + S_INNER], st[at + S_IN], 0
    good = True
    while i < m and n < size:
        first = load(register(registers, level, 0, size, w), i, w)
        last = load(register(registers, level, 1, size, w), i, w)
        step = load(register(registers, level, keys - 1, size, w), i, w)
        if kind == FLOAT:
            t, more = expand_floats(first, last, step, keys == 3, st, at, j, target, n, size, w)
        else:
            length = range_length(kind, first, last, step, keys == 3)
            stride = step if keys == 3 else (1 if less(kind, first, last) else -1)
            t = min(length - j, size - n)
            for x in range(t):
                value = wrap(first + wrap((j + x) * stride))
                good &= fits(value, w)
                store(target, n + x, value, w)
            more = j + t < length
        if t > 0:
            spread_value(level, keys + 2, live, i, n, t, registers, size, w)
        n += t
        j += t
        if not more:
            i += 1
            j = 0
    st[at + S_CURSOR], st[at + S_INNER] = i, j
    return n if good else -1


@kernel
def expand_floats(first, last, step, given, st, at, j, target, n, size, w):
    """Write values of a range of floats, which adds up its steps, behind value `j`. Return (number of values written,
    True if there are more)."""
    a, b = as_float(first), as_float(last)
    s = as_float(step) if given else (1.0 if a <= b else -1.0)
    value = a if j == 0 else as_float(st[at + S_NEXT])
    t = 0
    if s == 0.0 and a != b:
        store(target, n, as_bits(a + 0.0), w)
        return 1, False
    while inside(value, b, s) and n + t < size:
        store(target, n + t, as_bits(value + 0.0), w)
        t += 1
        if value + s == value:
            return t, False
        value += s
    st[at + S_NEXT] = as_bits(value)
    return t, inside(value, b, s)
