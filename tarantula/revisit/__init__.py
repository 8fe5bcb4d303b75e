"""When to visit again: how often pages change, how often each is worth a visit, when, and how fresh that keeps them."""

import os
import sys
from hashlib import sha256
from pathlib import Path


def _keep_compiled_code() -> None:
    """Keep what Numba compiles by all files that it compiles.

    By itself it looks at the file of a function alone, and would go on using what it calls as that was before.
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
