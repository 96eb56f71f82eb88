# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernel stacks that are walked in both ways, and compared."""

import re

from tool import Tool


COMPARE = ["--debug", "-K", "--self", "--without", "trust.kernel", "--top", "1"]
BY_TABLES = rb"kernel stacks: by tables from now on"

# Where another tracer is at work, stacks lead through its programs, which have no rows, and through return addresses
# that it has replaced.
BY_OTHERS = {"helper: code without a row", "helper: a return address replaced by tracing"}


class Walks:
    """The counts that --debug prints."""

    def __init__(self, result):
        self.result = result
        self.ends = {words: int(n) for n, words in re.findall(r"kernel stacks: (\d+) ([^(\n]+?)(?: \(.*)?$", result.err, re.M)}
        self.whole = self.ends.get("whole, by the kernel's tables", 0)
        by_helper = {words: n for words, n in self.ends.items() if words.startswith("helper: ")}
        self.by_helper = sum(by_helper.values())
        self.fallen_back = sum(n for words, n in by_helper.items() if words not in BY_OTHERS)
        compared = re.search(r"kernel stacks: (\d+) compared with the helper's, (\d+) different", result.err)
        self.compared, self.different = map(int, compared.groups())

    def check(self, least_share=0.99):
        assert self.different == 0 and "differs from" not in self.result.err, self.result
        assert self.compared == self.whole > 0, self.result
        assert self.whole >= least_share * (self.whole + self.fallen_back), self.result
        assert self.whole >= least_share / 2 * (self.whole + self.by_helper), self.result


def compare(work, *args):
    """The counts of both walks while @work runs, once the tables are there."""
    with Tool([*COMPARE, *args]) as tool:
        tool.wait_for("stderr", BY_TABLES)
        work()
        return Walks(tool.end().ok())
