"""Sets of wanted types."""

from __future__ import annotations

import pytest

from tarantula.scope.types import TypeSet

IMAGES = ["text/html", "image/gif", "image/jpeg", "image/bmp"]


@pytest.mark.parametrize(
    ("profile", "added", "excluded", "wanted", "unwanted"),
    [
        (["text/html"], [], [], ["text/html"], ["text/plain", "image/gif"]),
        (IMAGES, ["application/pdf"], ["image/bmp"], ["application/pdf", "image/gif"], ["image/bmp", "image/png"]),
        (["image/*"], [], ["image/bmp"], ["image/png", "image/avif"], ["image/bmp", "text/html"]),
        (["*/*"], [], [], ["text/html", "x/y"], []),
        (["*/*"], [], ["video/*"], ["text/html"], ["video/mp4"]),
        (["text/html"], ["image/png"], ["image/*"], ["text/html"], ["image/png"]),
        (["text/html"], ["image/png"], ["image/png"], ["text/html"], ["image/png"]),
        (["Text/HTML "], [" IMAGE/png"], [], ["text/html", "TEXT/html", "image/png"], []),
        (["image/jpeg"], [], [], ["image/jpg", "image/pjpeg"], ["image/png"]),
        (["image/*"], [], ["image/jpg"], ["image/png"], ["image/jpeg", "image/pjpeg"]),
        (["application/javascript"], [], [], ["text/javascript", "application/x-javascript"], []),
        ([], [], [], [], ["text/html"]),
    ],
)
def test_excluded_beats_added_beats_nothing(
    profile: list[str], added: list[str], excluded: list[str], wanted: list[str], unwanted: list[str]
) -> None:
    types = TypeSet(profile, added, excluded)
    assert [mime for mime in wanted if mime not in types] == []
    assert [mime for mime in unwanted if mime in types] == []


@pytest.mark.parametrize(
    ("types", "takes"),
    [
        (TypeSet(["*/*"]), True),
        (TypeSet(["text/html"], ["*/*"]), True),
        (TypeSet(["*/*"], (), ["video/*"]), True),
        (TypeSet(["text/*", "image/*"]), False),
    ],
)
def test_only_everything_takes_what_nobody_can_tell(types: TypeSet, takes: bool) -> None:
    assert types.takes_unknown is takes
