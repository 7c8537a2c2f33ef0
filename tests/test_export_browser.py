"""The page in a real browser: it is accessible, asks for nothing, and prints.

They need a chromium and axe-core of npm, whose axe.min.js SESSTOOL_TEST_AXE names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sesstool.export import folder, html, run_page
from sesstool.export.sections import Choice, Reading
from tests.conftest import Memory, answer, blocks, jsonl, prompt, result, use, words
from tests.test_export_run import errands

SAMPLES = Path(__file__).parents[1] / "samples"
AXE = os.environ.get("SESSTOOL_TEST_AXE", "")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next(filter(None, map(shutil.which, _NAMES)), "")
pytestmark = [
    pytest.mark.skipif(not BROWSER, reason="there is no chromium: no page is opened"),
    pytest.mark.skipif(not Path(AXE).is_file(), reason="SESSTOOL_TEST_AXE names no axe.min.js"),
]
LONG = "\n".join(f"line {n} of the song" for n in range(90))
WIDE = "harbour" * 400
EVERYTHING = jsonl(
    {"type": "mode", "mode": "x"},
    prompt(1, None, f"Light the lamp.\n{LONG}\n{WIDE}"),
    answer(2, 1, {"type": "thinking", "thinking": LONG, "signature": "c2ln"}),
    answer(3, 2, words("I look."), use("a", command=WIDE), use("b", "Edit", path="log", text=LONG)),
    prompt(4, 3, [*blocks(result(0, None, "a", LONG)), *blocks(result(0, None, "b", "lit"))]),
    answer(5, 4, use("c")),
    prompt(6, 5, "Never mind."),
    prompt(7, 5, [{"type": "image", "source": {"media_type": "image/png", "data": "aaaa"}}]),
    answer(8, 7, {"type": "hologram", "text": "?"}),
    prompt(9, 8, "look", isSidechain=True, agentId="explore"),
    b'{"torn',
)
_RUN = """
<script>%s</script>
<script>
addEventListener("load", () => axe.run({resultTypes: ["violations"]}).then(found => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const bad = found.violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html)]);
  document.body.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = JSON.stringify({bad, wide, dark});
}));
</script>
"""


def opened(path, *options, profile):
    """Open a page in the browser; gives what it prints."""
    command = [
        *(
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ),
        *("--no-first-run", f"--user-data-dir={profile}", *options, str(path)),
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def page(data, choice=Choice()):
    return "".join(html.page(Reading(Memory(data)), choice))


def judged(text, folder_, *options):
    """What axe says of a page, which must let it run: nothing else is changed."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    path = folder_ / "judged.html"
    path.write_text(text.replace("</body>", _RUN % Path(AXE).read_text() + "</body>"))
    options = (*options, "--virtual-time-budget=30000", "--dump-dom")
    dom = opened(path.as_uri(), *options, profile=folder_ / "profile")
    return json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))


