# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Write profiles in pprof's format, as other tools do, and with the comments that ours have."""

import gzip


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n) if n else b""


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, numbers):
    return block(field, b"".join(map(varint, numbers)))


class PprofFile:
    """Frames are (name, path of the image) pairs; a name may be a list, the inlined functions first.
    No path: in no image. DEFAULT: the value that viewers are to show first."""

    def __init__(self, values=(("hits", "count"),), comments=(), duration_ns=0, begin_ns=0, default=None):
        self.strings = {"": 0}
        self.mappings, self.functions, self.locations = {}, {}, {}
        self.mapping_parts, self.function_parts, self.location_parts = [], [], []
        self.samples = []
        self.values, self.comments, self.default = values, list(comments), default
        self.times = number(9, begin_ns) + number(10, duration_ns)
        self.kernel = set()  # paths

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def start(self, path):
        """Of a mapping. Addresses of the kernel are in the upper half."""
        return 0x400000 * self.mappings[path] + (0xFFFFFFFF << 32 if path in self.kernel else 0)

    def mapping(self, path):
        if not path:
            return 0
        if path not in self.mappings:
            n = self.mappings[path] = len(self.mappings) + 1
            start = self.start(path)
            self.mapping_parts.append(block(3, number(1, n) + number(2, start) + number(3, start + 0x400000) +
                                               number(5, self.string(path)) + number(6, self.string(f"{n:040x}"))))
        return self.mappings[path]

    def function(self, name, file=""):
        if name not in self.functions:
            n = self.functions[name] = len(self.functions) + 1
            self.function_parts.append(block(5, number(1, n) + number(2, self.string(name)) +
                                                number(3, self.string(name)) + number(4, self.string(file))))
        return self.functions[name]

    def location(self, names, path):
        names = tuple(names) if isinstance(names, (list, tuple)) else (names,)
        if (names, path) not in self.locations:
            n = self.locations[names, path] = len(self.locations) + 1
            mapping = self.mapping(path)
            lines = b"".join(block(4, number(1, self.function(name))) for name in names if name)
            address = self.start(path) + 16 * n if mapping else 0
            self.location_parts.append(block(4, number(1, n) + number(2, mapping) + number(3, address) + lines))
        return self.locations[names, path]

    def add(self, frames, values, labels=()):
        """FRAMES: outermost first. LABELS: (key, text or number) pairs."""
        ids = [self.location(*frame) for frame in reversed(frames)]
        parts = packed(1, ids) + packed(2, values if isinstance(values, (list, tuple)) else [values])
        for key, value in labels:
            of = number(2, self.string(value)) if isinstance(value, str) else number(3, value)
            parts += block(3, number(1, self.string(key)) + of)
        self.samples.append(block(2, parts))

    def bytes(self):
        types = [block(1, number(1, self.string(t)) + number(2, self.string(u))) for t, u in self.values]
        comments = list(self.comments)
        texts = packed(13, [self.string(c) for c in comments]) if comments else b""
        default = number(14, self.string(self.default)) if self.default else b""
        strings = [block(6, s.encode("utf-8", "surrogatepass")) for s in self.strings]
        return gzip.compress(b"".join([*types, *self.samples, *self.mapping_parts, *self.location_parts,
                                       *self.function_parts, *strings, self.times, texts, default]), 6, mtime=0)
