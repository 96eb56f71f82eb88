# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--live on a real terminal: tmux shows what a person sees, and presses the keys."""

import re
import subprocess
import time
from contextlib import contextmanager

import pytest
from tool import GETPPID, PATIENCE_S, STACKCOUNT, workload_path

HEAD = re.compile(r"^t:syscalls:sys_enter_getppid   (\d+):(\d+)   ([\d,]+) hits")


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
def live(folder, *args, columns=100, lines=30, ended=True):
    """stackcount --live over a workload that makes 3,000 hits by one path and 1,000 by another one."""
    terminal = Terminal(folder, columns, lines)
    try:
        work = f"{workload_path('syscalls')} getppid 3000 1000"
        command = f"{STACKCOUNT} --live --unwind fp -p $! {' '.join(map(str, args))} {GETPPID}"
        terminal.type(f"stty -a >{folder}/before; (sleep 3; exec {work} 2) >/dev/null & {command}")
        yield terminal
        if ended:
            terminal.keys("q")
            terminal.wait_for(r"READY>$")
            terminal.type(f"echo status $?; stty -a >{folder}/after; echo made")
            terminal.wait_for(r"^made")
            assert "status 0" in terminal.screen()
            assert (folder / "after").read_text() == (folder / "before").read_text()
    finally:
        terminal.end()


def hits(found):
    return int(found[3].replace(",", ""))


@pytest.mark.thorough
def test_a_picture_has_the_head_the_tree_and_the_keys(tmp_path):
    with live(tmp_path) as terminal:
        assert hits(terminal.wait_for(r"^t:syscalls:sys_enter_getppid   (\d+):(\d+)   (4,000) hits")) == 4000
        screen = terminal.wait_for(r"(?s).*branch_a.*branch_b.*")[0].split("\n")
    assert HEAD.match(screen[0]) and "lost 0" in screen[0]
    assert "q quit" in screen[-1] and len(screen) == 30
    assert re.search(r"3000 +75\.0%.*branch_a", "\n".join(screen)), screen
    assert all(len(line) <= 100 for line in screen)


@pytest.mark.thorough
def test_the_last_picture_stays_on_the_terminal(tmp_path):
    with live(tmp_path, lines=40, ended=False) as terminal:
        terminal.wait_for(r"^t:sys\S+ +\S+ +4,000 hits")
        terminal.keys("q")
        terminal.wait_for(r"READY>$")
        screen = terminal.screen()
        assert re.search(r"4000 +100\.0%", screen) and "branch_a" in screen, screen


@pytest.mark.thorough
def test_i_shows_callees_first_and_v_the_last_interval(tmp_path):
    with live(tmp_path) as terminal:
        terminal.wait_for(r"^t:sys\S+ +\S+ +4,000 hits")
        terminal.wait_for(r"100\.0% +100\.0% .*_start")
        terminal.keys("i")
        terminal.wait_for(r"100\.0% +100\.0% .*(sys|trace)\w*")
        terminal.keys("i")
        terminal.wait_for(r"100\.0% +100\.0% .*_start")
        terminal.keys("v")  # nothing comes any more
        terminal.wait_for(r"^ +0 .*all|^no hits|^$")
        assert "branch_a" not in terminal.wait_for(r"(?s)\A((?!branch_a).)*\Z")[0]


@pytest.mark.thorough
def test_a_pause_holds_the_picture_while_hits_are_counted(tmp_path):
    with live(tmp_path) as terminal:
        terminal.wait_for(r"^t:sys")
        terminal.keys("p")
        terminal.wait_for(r"\[paused\]")
        terminal.wait_for(r"^t:sys\S+ +\S+ +4,000 hits")
        assert "branch_a" not in terminal.screen()
        terminal.keys("p")
        terminal.wait_for(r"branch_a")
        assert "[paused]" not in terminal.screen()


@pytest.mark.thorough
@pytest.mark.parametrize("columns, lines", [(20, 4), (9, 2), (40, 8)])
def test_small_terminals(tmp_path, columns, lines):
    with live(tmp_path, ended=False) as terminal:
        terminal.wait_for(r"branch_b")
        terminal.run("resize-window", "-x", columns, "-y", lines)
        screen = terminal.wait_for(rf"(?s)\A\d+:\d\d  [^\n]{{1,{columns - 6}}}\n.*\Z")[0].split("\n")
        assert len(screen) <= lines and all(len(line) <= columns for line in screen), screen
        terminal.run("resize-window", "-x", 100, "-y", 30)
        terminal.wait_for(r"^ q quit .* scroll$")
        terminal.wait_for(r"branch_b")
        terminal.keys("q")
        terminal.wait_for(r"READY>$")


@pytest.mark.thorough
def test_scrolling_ends_with_the_last_line(tmp_path):
    with live(tmp_path, columns=60, lines=8) as terminal:
        terminal.wait_for(r"^ +4000 +100\.0% +all")
        terminal.wait_for(r"^ q quit ")
        terminal.keys("p")
        for _ in range(20):
            terminal.keys("PageDown")
        terminal.wait_for(r"(?s)\A((?!4000).)*\Z")
        lines = terminal.screen().split("\n")[:6]  # the tree's last line is empty
        assert all(line.strip() for line in lines), "\n".join(lines)
        terminal.keys("g")
        terminal.wait_for(r"^ +4000 +100\.0% +all")


@pytest.mark.thorough
def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(tmp_path):
    with live(tmp_path) as terminal:
        terminal.wait_for(r"^t:sys")
        terminal.keys("C-z")
        terminal.wait_for(r"Stopped")
        terminal.wait_for(r"READY>$")
        terminal.type("echo a word")
        terminal.wait_for(r"^a word$")
        terminal.type("fg")
        terminal.wait_for(r"^t:sys\S+ +\S+ +4,000 hits")
        terminal.wait_for(r"branch_a")


def test_ctrl_c_ends_it(tmp_path):
    with live(tmp_path, ended=False) as terminal:
        terminal.wait_for(r"^t:sys")
        terminal.keys("C-c")
        terminal.wait_for(r"READY>$")
        terminal.type("echo status $?")
        terminal.wait_for(r"^status 0$")


def test_without_a_terminal_it_says_so_before_it_begins():
    told = subprocess.run([STACKCOUNT, "--live", GETPPID], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    assert told.returncode == 1 and told.stdout == ""
    assert told.stderr == "stackcount: --live: standard input and output must be a terminal\n"
