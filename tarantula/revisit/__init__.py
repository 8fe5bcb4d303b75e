"""When to visit pages again: change rates, revisit policies, bounds on their staleness, a simulator and experiments."""

import os
import sys
from hashlib import sha256
from pathlib import Path


def _keep_compiled_code() -> None:
    """Key Numba's cache by the contents of all compiled files of this package.

    Numba itself checks only the file of the compiled function, and would keep stale code of the functions that it
    calls.
    """
    here = Path(__file__).parent
    files = sha256()
    for code in (path.read_bytes() for path in sorted(here.rglob("*.py"))):
        if b"numba" in code:
            files.update(code)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(here / "__pycache__" / f"numba-{files.hexdigest()[:12]}"))
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]


_keep_compiled_code()
