"""The way from one file of a mirror to another."""

from __future__ import annotations

SERVER_LEVEL = 3
"""The folder of a server, counted from the end of the ways up: it is in that of all copies, and that in the root."""

FolderPaths = tuple[tuple[str, str], ...]
"""The folders above a folder and the way to each, the nearest first; the last is the root of the mirror."""


def paths_to_parents(folder: str) -> FolderPaths:
    """Return every folder that a folder is in, the nearest first, and the way there."""
    parts = folder.split("/")[:-1]
    depth = len(parts)
    return tuple(("".join(f"{part}/" for part in parts[: depth - up]), "../" * up) for up in range(depth + 1))


def relative_path(path: str, ways: FolderPaths) -> str:
    """Return the way from a folder to a file below the same root."""
    if len(ways) > SERVER_LEVEL and not path.startswith(ways[-SERVER_LEVEL][0]):
        # Another server's: there is nothing in between to try.
        ways = paths_to_other_servers(ways)
    for above, way in ways:
        if path.startswith(above):
            return way + path[len(above) :]
    return path


def paths_to_other_servers(ways: FolderPaths) -> FolderPaths:
    """Return the ways by which other servers are reached: folders that lie as deep have the same."""
    return ways[1 - SERVER_LEVEL :]


def prefix_of_own_server(ways: FolderPaths) -> str:
    """Return how a way to a folder's own server would begin if it were that to any other."""
    own, (above, way) = ways[-SERVER_LEVEL:][0][0], paths_to_other_servers(ways)[0]
    return way + own.removeprefix(above)
