"""Comparisons, computations and ranges on a batch of registers.

A register is a column of words. A filter writes the positions that it keeps to a selection vector without branching and
returns how many they are; the caller moves the registers that stay alive. The semantics of every operator are those of
docs/reference/language.md: numbers wrap around, an operator without a value (division by zero, NaN) drops the binding.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import (
    ADD,
    AND,
    DIV,
    FLOAT,
    LAND,
    LNOT,
    LOR,
    LXOR,
    MAX,
    MIN,
    MOD,
    MUL,
    NEG,
    NOT,
    OR,
    POW,
    SHL,
    SHR,
    SHRU,
    SUB,
    TO_FLOAT,
    TO_NUMBER,
    TO_UNSIGNED,
    UNSIGNED,
    XOR,
)
from tidelog.kernels.words import as_bits, as_float, kernel, load, raised, store, store64, unsigned, width, wrap

SMALLEST = -9223372036854775808
LARGEST = 9223372036854775807


@kernel
def less(kind, x, y):
    """Return True if x < y."""
    if kind == FLOAT:
        return as_float(x) < as_float(y)
    if kind == UNSIGNED:
        return unsigned(0, x, y) != 0
    return x < y


@kernel
def select(operator, kind, a, b, m, chosen, w):
    """Write to `chosen` the positions i < m with `a[i] operator b[i]`; 0 is =, 1 is !=, 2 is <, 3 is <=, 4 is >, 5 is
    >=."""
    n = 0
    if operator > 3:
        a, b, operator = b, a, operator - 2
    if operator == 0:
        for i in range(m):
            store64(chosen, n, i)
            n += load(a, i, w) == load(b, i, w)
    elif operator == 1:
        for i in range(m):
            store64(chosen, n, i)
            n += load(a, i, w) != load(b, i, w)
    elif kind == 0 and operator == 2:
        for i in range(m):
            store64(chosen, n, i)
            n += load(a, i, w) < load(b, i, w)
    elif kind == 0:
        for i in range(m):
            store64(chosen, n, i)
            n += load(a, i, w) <= load(b, i, w)
    elif operator == 2:
        for i in range(m):
            store64(chosen, n, i)
            n += less(kind, load(a, i, w), load(b, i, w))
    else:
        for i in range(m):
            store64(chosen, n, i)
            n += not less(kind, load(b, i, w), load(a, i, w))
    return n


@kernel
def power(x, y):
    """Return (True if there is a value, x to the power of y modulo 2**64); with a negative exponent only the bases 1
    and -1 have one."""
    if y < 0:
        if x == -1 and (y & 1) == 0:
            return True, 1
        return abs(x) == 1, x
    result = 1
    while y > 0:
        if (y & 1) == 1:
            result = wrap(result * x)
        x = wrap(x * x)
        y >>= 1
    return True, result


@kernel
def power_unsigned(x, y):
    """Return a power of unsigned words modulo 2**64."""
    result = 1
    while y != 0:
        if (y & 1) == 1:
            result = wrap(result * x)
        x = wrap(x * x)
        y = unsigned(3, y, 1)
    return result


@kernel
def quotient(x, y):
    """Return x / y, truncated toward zero; y is not 0."""
    if y == -1:
        return wrap(-x)
    q = x // y
    if q * y != x and (x < 0) != (y < 0):
        q += 1
    return q


@kernel
def whole(operator, kind, x, y):
    """Return (True if there is a value, the value) of an operator on numbers or unsigned."""
    if operator == ADD:
        return True, wrap(x + y)
    if operator == SUB:
        return True, wrap(x - y)
    if operator == MUL:
        return True, wrap(x * y)
    if operator in (DIV, MOD):
        if y == 0:
            return False, 0
        if kind == UNSIGNED:
            return True, unsigned(1, x, y) if operator == DIV else unsigned(2, x, y)
        q = quotient(x, y)
        return True, q if operator == DIV else wrap(x - wrap(q * y))
    if operator == POW:
        if kind == UNSIGNED:
            return True, power_unsigned(x, y)
        return power(x, y)
    if operator == AND:
        return True, x & y
    if operator == OR:
        return True, x | y
    if operator == XOR:
        return True, x ^ y
    if operator == NOT:
        return True, ~x
    if operator == SHL:
        return True, wrap(x << (y & 63))
    if operator == SHRU or (operator == SHR and kind == UNSIGNED):
        return True, unsigned(3, x, y & 63)
    if operator == SHR:
        return True, x >> (y & 63)
    if operator == LAND:
        return True, 1 if x != 0 and y != 0 else 0
    if operator == LOR:
        return True, 1 if x != 0 or y != 0 else 0
    if operator == LXOR:
        return True, 1 if (x != 0) != (y != 0) else 0
    if operator == LNOT:
        return True, 1 if x == 0 else 0
    if operator == MIN:
        return True, x if less(kind, x, y) else y
    if operator == MAX:
        return True, y if less(kind, x, y) else x
    if operator == NEG:
        return True, wrap(-x)
    if operator == TO_FLOAT:
        if kind == UNSIGNED and x < 0:
            return True, as_bits(2.0 * float(unsigned(3, x, 1) | (x & 1)))
        return True, as_bits(float(x))
    return True, x


@kernel
def fraction(operator, x, y):
    """Return (True if there is a value, its bits) of an operator on floats; a conversion gives a number or unsigned."""
    value = 0.0
    if operator == ADD:
        value = x + y
    elif operator == SUB:
        value = x - y
    elif operator == MUL:
        value = x * y
    elif operator == DIV:
        if y == 0.0:
            return False, 0
        value = x / y
    elif operator == POW:
        if x == 0.0 and y < 0.0 and y != -float("inf"):
            return False, 0
        value = raised(x, y)
    elif operator == MIN:
        value = min(y, x)
    elif operator == MAX:
        value = max(y, x)
    elif operator == NEG:
        value = -x
    elif operator == TO_NUMBER:
        if not (-9223372036854775808.0 <= x < 9223372036854775808.0):
            return False, 0
        return True, int(x)
    elif operator == TO_UNSIGNED:
        if not (-1.0 < x < 18446744073709551616.0):
            return False, 0
        if x >= 9223372036854775808.0:
            return True, wrap(int(x - 9223372036854775808.0) + SMALLEST)
        return True, int(x)
    else:
        value = x
    if value != value:
        return False, 0
    return True, as_bits(value + 0.0)


@kernel
def fits(value, w):
    """Return True if a value fits into a word."""
    return width(w) == 8 or -2147483648 <= value <= 2147483647


@kernel
def compute(operator, kind, target, a, b, m, chosen, w):
    """Set `target[i]` to `a[i] operator b[i]`; returns the number of positions with a value, written to `chosen`, or -1
    when some value does not fit into a word."""
    if kind != FLOAT and operator == ADD:
        good = True
        for i in range(m):
            value = wrap(load(a, i, w) + load(b, i, w))
            store(target, i, value, w)
            store64(chosen, i, i)
            good &= fits(value, w)
        return m if good else -1
    n = 0
    good = True
    for i in range(m):
        x, y = load(a, i, w), load(b, i, w)
        if kind == FLOAT:
            some, value = fraction(operator, as_float(x), as_float(y))
        else:
            some, value = whole(operator, kind, x, y)
        if some:
            good &= fits(value, w)
            store(target, i, value, w)
        store64(chosen, n, i)
        n += some
    return n if good else -1


@kernel
def range_length(kind, first, last, step, given):
    """Return the number of values in a range of whole numbers. Without a given step it is 1 or -1; a step of 0 gives
    one value."""
    if first == last:
        return 0
    if given and step == 0:
        return 1
    up = less(kind, first, last)
    if given and (step > 0 or kind == UNSIGNED) != up:
        return 0
    distance = wrap(last - first) if up else wrap(first - last)
    stride = 1 if not given else (step if up else wrap(-step))
    length = unsigned(1, wrap(distance - 1), stride)
    return LARGEST if length < 0 or length == LARGEST else length + 1


@kernel
def inside(value, last, step):
    """Return True if a range of floats contains `value`."""
    return (step > 0.0 and value < last) or (step < 0.0 and value > last)
