# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--live on a real terminal: tmux shows what a person sees."""

import re
import subprocess
import time
from contextlib import contextmanager

import pytest
from tool import GETPPID, PATIENCE_S, STACKCOUNT, workload_path


class Terminal:
    """A shell in a terminal of tmux, with a server of its own."""

    def __init__(self, folder, columns, lines):
        self.tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self.columns, self.lines = columns, lines
        shell = "env -u PROMPT_COMMAND -u NO_COLOR LC_ALL=C.UTF-8 PS1='READY> ' bash --norc --noprofile"
        self.run("-u", "new-session", "-d", "-x", columns, "-y", lines, shell)
        self.wait_for(r"READY>$")

    def run(self, *args, **more):
        return subprocess.run([*self.tmux, *map(str, args)], check=True, capture_output=True, text=True,
                              timeout=PATIENCE_S, **more).stdout

    def end(self):
        subprocess.run([*self.tmux, "kill-server"], check=False, capture_output=True, timeout=PATIENCE_S)

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def type(self, line):
        self.run("send-keys", "-l", line)
        self.keys("Enter")

    def screen(self):
        return self.run("capture-pane", "-p")

    def wait_for(self, pattern):
        """The screen, as soon as it matches."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, screen := self.screen().rstrip("\n"), re.M)):
            assert time.monotonic() < deadline, f"no {pattern!r} on:\n{screen}"
            time.sleep(0.05)
        return found


@contextmanager
def live(folder, *args, columns=100, lines=30):
    """stackcount --live over a workload that makes 3,000 hits by one path and 1,000 by another one, and a shell that stays."""
    terminal = Terminal(folder, columns, lines)
    try:
        work = f"{workload_path('syscalls')} getppid 3000 1000"
        command = f"{STACKCOUNT} --live --unwind fp -p $!,$$ {' '.join(map(str, args))} {GETPPID}"
        go = folder / "go"
        terminal.type(f"(until [ -e {go} ]; do sleep 0.1; done; exec {work} 1) >/dev/null & {command}")
        terminal.wait_for(r"\A\d+ s, \d+ hits?, ")  # it counts
        go.touch()
        yield terminal
        terminal.keys("C-c")
        terminal.wait_for(r"READY>$")
        terminal.last = terminal.screen()
        terminal.type("echo status $?")
        terminal.wait_for(r"^status 0$")
    finally:
        terminal.end()


def test_a_picture_has_numbers_and_the_tree_and_ctrl_c_leaves_the_report(tmp_path):
    with live(tmp_path, "-f") as terminal:
        terminal.wait_for(r"\A\d+ s, 4000 hits, \d+/s, \d+ rows?, 0 lost$")
        terminal.wait_for(r"^ +3000 +75\.0%.*branch_a")
    assert re.search(r"branch_a;[\w;\n]* 3000$", terminal.last, re.M), terminal.last
    assert "75.0%" not in terminal.last and " hits, " not in terminal.last, terminal.last


@pytest.mark.thorough
def test_small_terminals(tmp_path):
    columns, lines = 20, 4
    with live(tmp_path) as terminal:
        terminal.wait_for(r"branch_b")
        terminal.run("resize-window", "-x", columns, "-y", lines)
        screen = terminal.wait_for(r"(?s)\A(0 lost, |\d+ s, ).*\n\[\d+ lines[a-z ]*\]?\Z")[0].split("\n")
        assert len(screen) <= lines and all(len(line) <= columns for line in screen), screen
        terminal.run("resize-window", "-x", 100, "-y", 30)
        terminal.wait_for(r"\A\d+ s, 4000 hits")
        terminal.wait_for(r"branch_b")


def test_without_a_terminal_it_says_so_before_it_begins():
    told = subprocess.run([STACKCOUNT, "--live", GETPPID], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert told.returncode == 1 and told.stdout == ""
    assert told.stderr == "stackcount: --live: standard output must be a terminal\n"
