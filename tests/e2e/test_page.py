# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The interactive page (-o x.html) in Chromium: each action, hostile names, the canvas, size."""

import base64
import re
import subprocess

import page_runs
import pytest
from browser import Browser
from page_runs import HOSTILE, N_SLICES, STACKS, hits_of_run
from tool import STACKCOUNT

pytestmark = pytest.mark.thorough

WIDTH, HEIGHT = 1000, 600


@pytest.fixture(scope="module")
def browser():
    browser = Browser(WIDTH, HEIGHT)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A function that gives the page of a run of page_runs, as stackcount writes it."""
    folder = tmp_path_factory.mktemp("pages")

    def page_of(name):
        data, page = folder / f"{name}.pb.gz", folder / f"{name}.html"
        if not page.exists():
            data.write_bytes(getattr(page_runs, name)())
            subprocess.run([STACKCOUNT, "-q", "--read", data, "-o", page], check=True, timeout=60)
        return page

    return page_of


@pytest.fixture
def open_page(browser, files):
    """Opens a run's page. After the test, the page must have asked for nothing and complained of nothing."""
    opened = []

    def open_one(name="one_run", fragment=""):
        browser.resize(WIDTH, HEIGHT)
        browser.open(files(name), fragment)
        opened.append(f"file://{files(name)}")
        return browser

    yield open_one
    assert browser.complaints() == []
    assert {url.partition("#")[0] for url in browser.requests()} <= set(opened)


def text(browser, selector):
    return browser.do(f"document.querySelector({selector!r})?.innerText || ''")


def fragment(browser):
    return browser.do("location.hash.slice(1)")


def choose(browser, name):
    """Select the first frame of that name in the graph, as the arrow keys do."""
    browser.do(f"""(() => {{ const tree = page.flame.view.tree; find('flame').focus();
        for (let i = 0; i < tree.n; i++) if (tree.name(i) === {name!r}) return page.flame.select(i);
        throw Error('no such frame'); }})()""")


def drawn(browser):
    """The names in the graph, row by row."""
    return browser.do("page.flame.rows.map((row) => row.nodes.filter((n) => n >= 0)"
                      ".map((n) => page.flame.view.tree.name(n)))")


# -- What the page shows. --


def test_the_head_says_what_was_run_and_what_is_missing(open_page):
    page = open_page()
    assert text(page, "h1") == "stackcount -P -i 1 vfs_read"
    facts = text(page, "#facts")
    for part in ("web-3", "Linux 6.18.1-amd64", "2023-11-14 22:13:20 UTC", "10 s", f"{hits_of_run():,}", "412 ns a hit"):
        assert part in facts
    cut = hits_of_run(lambda stack, *_: stack[0][0].startswith("[cut"))
    notices = text(page, "#notices")
    assert "lost 12: no room for a new stack" in notices
    assert f"cut: depth: {100 * cut / hits_of_run():.2f} %" in notices


def test_the_graph_has_the_stacks(open_page):
    rows = drawn(open_page())
    assert rows[0] == ["all"]
    assert rows[1] == ["_start", "runtime.goexit", "clone3", "[cut: depth]", "[unknown]"]
    # Inlined: outermost function of the address first.
    assert rows[6][0] == "ngx_http_static_handler" and rows[7][0] == "ngx_open_cached_file"
    assert rows[8][0] == "ngx_read_file"


# -- Each action, by its key. --


def test_enter_zooms_and_backspace_goes_back(open_page):
    page = open_page()
    choose(page, "ngx_http_proxy_handler")
    page.key("Enter")
    assert page.do("page.flame.view.tree.name(page.flame.view.zoom)") == "ngx_http_proxy_handler"
    assert text(page, "#crumbs").startswith("all") and "ngx_http_proxy_handler" in text(page, "#crumbs")
    assert page.do("page.flame.rows[6].ws[0] === page.flame.wide")
    page.key("u")
    assert page.do("page.flame.view.tree.name(page.flame.view.zoom)") == "ngx_process_events_and_timers"
    page.key("Backspace")
    page.wait("page.flame.view.tree.name(page.flame.view.zoom) === 'ngx_http_proxy_handler'")
    page.do("document.querySelector('#crumbs button').click()")
    assert page.do("page.flame.view.zoom") == 0
    page.do("history.back()")
    page.wait("page.flame.view.tree.name(page.flame.view.zoom) === 'ngx_http_proxy_handler'")
    page.key("0")
    assert page.do("page.flame.view.zoom") == 0


