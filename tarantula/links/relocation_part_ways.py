"""The way from one file of a mirror to another."""

from __future__ import annotations

SERVER = 3
"""The folder of a server, counted from the end of the ways up: it is in that of all copies, and that in the root."""

Ways = tuple[tuple[str, str], ...]
"""The folders above a folder and the way to each, the nearest first; the last is the root of the mirror."""


def ways_up(folder: str) -> Ways:
    """Return every folder that a folder is in, the nearest first, and the way there."""
    parts = folder.split("/")[:-1]
    depth = len(parts)
    return tuple(("".join(f"{part}/" for part in parts[: depth - up]), "../" * up) for up in range(depth + 1))


def relative(path: str, ways: Ways) -> str:
    """Return the way from a folder to a file below the same root."""
    if len(ways) > SERVER and not path.startswith(ways[-SERVER][0]):
        # Another server's: there is nothing in between to try.
        ways = to_other_servers(ways)
    for above, way in ways:
        if path.startswith(above):
            return way + path[len(above) :]
    return path


def to_other_servers(ways: Ways) -> Ways:
    """Return the ways by which other servers are reached: folders that lie as deep have the same."""
    return ways[1 - SERVER :]


def to_own_server(ways: Ways) -> str:
    """Return how a way to a folder's own server would begin if it were that to any other."""
    own, (above, way) = ways[-SERVER:][0][0], to_other_servers(ways)[0]
    return way + own.removeprefix(above)
