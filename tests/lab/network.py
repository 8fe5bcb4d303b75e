"""The network of the laboratory: addresses, a name server, web servers, a proxy, and a log of all connections.

It lives in a network namespace of its own, where addresses of the real internet lead nowhere else. The log is taken
from the packets, so that it has every attempt to connect, to any address and port, whether something listens or not.
"""

from __future__ import annotations

import socket
import ssl
import struct
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAME_SERVER = "93.184.0.53"
PUBLIC = {f"93.184.1.{number}" for number in range(1, 10)}
PROXY = "93.184.9.9"
MARK = "93.184.0.99"
"""Packets to this address show that the log has everything before them."""
FORBIDDEN = {
    "10.0.0.5", "192.168.7.7", "100.64.0.9", "100.100.100.200", "169.254.169.254", "fd00:ec2::254", "fd12::5",
}  # fmt: skip
TYPE_A, TYPE_CNAME, TYPE_AAAA = 1, 5, 28
PACKET_OUTGOING, ETH_ALL = 4, 3
SYN, ACK = 2, 16


def build(folder: Path) -> None:
    """Give this namespace its addresses, and a resolver that asks the name server of the laboratory."""
    addresses = [NAME_SERVER, PROXY, MARK, *PUBLIC, *FORBIDDEN]
    commands = ["link set lo up"]
    commands += [f"addr add {one}/{128 if ':' in one else 32} dev lo{' nodad' * (':' in one)}" for one in addresses]
    # Any other address has a way, too, so that a packet to it is sent and seen.
    commands += ["route add default dev lo", "route add ::/0 dev lo"]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(commands), text=True, check=True)
    (folder / "resolv.conf").write_text(f"nameserver {NAME_SERVER}\noptions attempts:1 timeout:2\n")
    subprocess.run(["mount", "--bind", folder / "resolv.conf", "/etc/resolv.conf"], check=True)


class ConnectionLog:
    """Every packet that opens a TCP connection, and every UDP packet but those to the name server."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._marks: Counter[int] = Counter()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
        self._seen = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def take(self) -> list[str]:
        """Return the connections since the last call, each once, as ``tcp 10.0.0.5:80``."""
        number = sum(self._marks.values()) + 1000
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mark:
            mark.sendto(b"", (MARK, number))
        with self._seen:
            assert self._seen.wait_for(lambda: self._marks[number], 10), "the log of the laboratory stands still"
            entries, self._entries = sorted({*self._entries}), []
        return entries

    def _listen(self) -> None:
        while True:
            packet, (_, _, kind, *_) = self._socket.recvfrom(65535)
            if kind == PACKET_OUTGOING and (entry := _opened(packet)) is not None:
                with self._seen:
                    if entry.startswith(f"udp {MARK}:"):
                        self._marks[int(entry.rpartition(":")[2])] += 1
                        self._seen.notify_all()
                    else:
                        self._entries.append(entry)


def _opened(packet: bytes) -> str | None:
    if packet[0] >> 4 == 4:
        protocol, start = packet[9], (packet[0] & 15) * 4
        target = socket.inet_ntop(socket.AF_INET, packet[16:20])
    else:
        protocol, start = packet[6], 40
        target = f"[{socket.inet_ntop(socket.AF_INET6, packet[24:40])}]"
    source, port = struct.unpack_from("!HH", packet, start)
    if protocol == socket.IPPROTO_TCP and packet[start + 13] & (SYN | ACK) == SYN:
        return f"tcp {target}:{port}"
    if protocol == socket.IPPROTO_UDP and 53 not in (source, port):
        return f"udp {target}:{port}"
    return None


Answers = list[str] | Callable[[int], list[str]]
"""Addresses of a name, or a CNAME as ``>name``; a function gets the number of earlier questions."""


class LyingNameServer:
    """Answers as a table says; nothing it says may be kept (TTL 0)."""

    def __init__(self, names: dict[str, Answers]) -> None:
        self.names = names
        self._asked: Counter[tuple[str, int]] = Counter()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((NAME_SERVER, 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def forget(self) -> None:
        """Count the questions from zero again."""
        self._asked.clear()

    def _serve(self) -> None:
        while True:
            query, sender = self._socket.recvfrom(4096)
            self._socket.sendto(self._response(query), sender)

    def _response(self, query: bytes) -> bytes:
        labels, at = [], 12
        while size := query[at]:
            labels.append(query[at + 1 : at + 1 + size].decode().lower())
            at += 1 + size
        name, kind = ".".join(labels), struct.unpack_from("!H", query, at + 1)[0]
        records = self._records(name, kind)
        code = 0 if name in self.names else 3
        head = query[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        return head + query[12 : at + 5] + b"".join(records)

    def _records(self, name: str, kind: int) -> list[bytes]:
        answers = self.names.get(name, [])
        if callable(answers):
            answers = answers(self._asked[name, kind])
        self._asked[name, kind] += 1
        records = []
        for answer in answers:
            if answer.startswith(">"):
                target = b"".join(bytes([len(label)]) + label.encode() for label in answer[1:].split(".")) + b"\0"
                records.append(_record(_encoded(name), TYPE_CNAME, target))
                records += [_record(target, *_address(one)) for one in self.names[answer[1:]]]  # type: ignore[union-attr]
            elif _address(answer)[0] == kind:
                records.append(_record(_encoded(name), *_address(answer)))
        return records


def _encoded(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _address(text: str) -> tuple[int, bytes]:
    if ":" in text:
        return TYPE_AAAA, socket.inet_pton(socket.AF_INET6, text)
    return TYPE_A, socket.inet_aton(text)


def _record(name: bytes, kind: int, data: bytes) -> bytes:
    return name + struct.pack("!HHIH", kind, 1, 0, len(data)) + data


Page = tuple[int, dict[str, str], str]
"""Status, headers and body."""


class LabWeb:
    """Web servers on ports 80 and 443 of all addresses, and a proxy on port 3128; private ones have secrets."""

    def __init__(self, pages: dict[str, Page], tls: ssl.SSLContext) -> None:
        self.pages = pages
        """By host and path, as ``public.test/``."""
        self.asked: list[str] = []
        """Addresses and URLs of the requests."""
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                address = self.request.getsockname()[0].removeprefix("::ffff:")
                url = self.path.removeprefix("http://") if self.path.startswith("http://") else self._url()
                web.asked.append(f"{address} {url}")
                status, headers, body = web.pages.get(url, (404, {}, "nothing"))
                if address in FORBIDDEN:
                    status, headers, body = 200, {"Content-Type": "text/html"}, f"<p>1</p>SECRET of {address}"
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            do_POST = do_GET

            def _url(self) -> str:
                return f"{self.headers.get('Host', '')}{self.path}"

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6
            daemon_threads = True

        for port in (80, 443, 3128):
            server = Server(("::", port), Handler)
            if port == 443:
                server.socket = tls.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