def test_arrow_keys_reach_frames_and_tell_screen_readers(open_page):
    page = open_page()
    page.key("g")
    for key, name in (("ArrowDown", "_start"), ("ArrowRight", "runtime.goexit"), ("ArrowLeft", "_start"),
                      ("ArrowDown", "__libc_start_main"), ("ArrowUp", "_start")):
        page.key(key)
        assert text(page, "#chosen").startswith(name)
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {node["role"]["value"] for node in nodes if not node.get("ignored")}
    assert {"tree", "treeitem", "tab", "tablist", "search", "slider", "status"} <= roles
    items = [node["name"]["value"] for node in nodes if node["role"]["value"] == "treeitem"]
    assert any(re.match(r"_start, nginx, [\d,]+ hits, ", item) for item in items)
    page.key("o")  # In a flame graph, callees are above.
    page.key("ArrowUp")
    assert text(page, "#chosen").startswith("__libc_start_main") and "upward=true" in fragment(page)


def test_search_tells_the_matched_share(open_page):
    page = open_page()
    page.key("/")
    for letter in "^read$":
        page.key(letter)
    matched = hits_of_run(lambda stack, *_: any(name == "read" for name, _ in stack))
    assert text(page, "#found") == f"1 function, {100 * matched / hits_of_run():.1f} %"
    assert "query=%5Eread%24" in fragment(page)
    page.key("Enter")
    assert "match 1 of 5" in text(page, "#said") and text(page, "#chosen").split()[0] == "read"
    page.key("N")
    assert "match 5 of 5" in text(page, "#said") and text(page, "#chosen").startswith("read")
    page.key("Escape")
    assert text(page, "#found") == "" and "query" not in fragment(page)


def test_hide_focus_exclude_and_show_all(open_page):
    page = open_page()
    choose(page, "main")
    page.key("h")
    assert "main" not in sum(drawn(page), []) and drawn(page)[3][0] == "ngx_worker_process_cycle"
    page.key("a")
    choose(page, "SSL_read")
    page.key("f")
    with_ssl = hits_of_run(lambda stack, *_: any(name == "SSL_read" for name, _ in stack))
    assert page.do("page.tree().total[0]") == with_ssl
    assert text(page, "#chips").split() == ["only", "SSL_read", "×"]
    page.do("document.querySelector('#chips button').click()")
    choose(page, "SSL_read")
    page.key("x")
    assert page.do("page.tree().total[0]") == hits_of_run() - with_ssl
    page.key("a")
    assert page.do("page.tree().total[0]") == hits_of_run() and text(page, "#chips") == ""


def test_callers_and_callees_of_a_function(open_page):
    page = open_page()
    choose(page, "vfs_read")
    page.key("s")
    assert "vfs_read" in text(page, "#chips")
    rows = page.do("['callers', 'callees'].map((side) => page[side].rows.map((row) => "
                   "row.nodes.filter((n) => n >= 0).map((n) => page[side].view.tree.name(n))))")
    callers, callees = rows
    assert callers[0] == callees[0] == ["vfs_read"] and callers[1] == ["ksys_read"]
    assert callees[1][:2] == ["ext4_file_read_iter", "sock_read_iter"]
    with_it = hits_of_run(lambda stack, *_: any(name == "vfs_read" for name, _ in stack))
    assert page.do("page.callers.view.tree.total[1]") == with_it == page.do("page.callees.view.tree.total[1]")
    page.do("find('callees').focus()")
    page.key("ArrowDown")
    page.key("Enter")  # Another function is the centre.
    assert "ext4_file_read_iter" in text(page, "#chips")


def table(page):
    return page.do("[...document.querySelectorAll('#view-functions tbody tr')].map((r) => "
                   "[...r.cells].map((c) => c.innerText.trim()))")


