# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One program under four names: each has its own options, help and messages."""

import os
import re
import shutil

import pytest
from tool import BUILD, GETPPID, Tool, workload_path

pytestmark = pytest.mark.needs("machine")

NAMES = ("stackcount", "stacksnoop", "funccount", "profile")
USAGE = 2

# What each of them takes, by letter or, where there is none, by name.
EVERY = "-h -p -T -v --no-demangle --max-memory --self --without --ready-fd --version"
ALL = f"{EVERY} -c -r -l --frequency --period"
WALKS = "-s -K -U -f --max-depth --unwind --kernel-unwind --unwind-memory --lines --no-debuginfod --debug"
REPORTS = "-i -d --top --min -o --format --tree --invert --min-percent --no-names --live -q"
STACKS = f"{ALL} {WALKS} -D -n"
OPTIONS = {
    "stackcount": f"{STACKS} {REPORTS} -P --sum --unit --elapsed --until --read --value --minus --normalize",
    "stacksnoop": f"{STACKS} --json --value --unit",
    "funccount": f"{ALL} -i -d -D --json --top --min",
    "profile": f"{EVERY} {WALKS} {REPORTS} -L -F -c -a -I -C --stack-storage-size --cgroupmap --mntnsmap",
}

LONG = {
    "stackcount": {"-D": "--duration", "-d": "--delimited", "-v": "--verbose"},
    "stacksnoop": {"-D": "--duration", "-n": "--events", "-T": "--timestamp"},
    "funccount": {"-d": "--duration", "-D": "--debug", "-i": "--interval"},
    "profile": {"-F": "--frequency", "-c": "--count", "-C": "--cpu", "-I": "--include-idle", "-L": "--tid"},
}


def run(name, *args, program=None):
    with Tool(args, program=program or str(BUILD / name)) as tool:
        return tool.wait()


def help_of(name):
    return run(name, "--help").ok().out


def help_rows(name):
    """[(letter or None, name, takes a value)] of --help."""
    rows = re.findall(r"^  (?:(-\w), )?(--[\w-]+)( \S+)? ", help_of(name), re.M)
    return [(letter or None, long, bool(value)) for letter, long, value in rows]


def refused(name, *args, words=()):
    result = run(name, *args)
    assert result.status == USAGE and result.stdout == b"", result
    assert result.err.startswith(f"{name}: ") and len(result.err.splitlines()) == 1, result
    for word in words:
        assert word in result.err, result


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_its_own_options(name):
    assert help_of(name).startswith(f"usage: {name} ")
    rows = help_rows(name)
    assert {letter or long for letter, long, _ in rows} == set(OPTIONS[name].split())
    assert len({long for _, long, _ in rows}) == len(rows), "an option is there twice"
    for letter, long in LONG[name].items():
        assert (letter, long) in {row[:2] for row in rows}


@pytest.mark.parametrize("name", NAMES)
def test_usage_line_shows_what_there_is(name):
    usage = help_of(name).partition("\n\n")[0]
    flags = "".join(letter[1] for letter, _, value in help_rows(name) if letter and not value)
    bundle, *others = re.findall(r"\[-(-?\w[\w-]*)", usage)
    assert sorted(bundle) == sorted(flags)
    assert {f"-{other}" for other in others} <= {option for row in help_rows(name) for option in row[:2]}


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_of_the_tool_itself(name):
    examples = help_of(name).partition("\nexamples:\n")[2].splitlines()
    assert len(examples) >= 8
    assert all(re.match(rf"  {name} ", line) for line in examples), examples


@pytest.mark.parametrize("name", NAMES)
def test_what_the_help_shows_is_taken(name):
    """Short and long, with a value that fits; --version ends it before anything is traced."""
    values = {"--cpu": "0", "--without": "kprobe", "--max-memory": "64M", "--duration": "0.5"}
    values |= {"--unwind": "dwarf", "--kernel-unwind": "helper", "--unwind-memory": "64M", "--format": "folded"}
    for letter, long, has_value in help_rows(name):
        if long == "--help":
            continue
        for option in filter(None, (letter, long)):
            arguments = [option, values.get(long, "5")] if has_value else [option]
            pattern = [GETPPID] if long == "--until" else []  # it stands behind one
            result = run(name, *pattern, *arguments, "--version").ok()
            assert re.fullmatch(rf"{name} [\d.]+\n", result.out), result


