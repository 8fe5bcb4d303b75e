"""Near-duplicate detection of texts (MinHash, Broder 1997).

A text is the set of its shingles (runs of five words). Each shingle is hashed; the hashes fall into bins by their
highest bits, and one byte of the least hash of each bin is kept (one permutation hashing, Li, Owen and Zhang 2012). The
share of equal bytes of two signatures estimates the share of common shingles.

Eight bytes form a band, a number of 64 bits. Texts that share six sevenths of their shingles have an equal band with a
probability of 99 %, texts that share half of them with 6 %: so only texts with an equal band are compared.

One bit of each of the first 64 bytes forms a sketch. Two texts with four fifths of equal bytes differ in about 6 bits,
unrelated texts in about 32: a text whose sketch is far from all others has no near duplicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from struct import pack, unpack
from typing import Any

import numpy
from numpy.typing import NDArray

SHINGLE_WORDS = 5
"""Words of a shingle."""
SIGNATURE_BYTES = 128
"""Bytes of a signature; also the number of bins."""
FEWEST_SHINGLES = 16
"""Fewest shingles of a text that is compared; shorter texts are similar by chance."""
LONGEST_TEXT_BYTES = 100_000
"""Bytes of a text that are hashed."""
NEAR_DUPLICATE_SHARE = 0.8
"""Share of equal signature bytes from which on texts are near duplicates."""
SIGNATURE_BANDS = SIGNATURE_BYTES // 8
SKETCH_BITS = 64
"""Bits of a sketch."""
MOST_DIFFERING_BITS = 14
"""Most differing bits in sketches of near duplicates, in 999 of 1,000 cases."""

Numbers = NDArray[Any]

_BASE = 0x9E37_79B9_7F4A_7C15
_FACTOR = numpy.uint64(0xD6E8_FEB8_6659_FD93)
# In UTF-8, Á and á differ in the same bit as A and a. Clearing it elsewhere hardly ever makes two words equal.
_WITH_CASE = {*range(ord("A"), ord("Z") + 1), *range(0x80, 0xA0)}
_WITHOUT_CASE = bytes(letter | 32 if letter in _WITH_CASE else letter for letter in range(256))
_IN_WORDS = bytes(letter > 127 or chr(letter).isalnum() for letter in range(256))
_MIX_FACTORS = (numpy.uint64(0xFF51_AFD7_ED55_8CCD), numpy.uint64(0xC4CE_B9FE_1A85_EC53))
_SHIFT = numpy.uint64(33)
_EDGES = numpy.arange(SIGNATURE_BYTES, dtype=numpy.uint64) << numpy.uint64(57)


def signature_of(text: str) -> bytes:
    """Return the signature of a text; empty if the text is too short."""
    shingles = _shingles(
        text[:LONGEST_TEXT_BYTES].encode("utf-8", "replace")[:LONGEST_TEXT_BYTES].translate(_WITHOUT_CASE)
    )
    return _signature(shingles) if len(shingles) >= FEWEST_SHINGLES else b""


def signature_bands(signature: bytes) -> tuple[int, ...]:
    """Return the bands of a signature."""
    return unpack(f"<{len(signature) // 8}Q", signature)


def signature_from_bands(bands: Sequence[int]) -> bytes:
    """Return the signature with these bands."""
    return pack(f"<{len(bands)}Q", *bands)


def sketch_of(signature: bytes) -> int:
    """Return the sketch of a signature."""
    return int.from_bytes(numpy.packbits(numpy.frombuffer(signature[:SKETCH_BITS], numpy.uint8) & 1).tobytes(), "big")


def near_duplicate_candidates(sketches: Sequence[int]) -> list[int]:
    """Return the indexes of sketches that are near another one."""
    numbers = numpy.array(sketches, numpy.uint64)
    are_near = numpy.bitwise_count(numbers[:, None] ^ numbers) <= MOST_DIFFERING_BITS
    # Each sketch is near itself.
    places: list[int] = numpy.flatnonzero(are_near.sum(axis=1) > 1).tolist()
    return places


def are_near_duplicates(one: bytes, other: bytes) -> bool:
    """Return whether two signatures are of near duplicates."""
    agreeing = numpy.frombuffer(one, numpy.uint8) == numpy.frombuffer(other, numpy.uint8)
    return bool(agreeing.mean() >= NEAR_DUPLICATE_SHARE)


def _shingles(text: bytes) -> Numbers:
    """Return the hash of each shingle, ignoring punctuation and white space."""
    letters = numpy.frombuffer(text, numpy.uint8)
    in_word = numpy.frombuffer(b" ".join((b"", text, b"")).translate(_IN_WORDS), numpy.bool_)
    edges = numpy.flatnonzero(in_word[1:] != in_word[:-1])
    begins, ends = edges[::2], edges[1::2]
    if len(begins) < SHINGLE_WORDS:
        return numpy.zeros(0, numpy.uint64)
    # The polynomial hash of a slice is the difference of two prefix sums, shifted to its start.
    powers, inverse_powers = _powers()
    sums = numpy.zeros(len(letters) + 1, numpy.uint64)
    numpy.cumsum(letters * powers[: len(letters)], out=sums[1:])
    words = (sums[ends] - sums[begins]) * inverse_powers[begins]
    last = len(words) - SHINGLE_WORDS + 1
    shingles = words[:last]
    for place in range(1, SHINGLE_WORDS):
        shingles = shingles * _FACTOR + words[place : place + last]
    return _mix(shingles)


def _signature(shingles: Numbers) -> bytes:
    """Return the signature of hashed shingles; an empty bin takes the byte of another bin in a fixed random order."""
    ordered = numpy.sort(shingles)
    at = numpy.full(SIGNATURE_BYTES + 1, len(ordered))
    at[:-1] = numpy.searchsorted(ordered, _EDGES)
    is_empty = at[1:] == at[:-1]
    # The lowest byte: the highest bits are the number of the bin, and the least of many hashes has zeros after them.
    least = ordered[numpy.minimum(at[:-1], len(ordered) - 1)].astype(numpy.uint8)
    if is_empty.any():
        filled = ~is_empty
        fallbacks = _fallback_bins()[is_empty]
        least[is_empty] = least[fallbacks[numpy.arange(len(fallbacks)), filled[fallbacks].argmax(axis=1)]]
    return bytes(least)


def _mix(numbers: Numbers) -> Numbers:
    for factor in _MIX_FACTORS:
        numbers = (numbers ^ (numbers >> _SHIFT)) * factor
    numbers ^= numbers >> _SHIFT
    return numbers


@cache
def _powers() -> tuple[Numbers, Numbers]:
    """Return the powers of a base and of its inverse, modulo 2^64."""
    inverse = pow(_BASE, -1, 1 << 64)
    both = []
    for base in (_BASE, inverse):
        powers = numpy.full(LONGEST_TEXT_BYTES + 1, base, numpy.uint64)
        powers[0] = 1
        both.append(numpy.cumprod(powers))
    return both[0], both[1]


@cache
def _fallback_bins() -> Numbers:
    """Return for each bin a random order of the other bins; it must never change, since signatures are stored."""
    return numpy.argsort(
        _mix(numpy.arange(1, SIGNATURE_BYTES * SIGNATURE_BYTES + 1, dtype=numpy.uint64)).reshape(
            SIGNATURE_BYTES, SIGNATURE_BYTES
        ),
        axis=1,
    )
