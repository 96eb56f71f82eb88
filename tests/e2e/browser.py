# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A headless Chromium, driven by its debugging protocol over a pair of pipes."""

import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE_S = 30
FLAGS = ["--headless", "--hide-scrollbars", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--mute-audio", "--force-color-profile=srgb", "--font-render-hinting=none",
         "--disable-lcd-text", "--disable-dev-shm-usage", "--remote-debugging-pipe", "about:blank"]
KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37,
        "ArrowRight": 39, "Home": 36, "End": 35}


class Browser:
    def __init__(self, width=1100, height=700):
        self.home = tempfile.mkdtemp(prefix="stackcount-chromium.")
        to_it, self.to_it = os.pipe()
        self.from_it, from_it = os.pipe()

        def take_pipes():
            """It reads descriptor 3 and writes 4. Neither may be in the way of the other."""
            a, b = os.dup(to_it), os.dup(from_it)
            while min(a, b) < 5:
                a, b = os.dup(a), os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), f"--user-data-dir={self.home}", f"--window-size={width},{height}",
             *FLAGS],
            preexec_fn=take_pipes, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.numbers = itertools.count(1)
        self.buffer, self.events, self.session = b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def close(self):
        os.close(self.to_it)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.from_it)
        shutil.rmtree(self.home, ignore_errors=True)

    def _read(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_it], [], [], max(deadline - time.monotonic(), 0))
            data = os.read(self.from_it, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser says nothing")
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        message = {"id": next(self.numbers), "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_it, data):]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._read(deadline)
            if answer.get("id") != message["id"]:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def do(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression):
        deadline = time.monotonic() + PATIENCE_S
        while not (value := self.do(expression)):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.02)
        return value

    def open(self, path, fragment=""):
        """Open a file as a new document and wait for its first picture."""
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=f"file://{path}{fragment}")
        self.wait("performance.getEntriesByName('first-picture').length || !!document.querySelector('.failure')")

    def key(self, key):
        """Press a key as a user does."""
        event = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, 0)}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left",
                  buttons=0 if kind == "mouseReleased" else 1, clickCount=1)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def complaints(self):
        """What the console and the log have said since open()."""
        self.do("0")
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
            elif method == "Log.entryAdded":
                found.append(params["entry"]["text"])
        return found

    def requests(self):
        """Addresses that were asked for since open()."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
