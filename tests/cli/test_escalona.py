"""``tarantula escalona``: input file, output file and error messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tarantula.frontier import escalona
from tests.support import documentation
from tests.support.command_result import Tarantula

COMMANDS = b"""\
ADD_URLS 5
http://www.globoesporte.com/pagel.js?q=copa#group1
ftp://ftp.globo.com
http://www.globo.com/
http://www.uol.com.br/
http://www.superdownloads.com.br/
ESCALONA 2
LISTA_HOSTS
ADD_URLS 4
http://www.globo.com/videos/jornalnacional
http://globo.com/
http://globoesporte.com/spfc/index.html
http://globo.com/videos/
ESCALONA_HOST globo.com 2
VER_HOST globo.com
"""
SHOWN = b"""\
http://globoesporte.com/pagel.js?q=copa
http://globo.com
globoesporte.com
globo.com
uol.com.br
superdownloads.com.br
http://globo.com
http://globo.com/videos
http://globo.com/videos/jornalnacional
"""


def test_the_example_of_the_specification(tarantula: Tarantula, tmp_path: Path) -> None:
    (tmp_path / "coleta1.txt").write_bytes(COMMANDS)
    output = tmp_path / "coleta1-out.txt"
    assert tarantula("escalona", str(tmp_path / "coleta1.txt")) == (0, f"{output} is written.\n", "")
    assert output.read_bytes() == SHOWN
    assert {path.name for path in tmp_path.iterdir()} == {"coleta1.txt", "coleta1-out.txt"}


@pytest.mark.parametrize(
    ("name", "output"),
    [("coleta", "coleta-out"), ("a.b.txt", "a.b-out.txt"), (".x", ".x-out"), ("coleta-out.txt", "coleta-out-out.txt")],
)
def test_the_output_file_is_named_after_the_input(tarantula: Tarantula, tmp_path: Path, name: str, output: str) -> None:
    (tmp_path / name).write_bytes(COMMANDS)
    (tmp_path / output).write_bytes(b"of yesterday\n" * 100)
    assert tarantula("escalona", str(tmp_path / name)).code == 0
    assert (tmp_path / output).read_bytes() == SHOWN


@pytest.mark.parametrize(
    ("strategy", "order"),
    [("depth-first", b"a1 a2 b c"), ("breadth-first", b"a1 b c a2"), ("best-first", b"a1 a2 b c")],
)
def test_strategies(tarantula: Tarantula, tmp_path: Path, strategy: str, order: bytes) -> None:
    file = tmp_path / "in.txt"
    file.write_bytes(b"ADD_URLS 4\nhttp://a/1\nhttp://a/2\nhttp://b\nhttp://c\nESCALONA_TUDO")
    assert tarantula("escalona", str(file), "--strategy", strategy).code == 0
    scheduled = (tmp_path / "in-out.txt").read_bytes()
    assert scheduled.replace(b"http://", b"").replace(b"/", b"").split() == order.split()


@pytest.mark.parametrize(
    ("commands", "output"),
    [
        (b"", b""),
        (b"ADD_URLS 1\r\nhttp://a.br/x/\r\n\r\nESCALONA_TUDO\r\nLISTA_HOSTS\r\n", b"http://a.br/x\na.br\n"),
        (b"\xef\xbb\xbfADD_URLS 1\nhttp://a.br\nESCALONA 1", b"http://a.br\n"),
        ("ADD_URLS 1\nhttp://a.br/ação\nESCALONA 1".encode("latin-1"), b"http://a.br/a\xe7\xe3o\n"),
        ("ADD_URLS 1\nhttp://a.br/ação\nESCALONA 1".encode(), b"http://a.br/a\xc3\xa7\xc3\xa3o\n"),
        (b"ADD_URLS 1\nhttp://\xff.br/\x85\xc2\xa0\nVER_HOST \xff.br\n", b"http://\xff.br/\x85\xc2\xa0\n"),
    ],
)
def test_bytes_are_preserved(tarantula: Tarantula, tmp_path: Path, commands: bytes, output: bytes) -> None:
    (tmp_path / "in.txt").write_bytes(commands)
    assert tarantula("escalona", str(tmp_path / "in.txt")).code == 0
    assert (tmp_path / "in-out.txt").read_bytes() == output


@pytest.mark.parametrize(
    ("wrong", "line", "sentence"),
    [
        ("ESCALONA_HOSTS a.br 1", 4, "There is no command ESCALONA_HOSTS. Did you mean ESCALONA_HOST"),
        ("\n\nescalona 1", 6, "There is no command escalona. Did you mean ESCALONA"),
        ("http://b.br", 4, "There is no command http://b.br."),
        ("ESCALONA", 4, "The command is written ESCALONA <quantidade>."),
        ("ESCALONA 1 2", 4, "The command is written ESCALONA <quantidade>."),
        ("ESCALONA_HOST a.br", 4, "The command is written ESCALONA_HOST <host> <quantidade>."),
        ("ESCALONA_TUDO 1", 4, "The command is written ESCALONA_TUDO."),
        ("VER_HOST", 4, "The command is written VER_HOST <host>."),
        ("ESCALONA two", 4, "two is not a number of 1 to 18 digits."),
        ("ESCALONA -1", 4, "-1 is not a number of 1 to 18 digits."),
        ("ESCALONA ²", 4, "² is not a number of 1 to 18 digits."),
        ("ESCALONA_HOST a.br 1_0", 4, "1_0 is not a number of 1 to 18 digits."),
        ("ADD_URLS 9999999999999999999", 4, "9999999999999999999 is not a number of 1 to 18 digits."),
        ("ADD_URLS 3\nhttp://b.br\nhttp://c.br", 4,
         "ADD_URLS 3 announces more lines than follow: the file ends with line 6."),
        ("ADD_URLS 1", 4, "ADD_URLS 1 announces more lines than follow: the file ends with line 4."),
        ("ADD_URLS 999999999999999999\nhttp://b.br", 4,
         "ADD_URLS 999999999999999999 announces more lines than follow: the file ends with line 5."),
        ("ADD_URLS 3\nhttp://b.br\nESCALONA 2\nESCALONA_TUDO", 4,
         "ADD_URLS 3 announces more lines than follow: line 6 is a command."),
    ],
)  # fmt: skip
def test_an_error_names_its_line_and_keeps_earlier_output(
    tarantula: Tarantula, tmp_path: Path, wrong: str, line: int, sentence: str
) -> None:
    file = tmp_path / "in.txt"
    file.write_text(f"ADD_URLS 1\nhttp://a.br/1\nESCALONA 1\n{wrong}")
    outcome = tarantula("escalona", str(file))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"{file}, line {line}: {sentence}")
    assert outcome.err.count("\n") == 1
    assert (tmp_path / "in-out.txt").read_text() == "http://a.br/1\n"


def test_unusable_files(tarantula: Tarantula, tmp_path: Path) -> None:
    file, output = tmp_path / "in.txt", tmp_path / "in-out.txt"
    assert tarantula("escalona", str(file)) == (2, "", f"{file} cannot be read (No such file or directory).\n")
    assert tarantula("escalona", str(tmp_path)) == (2, "", f"{tmp_path} cannot be read (Is a directory).\n")
    assert list(tmp_path.iterdir()) == []
    file.touch()
    output.mkdir()
    assert tarantula("escalona", str(file)) == (2, "", f"{output} cannot be written (Is a directory).\n")


def test_a_full_disk(tarantula: Tarantula, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(COMMANDS)
    (tmp_path / "in-out.txt").symlink_to("/dev/full")
    outcome = tarantula("escalona", str(tmp_path / "in.txt"))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("The disk is full.")


@pytest.mark.parametrize("place", ["/", ".", "..", ""])
def test_special_files(tarantula: Tarantula, place: str) -> None:
    outcome = tarantula("escalona", place)
    assert outcome.code == 2
    assert outcome.err.endswith(" cannot be read (Is a directory).\n")


def test_an_unknown_strategy_is_refused_before_writing(tarantula: Tarantula, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(COMMANDS)
    outcome = tarantula("escalona", str(tmp_path / "in.txt"), "--strategy", "sideways")
    assert outcome.code == 2
    assert outcome.err.startswith("There is no strategy sideways")
    assert not (tmp_path / "in-out.txt").exists()


def test_the_docs_page_has_the_example_and_every_command() -> None:
    page = documentation.read("escalona.md")
    assert documentation.blocks(page, "text") == [COMMANDS.decode(), SHOWN.decode()]
    written = {
        command.split()[0]
        for command in documentation.first_column(documentation.section(page, "Commands of the file"))
    }
    assert written == set(escalona.COMMANDS)
