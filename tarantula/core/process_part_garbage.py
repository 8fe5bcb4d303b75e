"""Cycles are looked for less often: by default a fifth of the time of whoever makes many objects went into that."""

from __future__ import annotations

import gc

GC_THRESHOLDS = (20_000, 10, 5)
"""How much is made before they are looked for."""


def collect_and_freeze() -> None:
    """Look for garbage only in what comes from now on, and not after every few objects."""
    gc.collect()
    freeze_and_relax_gc()


def freeze_and_relax_gc() -> None:
    """Do so without looking for garbage in what there is, which takes a moment."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