def test_the_table_has_self_and_total_and_sorts(open_page):
    page = open_page()
    page.key("2")
    rows = {row[2]: row for row in table(page)}
    functions = {name for stack, *_ in STACKS for of, _ in stack
                 for name in ([of] if isinstance(of, str) else of)} - {""} | {"[unknown]"}
    assert set(rows) == functions
    hits = hits_of_run(lambda stack, *_: ("read", page_runs.LIBC) in stack)
    assert rows["read"][1].startswith(f"{hits:,}")
    assert rows["read"][0] == f"21{100 * 21 / hits_of_run():.2f} %"
    assert rows["copy_page_to_iter"][0] == f"420{100 * 420 / hits_of_run():.1f} %"
    assert table(page)[0][2] == "copy_page_to_iter"
    sort = "document.querySelectorAll('#view-functions thead button')[%d].click()"
    page.do(sort % 1)
    assert table(page)[0][2] in ("do_syscall_64", "entry_SYSCALL_64_after_hwframe", "ksys_read", "vfs_read")
    assert page.do("document.querySelectorAll('#view-functions thead th')[1].ariaSort") == "descending"
    page.do(sort % 1)
    assert table(page)[-1][2] in ("do_syscall_64", "entry_SYSCALL_64_after_hwframe", "ksys_read", "vfs_read")
    assert "sort=total-" in fragment(page)
    page.do(sort % 2)
    assert [row[2] for row in table(page)] == sorted(functions)
    roles = [node["role"]["value"] for node in page.call("Accessibility.getFullAXTree")["nodes"]]
    assert {"table", "row", "columnheader", "rowheader", "cell"} <= set(roles)


def test_labels_filter(open_page):
    page = open_page()
    page.key("l")
    assert page.do("find('labels').open") and "nginx" in text(page, "#facets")
    # A number says little without its command.
    assert text(page, "#facets legend") == "comm" and "813 nginx" in text(page, "#facets")
    page.do("""[...document.querySelectorAll('#facets label')].find((l) => l.innerText.includes('nginx')).click()""")
    assert page.do("page.tree().total[0]") == hits_of_run(lambda stack, comm, pid: comm == "nginx")
    page.do("""[...document.querySelectorAll('#facets label')].find((l) => l.innerText.includes('813')).click()""")
    assert page.do("page.tree().total[0]") == hits_of_run(lambda stack, comm, pid: pid == 813)
    assert {"comm:", "nginx", "pid:", "813"} < set(text(page, "#chips").split()) and "labels=" in fragment(page)
    page.do("document.querySelector('#chips button').click()")
    page.do("document.querySelector('#chips button').click()")
    assert page.do("page.tree().total[0]") == hits_of_run()


