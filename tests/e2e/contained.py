# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Workloads with a root file system and name spaces of their own."""

from pathlib import Path

from tool import Workload, workload_path

# A root that nothing outside of this mount name space can see.
OWN_ROOT = """
mount -t tmpfs own "$1"
mkdir -p "$1/bin" "$1/dev"
cp "$2" "$1/bin/program"
for file in $(LD_TRACE_LOADED_OBJECTS=1 "$2" | grep -o '/[^ ]*'); do
	mkdir -p "$1/${file%/*}"
	cp "$file" "$1/$file"
done
shift 2
root=$1; shift
exec chroot "$root" /bin/program "$@"
"""


class Contained(Workload):
    """Has its own PID name space, too, with @own_pids: there it has number 1."""

    def __init__(self, name, root, *args, own_pids=False):
        command = ["unshare", "-m", "--propagation", "private"]
        command += ["-p", "--fork", "--kill-child"] if own_pids else []
        command += ["sh", "-ec", OWN_ROOT, "sh", str(root), workload_path(name), str(root), "--wait", *map(str, args)]
        self.start(command)
        self.own_pids = own_pids

    @property
    def pid(self):
        pid = self.process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text()) if self.own_pids else pid
