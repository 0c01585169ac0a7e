"""A headless Chromium, spoken to by its DevTools protocol: pages are loaded, looked at and
photographed."""

import base64
import contextlib
import itertools
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request

from websockets.sync.client import connect

COMMAND = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)


def axe_source():
    """axe-core, where it is installed."""
    try:
        import axe_core_python
    except ImportError:
        return None
    return next(pathlib.Path(axe_core_python.__file__).parent.rglob("axe.min.js")).read_text()


AXE = axe_source()


class Browser:
    """One page of one browser. errors: what its console said and what it could not load. asked:
    addresses that it requested."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            [
                COMMAND,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--remote-debugging-port=0",
                f"--user-data-dir={self.folder}",
                "about:blank",
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        address = next(
            line.split()[-1] for line in self.process.stderr if "DevTools listening" in line
        )
        port = address.split(":")[2].split("/")[0]
        for _ in range(100):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                pages = [one for one in json.load(answer) if one["type"] == "page"]
            if pages:
                break
            time.sleep(0.05)
        self.leaving = contextlib.ExitStack()
        # beside busy processes a browser may be long in answering, also to a ping
        self.socket = self.leaving.enter_context(
            connect(pages[0]["webSocketDebuggerUrl"], max_size=None, ping_interval=None)
        )
        self.ids = itertools.count(1)
        self.errors, self.asked, self.loaded = [], [], False
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.do(f"{domain}.enable")

    def do(self, method, **params):
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads(self.socket.recv(120))
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]
            self._hear(told)

    def _hear(self, told):
        method, params = told["method"], told["params"]
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(str([item.get("value") for item in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])

    def listen(self, seconds):
        """Take in what happens for some time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                self._hear(json.loads(self.socket.recv(left)))

    def size(self, width, height=900, dark=False):
        """The window, and the colours that its user prefers."""
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.do(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def open(self, url):
        self.loaded = False
        self.do("Page.navigate", url=url)
        self.wait_loaded()

    def wait_loaded(self, seconds=15):
        end = time.monotonic() + seconds
        while not self.loaded:
            assert time.monotonic() < end, "the page did not load"
            self.listen(0.05)

    def run(self, script):
        """The value of an expression; promises are awaited."""
        found = self.do(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self, path, whole=True):
        """A PNG of the page."""
        shot = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def violations(self):
        """What axe finds on the page, a rule and its places in a line; nothing where `pip install
        axe-core-python` has put no axe."""
        if AXE is None:
            return []
        self.run(AXE)
        return self.run(
            "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => "
            "n.target).join(' ; ')))"
        )

    def sign_in(self, url, key):
        """Through the form, as people do."""
        self.open(url)
        self.loaded = False
        self.run(
            f"document.querySelector('input[name=key]').value = {json.dumps(key)}; "
            "document.querySelector('form button.main').click()"
        )
        self.wait_loaded()

    def type(self, name, text):
        """Write into a field, and let the page's script know."""
        field = f"document.querySelector('[name={name}]')"
        self.run(
            f"{field}.value = {json.dumps(text)}; {field}.dispatchEvent(new Event('input', "
            "{bubbles: true}))"
        )

    def press(self, selector):
        """Press a button or a link that leads to another page, and wait for it."""
        self.loaded = False
        self.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.wait_loaded(120)

    def until(self, script, seconds=15):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, script
            self.listen(0.1)

    def close(self):
        with contextlib.suppress(Exception):
            self.do("Browser.close")
        with contextlib.suppress(Exception):
            self.leaving.close()
        self.process.wait(60)
        self.process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
