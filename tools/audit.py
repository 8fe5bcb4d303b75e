"""Compare the locked versions with public lists of vulnerabilities; succeed without a list, but say so."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = (ROOT / "requirements.txt", ROOT / "tests" / "support" / "pywb-requirements.txt")
SERVICES = ("pypi", "osv")
KNOWN = "jinja2==2.10"
"""A version with published vulnerabilities. A service that reports none for it, such as a mirror, has no data."""
REQUEST_SECONDS = 5
PROBE_SECONDS = 30
AUDIT_SECONDS = 600
NOT_CHECKED = "not checked: the vulnerability data cannot be reached"


def main() -> int:
    """Print the findings; return 1 if there are any, or if the check failed."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(f"{KNOWN}\n")
        file.flush()
        service = next((one for one in SERVICES if has_data(one, Path(file.name))), None)
    if service is None:
        print(f"Vulnerabilities {NOT_CHECKED} ({', '.join(SERVICES)}).")
        return 0
    return max(audit(service, lock) for lock in LOCKS)


def has_data(service: str, known: Path) -> bool:
    """Whether a service names the vulnerabilities of the version that has some."""
    try:
        done = subprocess.run(
            [*command(service, known), "--no-deps", "--format", "json"], capture_output=True, timeout=PROBE_SECONDS
        )
        return any(one.get("vulns") for one in json.loads(done.stdout)["dependencies"])
    except (subprocess.TimeoutExpired, ValueError):
        return False


def audit(service: str, lock: Path) -> int:
    """Print what a service has about the packages of a lock."""
    print(f"{lock.relative_to(ROOT)}:", flush=True)
    try:
        return subprocess.run([*command(service, lock), "--require-hashes"], timeout=AUDIT_SECONDS).returncode
    except subprocess.TimeoutExpired:
        print(f"The check was not finished after {AUDIT_SECONDS} seconds.")
        return 1


def command(service: str, lock: Path) -> list[str]:
    """Return the command that checks the packages of a file."""
    options = ("--disable-pip", "--progress-spinner", "off", "--timeout", str(REQUEST_SECONDS))
    return [sys.executable, "-m", "pip_audit", "--vulnerability-service", service, *options, "--requirement", str(lock)]


if __name__ == "__main__":
    sys.exit(main())
