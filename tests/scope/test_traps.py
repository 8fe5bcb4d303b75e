"""Rules against crawler traps."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.links.link import LinkKind
from tarantula.scope import traps
from tarantula.scope.paths import MAX_SEGMENT_REPEATS, MAX_SEGMENTS, PathRepeats, PathTooLong
from tarantula.scope.rule import Candidate, ScopeRule
from tarantula.scope.traps import (
    MAX_CALENDAR_STEPS,
    MAX_COPIES,
    MAX_GROWTH,
    MAX_SESSIONS,
    MAX_YEARS_AHEAD,
    CalendarWithoutEnd,
    EverLonger,
    SameBody,
    TooManySessions,
)
from tests.scope.test_judge import scope

HOST = "http://www.fc.ul.pt"
THIS_YEAR = datetime.now(UTC).year
HONEST = (
    "/",
    "/1998/04/25/expo/index.html",
    "/2001/09/11/world/americas/new-york/attack.html",
    "/1851/09/18/archives/first-page.html",
    "/news/2026/11/16/politics/2026/11/16/again.html",
    "/wiki/Wikipedia:Arquivo/2004/Abril/1/2/3",
    "/wiki/A/B/A/B",
    "/w/index.php?title=Lisboa&oldid=20450112&action=edit&section=3",
    "/torvalds/linux/blob/master/tools/testing/selftests/bpf/prog_tests/test_bpf_syscall_macro.c",
    "/group/sub/project/-/tree/main/src/main/java/pt/ul/fc/di/xldb/tarantula/frontier/impl/test/src/test/java",
    "/cgit/linux.git/commit/?id=2c8f3a4b5d6e7f8091a2b3c4d5e6f708192a3b4c",
    "/gitweb/?p=linux.git;a=commit;h=2c8f3a4b5d6e7f8091a2b3c4d5e6f708192a3b4c",
    "/maven2/org/apache/maven/plugins/maven-compiler-plugin/3.11.0/maven-compiler-plugin-3.11.0.pom",
    "/catalogue/00/00/00/00/00/00/12/record.html",
    "/tiles/0/0/0/0/0/0/0.png",
    "/pairtree_root/ar/k+/=1/30/30/30/30/=b/6h/record",
    "/record/2100/12/view",
    "/pubmed/20451203/",
    "/modules.php?name=News&file=article&sid=1234",
    "/forum/viewtopic.php?f=2&t=2099&start=2040",
    "/web/20010911000000/http://www.fc.ul.pt/a/b/c/d/index.html",
    "/opac/search?q=os+lusiadas&sort=year&filters=a%7Cb&lang=pt&session=summer&s=camoes",
    "/photos/2012/summer/img/thumbs/img/large/img/0001.jpg",
    "/api/docs/com/sun/star/com/sun/star/index.html",
)


def judged(rule: ScopeRule[Candidate], path: str, via: str = "", kind: LinkKind = LinkKind.NAVIGATION) -> str | None:
    candidate = Candidate.of(HOST + path, 1, kind)._replace(via=HOST + via if via else "")
    verdict = rule.judge(candidate)
    if verdict is None:
        return None
    assert (verdict.accepted, verdict.rule, verdict.state) == (False, type(rule).__name__, -9)
    assert str(verdict.reason).endswith(".")
    return verdict.rule


def chain(rule: ScopeRule[Candidate], *paths: str) -> int | None:
    """Return the index of the first path that a rule refuses; each path is a link on the previous one."""
    for place, (via, path) in enumerate(pairwise(paths), 1):
        if judged(rule, path, via):
            return place
    return None


@pytest.mark.parametrize("path", HONEST)
def test_honest_urls_meet_no_trap(path: str) -> None:
    within = scope()
    for via in HONEST:
        verdict = within.judge(Candidate.of(HOST + path, 1)._replace(via=HOST + via))
        assert verdict.rule == "BaseServer", verdict


def test_every_date_from_1990_to_2030_is_let_in() -> None:
    within = scope()
    for year in range(1990, 2031):
        for form in (f"/news/{year}/05/", f"/news/{year}-05-17.html", f"/news?date={year}0517"):
            assert within.judge(Candidate.of(HOST + form, 1)._replace(via=f"{HOST}/news/")).accepted


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/a/b/a/b/", False),
        ("/a/b/a/b/a", False),
        ("/a/b/a/b/a/b", True),
        ("/a/b/a/b/a/b/", True),
        ("/x/y/a/b/a/b/a/b/z", True),
        ("/a/b/c/a/b/c/a/b/c/page.html", True),
        ("/a/b/c/a/b/d/a/b/c", False),
        ("/a/a/a/a/a", False),
        ("/a" * MAX_SEGMENT_REPEATS, False),
        ("/a" * (MAX_SEGMENT_REPEATS + 1), True),
        ("/a/1/a/2/a/3/a/4/a/5/a/6", True),
        ("/1/2/1/2/1/2", False),
        ("/0/0/0/0/0/0/0/0", False),
        ("/x?a/b/a/b/a/b", False),
        ("/" * 12, True),
    ],
)
def test_repeating_segments(path: str, refused: bool) -> None:
    assert judged(PathRepeats(), path) == ("PathRepeats" if refused else None)


@given(st.lists(st.sampled_from("abc"), max_size=14))
def test_repeats_are_those_that_one_sees(names: list[str]) -> None:
    seen = any(names.count(name) > MAX_SEGMENT_REPEATS for name in names) or any(
        names[start : start + size] * 3 == names[start : start + 3 * size]
        for size in range(2, 5)
        for start in range(len(names) - 3 * size + 1)
    )
    assert (judged(PathRepeats(), "/" + "/".join(names)) is not None) is seen


@pytest.mark.parametrize(("segments", "refused"), [(MAX_SEGMENTS, False), (MAX_SEGMENTS + 1, True), (400, True)])
def test_many_segments(segments: int, refused: bool) -> None:
    path = "".join(f"/{number}" for number in range(segments))
    assert judged(PathTooLong(), path) == judged(PathTooLong(), path + "/") == ("PathTooLong" if refused else None)
    assert judged(PathTooLong(), "/?" + path) is None


@pytest.mark.parametrize("form", ["/x?q={}", "/x?q={}&lang=pt", "/{}", "/{}.html", "/x?to=/{}/&lang=pt"])
def test_urls_that_grow(form: str) -> None:
    assert chain(EverLonger(), *(form.format("a" * size) for size in range(1, 40))) == MAX_GROWTH + 1
    assert chain(EverLonger(), *(form.format("ab" * size) for size in range(1, 40))) == MAX_GROWTH + 1


def test_urls_that_only_change_or_go_down_the_tree_do_not_grow() -> None:
    assert chain(EverLonger(), *(f"/?page={number}" for number in range(1000))) is None
    assert chain(EverLonger(), *("/a" * size + "/" for size in range(1, 20))) is None
    assert chain(EverLonger(), *("/a" * size for size in range(1, 20))) is None
    assert chain(EverLonger(), *(f"/{'b' * (size % 5)}" for size in range(1, 100))) is None


@pytest.mark.parametrize(
    "form", ["/cal/{:%Y/%m}/", "/cal/{:%Y-%m-%d}", "/cal?date={:%Y%m%d}", "/cal?year={0:%Y}&month={0:%m}&view=list"]
)
@pytest.mark.parametrize("step", [-31, 31])
def test_calendars_that_are_turned_page_by_page(form: str, step: int) -> None:
    days = [date.fromordinal(date(THIS_YEAR, 1, 1).toordinal() + step * number) for number in range(100)]
    assert chain(CalendarWithoutEnd(), *map(form.format, days)) == MAX_CALENDAR_STEPS + 1


@pytest.mark.parametrize("form", ["/cal/{}/05/", "/cal/{}-05-01", "/cal?month={}-05", "/cal?year={}&month=5"])
def test_years_that_nobody_plans_for(form: str) -> None:
    years = [form.format(THIS_YEAR + ahead) for ahead in range(40)]
    assert chain(CalendarWithoutEnd(), *years) == MAX_YEARS_AHEAD + 1
    assert judged(CalendarWithoutEnd(), years[-1], "/calendars.html") is None
    assert judged(CalendarWithoutEnd(), years[-1]) is None


def test_numbers_and_pages_of_the_same_day_are_no_calendar() -> None:
    assert chain(CalendarWithoutEnd(), *(f"/pubmed/{20450101 + number}/" for number in range(300))) is None
    assert chain(CalendarWithoutEnd(), *(f"/news/{204501 + number}" for number in range(300))) is None
    assert chain(CalendarWithoutEnd(), *(f"/2026/11/16/news-{number}.html" for number in range(300))) is None
    assert chain(CalendarWithoutEnd(), *("/2026/11/16/", "/2026/11/16/") * 100) is None


@pytest.mark.parametrize(
    "form",
    [
        "/shop;jsessionid={:032X}?a=1",
        "/shop?PHPSESSID={:026x}",
        "/shop?a=1&sid={:032x}&b=2",
        "/shop?ASPSESSIONIDQQABCDEF={:x}",
        "/shop?s={:032x}",
        "/shop?CFID={:d}&CFTOKEN=17",
        "/(S({:024x}))/shop.aspx",
        "/(X(1)S({:024x}))/shop.aspx",
    ],
)
def test_session_ids(form: str) -> None:
    rule = TooManySessions()
    urls = [form.format(number) for number in range(1, 20)]
    assert [judged(rule, url) is None for url in urls] == [number < MAX_SESSIONS for number in range(19)]
    assert judged(rule, urls[0]) is None
    assert judged(rule, urls[7].replace("shop", "books")) is None


@pytest.mark.parametrize(
    "form", ["/article.php?sid={:d}", "/?id={:040x}", "/?session={:d}", "/?token={:032x}", "/f(s({:d}))", "/{:032x}/"]
)
def test_numbers_and_digests_are_no_session_ids(form: str) -> None:
    rule = TooManySessions()
    assert not any(judged(rule, form.format(number)) for number in range(1, 100))


def test_the_same_body_under_many_addresses() -> None:
    rule = SameBody()
    for number in range(MAX_COPIES):
        rule.learn("www.fc.ul.pt", f"{HOST}/{number}/", b"body")
        rule.learn("www.fc.ul.pt", f"{HOST}/other/{number}/", b"%d" % number)
    assert judged(rule, "/a", f"/{MAX_COPIES - 1}/") is None
    rule.learn("elsewhere", f"{HOST}/elsewhere/", b"body")
    assert judged(rule, "/a", "/elsewhere/") is None
    rule.learn("www.fc.ul.pt", f"{HOST}/last/", b"body")
    assert judged(rule, "/a", "/last/") == "SameBody"
    assert judged(rule, "/a", "/0/") is None
    assert judged(rule, "/a.png", "/last/", LinkKind.REQUISITE) is None


def test_memories_are_bounded() -> None:
    taken = traps.StepCounter(size=10)
    assert [taken.take(str(number), str(number + 1)) for number in range(100)] == [*range(1, 101)]
    sessions, bodies = (
        traps.TooManySessions(size=10),
        traps.SameBody(limit=1, size=10),
    )
    for number in range(100):
        judged(sessions, f"/{number}?PHPSESSID=a")
        bodies.learn("h", f"http://h/{number}", b"%d" % number)
        bodies.learn("h", f"http://h/{number}/", b"%d" % number)
    for memory in (sessions._sessions, bodies._copies, bodies._repeated, taken._steps):
        assert 0 < len(memory) <= 10
