"""The locked versions satisfy pyproject.toml, and nothing in the lock depends on one machine."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import audit
from tools.setup import locked_pins

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# atheris has packages for few systems and versions of Python, and `make setup` is for all.
EXTRAS = {name: lines for name, lines in PROJECT["project"]["optional-dependencies"].items() if name != "fuzz"}
ASKED = [
    *PROJECT["project"]["dependencies"],
    *(line for extra in EXTRAS.values() for line in extra),
    *PROJECT["dependency-groups"]["dev"],
    *PROJECT["build-system"]["requires"],
]
LOCKS = [ROOT / "requirements.txt", ROOT / "tests" / "support" / "pywb-requirements.txt"]
HASH = re.compile(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?")


def pins(lock: Path) -> list[list[str]]:
    """Return the lines of each pin, the first with the version, the others with hashes."""
    lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
    starts = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    return [lines[start:end] for start, end in itertools.pairwise([*starts, len(lines)])]


LOCKED = [Requirement(pin[0].removesuffix("\\")) for pin in pins(LOCKS[0])]


@pytest.mark.parametrize("asked", [Requirement(line) for line in ASKED], ids=str)
def test_requirements_are_locked(asked: Requirement) -> None:
    locked = [one for one in LOCKED if canonicalize_name(one.name) == canonicalize_name(asked.name)]
    assert locked, f"{asked.name} is not in requirements.txt: make lock"
    for one in locked:
        (version,) = one.specifier
        assert asked.specifier.contains(version.version), "make lock"


def test_versions_are_pinned_without_paths() -> None:
    for locked in LOCKED:
        assert [version.operator for version in locked.specifier] == ["=="]
        assert locked.url is None


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_all_files_of_a_version_have_hashes_and_no_line_names_an_index(lock: Path) -> None:
    for first, *hashes in pins(lock):
        assert "==" in first
        assert hashes, f"{first} has no hash: make hashes"
        assert all(HASH.fullmatch(line) for line in hashes), first
    assert "://" not in lock.read_text()


def test_the_set_up_installs_each_version_with_its_hashes() -> None:
    assert locked_pins() == ["\n".join(pin) for pin in pins(LOCKS[0])]


def test_a_file_with_another_hash_is_not_installed(tmp_path: Path) -> None:
    wheel = tmp_path / "altered-1.0-py3-none-any.whl"
    wheel.write_bytes(b"PK\x05\x06" + bytes(18))
    (tmp_path / "lock.txt").write_text(f"altered==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    install = ("-m", "pip", "install", "--no-deps", "--require-hashes", "--no-index", "--target", str(tmp_path / "at"))
    command = [sys.executable, *install, "--find-links", str(tmp_path), "--requirement", str(tmp_path / "lock.txt")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "at").exists()


def test_the_list_of_packages_is_valid_cyclonedx(tmp_path: Path) -> None:
    done = subprocess.run(["make", "--dry-run", "sbom"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (
        "cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-format JSON" in done.stdout
    )
    out, small = tmp_path / "sbom.json", tmp_path / "venv"
    venv.create(small, with_pip=False)
    (packages,) = small.glob("lib/python*/site-packages")
    for name in ("lxml", "Scrapy"):
        described = Path(str(distribution(name)._path))  # type: ignore[attr-defined]
        (packages / described.name).symlink_to(described)
    options = ("--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "--output-format", "JSON")
    command = [sys.executable, "-m", "cyclonedx_py", "environment", *options, "--output-file", str(out), str(small)]
    subprocess.run(command, check=True, capture_output=True)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(out.read_text()) is None
    listed = json.loads(out.read_text())
    assert listed["metadata"]["component"]["name"] == "tarantula"
    assert {"scrapy", "lxml"} <= {canonicalize_name(one["name"]) for one in listed["components"]}


STAND_IN = """
import json, pathlib, sys
lock = pathlib.Path(sys.argv[sys.argv.index("--requirement") + 1]).read_text()
found = {data!r} == "known" and "jinja2==2.10\\n" == lock or {data!r} == "all"
print(json.dumps({{"dependencies": [{{"name": "jinja2", "vulns": [{{"id": "X"}}] if found else []}}]}}))
sys.exit(found)
"""


@pytest.mark.parametrize(("data", "code", "said"), [("none", 0, audit.NOT_CHECKED), ("known", 0, ""), ("all", 1, "")])
def test_the_audit_tells_missing_data_from_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: str, code: int, said: str
) -> None:
    script = STAND_IN.format(data=data)
    monkeypatch.setattr(
        audit, "command", lambda _service, lock: [sys.executable, "-c", script, "--requirement", str(lock)]
    )
    assert audit.main() == code
    out = capsys.readouterr().out
    assert (audit.NOT_CHECKED in out) == bool(said)
    assert ("requirements.txt:" in out) != bool(said)
