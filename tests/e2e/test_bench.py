# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench/ reads a process that changes at the same time."""

import os
import sys
import threading

import pytest
from tool import TOP


@pytest.fixture
def tracer(monkeypatch):
    monkeypatch.syspath_prepend(str(TOP / "bench"))
    import tracer

    yield tracer
    del sys.modules["tracer"]


def test_descriptor_that_is_closed_while_it_is_counted(tracer, monkeypatch):
    read, write = os.pipe()
    real = os.readlink

    def closes_first(path):
        if path.endswith(f"/{write}"):
            os.close(write)
        return real(path)

    monkeypatch.setattr(os, "readlink", closes_first)
    links = tracer.descriptors(os.getpid())
    monkeypatch.undo()
    assert real(f"/proc/self/fd/{read}") in links
    os.close(read)


def test_thread_that_ends_while_its_time_is_read(tracer, monkeypatch):
    ends = threading.Event()
    thread = threading.Thread(target=ends.wait, daemon=True)
    thread.start()
    tid = str(thread.native_id)
    real = tracer.Path.read_text

    def ends_first(path, *args):
        if path.parent.name == tid:
            ends.set()
            thread.join()
            while os.path.exists(f"/proc/self/task/{tid}"):
                pass
        return real(path, *args)

    monkeypatch.setattr(tracer.Path, "read_text", ends_first)
    assert tracer.cpu_s(os.getpid()) > 0
    assert ends.is_set()