SCREENS = {
    "wide": ("--window-size=1280,900",),
    "narrow": ("--window-size=500,800", "--force-device-scale-factor=1"),
    "dark": ("--window-size=1280,900", "--force-dark-mode"),
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("expand", [False, True], ids=["folded", "expanded"])
def test_a_page_with_everything_is_accessible(tmp_path, screen, expand):
    """No violation of any rule of axe, contrast included, and no line runs out of the window."""
    text = page(EVERYTHING, Choice(notes=True, expand=expand))
    found = judged(text, tmp_path, *SCREENS[screen])
    assert found == {"bad": [], "wide": found["wide"], "dark": screen == "dark"}
    assert found["wide"] <= 0


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_of_a_run_is_accessible(tmp_path, screen):
    """Its tables, too."""
    path, trace = errands(tmp_path)
    found = judged("".join(run_page(path, trace)), tmp_path, *SCREENS[screen])
    assert found == {"bad": [], "wide": found["wide"], "dark": screen == "dark"}
    assert found["wide"] <= 0


def test_axe_is_at_work(tmp_path):
    """A page that breaks a rule is told: grey on white, and no language."""
    text = page(EVERYTHING).replace('<html lang="en">', "<html>").replace("#57606a", "#c7c0ca")
    bad = [name for name, _ in judged(text, tmp_path, *SCREENS["wide"])["bad"]]
    assert {"color-contrast", "html-has-lang"} <= set(bad)


@pytest.mark.parametrize("name", ["index.html", "page-001.html"])
def test_pages_of_a_folder_are_accessible(tmp_path, name):
    """The index, and a page with links to others."""
    folder.write(Reading(Memory(EVERYTHING)), Choice(), 1, tmp_path / "pages")
    text = (tmp_path / "pages" / name).read_text()
    assert judged(text, tmp_path, *SCREENS["wide"])["bad"] == []


def test_a_page_fits_a_window_of_320_pixels(tmp_path):
    """No line runs out of it; a frame is as narrow as no window of the browser is."""
    (tmp_path / "page.html").write_text(page(EVERYTHING, Choice(expand=True, notes=True)))
    (tmp_path / "frame.html").write_text(
        '<iframe src="page.html" width="320" height="600" style="border:0"></iframe><p id="w">'
        "<script>onload = () => { const d = frames[0].document.documentElement;"
        "document.getElementById('w').textContent = d.scrollWidth + '/' + d.clientWidth }</script>"
    )
    address = (tmp_path / "frame.html").as_uri()
    options = ("--allow-file-access-from-files", "--dump-dom")
    dom = opened(address, *options, profile=tmp_path / "profile")
    wide, window = map(int, re.search(r'<p id="w">(\d+)/(\d+)', dom).groups())
    assert 300 < window <= 320
    assert wide <= window


@pytest.fixture
def asked():
    """A server that notes what it is asked for; `pages` is what it serves."""
    paths, pages = [], {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            paths.append(self.path)
            body = pages.get(self.path, b"")
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", paths, pages
        server.shutdown()


FETCHES = (
    '<img src="{0}/img"><script src="{0}/script"></script><link rel="stylesheet" href="{0}/css">'
    '<iframe src="{0}/frame"></iframe><style>@import "{0}/import"; p {{ background: url({0}/bg) }}'
    '</style><object data="{0}/object"></object><video src="{0}/video"></video>'
    '<script>fetch("{0}/fetch")</script><svg><image href="{0}/svg"/></svg>'
    '<link rel="prefetch" href="{0}/prefetch"><meta http-equiv="refresh" content="0;url={0}/meta">'
)


def test_no_request_leaves_a_page(asked, tmp_path):
    """Whatever a session holds, nothing but the page itself is asked for."""
    home, paths, pages = asked
    markup = FETCHES.format(home)
    data = jsonl(prompt(1, None, markup), answer(2, 1, words(f"![x]({home}/md) {markup}")))
    pages["/page"] = page(data).encode()
    opened(f"{home}/page", "--dump-dom", profile=tmp_path / "profile")
    assert set(paths) - {"/favicon.ico"} == {"/page"}


def test_the_policy_alone_keeps_requests_and_script_back(asked, tmp_path):
    """Were there markup in a page in spite of all, it could fetch nothing and run nothing."""
    home, paths, pages = asked
    markup = FETCHES.format(home).replace("<meta", "<hr") + "<script>document.title='ran'</script>"
    text = page(EVERYTHING).replace("</main>", f"{markup}</main>")
    pages["/page"] = text.encode()
    dom = opened(f"{home}/page", "--dump-dom", profile=tmp_path / "profile")
    assert set(paths) - {"/favicon.ico"} == {"/page"}
    assert "<title>ran" not in dom
    pages["/open"] = re.sub(r'<meta http-equiv="Content-Security[^>]*>', "", text).encode()
    opened(f"{home}/open", "--dump-dom", profile=tmp_path / "profile2")
    assert {"/img", "/script", "/css", "/frame"} <= set(paths)


def test_a_page_is_printed(tmp_path):
    """As a document of several pages where all is expanded, and of fewer where not."""
    sizes = {}
    for expand in (False, True):
        path = tmp_path / f"{expand}.html"
        path.write_text(page(EVERYTHING, Choice(expand=expand)))
        target = tmp_path / f"{expand}.pdf"
        options = (f"--print-to-pdf={target}", "--no-pdf-header-footer")
        opened(path.as_uri(), *options, profile=tmp_path / "profile")
        sizes[expand] = len(re.findall(rb"/Type\s*/Page\b", target.read_bytes()))
    assert 0 < sizes[False] < sizes[True]
