"""A hash table of rows of words, each with a number from 0 on: the arguments for which results are remembered.

`slots` has row numbers plus one, and 0 in free places; its length is a power of two, more than the number of rows.
Arrays are never passed on: counting who holds them would take longer than the search.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.words import kernel, mix


@kernel
def number_rows(rows, keys, slots, used, numbers):
    """Write the number of each row, and add those that are new to `keys`, which has room for them. Return how many keys
    there are."""
    k, mask = rows.shape[1], len(slots) - 1
    for i in range(len(rows)):  # loads that do not wait for each other: the slots are then in the cache
        h = 0
        for j in range(k):
            h = mix(h ^ rows[i, j])
        numbers[i] = slots[(h >> 32) & mask]
    for i in range(len(rows)):
        h = 0
        for j in range(k):
            h = mix(h ^ rows[i, j])
        slot = (h >> 32) & mask
        while slots[slot] != 0:
            row, j = slots[slot] - 1, 0
            while j < k and keys[row, j] == rows[i, j]:
                j += 1
            if j == k:
                break
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            for j in range(k):
                keys[used, j] = rows[i, j]
            used += 1
            slots[slot] = used
        numbers[i] = slots[slot] - 1
    return used


@kernel
def fill_slots(keys, slots, used):
    """Put the first `used` keys, which are distinct, into empty slots."""
    mask = len(slots) - 1
    for i in range(used):
        h = 0
        for j in range(keys.shape[1]):
            h = mix(h ^ keys[i, j])
        slot = (h >> 32) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = i + 1
