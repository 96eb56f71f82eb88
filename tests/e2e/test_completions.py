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


def tab(line, name="stackcount", behind=""):
    """COMPREPLY at the end of "NAME @line", with @behind behind the cursor."""
    environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "COMPLETION_S": str(PATIENCE_S)}
    done = subprocess.run(
        ["bash", "--norc", "-c", TAB, "bash", COMPLETIONS / f"{name}.bash", name, f"{name} {line}", behind],
        env=environment, capture_output=True, text=True, timeout=PATIENCE_S,
    )
    assert done.stderr == "" and done.returncode == 0, done
    return [word for word in done.stdout.splitlines() if word]


def test_nothing_is_left_to_be_replaced():
    for name in NAMES:
        for path in (COMPLETIONS / f"{name}.bash", COMPLETIONS / f"_{name}", COMPLETIONS / f"{name}.fish"):
            text = path.read_text()
            assert not re.findall(r"@[A-Z]+@", text), path
            assert not [other for other in set(NAMES) - {name} if other in text], path


def test_bash_completes_the_command_and_values():
    assert "lsblk" in tab("t:sched:sched_switch -- lsb") and tab("t:sched:sched_switch -- ls --he") == []
    assert f"1,{os.getpid()}" in tab(f"--pid 1,{os.getpid()}")
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
    assert tab("-K -i 1 t:syscalls:sys_enter_getppi", "stacksnoop") == ["sys_enter_getppid"]


WRITE = "t:syscalls:sys_enter_write"


def test_bash_completes_names_of_values():
    assert tab(f"{WRITE} --sum co") == ["count"] == tab(f"{WRITE} --value co", "stacksnoop")
    assert tab("--sum ", behind=f"x {WRITE} -- dd") == tab(f"-K {WRITE} --sum ")
    assert tab(f"'{WRITE}' --sum 8*co") == ["8*count"]
    assert tab("--sum ") == [] and tab("t:no:such_event --sum c") == []


def test_bash_completes_functions_their_arguments_and_paths():
    assert tab(f"{workload_path('calls')}:leaf") == ["leaf", "leaf_bare", "leafy"] and "malloc" in tab("c:mallo")
    assert workload_path("calls") in tab(f"{workload_path('call')}")
    assert tab(f"r:{workload_path('calls')}:leaf --sum ") == ["retval"]


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


# Of the others the text is checked, since the shells are large.


@pytest.mark.parametrize("name", NAMES)
def test_each_shell_offers_the_options_of_the_help(name):
    assert sorted(tab("-", name)) == sorted(option for row in help_rows(name) for option in row[:2] if option)
    text = (COMPLETIONS / f"_{name}").read_text()
    assert text.startswith(f"#compdef {name}\n") and text.endswith(f'\n_{name} "$@"\n')
    options = text.partition("_arguments -s -S : \\\n")[2].partition("\t'*:PATTERN:")[0]
    found = re.findall(r"(--[\w-]+)(=?)(?=[}\[])", options)  # {-p+,--pid=}'[...] or --lines[...]
    assert [(long, bool(equals)) for long, equals in found] == [row[1:] for row in help_rows(name)]
    text = (COMPLETIONS / f"{name}.fish").read_text()
    found = re.findall(rf"^complete -c {name} .*?(?: -s (\w))? -l ([\w-]+)( -x)? -d '([^']+)'", text, re.M)
    assert [(letter and f"-{letter}" or None, f"--{long}", bool(value)) for letter, long, value, _ in found] == help_rows(name)
    assert all(f" {words}\n" in help_of(name) for *_, words in found)
    depth = [len(re.findall(rf"^\s*(?:{words})\b", text, re.M)) for words in ("function|switch|for|if", "end")]
    assert depth[0] == depth[1]
