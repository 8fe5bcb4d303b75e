"""Reference model of the URL scheduler of 2021: the specification word by word, without regard to speed."""

from __future__ import annotations


class Model:
    """A queue of hosts, each with a sorted list of URLs."""

    def __init__(self, strategy: str) -> None:
        self.strategy = strategy
        self.clear()

    def clear(self) -> None:
        self.lists: dict[str, list[str]] = {}
        self.last_served = -1

    def execute(self, text: str) -> list[str]:
        lines, shown = text.splitlines(), []
        while lines:
            name, *words = lines.pop(0).split()
            if name == "ADD_URLS":
                for _ in range(int(words[0])):
                    self.add(lines.pop(0))
            elif name == "ESCALONA_TUDO":
                shown += self.schedule(10**6)
            elif name == "ESCALONA":
                shown += self.schedule(int(words[0]))
            elif name == "ESCALONA_HOST":
                shown += [self.lists[words[0]].pop(0) for _ in range(int(words[1])) if self.lists.get(words[0])]
            elif name == "VER_HOST":
                shown += self.lists.get(words[0], [])
            elif name == "LISTA_HOSTS":
                shown += self.lists
            elif name == "LIMPA_HOST":
                self.lists.get(words[0], []).clear()
            elif name == "LIMPA_TUDO":
                self.clear()
        return shown

    def add(self, url: str) -> None:
        if not url.startswith("http://"):
            return
        if "#" in url:
            url = url[: url.index("#")]
        while url.endswith("/"):
            url = url[:-1]
        if url.startswith("http://www."):
            url = "http://" + url[len("http://www.") :]
        without_query = url.split("?")[0]
        host = without_query.split("/")[2]
        path = without_query[len("http://" + host) :]
        if any(path.endswith(extension) for extension in (".jpg", ".gif", ".mp3", ".avi", ".doc", ".pdf")):
            return
        urls = self.lists.setdefault(host, [])
        if url not in urls:
            place = 0
            while place < len(urls) and self.depth(urls[place]) <= path.count("/"):
                place += 1
            urls.insert(place, url)

    def depth(self, url: str) -> int:
        return url.split("?")[0].count("/") - 2

    def schedule(self, count: int) -> list[str]:
        scheduled: list[str] = []
        while len(scheduled) < count and any(self.lists.values()):
            hosts = list(self.lists)
            host = getattr(self, self.strategy.replace("-", "_"))(hosts)
            self.last_served = hosts.index(host)
            scheduled.append(self.lists[host].pop(0))
        return scheduled

    def depth_first(self, hosts: list[str]) -> str:
        return next(host for host in hosts if self.lists[host])

    def breadth_first(self, hosts: list[str]) -> str:
        after = self.last_served + 1
        return next(host for host in hosts[after:] + hosts[:after] if self.lists[host])

    def best_first(self, hosts: list[str]) -> str:
        most = max(len(urls) for urls in self.lists.values())
        return next(host for host in hosts if len(self.lists[host]) == most)
