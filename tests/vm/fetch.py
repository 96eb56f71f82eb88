#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/vm/fetch.py [--path] [NAME...] - fetch what the guests need; does nothing twice.

Kernels: 6.1 6.12 newest (the newest cloud kernel of three Debian suites, through the mirror that
this machine uses), rt (Debian's PREEMPT_RT kernel), arm64 (Debian 13's cloud kernel for that).
"root" and "root-arm64": a small root file system with Python and pytest. "sysroot-arm64": the headers and
libraries that a cross build needs (scripts/cross.mk). --path prints the folders alone.
Kept in $STACKCOUNT_CACHE (default ${XDG_CACHE_HOME:-/var/cache}/stackcount). What is there is used as it is; newer
ones are looked for with STACKCOUNT_REFRESH=1, and after a week with STACKCOUNT_REFRESH=old. Where the mirror cannot be
reached then, what the cache has is used.
"""

import fcntl
import functools
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys

import initramfs
from cache import Apt, Problem, cache_dir, host_suite, is_to_be_fetched, make_ext4, replace_dir, tree_megabytes, unpack

SUITES = {
    "rt": "bookworm-backports",
    "6.1": "bookworm",
    "6.12": "bookworm-backports",
    "newest": "sid",
    "arm64": "trixie",
}
KERNELS = list(SUITES)
TREES = ["root", "root-arm64", "sysroot-arm64"]

# Of the package linux-image-FLAVOUR-ARCHITECTURE. Not cloud: nvme and ext4 are modules of it.
FLAVOURS = {"rt": "rt"}

# Modules that tests load: a block driver, to see names of code that came late; overlayfs.
MODULES = ["loop", "overlay"]

TREE_VERSION = "7"
ROOT_PACKAGES = """base-files bash coreutils dash findutils grep sed gawk hostname util-linux mount
procps python3-minimal python3-pytest libbpf1 libelf1 libdw1 libdeflate0 zlib1g libstdc++6 perl-base""".split()

# As "build" in scripts/deps, without the programs; libstdc++ is for workloads.
SYSROOT_PACKAGES = """libc6-dev libbpf-dev libelf-dev zlib1g-dev liblzma-dev libbz2-dev libzstd-dev libdw-dev libdeflate-dev
libiberty-dev""".split()

# The tests' disk says what is to be done.
INIT = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mountpoint -q /dev || mount -t devtmpfs dev /dev
mount -t sysfs sys /sys
for block in /sys/block/nvme*n*; do
	ln -s ${block##*/} /dev/disk-$(cat $block/nsid)
done
mount -t ext4 /dev/disk-2 /tests
exec /tests/init
"""

ROOT_SIGNATURE = 0x57AC0047

def architecture(name):
    """Debian's word for that of a kernel or tree."""
    return "arm64" if name.endswith("arm64") else "amd64"


def root_name(kernel):
    """The tree that a kernel's guest runs."""
    return "root" if architecture(kernel) == "amd64" else f"root-{architecture(kernel)}"


def kernel_dir(name):
    return cache_dir() / "kernel" / name


def folder(name):
    return cache_dir() / name if name in TREES else kernel_dir(name)


def plain_module(path):
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    return data


def first_file(root, *patterns):
    for pattern in patterns:
        found = sorted(path for path in root.glob(pattern) if path.is_file())
        if found:
            return found[0]
    raise Problem(f"no {patterns[0]} in the kernel's packages")


def make_initramfs(tree, busybox, to):
    """Where the kernel cannot mount its root by itself."""
    modules = {re.sub(r"\.ko.*", "", path.name).replace("-", "_"): path for path in tree.glob("**/kernel/**/*.ko*")}
    if "nvme" not in modules:
        return

    @functools.cache
    def read(name):
        return plain_module(modules[name]) if name in modules else None

    (to / "initramfs").write_bytes(initramfs.make(read, busybox()))


def fetch_busybox(to):
    to.mkdir()
    apt = Apt(host_suite())
    apt.update()
    for deb in apt.download(["busybox-static"], to):
        unpack(deb, to)
    return first_file(to, "bin/busybox", "usr/bin/busybox").read_bytes()


def unpack_kernel(debs, release, to):
    tree = to / "tree"
    tree.mkdir()
    for deb in debs:
        unpack(deb, tree)
    shutil.copy(first_file(tree, "boot/vmlinuz-*", "usr/**/vmlinuz*", "**/vmlinuz*"), to / "vmlinuz")
    shutil.copy(first_file(tree, "boot/config-*", "usr/**/config*", "**/config*"), to / "config")
    (to / "modules").mkdir()
    for name in MODULES:
        module = first_file(tree, f"**/kernel/**/{name}.ko*")
        (to / "modules" / f"{name}.ko").write_bytes(plain_module(module))
    make_initramfs(tree, lambda: fetch_busybox(to / "busybox"), to)
    shutil.rmtree(to / "busybox", ignore_errors=True)
    shutil.rmtree(tree)
    (to / "release").write_text(release + "\n")


