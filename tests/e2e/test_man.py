# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The manual pages: they render without a warning and tell of every option; make install; and each name's own help."""

import functools
import os
import re
import subprocess

import pytest
from names import NAMES, help_of, run
from tool import BUILD, PATIENCE_S, TOP

SECTIONS = [
    "NAME", "SYNOPSIS", "DESCRIPTION", "PATTERNS", "OPTIONS", "OUTPUT", "EXAMPLES", "OVERHEAD", "FILES", "ENVIRONMENT", "EXIT STATUS",
    "CAPABILITIES", "SEE ALSO", "BUGS",
]


@functools.cache
def man(name, width=80):
    """(the page as it is shown, what the formatter warned of)"""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": str(width)}
    done = subprocess.run(
        ["man", "-l", "--warnings=w", TOP / f"doc/{name}.8"],
        env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S,
    )
    return done.stdout, done.stderr


def section(text, title):
    found = re.search(rf"^{title}\n(.*?)(?=^\S)", text, re.M | re.S)
    assert found, f"no section {title}"
    return found[1]


@pytest.mark.parametrize("name", NAMES)
def test_page_is_well_formed(name):
    """It renders without a warning, has all sections in order, is of this version, and is found by its name."""
    for width in (80, 120):
        text, warnings = man(name, width)
        assert warnings == "" and max(map(len, text.splitlines())) <= max(width, 100)
    text, _ = man(name)
    sections = [title for title in SECTIONS if name != "profile" or title != "PATTERNS"]
    assert re.findall(r"^[A-Z][A-Z ]+$", text, re.M) == sections
    for title in sections:
        assert section(text, title).strip()
    assert re.findall(r"^       (\d) ", section(text, "EXIT STATUS"), re.M) == ["0", "1", "2"]
    assert set(NAMES) - {name} <= set(re.findall(r"(\w+)\(8\)", section(text, "SEE ALSO")))
    assert text.splitlines()[-1].startswith(f"stackcount {run(name, '--version').ok().out.split()[1]} ")
    said = subprocess.run(["lexgrog", TOP / f"doc/{name}.8"], capture_output=True, text=True, check=True).stdout
    assert re.search(rf': "{name} - \w.*"$', said, re.M), said


def marks():
    """What a stack may end with, as the source has it, and what else stands in brackets."""
    naming = (TOP / "src/symbolize/symbolizer.c").read_text()
    words = re.findall(r'[])] = { "([^"]+)"', naming)
    assert len(words) >= 12
    unverified = re.findall(r'FRAME_UNVERIFIED, "([^"]+)"', naming)
    assert len(unverified) == 2
    cuts = [f"[cut: {word}]" for word in words] + [f"[unverified: {word}]" for word in unverified]
    return cuts + ["[unknown]", "[no stack]", "[inlined]", "[anon]"]


def losses():
    reasons = re.findall(r'\[LOS[ST]_\w+\] = "([^"(]+)', (TOP / "src/store/counters.c").read_text())
    assert len(reasons) >= 10
    return [reason.strip() for reason in reasons if "new row" not in reason]  # "a new stack / row"


def test_every_mark_and_loss_is_in_the_manual():
    lost = re.search(r"^## What was lost\n(.*?)^## ", (TOP / "doc/manual.md").read_text(), re.M | re.S)[1]
    assert [mark for mark in marks() if f"`{mark}`" not in lost] == []
    assert [loss for loss in losses() if loss not in lost] == []


def test_pages_have_every_mark_and_loss():
    texts = [" ".join(re.sub(r"\u2010\n\s*", "", man(name)[0]).split()) for name in ("stackcount", "stacksnoop")]
    assert [mark for mark in marks() if mark not in texts[0]] == []
    assert [mark for mark in marks() if mark not in texts[1]] == ["[no stack]", "[anon]"]
    assert [loss for loss in losses() if loss not in " ".join(texts)] == []


@pytest.mark.parametrize("name", NAMES)
def test_page_has_the_options_of_the_help_and_their_values(name):
    told = re.findall(r"^       ((?:-\w, )?--[\w-]+(?: [A-Z][^a-z\n]*)?)(?:$| [A-Z][a-z])", section(man(name)[0], "OPTIONS"), re.M)
    shown = re.findall(r"^  ((?:-\w, )?--[\w-]+(?: [A-Z]\S*)?) ", help_of(name), re.M)
    assert told == shown


def test_page_has_every_form():
    offered = re.search(r"the form of standard output: (.*)", help_of("stackcount"))[1].split()
    assert sorted(re.findall(r'^\.BR (\w+) " \(" \.[\w.]+ \)$', (TOP / "doc/stackcount.8").read_text(), re.M)) == sorted(offered)


@pytest.mark.parametrize("name", NAMES)
def test_page_s_examples_are_taken(name):
    """All but tracing: --version ends it."""
    examples = re.findall(rf"^ +# {name} (.*)$", section(man(name, 120)[0], "EXAMPLES"), re.M)
    assert len(examples) >= 4
    for example in examples:
        arguments = re.split(r" \||>| -- | 2>", example)[0].replace("'", "").split()
        run(name, "--version", *arguments).ok()


def test_install_puts_everything_in_its_place(tmp_path):
    subprocess.run(
        ["make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr", f"BUILD={os.path.relpath(BUILD, TOP)}"],
        cwd=TOP, check=True, timeout=300,
    )
    found = {str(path.relative_to(tmp_path / "usr")) for path in tmp_path.rglob("*") if not path.is_dir()}
    places = (
        "sbin/{}", "share/man/man8/{}.8", "share/bash-completion/completions/{}",
        "share/zsh/site-functions/_{}", "share/fish/vendor_completions.d/{}.fish",
    )
    examples = {f"share/doc/stackcount/examples/{path.name}" for path in (TOP / "contrib").iterdir()}
    assert found == {place.format(name) for name in NAMES for place in places} | examples
    installed = tmp_path / "usr/share/doc/stackcount/examples"
    assert os.access(installed / "upload", os.X_OK) and not os.access(installed / "stackcount.service", os.X_OK)
    unit = (TOP / "contrib/stackcount.service").read_text().replace("/usr/local/sbin/", "/usr/sbin/")
    assert (installed / "stackcount.service").read_text() == unit
    for name in NAMES:
        installed = tmp_path / "usr/sbin" / name
        assert run(name, "--version", program=str(installed)).ok().out.startswith(f"{name} ")
