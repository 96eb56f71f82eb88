# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What shells complete: made from the table that --help is made from, and bash's is run here."""

import os
import re
import subprocess

import pytest
from names import NAMES, help_of, help_rows
from tool import BUILD, PATIENCE_S, workload_path

COMPLETIONS = BUILD / "completions"

# What bash(1) does at a Tab: COMP_WORDS has what its word breaks make of the line.
TAB = r"""
source "$1"; tool=$2 COMP_LINE=$3$4 COMP_POINT=${#3} COMP_TYPE=9 COMP_KEY=9
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
mapfile -t COMP_WORDS < <(sed 's/[:=]/ & /g; s/  */\n/g' <<<"$3")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p "$tool" | sed 's/.* -F \([^ ]*\) .*/\1/')
"$function" "$tool" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]-}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def bash_file(name):
    return COMPLETIONS / f"{name}.bash"


def tab(line, name="stackcount", behind=""):
    """COMPREPLY at the end of "NAME @line", with @behind behind the cursor."""
    environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "COMPLETION_S": str(PATIENCE_S)}
    done = subprocess.run(
        ["bash", "--norc", "-c", TAB, "bash", bash_file(name), name, f"{name} {line}", behind],
        env=environment, capture_output=True, text=True, timeout=PATIENCE_S,
    )
    assert done.stderr == "" and done.returncode == 0, done
    return [word for word in done.stdout.splitlines() if word]


def words_of(rows):
    return {option for row in rows for option in row[:2] if option}


def test_nothing_is_left_to_be_replaced():
    for name in NAMES:
        for path in (bash_file(name), COMPLETIONS / f"_{name}", COMPLETIONS / f"{name}.fish"):
            text = path.read_text()
            assert not re.findall(r"@[A-Z]+@", text), path
            assert not [other for other in set(NAMES) - {name} if other in text], path


@pytest.mark.parametrize("name", NAMES)
def test_bash_offers_the_options_of_the_help(name):
    words = tab("-", name)
    assert len(words) == len(set(words))
    assert set(words) == words_of(help_rows(name))


def test_bash_completes_options_and_the_command():
    assert "lsblk" in tab("t:sched:sched_switch -- lsb") and tab("t:sched:sched_switch -- ls --he") == []
    assert tab("--du") == ["--duration"]
    assert tab("t:sched:sched_switch --ti") == ["--timestamp"]
    assert tab("--du", "funccount") == ["--duration"]
    assert tab("--perp", "funccount") == []


def test_bash_completes_values():
    pid = str(os.getpid())
    assert pid in tab(f"-p {pid}") and f"1,{pid}" in tab(f"--pid 1,{pid}")
    assert pid in tab(f"--pid={pid}")
    assert sorted(tab("--without uprobe.multi,kp")) == ["uprobe.multi,kprobe", "uprobe.multi,kprobe.multi"]


def test_values_that_are_offered():
    """In each shell all, and no others. That each is taken is in tests/unit/test_options.c."""
    backends = tab("--without ")
    assert sorted(backends) == ["kprobe", "kprobe.multi", "kretprobe", "kretprobe.multi", "uprobe", "uprobe.multi"]
    assert all(re.search(rf"{re.escape(backend)}(,|$)", help_of("stackcount"), re.M) for backend in backends)
    assert sorted(tab("--unwind ")) == ["auto", "dwarf", "fp"] and tab("--unwind d") == ["dwarf"]
    assert "compadd - auto dwarf fp" in (COMPLETIONS / "_stackcount").read_text()
    assert "string split ' ' 'auto dwarf fp'" in (COMPLETIONS / "stackcount.fish").read_text()
    assert tab("--unit ") == ["bytes", "ns", "us", "ms", "s"] and tab("--sum x --unit m") == ["ms"]


def test_bash_completes_tracepoints():
    """Behind the last colon: that is what readline takes for the word."""
    assert tab("t:syscal") == ["syscalls:"]
    assert tab("t:sched:sched_swit") == ["sched_switch"]
    assert tab("-K -i 1 t:syscalls:sys_enter_getppi", "stacksnoop") == ["sys_enter_getppid"]
    assert tab("t:no_such_category") == []


WRITE = "t:syscalls:sys_enter_write"


def test_bash_completes_names_of_values():
    assert tab(f"{WRITE} --sum co") == ["count"] == tab(f"{WRITE} --value co", "stacksnoop")
    assert tab("--sum ", behind=f"x {WRITE} -- dd") == tab(f"-K {WRITE} --sum ")
    assert {"count", "fd", "__syscall_nr"} <= set(tab(f"{WRITE} --sum "))
    assert tab(f"-n 5 -p {os.getpid()} --sum=co", behind=f" {WRITE}") == ["count"] == tab(f"{WRITE} --sum 'co")
    assert tab(f"'{WRITE}' --sum 8*co") == ["8*count"]
    assert tab(f"{WRITE} t:syscalls:sys_exit_write --sum r") == ["ret"]
    assert tab(f"-r ^{WRITE}$ --sum co") == [], "sys_enter_write is no kernel function"
    assert tab(f"-r {WRITE}$ --sum co") == ["count"]
    assert tab("--sum ") == [] and tab("t:no:such_event --sum c") == []


def test_bash_completes_functions_their_arguments_and_paths():
    assert tab(f"{workload_path('calls')}:leaf") == ["leaf", "leaf_bare", "leafy"] and "malloc" in tab("c:mallo")
    assert workload_path("calls") in tab(f"{workload_path('call')}")
    assert tab(f"{workload_path('calls')}:leaf --sum arg") == [f"arg{i}" for i in range(1, 7)]
    assert tab(f"r:{workload_path('calls')}:leaf --sum ") == ["retval"]
    assert tab(f"u:{workload_path('places')}:places:hit --sum ") == [f"arg{i}" for i in range(1, 7)]


def test_bash_leaves_alone_what_it_would_have_to_quote():
    for word in ("'t:sched:*'", "t:sched:*", "c:[a-z]", "c:$(echo", "c:`echo", '"t:'):
        assert tab(word) == [], word


def test_bash_runs_nothing_of_a_name(tmp_path, monkeypatch):
    """compgen -W expands its words."""
    (tmp_path / "a$(touch ran)").touch()
    (tmp_path / "a`touch ran`").touch()
    monkeypatch.chdir(tmp_path)
    assert len(tab("./a")) == 2
    assert sorted(os.listdir()) == ["a$(touch ran)", "a`touch ran`"]


# The text of the others is checked, since the shells are large.


@pytest.mark.parametrize("name", NAMES)
def test_zsh_offers_the_options_of_the_help(name):
    text = (COMPLETIONS / f"_{name}").read_text()
    assert text.startswith(f"#compdef {name}\n") and text.endswith(f'\n_{name} "$@"\n')
    options = text.partition("_arguments -s -S : \\\n")[2].partition("\t'*:PATTERN:")[0]
    found = re.findall(r"(--[\w-]+)(=?)(?=[}\[])", options)  # {-p+,--pid=}'[...] or --lines[...]
    assert [(long, bool(equals)) for long, equals in found] == [row[1:] for row in help_rows(name)]


@pytest.mark.parametrize("name", NAMES)
def test_fish_offers_the_options_of_the_help(name):
    text = (COMPLETIONS / f"{name}.fish").read_text()
    found = re.findall(rf"^complete -c {name} .*?(?: -s (\w))? -l ([\w-]+)( -x)? -d '([^']+)'", text, re.M)
    assert [(letter and f"-{letter}" or None, f"--{long}", bool(value)) for letter, long, value, _ in found] == help_rows(name)
    assert all(f" {words}\n" in help_of(name) for *_, words in found)
    depth = [len(re.findall(rf"^\s*(?:{words})\b", text, re.M)) for words in ("function|switch|for|if", "end")]
    assert depth[0] == depth[1]