def fetch_kernel(name):
    target = kernel_dir(name)
    stamp = target / "release"
    if not is_to_be_fetched(stamp, 7):
        return stamp.read_text().strip()
    apt = Apt(SUITES[name], architecture(name))
    apt.update()
    flavour = f"{FLAVOURS.get(name, 'cloud')}-{architecture(name)}"
    image = apt.depends(f"linux-image-{flavour}", rf"linux-image-\d.*{flavour}")
    if not image:
        raise Problem(f"no {flavour} kernel in {SUITES[name]}")
    release = re.sub(r"^linux-image-|-unsigned$", "", image[0])
    if stamp.exists() and stamp.read_text().strip() == release:
        os.utime(stamp)
        return release
    new = target.with_name(name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    (new / "debs").mkdir(parents=True)
    packages = [image[0], *apt.depends(image[0], r"linux-(binary|modules|image)-")]
    unpack_kernel(apt.download(packages, new / "debs"), release, new)
    shutil.rmtree(new / "debs")
    replace_dir(new, target)
    return release


def compile_python(tree):
    """Emulated, the first import of pytest from source takes ten seconds."""
    done = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                          capture_output=True, text=True)
    version = done.stdout.strip()
    library = tree / f"usr/lib/python{version}"
    if not library.is_dir():
        return
    subprocess.run(
        ["/usr/bin/python3", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash",
         "-s", str(tree), str(library), str(tree / "usr/lib/python3")],
        check=False,
        timeout=300,
    )


def add_partition_table(image, to):
    """Give the file system a disk with a signature: the kernel finds its root by that alone,
    while names like nvme0n1 depend on which name space answers first (since Linux 6.12)."""
    size = image.stat().st_size
    header = bytearray(1 << 20)
    struct.pack_into("<I", header, 440, ROOT_SIGNATURE)
    struct.pack_into("<B3sB3sII", header, 446, 0, b"\0" * 3, 0x83, b"\0" * 3, 2048, size // 512)
    header[510:512] = b"\x55\xaa"
    with open(to, "wb") as out, open(image, "rb") as source:
        out.write(header)
        shutil.copyfileobj(source, out, 1 << 20)


def unpack_closure(apt, packages, tree):
    """Unpack these packages, and what they need, into a new folder; no script runs."""
    for sub in ("bin", "sbin", "lib", "lib64"):
        (tree / "usr" / sub).mkdir(parents=True)
        (tree / sub).symlink_to(f"usr/{sub}")
    for deb in apt.download_closure(packages):
        unpack(deb, tree)
        deb.unlink()
    for sub in ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"):
        shutil.rmtree(tree / sub, ignore_errors=True)


def make_root(apt, to):
    """An unconfigured Debian: its files are enough to run Python."""
    tree = to / "tree"
    unpack_closure(apt, ROOT_PACKAGES, tree)
    for sub in ("proc", "sys", "dev", "run", "tmp", "tests", "disk", "root"):
        (tree / sub).mkdir(exist_ok=True)
    (tree / "etc/passwd").write_text(
        "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    )
    (tree / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    (tree / "etc/hosts").write_text("127.0.0.1 localhost\n")
    init = tree / "usr/sbin/init"
    init.write_text(INIT)
    init.chmod(0o755)
    compile_python(tree)
    make_ext4(to / "root.ext4", tree_megabytes(tree) + 64, tree)
    add_partition_table(to / "root.ext4", to / "root.disk")
    (to / "root.ext4").unlink()
    shutil.rmtree(tree)


def make_sysroot(apt, to):
    """Headers and libraries to build with. Links lead to places in it, not in this machine."""
    unpack_closure(apt, [*SYSROOT_PACKAGES, apt.newest("libstdc++-", "-dev")], to)
    for link in (path for path in to.rglob("*") if path.is_symlink()):
        there = os.readlink(link)
        if there.startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(to / there.lstrip("/"), link.parent))


def fetch_tree(name):
    target = folder(name)
    stamp = target / "version"
    version = f"{TREE_VERSION} {host_suite()}"
    if stamp.exists() and stamp.read_text() == version:
        return version
    apt = Apt(host_suite(), architecture(name))
    apt.update()
    new = target.with_name(f"{name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    make = make_sysroot if name.startswith("sysroot") else make_root
    make(apt, new)
    (new / "version").write_text(version)
    replace_dir(new, target)
    return version


def fetch(name):
    """Fetch one item; on failure use what the cache has. Returns what is there, in words."""
    is_tree = name in TREES
    stamp = folder(name) / ("version" if is_tree else "release")
    try:
        with open(cache_dir() / "fetch.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return fetch_tree(name) if is_tree else fetch_kernel(name)
    except (Problem, OSError, subprocess.SubprocessError) as problem:
        if not stamp.exists():
            raise
        print(f"fetch {name}: {problem}; using what is in the cache", file=sys.stderr)
        return stamp.read_text().strip()


def main(names):
    is_path_asked = names[:1] == ["--path"]
    names = names[is_path_asked:]
    unknown = [name for name in names if name not in (*KERNELS, *TREES)]
    if unknown:
        print(f"fetch: no '{unknown[0]}' (there are: {' '.join([*KERNELS, *TREES])})", file=sys.stderr)
        return 2
    status = 0
    for name in names or [*KERNELS, *TREES]:
        try:
            words = fetch(name)
            print(folder(name) if is_path_asked else f"{name}: {words}", flush=True)
        except (Problem, OSError, subprocess.SubprocessError) as problem:
            print(f"fetch {name}: {problem}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
