# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the threads of processes wait for, for the log of a test that does not end."""

from pathlib import Path


def _read(path):
    try:
        return path.read_text().strip()
    except OSError:
        return "-"


def describe(pid):
    """Lines: of the process, and of those that it and they have started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        text = _read(stat)
        if text != "-":
            parents.setdefault(int(text.rsplit(")", 1)[1].split()[1]), []).append(int(stat.parent.name))
    todo = [pid]
    while todo:
        pid = todo.pop(0)
        todo += parents.get(pid, [])
        for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
            words = [_read(task / name) for name in ("comm", "wchan", "syscall", "stack")]
            yield " ".join([f"process {pid}, thread {task.name}:", *words])