def test_a_span_of_the_timeline_is_chosen(open_page):
    page = open_page()
    x, y, wide = page.do("""(() => { const box = document.querySelector('#timeline canvas').getBoundingClientRect();
        return [box.left, box.top + 20, box.width]; })()""")
    page.mouse("mousePressed", x + wide * 4.5 / N_SLICES, y)
    page.mouse("mouseMoved", x + wide * 5.5 / N_SLICES, y)
    page.mouse("mouseReleased", x + wide * 5.5 / N_SLICES, y)
    assert fragment(page) == "span=4.5"
    assert page.do("page.tree().total[0]") == 3 * sum(hits // 20 for _, hits, *_ in STACKS)
    assert "2 s – 3 s of 10 s" in text(page, "#span")
    page.key("t")
    page.key("ArrowRight")  # The first end moves by a slice.
    assert fragment(page) == "span=5.5" and page.do("document.activeElement.getAttribute('aria-valuenow')") == "5"
    assert page.do("page.tree().total[0]") == sum(hits // 20 for _, hits, *_ in STACKS)
    page.key("a")
    assert page.do("page.tree().total[0]") == hits_of_run()


def test_a_view_can_be_sent(open_page):
    page = open_page()
    choose(page, "SSL_read")
    page.key("f")
    page.key("i")
    page.key("c")
    sent = fragment(page)
    rows = drawn(page)
    page = open_page(fragment=f"#{sent}")
    assert drawn(page) == rows and fragment(page) == sent and "colour=module" in sent


def test_an_odd_fragment_does_no_harm(open_page):
    for sent in ("zoom=999999.-1.x", "view=nothing&span=9.3&value=77&labels=5.5.5", "query=((((", "%%%&&==", "view=functions&sort=__proto__",
                 "__proto__=1&constructor=2&hide=0.1.2.3.4.5.6.7", "centre=99999&view=sandwich", "theme=%3Cscript%3E&colour=change"):
        page = open_page(fragment=f"#{sent}")
        page.key("3")
        assert "all" in text(page, "#outline") and page.complaints() == [], sent


# -- Differences. --


def test_a_difference_shows_new_and_vanished_code(open_page):
    page = open_page("two_runs")
    marks = dict(page.do("page.flame.rows.flatMap((row) => row.nodes.filter((n) => n >= 0)).map((n) => "
                         "[page.flame.view.tree.name(n), page.flame.mark(n)])"))
    assert marks["ngx_event_expire_timers"] == marks["pipe_read"] == "gone"
    assert marks["[unknown]"] == "new" and marks["tcp_recvmsg"] == ""
    widths = dict(page.do("page.flame.rows[6].nodes.map((n) => [page.tree().name(n), page.tree().width[n]])"))
    assert {name: width for name, width in widths.items() if name.startswith("ngx_")} == {
        "ngx_http_static_handler": 800, "ngx_http_proxy_handler": 260, "ngx_event_expire_timers": 60}
    assert text(page, "#legend").split() == "gone less as before more new".split()
    choose(page, "ngx_http_proxy_handler")
    assert "130 hits" in text(page, "#chosen") and "before 260 · change −130" in text(page, "#chosen")


# -- Hostile names. --


@pytest.mark.parametrize("view", ["flame", "functions", "tree", "sandwich", "about"])
def test_hostile_names_do_not_run_or_spoof(open_page, view):
    page = open_page("hostile_run", f"#view={view}&centre=1")
    for key in "icl":
        page.key(key)
    page.key("Escape")
    page.key("g")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.key(key)
    assert page.do("document.title") == HOSTILE[1]
    assert page.do("document.querySelectorAll('script').length") == 1
    assert page.do("document.querySelectorAll('img, a, iframe, [onerror], [onclick]').length") == 0
    shown = page.do("document.body.innerText + [...document.querySelectorAll('[aria-label], [title]')]"
                    ".map((e) => e.ariaLabel + e.title).join()")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ufeff\x00-\x08\x1b]", shown)
    assert len(shown) < 100_000
    assert page.do("document.documentElement.scrollWidth <= innerWidth && "
                   "document.documentElement.scrollHeight <= innerHeight")


def test_names_that_read_like_marks_do_not_pass_for_marks(open_page):
    page = open_page("hostile_run")
    names = page.do("page.profile.frames.map((f, i) => [f.name, page.profile.label(i), KINDS[f.kind]])")
    of = {name: (label, kind) for name, label, kind in names}
    assert of["[cut: not by us]"] == ("\\u{5b}cut: not by us]", "user")
    assert of["\u202egnihton\u202c"][0] == "\\u{202e}gnihton\\u{202c}"
    assert "cut: not by us" not in text(page, "#notices")


def test_a_damaged_page_says_so(browser, files, tmp_path):
    page, path = files("one_run").read_bytes(), tmp_path / "damaged.html"
    for data in (b"", b"!", base64.b64encode(b"no gzip"), base64.b64encode(page_runs.one_run()[:900])):
        path.write_bytes(re.sub(rb'(id="profile-data">)[^<]*', lambda found: found[1] + data, page))
        browser.open(path)
        assert text(browser, ".failure").startswith("cannot show this profile: "), data
    browser.events.clear()


def test_the_policy_stops_other_scripts_styles_and_requests(browser, files, tmp_path):
    page = files("one_run").read_bytes()
    evil = (b"<script>document.title='run'</script><img src='http://127.0.0.1:9/x'><style>h1{display:none}</style>"
            b"<div onclick=\"document.title='run'\" id=evil></div></body>")
    path = tmp_path / "evil.html"
    path.write_bytes(page.replace(b"</body>", evil))
    browser.open(path)
    browser.do("find('evil').click()")
    assert browser.do("document.title") == "stackcount -P -i 1 vfs_read"
    assert browser.do("getComputedStyle(document.querySelector('h1')).display") == "block"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints())
    browser.events.clear()
