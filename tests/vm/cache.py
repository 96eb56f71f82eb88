# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where what was fetched is kept, and apt used privately: nothing is installed, no list of the
machine's own is touched, and no step needs root."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Problem(Exception):
    """Shown to the user as it is."""


def cache_dir():
    path = os.environ.get("STACKCOUNT_CACHE")
    if not path:
        base = os.environ.get("XDG_CACHE_HOME", "/var/cache")
        if not os.access(base, os.W_OK):
            base = os.path.expanduser("~/.cache")
        path = os.path.join(base, "stackcount")
    Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


def is_to_be_fetched(stamp, days):
    """
    Is there nothing, or is it to be looked up anew? $STACKCOUNT_REFRESH: "1" has everything looked up, and "old"
    what was so more than @days days ago. Otherwise what is there is used as it is, and no mirror asked.
    """
    how = os.environ.get("STACKCOUNT_REFRESH")
    if not stamp.exists() or how == "1":
        return True
    return how == "old" and time.time() - stamp.stat().st_mtime > days * 24 * 3600


def mirror():
    """The Debian mirror that this machine itself uses."""
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for file in files:
        if not file.is_file():
            continue
        for line in file.read_text(errors="replace").splitlines():
            found = re.match(r"(?:URIs:|deb\s+(?:\[[^]]*\])?)\s*(\S+)", line)
            if found and re.search(r"/debian/?$", found[1]):
                return found[1]
    return "http://deb.debian.org/debian"


def host_suite():
    """The suite whose libraries a program built here needs."""
    release = Path("/etc/os-release").read_text()
    name = re.search(r"^VERSION_CODENAME=(\w+)", release, re.M)
    is_debian = re.search(r"^ID=debian$", release, re.M)
    return name[1] if is_debian and name else "bookworm"


class Apt:
    """apt for one suite and architecture, with configuration and state of its own."""

    def __init__(self, suite, architecture="amd64"):
        self.suite = suite
        self.root = cache_dir() / "apt" / (suite if architecture == "amd64" else f"{suite}-{architecture}")
        for sub in ("state/lists/partial", "cache/archives/partial", "preferences"):
            (self.root / sub).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        (self.root / "sources.list").write_text(
            f"deb [signed-by={KEYRING} arch={architecture}] {mirror()} {suite} main\n"
        )
        (self.root / "apt.conf").write_text(
            f'Dir::State "{self.root}/state";\n'
            f'Dir::State::status "{self.root}/status";\n'
            f'Dir::Cache "{self.root}/cache";\n'
            f'Dir::Etc::sourcelist "{self.root}/sources.list";\n'
            'Dir::Etc::sourceparts "-";\n'
            f'Dir::Etc::preferencesparts "{self.root}/preferences";\n'
            f'APT::Architecture "{architecture}"; APT::Architectures "{architecture}";\n'
            'APT::Sandbox::User "root";\n'
            'Acquire::Languages "none"; Acquire::Check-Valid-Until "false";\n'
            'APT::Update::Error-Mode "any"; Acquire::Retries "3"; Acquire::http::Timeout "30";\n'
            'APT::Install-Recommends "false"; Debug::NoLocking "true";\n'
        )

    def run(self, *args, cwd=None):
        done = subprocess.run(
            args,
            cwd=cwd,
            env={**os.environ, "APT_CONFIG": str(self.root / "apt.conf"), "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=900,
        )
        if done.returncode != 0:
            words = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise Problem(f"{args[0]} {args[1]} for {self.suite}: {words[-1]}")
        return done.stdout

    def update(self):
        self.run("apt-get", "-qq", "update")

    def depends(self, package, pattern):
        """Direct dependencies of @package whose names match."""
        text = self.run("apt-cache", "depends", package)
        names = re.findall(r"^ *\|?(?:Pre)?Depends: (\S+)", text, re.M)
        return [name for name in names if re.match(pattern, name)]

    def newest(self, before, after):
        """The package called @before, a number and @after that has the greatest number."""
        name = rf"^{re.escape(before)}(\d+){re.escape(after)}$"
        numbers = re.findall(name, self.run("apt-cache", "pkgnames"), re.M)
        if not numbers:
            raise Problem(f"no package {before}N{after} in {self.suite}")
        return before + max(numbers, key=int) + after

    def download(self, packages, to):
        self.run("apt-get", "-qq", "download", *packages, cwd=to)
        return sorted(Path(to).glob("*.deb"))

    def download_closure(self, packages):
        """Download @packages and all that they depend on."""
        archives = self.root / "cache/archives"
        for old in archives.glob("*.deb"):
            old.unlink()
        self.run("apt-get", "-qq", "-y", "--download-only", "install", *packages)
        return sorted(archives.glob("*.deb"))


def unpack(deb, to):
    """Put the files of package @deb below @to; links to directories there stay links."""
    tar = ["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", str(to)]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as feed:
        done = subprocess.run(tar, stdin=feed.stdout, capture_output=True, text=True)
    if done.returncode != 0:
        raise Problem(f"unpack {Path(deb).name}: {done.stderr.strip()}")


def replace_dir(new, old):
    """@new becomes @old, in one step as far as a reader is concerned."""
    shutil.rmtree(old, ignore_errors=True)
    os.rename(new, old)


def make_ext4(path, megabytes, source=None, journal=False):
    args = ["/sbin/mkfs.ext4", "-q", "-F", "-m", "0"]
    args += ["-E", "lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0"]
    if not journal:
        args += ["-O", "^has_journal"]
    if source:
        args += ["-d", str(source)]
    done = subprocess.run([*args, str(path), f"{megabytes}M"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Problem(f"mkfs.ext4: {done.stderr.strip()}")


def tree_megabytes(path):
    """Enough for the files of @path in an ext4 image."""
    n_bytes = n_files = 0
    for folder, folders, files in os.walk(path):
        n_files += len(files) + len(folders)
        for name in files:
            file = os.path.join(folder, name)
            if not os.path.islink(file):
                n_bytes += os.path.getsize(file)
    return int(n_bytes * 1.1 / 2**20 + n_files * 8 / 1024) + 24
