"""DROP, the digital deposit of a library: items that librarians accepted are exported to its repository.

Name the hook, and the folder of the repository::

    export TARANTULA_ON_DECISION=examples.drop.repository.receive
    export DROP_REPOSITORY=/srv/repository
    tarantula item validate fcul-20260612T220000

An item is copied completely or not at all, as a BagIt package: its WARC files, with the bodies that are stored with
earlier items, their index, a description, and the checksum of every file. ``URN.json`` next to it has the decision and
the quality indicators. An item that is rejected later is withdrawn.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from tarantula.archive.quality.validation import ItemDecision
from tarantula.services.deposit import Deposit


def receive(decision: ItemDecision) -> None:
    """Export a valid item to the repository; withdraw a rejected one."""
    repository = Path(os.environ["DROP_REPOSITORY"])
    package, metadata = repository / decision.urn, repository / f"{decision.urn}.json"
    metadata.unlink(missing_ok=True)
    if decision.validation == "valid":
        with Deposit() as deposit:
            deposit.export(decision.urn, "bagit", package, force=True)
            content = {"decision": decision.as_dict(), "indicators": deposit.indicators(decision.urn).as_dict()}
        metadata.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8")
    elif package.exists():
        shutil.rmtree(package)
