"""The compiled loops of near-duplicate search: shingles, their smallest hashes, and the table of bands.

Nothing else imports this module at its top: it loads numba, which takes most of a second.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
compiled = numba.njit(nogil=True, cache=True)

FNV_START = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
LAST = np.uint32(0x85EBCA6B)
EMPTY = np.int32(-1)


@compiled  # type: ignore[untyped-decorator]
def mix(value: Any) -> Any:
    """Murmur's finaliser: every bit of the outcome depends on every bit of the value."""
    value = np.uint64(value)
    value ^= value >> np.uint64(33)
    value *= MIX_1
    value ^= value >> np.uint64(33)
    value *= MIX_2
    return value ^ (value >> np.uint64(33))


@compiled  # type: ignore[untyped-decorator]
def _runs(units: Array, count: int, size: int, out: Array, at: int) -> int:
    """Hashes of all runs of `size` among the first `count` units, or of all of them where there are fewer."""
    length = min(size, count)
    for first in range(max(count - size + 1, 1)):
        value = FNV_START
        for unit in range(first, first + length):
            value = mix(value ^ units[unit]) * FNV_PRIME
        out[at] = np.uint32(mix(value) >> np.uint64(32))
        at += 1
    return at


@compiled  # type: ignore[untyped-decorator]
def word_shingles(buffer: Array, starts: Array, size: int) -> tuple[Array, Array]:
    """The shingles of texts in UTF-8, one after the other, and where those of each begin.

    Letters and digits of ASCII and everything beyond ASCII are part of words. A text without words is one word.
    """
    texts = len(starts) - 1
    out = np.empty(len(buffer) // 2 + 2 * texts + 1, np.uint32)
    out_starts = np.zeros(texts + 1, np.int64)
    words = np.empty(len(buffer) + 1, np.uint64)
    at = 0
    for text in range(texts):
        count = 0
        word, whole = FNV_START, FNV_START
        inside = False
        for place in range(starts[text], starts[text + 1]):
            byte = buffer[place]
            whole = (whole ^ np.uint64(byte)) * FNV_PRIME
            if byte >= 128 or 97 <= byte <= 122 or 48 <= byte <= 57 or 65 <= byte <= 90:
                word = (word ^ np.uint64(byte)) * FNV_PRIME
                inside = True
            elif inside:
                words[count] = word
                count += 1
                word, inside = FNV_START, False
        if inside or count == 0:
            words[count] = word if inside else whole
            count += 1
        at = _runs(words, count, size, out, at)
        out_starts[text + 1] = at
    return out[:at], out_starts


@compiled  # type: ignore[untyped-decorator]
def character_shingles(letters: Array, starts: Array, size: int) -> tuple[Array, Array]:
    """The shingles of texts given as code points."""
    texts = len(starts) - 1
    out = np.empty(len(letters) + texts + 1, np.uint32)
    out_starts = np.zeros(texts + 1, np.int64)
    units = letters.astype(np.uint64)
    at = 0
    for text in range(texts):
        at = _runs(units[starts[text] : starts[text + 1]], starts[text + 1] - starts[text], size, out, at)
        out_starts[text + 1] = at
    return out[:at], out_starts


@compiled  # type: ignore[untyped-decorator]
def smallest(shingles: Array, starts: Array, mixed_in: Array, factors: Array) -> Array:
    """Of every text the smallest value of every hash."""
    texts, permutations = len(starts) - 1, len(factors)
    found = np.full((texts, permutations), 0xFFFFFFFF, np.uint32)
    for text in range(texts):
        row = found[text]
        for place in range(starts[text], starts[text + 1]):
            shingle = shingles[place]
            for number in range(permutations):
                value = np.uint32(np.uint32(shingle ^ mixed_in[number]) * factors[number])
                value = np.uint32(value ^ (value >> np.uint32(15)))
                value = np.uint32(value * LAST)
                value = np.uint32(value ^ (value >> np.uint32(13)))
                row[number] = min(row[number], value)
    return found


@compiled  # type: ignore[untyped-decorator]
def band_keys(signatures: Array, bands: int, rows: int) -> Array:
    """One key for each band of each signature: equal where all numbers of the band are."""
    keys = np.empty((len(signatures), bands), np.uint64)
    for text in range(len(signatures)):
        for band in range(bands):
            value = mix(np.uint64(band + 1))
            for number in range(band * rows, (band + 1) * rows):
                value = mix(value ^ np.uint64(signatures[text, number])) * FNV_PRIME
            keys[text, band] = value
    return keys


@compiled  # type: ignore[untyped-decorator]
def grow(old_keys: Array, old_items: Array, keys: Array, items: Array) -> None:
    """Moves the entries of one table of bands into a larger one."""
    last = np.uint64(len(keys) - 1)
    for place in range(len(old_keys)):
        if old_items[place] != EMPTY:
            slot = mix(old_keys[place]) & last
            while items[slot] != EMPTY:
                slot = (slot + np.uint64(1)) & last
            keys[slot], items[slot] = old_keys[place], old_items[place]


@compiled  # type: ignore[untyped-decorator]
def find_later(
    bands: Array, short: Array, needed: int, keys: Array, items: Array, kept: Array, stamps: Array, count: int
) -> tuple[Array, int]:
    """Which texts are like one that was kept before them; the others are kept. Tables must have room.

    keys, items: an open table from the key of a band to the texts kept that have it, the same key as often as needed.
    kept, stamps: of each kept text its short signature, and the last text that was compared with it.
    """
    later = np.zeros(len(bands), np.bool_)
    last = np.uint64(len(keys) - 1)
    for text in range(len(bands)):
        stamp = np.int64(count) + np.int64(text) + np.int64(1)
        for band in range(bands.shape[1]):
            slot = mix(bands[text, band]) & last
            while items[slot] != EMPTY and not later[text]:
                item = items[slot]
                if keys[slot] == bands[text, band] and stamps[item] != stamp:
                    stamps[item] = stamp
                    same = 0
                    for number in range(short.shape[1]):
                        same += short[text, number] == kept[item, number]
                    later[text] = same >= needed
                slot = (slot + np.uint64(1)) & last
            if later[text]:
                break
        if not later[text]:
            kept[count] = short[text]
            for band in range(bands.shape[1]):
                slot = mix(bands[text, band]) & last
                while items[slot] != EMPTY:
                    slot = (slot + np.uint64(1)) & last
                keys[slot], items[slot] = bands[text, band], count
            count += 1
    return later, count
