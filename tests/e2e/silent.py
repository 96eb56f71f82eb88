# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""File systems that do not answer, or stop answering."""

import contextlib
import subprocess
import sys

from attacks import HERE, Stranger
from tool import PATIENCE_S

SERVER = [sys.executable, "-B", HERE / "mortal_fuse.py"]


@contextlib.contextmanager
def dead_fuse(folder, *command, how="dead"):
    """Run @command where @folder/file is on a file system that does not answer."""
    with subprocess.Popen(
        [*SERVER, how, "/dev/fuse", folder, "-", *map(str, command)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            yield server
        finally:
            server.stdin.close()
            server.wait(PATIENCE_S)


def status_of(server):
    for line in server.stdout:
        if line.startswith("exited"):
            return int(line.split()[1])
    return None


@contextlib.contextmanager
def mortal_fuse(folder, source, command=("sh", "-c", "echo ready; exec cat"), how="root"):
    """@folder/fuse/file is like @source until die(). Only its process sees it (mount namespace)."""
    with contextlib.closing(Stranger([*SERVER, how, "/dev/fuse", folder, source, *command])) as one:
        yield one
