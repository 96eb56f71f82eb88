# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Root directories of Debian's releases, made once and kept, and commands run inside them."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "vm"))

from cache import KEYRING, Problem, cache_dir, is_to_be_fetched, mirror, unpack  # noqa: E402

BUILD = Path(os.environ.get("BUILD") or TOP / "build").resolve()
BUILDING = ["bookworm", "trixie", "sid"]

# Manual pages and the like of packages, which nobody reads there.
LEFT_OUT = ["man", "locale", "doc", "info"]


def build_packages():
    text = (TOP / "scripts" / "deps").read_text()
    return re.search(r'^BUILD_PACKAGES="([^"]+)"', text, re.M)[1].split() + ["debhelper"]


def make_debian(suite, packages, to):
    options = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in LEFT_OUT]
    options += [f"--aptopt={line}" for line in ('APT::Install-Recommends "false"', 'Acquire::Check-Valid-Until "false"')]
    options += ["--dpkgopt=force-unsafe-io"]  # a root that is not whole is made again
    options += [f"--include={','.join(packages)}"] if packages else []
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=essential", *options, suite, str(to)]
    environment = {name: value for name, value in os.environ.items() if name != "APT_CONFIG"}
    done = subprocess.run(
        [*command, f"deb [signed-by={KEYRING}] {mirror()} {suite} main"], env=environment, capture_output=True, text=True,
        timeout=1500,
    )
    if done.returncode != 0:
        raise Problem(f"mmdebstrap {suite}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    # What a package brings is to be seen, now that those of the root are there.
    for file in (to / "etc/dpkg/dpkg.cfg.d").glob("*mmdebstrap*"):
        file.unlink()
    shutil.rmtree(to / "var/lib/apt/lists", ignore_errors=True)
    shutil.rmtree(to / "var/cache/apt", ignore_errors=True)


def make_musl(to):
    """musl's loader and busybox, and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["apt-get", "-qq", "download", "musl"], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise Problem(f"apt-get download musl: {done.stderr.strip()}")
        for deb in Path(folder).glob("*.deb"):
            unpack(deb, to)
    for name in ("bin", "proc", "sys", "dev", "tmp"):
        (to / name).mkdir(exist_ok=True)
    shutil.copy(shutil.which("busybox"), to / "bin" / "sh")


def root(name):
    """The root directory of that name: a Debian release, or musl. Nothing is ever written there."""
    packages = build_packages() if name in BUILDING else []
    folder = cache_dir() / "roots"
    folder.mkdir(exist_ok=True)
    target, stamp = folder / name, folder / f"{name}.json"
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_to_be_fetched(stamp, 28) and json.loads(stamp.read_text()) == packages:
            return target
        new = folder / f"{name}.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            if name == "musl":
                make_musl(new)
            else:
                make_debian(name, packages, new)
        except Problem as problem:
            if not stamp.exists() or json.loads(stamp.read_text()) != packages:
                raise
            print(f"{problem}; using the root that is in the cache", flush=True)
            return target
        for sub in ("src", "tests"):
            (new / sub).mkdir()
        stamp.unlink(missing_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
        stamp.write_text(json.dumps(packages))
    return target


# $1: the root directory, or "" for an empty one. $2: a folder for what is written. $3...: pairs of a
# folder and where it is seen, "--", the command. /proc is this machine's: workloads run outside, too.
IN_ROOT = """
lower=$1 own=$2; shift 2
mkdir -p "$own/upper" "$own/work" "$own/root" "$own/empty/proc" "$own/empty/sys" "$own/empty/src"
mount -t overlay -o "lowerdir=${lower:-$own/empty},upperdir=$own/upper,workdir=$own/work" root "$own/root"
cd "$own/root"
while [ "$1" != -- ]; do mkdir -p "./$2"; mount --bind "$1" "./$2"; shift 2; done
shift
mount -t proc proc ./proc
mount --rbind /sys ./sys
[ ! -d dev ] || mount --rbind /dev ./dev
mkdir -p src; exec chroot . "$@"
"""


class Root:
    """A root directory whose changes are forgotten at the end: with Root(root("sid")) as sid: sid.run(...)"""

    def __init__(self, lower, **seen):
        self.lower = lower  # None: empty
        self.seen = [(str(folder), where) for where, folder in seen.items()]

    def __enter__(self):
        with contextlib.ExitStack() as at_end:
            # Where the build is: an overlay's upper folder cannot be in another overlay.
            BUILD.mkdir(exist_ok=True)
            self.own = at_end.enter_context(tempfile.TemporaryDirectory(dir=BUILD, prefix="root."))
            self.at_end = at_end.pop_all()
        return self

    def __exit__(self, *_):
        self.at_end.close()

    def command(self, *argv):
        pairs = [word for pair in self.seen for word in pair]
        inside = ["unshare", "-m", "--propagation", "private", "sh", "-ec", IN_ROOT, "sh"]
        return [*inside, str(self.lower or ""), self.own, *pairs, "--", *argv]

    def tool_command(self, *argv):
        """At a user's priority. Below other suites', a tool loses records of processes, and so names."""
        return ["sh", "-ec", 'renice -n 0 -p $$ >/dev/null; exec "$@"', "sh", *self.command(*argv)]

    def run(self, *argv, timeout=600):
        return self.execute(self.command(*argv), timeout)

    def trace(self, *argv):
        return self.execute(self.tool_command(*argv), timeout=600)

    def execute(self, command, timeout):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/root"}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
        )
