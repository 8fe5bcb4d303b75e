"""How much two texts have in common, from a few bytes of each (MinHash, Broder 1997).

A text is the set of its runs of five words. Each run has a number, as if drawn by lot; the runs fall into bins by their
numbers, and the least of each bin is kept, in one byte (one permutation hashing, Li, Owen and Zhang 2012). The share of
bins in which two texts agree tells how large a part of their runs they share.

Eight bins together are a band, one number of 64 bits. Texts that share six sevenths of their runs agree in some band
in 99 cases of 100, and texts that share half of them in 6: so only texts that agree in a band are compared.

One bit of each of the first 64 bins is a sketch, one number too. Of two texts that agree in four fifths of the bins
about 6 bits differ, and of two that have nothing in common about 32: what is far from all others is like none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from struct import pack, unpack
from typing import Any

import numpy
from numpy.typing import NDArray

SHINGLE_WORDS = 5
"""Words of a run."""
SIGNATURE_BYTES = 128
"""Bytes that are kept of a text."""
FEWEST_SHINGLES = 16
"""Runs of a text that is compared at all: shorter ones are alike by chance."""
LONGEST_TEXT_BYTES = 100_000
"""Bytes of a text that are looked at."""
NEAR_DUPLICATE_SHARE = 0.8
"""The share of bins from which on two texts are nearly equal."""
SIGNATURE_BANDS = SIGNATURE_BYTES // 8
SKETCH_BITS = 64
"""Bits of a sketch."""
MOST_DIFFERING_BITS = 14
"""Bits in which the sketches of texts differ, at most, that are nearly equal, in 999 cases of 1,000."""

Numbers = NDArray[Any]

_BASE = 0x9E37_79B9_7F4A_7C15
_FACTOR = numpy.uint64(0xD6E8_FEB8_6659_FD93)
# In UTF-8, Á and á differ in the same bit as A and a. What else loses it makes no word of another, or very seldom.
_WITH_CASE = {*range(ord("A"), ord("Z") + 1), *range(0x80, 0xA0)}
_WITHOUT_CASE = bytes(letter | 32 if letter in _WITH_CASE else letter for letter in range(256))
_IN_WORDS = bytes(letter > 127 or chr(letter).isalnum() for letter in range(256))
_MIX = (numpy.uint64(0xFF51_AFD7_ED55_8CCD), numpy.uint64(0xC4CE_B9FE_1A85_EC53))
_SHIFT = numpy.uint64(33)
_EDGES = numpy.arange(SIGNATURE_BYTES, dtype=numpy.uint64) << numpy.uint64(57)


def signature_of(text: str) -> bytes:
    """Return what is kept of a text; nothing if it is too short."""
    runs = _runs(text[:LONGEST_TEXT_BYTES].encode("utf-8", "replace")[:LONGEST_TEXT_BYTES].translate(_WITHOUT_CASE))
    return _least(runs) if len(runs) >= FEWEST_SHINGLES else b""


def signature_bands(likeness: bytes) -> tuple[int, ...]:
    """Return the bands of what is kept of a text; none if nothing is."""
    return unpack(f"<{len(likeness) // 8}Q", likeness)


def signature_from_bands(bands: Sequence[int]) -> bytes:
    """Return what has these bands."""
    return pack(f"<{len(bands)}Q", *bands)


def sketch_of(likeness: bytes) -> int:
    """Return the sketch of what is kept of a text."""
    return int.from_bytes(numpy.packbits(numpy.frombuffer(likeness[:SKETCH_BITS], numpy.uint8) & 1).tobytes(), "big")


def near_duplicate_candidates(sketches: Sequence[int]) -> list[int]:
    """Return the places of those sketches that are near some other one."""
    numbers = numpy.array(sketches, numpy.uint64)
    are_near = numpy.bitwise_count(numbers[:, None] ^ numbers) <= MOST_DIFFERING_BITS
    # Each is near itself.
    places: list[int] = numpy.flatnonzero(are_near.sum(axis=1) > 1).tolist()
    return places


def are_near_duplicates(one: bytes, other: bytes) -> bool:
    """Whether two texts are nearly equal, as far as can be told from what is kept of them."""
    agreeing = numpy.frombuffer(one, numpy.uint8) == numpy.frombuffer(other, numpy.uint8)
    return bool(agreeing.mean() >= NEAR_DUPLICATE_SHARE)


def _runs(text: bytes) -> Numbers:
    """Return a number for each run of words, whatever stands between them."""
    letters = numpy.frombuffer(text, numpy.uint8)
    is_word = numpy.frombuffer(b" ".join((b"", text, b"")).translate(_IN_WORDS), numpy.bool_)
    edges = numpy.flatnonzero(is_word[1:] != is_word[:-1])
    begins, ends = edges[::2], edges[1::2]
    if len(begins) < SHINGLE_WORDS:
        return numpy.zeros(0, numpy.uint64)
    # The value of a polynomial over any part is the difference of two sums, moved back to its beginning.
    forth, back = _powers()
    sums = numpy.zeros(len(letters) + 1, numpy.uint64)
    numpy.cumsum(letters * forth[: len(letters)], out=sums[1:])
    words = (sums[ends] - sums[begins]) * back[begins]
    last = len(words) - SHINGLE_WORDS + 1
    runs = words[:last]
    for place in range(1, SHINGLE_WORDS):
        runs = runs * _FACTOR + words[place : place + last]
    return _mixed(runs)


def _least(runs: Numbers) -> bytes:
    """Return the least run of each bin, a byte of each; an empty bin has what one has that the lot gives it."""
    ordered = numpy.sort(runs)
    at = numpy.full(SIGNATURE_BYTES + 1, len(ordered))
    at[:-1] = numpy.searchsorted(ordered, _EDGES)
    is_empty = at[1:] == at[:-1]
    # The lowest byte: the highest bits are those of the bin, and the least of many has zeros behind them.
    least = ordered[numpy.minimum(at[:-1], len(ordered) - 1)].astype(numpy.uint8)
    if is_empty.any():
        filled = ~is_empty
        lots = _lots()[is_empty]
        least[is_empty] = least[lots[numpy.arange(len(lots)), filled[lots].argmax(axis=1)]]
    return bytes(least)


def _mixed(numbers: Numbers) -> Numbers:
    for factor in _MIX:
        numbers = (numbers ^ (numbers >> _SHIFT)) * factor
    numbers ^= numbers >> _SHIFT
    return numbers


@cache
def _powers() -> tuple[Numbers, Numbers]:
    """Return the powers of a base and of its inverse, modulo 2 ** 64."""
    inverse = pow(_BASE, -1, 1 << 64)
    both = []
    for base in (_BASE, inverse):
        powers = numpy.full(LONGEST_TEXT_BYTES + 1, base, numpy.uint64)
        powers[0] = 1
        both.append(numpy.cumprod(powers))
    return both[0], both[1]


@cache
def _lots() -> Numbers:
    """Return for each bin the others in the order in which it looks to them; the same for all texts, for good."""
    return numpy.argsort(
        _mixed(numpy.arange(1, SIGNATURE_BYTES * SIGNATURE_BYTES + 1, dtype=numpy.uint64)).reshape(
            SIGNATURE_BYTES, SIGNATURE_BYTES
        ),
        axis=1,
    )
