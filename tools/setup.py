"""Build the virtual environment from the locked versions; needs only Python, because nothing is installed yet."""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.txt"
STAMP = "locked"
PIP = ("-m", "pip", "-qq", "--disable-pip-version-check", "--no-input", "install", "--no-deps", "--no-compile")


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
    lines = [line for line in LOCK.read_text().splitlines() if "==" in line]
    say(f"Installing {len(lines)} locked packages (a minute or two)")
    run(python_of(venv), *PIP, *(line for line in lines if line.startswith(("pip==", "setuptools=="))))
    install(venv, lines)
    run(python_of(venv), *PIP, "--no-build-isolation", "--editable", str(ROOT))
    say("Compiling")
    # If compiled later, a package's syntax warnings would fail the first test that imports it.
    compile_all = ("-m", "compileall", "-q", "-j", "0", "-x", "/tests?/", str(venv / "lib"))
    subprocess.run([python_of(venv), "-W", "ignore", *compile_all], stdout=subprocess.DEVNULL)
    (venv / STAMP).write_text(wanted())
    say(f"{venv.name} is ready after {time.monotonic() - began:.0f} s")


def install(venv: Path, lines: list[str]) -> None:
    """Install packages in two processes, half of them each: pip is sequential and mostly waits."""
    with tempfile.TemporaryDirectory() as directory:
        halves = [Path(directory, "even.txt"), Path(directory, "odd.txt")]
        for start, half in enumerate(halves):
            half.write_text("\n".join(lines[start::2]) + "\n")
        command = [python_of(venv), *PIP, "--requirement"]
        processes = [subprocess.Popen([*command, str(half)]) for half in halves]
        for process in processes:
            process.wait()
    for process in processes:
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
