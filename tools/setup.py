"""Build the virtual environment from the locked versions; needs only Python, because nothing is installed yet."""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.txt"
STAMP = "locked"
PIP = ("-m", "pip", "-qq", "--disable-pip-version-check", "--no-input", "install", "--no-deps", "--no-compile")
SETUP_PACKAGES = ("pip==", "setuptools==")


def main() -> int:
    """Build the environment, unless it is up to date."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("venv", type=Path)
    venv: Path = arguments.parse_args().venv.absolute()
    # The replay tests use a separate environment, which is built in parallel.
    pywb = subprocess.Popen([sys.executable, str(ROOT / "tests" / "support" / "pywb_environment.py")])
    try:
        if not is_current(venv):
            build(venv)
        add_chromium(venv)
    except subprocess.CalledProcessError as error:
        print(f"Set-up stopped: {error.cmd[0]} ended with exit code {error.returncode}; its words are above.")
        return 2
    finally:
        pywb.wait()
    return pywb.returncode


def is_current(venv: Path) -> bool:
    """Whether the environment works and was built from this lock and this pyproject.toml."""
    stamp = venv / STAMP
    return works(venv) and stamp.exists() and stamp.read_text() == wanted()


def wanted() -> str:
    """Return a digest of the files that the environment is built from."""
    return hashlib.sha256(LOCK.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()


def works(venv: Path) -> bool:
    """Whether the environment's Python starts and is new enough."""
    check = [python_of(venv), "-c", "import pip, sys; sys.exit(sys.version_info < (3, 11))"]
    return Path(check[0]).exists() and subprocess.run(check, capture_output=True).returncode == 0


def python_of(venv: Path) -> str:
    """Return the path of the environment's Python."""
    return str(venv / "bin" / "python")


def build(venv: Path) -> None:
    """Install all locked packages, and the project itself in editable mode."""
    began = time.monotonic()
    if not works(venv):
        say(f"Making {venv.name} with Python {sys.version.split()[0]}")
        run(sys.executable, "-m", "venv", "--clear", str(venv))
    (venv / STAMP).unlink(missing_ok=True)
    pins = locked_pins()
    say(f"Installing {len(pins)} locked packages (a minute or two)")
    install(venv, [pin for pin in pins if pin.startswith(SETUP_PACKAGES)], processes=1)
    install(venv, pins)
    run(python_of(venv), *PIP, "--no-build-isolation", "--editable", str(ROOT))
    say("Compiling")
    # If compiled later, a package's syntax warnings would fail the first test that imports it.
    compile_all = ("-m", "compileall", "-q", "-j", "0", "-x", "/tests?/", str(venv / "lib"))
    subprocess.run([python_of(venv), "-W", "ignore", *compile_all], stdout=subprocess.DEVNULL)
    (venv / STAMP).write_text(wanted())
    say(f"{venv.name} is ready after {time.monotonic() - began:.0f} s")


def locked_pins() -> list[str]:
    """Return the pinned packages, each with the hashes of its files on the following lines."""
    return re.findall(r"^[^#\s].*(?:\n .*)*", LOCK.read_text(), re.MULTILINE)


def install(venv: Path, pins: list[str], processes: int = 2) -> None:
    """Install packages in two processes, half of them each: pip is sequential and mostly waits.

    Files whose hash is not in the lock are refused.
    """
    with tempfile.TemporaryDirectory() as directory:
        shares = [Path(directory, f"{number}.txt") for number in range(processes)]
        for start, share in enumerate(shares):
            share.write_text("\n".join(pins[start::processes]) + "\n")
        command = [python_of(venv), *PIP, "--require-hashes", "--requirement"]
        started = [subprocess.Popen([*command, str(share)]) for share in shares]
        for process in started:
            process.wait()
    for process in started:
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, ["pip"])


def add_chromium(venv: Path) -> None:
    """Find or install the browser that `--render` needs. Everything else works without it."""
    record = venv / "chromium"
    known = record.read_text() if record.exists() else None
    if known == "":
        say(f"No Chromium, so no rendered pages. To try installing it again: rm {record}; make setup")
    elif known is None or not Path(known).exists():
        subprocess.run([python_of(venv), str(ROOT / "tools" / "chromium.py"), str(record)])


def run(*command: str) -> None:
    """Run a command; exit if it fails."""
    subprocess.run(command, check=True)


def say(sentence: str) -> None:
    """Print the current step."""
    print(f"· {sentence}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