@pytest.mark.parametrize("name", NAMES)
def test_what_another_has_is_refused_by_name(name):
    def options(of):
        return {option for row in help_rows(of) for option in row[:2] if option}

    missing = set().union(*map(options, NAMES)) - options(name)
    assert missing
    for option in missing:
        refused(name, option, "1", GETPPID, words=[option])


@pytest.mark.parametrize("name", NAMES)
def test_messages_bear_the_name(name):
    is_profile = name == "profile"
    refused(name, *(["never"] if is_profile else []))
    refused(name, "--no-such-option", "1" if is_profile else GETPPID, words=["--no-such-option"])
    result = run(name, *(["-p", "4194304", "1"] if is_profile else ["t:sched:no_such_event"]))
    assert result.status == 1 and result.err.startswith(f"{name}: "), result


def test_one_letter_is_taken_as_each_tool_means_it():
    refused("stackcount", "-D", words=["option -D needs a value"])
    refused("stacksnoop", "-D", words=["option -D needs a value"])
    refused("funccount", "-d", words=["option -d needs a value"])
    refused("funccount", "-d", "never", GETPPID, words=["-d", "never"])
    refused("funccount", "--duration", "never", GETPPID, words=["-d", "never"])
    refused("funccount", "--duration", words=["option --duration needs a value"])
    refused("funccount", "--top", "0", GETPPID, words=["--top"])
    refused("stacksnoop", "--max-depth", "0", GETPPID, words=["--max-depth"])


def test_what_profile_refuses():
    refused("profile", "-F", "9", "-c", "9", words=["-F", "-c", "exclude"])
    refused("profile", "-L", "1", "-p", "1", words=["-L", "-p", "exclude"])
    refused("profile", "-L", "1", "--", "true", words=["-L", "command", "exclude"])
    refused("profile", "1", "2", words=["2", "one duration"])
    refused("profile", "--cgroupmap", "/sys/fs/bpf/x", words=["--cgroupmap", "not supported"])
    refused("profile", "--mntnsmap", "/sys/fs/bpf/x", words=["--mntnsmap", "not supported"])
    refused("profile", "--stack-storage-size", "0", words=["--stack-storage-size"])


def test_a_value_for_a_flag_is_refused():
    refused("funccount", "--json=yes", GETPPID, words=["--json=yes"])


def test_forms_of_output_exclude_each_other():
    refused("stacksnoop", "-f", "--json", GETPPID, words=["-f", "--json", "exclude"])
    refused("stacksnoop", "-K", "-U", GETPPID, words=["-K", "-U", "exclude"])


LISTS = [name for name in NAMES if name != "profile"]


@pytest.mark.parametrize("name", LISTS)
def test_every_name_lists(name):
    result = run(name, "-l", "t:sched:sched_swit*").ok()
    assert result.out == "t:sched:sched_switch\n"


@pytest.mark.parametrize("name", LISTS)
def test_every_name_lists_raw_names(name):
    result = run(name, "-l", "--no-demangle", f"{workload_path('cxx')}:shop::price").ok()
    names = {line.rpartition(":")[2] for line in result.out.splitlines()}
    assert names == {"_ZN4shop5priceEd", "_ZN4shop5priceEi"}


@pytest.mark.parametrize("name", NAMES)
def test_last_part_of_the_path_counts(name, tmp_path):
    folder = tmp_path / "funccount"
    folder.mkdir()
    program = shutil.copy(BUILD / "stackcount", folder / name)
    assert run(name, "--version", program=program).ok().out.startswith(f"{name} ")


def test_other_names_are_stackcount(tmp_path):
    for other in ("sc", "funccount-7", "stacksnoop.old"):
        os.symlink(BUILD / "stackcount", tmp_path / other)
        result = run(other, "--version", program=str(tmp_path / other)).ok()
        assert result.out.startswith("stackcount "), result
