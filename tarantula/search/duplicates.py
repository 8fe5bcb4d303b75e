"""Folding of equal and nearly equal search results into one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tantivy import DocAddress, Searcher

from tarantula.search.index.schema import SIGNATURE_FIELDS, SKETCH_FIELD, IndexField
from tarantula.search.texts.similarity import are_near_duplicates, near_duplicate_candidates, signature_from_bands

MOST_PAIRWISE = 500
"""Most documents whose sketches are compared pairwise; beyond that all are compared by bands."""

FieldColumn = Sequence[int | float | bool | None]


@dataclass(slots=True)
class FoldedHit:
    """Search hit, with the number of hits folded into it."""

    score: float
    address: DocAddress
    same: int = 0
    """Folded documents with the same bytes."""
    alike: int = 0
    """Folded documents that are nearly equal."""
    signature: bytes = field(default=b"", repr=False)


class DuplicateFolding:
    """Folds duplicates into the first of them; hits are added in order of score."""

    def __init__(self) -> None:
        self.hits: list[FoldedHit] = []
        self._pages: dict[object, FoldedHit] = {}
        self._bodies: dict[object, FoldedHit] = {}
        self._bands: dict[tuple[int, int], list[FoldedHit]] = {}

    def add(self, hit: FoldedHit, page: object, body: object, bands: Sequence[int]) -> None:
        """Add a hit; a hit without bands is never a near duplicate."""
        kept = self._pages.get(page)
        if kept is None and (kept := self._bodies.get(body)) is not None:
            kept.same += 1
        if kept is None and (kept := self._near_duplicate(hit, bands)) is not None:
            kept.alike += 1
        if kept is None:
            self._add_new(kept := hit, bands)
        # Later duplicates of a folded hit go to the same first hit.
        self._pages.setdefault(page, kept)
        self._bodies.setdefault(body, kept)

    def _near_duplicate(self, hit: FoldedHit, bands: Sequence[int]) -> FoldedHit | None:
        """Return the first hit that is nearly equal to this one."""
        return next(
            (other for other in self._sharing_band(bands) if are_near_duplicates(hit.signature, other.signature)), None
        )

    def _sharing_band(self, bands: Sequence[int]) -> Iterator[FoldedHit]:
        """Yield earlier hits that share a band, each once."""
        seen: set[int] = set()
        for band in enumerate(bands):
            for other in self._bands.get(band, ()):
                if id(other) not in seen:
                    seen.add(id(other))
                    yield other

    def _add_new(self, hit: FoldedHit, bands: Sequence[int]) -> None:
        self.hits.append(hit)
        for band in enumerate(bands):
            self._bands.setdefault(band, []).append(hit)


def fold_duplicates(
    searcher: Searcher, matches: Sequence[tuple[float, DocAddress]], unfold: bool = False
) -> list[FoldedHit]:
    """Fold captures of one page into one hit; also equal and nearly equal documents, unless *unfold*."""
    addresses = [address for _, address in matches]
    pages: FieldColumn = searcher.fast_field_values(IndexField.PAGE, addresses)
    bodies: FieldColumn = range(len(addresses)) if unfold else searcher.fast_field_values(IndexField.BODY, addresses)
    bands = {} if unfold else _bands(searcher, addresses)
    if not bands and len(set(pages)) == len(set(bodies)) == len(matches):
        return [FoldedHit(score, address) for score, address in matches]
    folding = DuplicateFolding()
    for place, ((score, address), page, body) in enumerate(zip(matches, pages, bodies, strict=True)):
        own_bands = bands.get(place, ())
        folding.add(FoldedHit(score, address, signature=signature_from_bands(own_bands)), page, body, own_bands)
    return folding.hits


def _bands(searcher: Searcher, addresses: Sequence[DocAddress]) -> dict[int, tuple[int, ...]]:
    """Return the bands of documents that may be near duplicates of another, by their index."""
    sketches = searcher.fast_field_values(SKETCH_FIELD, list(addresses))
    places = [place for place, sketch in enumerate(sketches) if sketch is not None]
    if len(places) <= MOST_PAIRWISE:
        places = [places[near] for near in near_duplicate_candidates([int(sketches[place] or 0) for place in places])]
    if not places:
        return {}
    chosen = [addresses[place] for place in places]
    rows = zip(*(searcher.fast_field_values(name, chosen) for name in SIGNATURE_FIELDS), strict=True)
    return {place: tuple(int(band or 0) for band in row) for place, row in zip(places, rows, strict=True)}
