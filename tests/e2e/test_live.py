# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--live on a real terminal: tmux shows what a person sees."""

import re
import subprocess

from tool import GETPPID, PATIENCE_S, STACKCOUNT, wait_until, workload_path

SHELL = "env -u PROMPT_COMMAND -u NO_COLOR LC_ALL=C.UTF-8 PS1='READY> ' bash --norc --noprofile"


def test_a_picture_has_numbers_and_the_tree_and_ctrl_c_leaves_the_report(tmp_path):
    """Of 3,000 hits by one path and 1,000 by another one, and of a shell that stays."""

    def tmux(*args):
        command = ["tmux", "-S", tmp_path / "tmux", "-f", "/dev/null", *args]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout

    def wait_for(pattern):
        """The screen, as soon as it matches."""
        return wait_until(lambda: re.search(pattern, screen := tmux("capture-pane", "-p").rstrip("\n"), re.M) and screen, pattern)

    def enter(line):
        tmux("send-keys", "-l", line)
        tmux("send-keys", "Enter")

    tmux("-u", "new-session", "-d", "-x", "100", "-y", "30", SHELL)
    try:
        wait_for(r"READY>$")
        work, go = f"{workload_path('syscalls')} getppid 3000 1000 1", tmp_path / "go"
        enter(f"(until [ -e {go} ]; do sleep 0.1; done; exec {work}) >/dev/null & {STACKCOUNT} --live --unwind fp -p $!,$$ -f {GETPPID}")
        wait_for(r"\A\d+ s, \d+ hits?, ")  # it counts
        go.touch()
        wait_for(r"\A\d+ s, 4000 hits, \d+/s, \d+ rows?, 0 lost$")
        wait_for(r"^ +3000 +75\.0%.*branch_a")
        tmux("send-keys", "C-c")
        last = wait_for(r"READY>$")
        enter("echo status $?")
        wait_for(r"^status 0$")
    finally:
        tmux("kill-server")
    assert re.search(r"branch_a;[\w;\n]* 3000$", last, re.M), last
    assert "75.0%" not in last and " hits, " not in last, last


def test_without_a_terminal_it_says_so_before_it_begins():
    told = subprocess.run([STACKCOUNT, "--live", GETPPID], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert told.returncode == 1 and told.stdout == ""
    assert told.stderr == "stackcount: --live: standard output must be a terminal\n"
