# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs for pages: made up, and the same each time, so that their sums and pictures are known."""


from pprof_file import PprofFile

KERNEL, EXT4 = "[kernel.kallsyms]", "[ext4]"
NGINX, LIBC, SSL = "/usr/sbin/nginx", "/usr/lib/libc.so.6", "/usr/lib/libssl.so.3"
AGENT, JIT, JLI, JAVA = "/usr/bin/agent", "/tmp/perf-77.map", "/usr/lib/jvm/libjli.so", "/usr/lib/jvm/libjava.so"

N_SLICES = 20
SLICE_NS = 500_000_000
COMMENTS = ["stackcount:version=1", "stackcount:program=stackcount 0.9",
            "stackcount:command=stackcount -P -i 1 vfs_read", "stackcount:host=web-3",
            "stackcount:kernel=6.18.1-amd64", "stackcount:cost_ns=412",
            "stackcount:loss=12 no room for a new stack", "Lost: 12 hits: no room for a new stack"]


def frames(image, *names):
    return [(name, image) for name in names]


CALL = frames(KERNEL, "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "ksys_read", "vfs_read")
MAIN = [*frames(NGINX, "_start"), *frames(LIBC, "__libc_start_main"),
        *frames(NGINX, "main", "ngx_worker_process_cycle", "ngx_process_events_and_timers")]
FILE = [*frames(EXT4, "ext4_file_read_iter"), *frames(KERNEL, "filemap_read")]

# Stacks from outside in, their hits, and whose they are. A list of names: the first ones are inlined.
STACKS = [
    ([*MAIN, *frames(NGINX, "ngx_http_static_handler", ("ngx_read_file", "ngx_open_cached_file")),
      *frames(LIBC, "pread64"), *CALL, *FILE, *frames(KERNEL, "copy_page_to_iter")], 400, "nginx", 812),
    ([*MAIN, *frames(NGINX, "ngx_http_proxy_handler"), *frames(SSL, "SSL_read", "ssl3_read_bytes"),
      *frames(LIBC, "read"), *CALL, *frames(KERNEL, "sock_read_iter", "tcp_recvmsg")], 260, "nginx", 812),
    ([*MAIN, *frames(NGINX, "ngx_event_expire_timers"), *frames(LIBC, "read"), *CALL,
      *frames(KERNEL, "pipe_read")], 60, "nginx", 813),
    ([("[cut: depth]", ""), *frames(NGINX, "ngx_http_log_handler"), *frames(LIBC, "read"), *CALL], 40, "nginx", 813),
    ([*frames(AGENT, "runtime.goexit", "main.(*Collector).Run", "os.(*File).Read"), *CALL,
      *frames(KERNEL, "seq_read_iter")], 180, "agent", 977),
    ([*frames(LIBC, "clone3"), *frames(JLI, "JavaMain"), *frames(JIT, "Lcom/example/Store;::load"),
      *frames(JAVA, "readBytes"), *frames(LIBC, "read"), *CALL, *FILE], 140, "java", 1204),
    ([("", ""), *frames(LIBC, "read")], 20, "sh", 1301),
]


def file_of(**options):
    run = PprofFile(default="hits", **options)
    run.kernel = {KERNEL, EXT4}
    return run


def add_stacks(run, factors, labels=()):
    for i, (stack, hits, comm, pid) in enumerate(STACKS):
        hits = int(hits * factors.get(i, 1))
        if hits:
            run.add(stack, [hits, hits * (1 + i) * 1000], [("comm", comm), ("pid", pid), *labels])


def one_run():
    """Two values; 20 slices, of which number 4 has twice the hits of the others."""
    run = file_of(values=(("hits", "count"), ("latency", "nanoseconds")), duration_ns=N_SLICES * SLICE_NS,
                  begin_ns=1_700_000_000_000_000_000, comments=COMMENTS +
                  [f"stackcount:slice={i * SLICE_NS} {(i + 1) * SLICE_NS}" for i in range(N_SLICES)])
    for i in range(N_SLICES):
        for number_of, (stack, hits, comm, pid) in enumerate(STACKS):
            hits = hits // 20 * (2 if i == 4 else 1)
            run.add(stack, [hits, hits * (1 + number_of) * 1000], [("comm", comm), ("pid", pid), ("slice", i)])
    return run.bytes()


def hits_of_run(wanted=lambda stack, comm, pid: True):
    return sum(hits // 20 * 21 for stack, hits, comm, pid in STACKS if wanted(stack, comm, pid))


def two_runs():
    """A difference: the first stack has doubled, the second is half, the third has gone, the last is new."""
    run = file_of(values=(("hits", "count"), ("latency", "nanoseconds")), comments=COMMENTS)
    add_stacks(run, {0: 2, 1: 0.5, 2: 0})
    add_stacks(run, {0: -1, 1: -1, 2: -1, 3: -1, 4: -1, 5: -1, 6: 0}, [("pprof::base", "true")])
    return run.bytes()


HOSTILE = ["</script><script>document.title='run'</script>", "<!--<script>", "<img src=x onerror=document.title='run'>",
           "\"'`${document.title='run'}", "javascript:document.title='run'", "\u202egnihton\u202c", "a\u2066b\u2069c\u200b",
           "line\nbreak\ttab\x1b[31mred\x07", "\ufeffmark", "]]>", "&lt;script&gt;", "[cut: not by us]", "[unknown]",
           "__proto__", "constructor", "x" * 1_000_000, "\u0e01\u0e33\u0e33" * 300, "\U000e0041tag", "%s%n", "'; DROP"]


def hostile_run():
    """Each foreign text of a profile is one of HOSTILE."""
    keys = ("program", "command", "host", "kernel", "loss")
    run = PprofFile(values=((HOSTILE[0], HOSTILE[1]),), comments=[
        f"stackcount:{key}={'7 ' if key == 'loss' else ''}{HOSTILE[i]}" for i, key in enumerate(keys)] + HOSTILE[:15])
    for i, name in enumerate(HOSTILE):
        run.add([(name, "/bin/" + HOSTILE[-1 - i]), ("leaf", name[:1000])], 10 + i,
                [("comm", name[:4096]), (name[:100], HOSTILE[-1 - i][:1000])])
    return run.bytes()
