# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of funccount: of counting a hit, compared with a program that does nothing."""

from events import GETPPID, Loads, attempt, held, in_turn
from table import middle, ratios, shown

ROUNDS_PER_ROUND = 3  # the machine's speed varies a hundred times more than this difference
MOST_NS = 15


def costs(setup, loads, jobs, ways):
    """{(name, way): [ns over the untraced load, per round]}"""
    result = {(name, way): [] for name, _ in jobs for way in ways}
    for r in range(setup.rounds * ROUNDS_PER_ROUND):
        setup.progress(f"{loads.kind}: round {r + 1} of {setup.rounds * ROUNDS_PER_ROUND}")
        for way, cpus in ways.items():
            for name, argv in in_turn(jobs, r):
                before = loads.run(cpus)
                figure = attempt(setup, name, lambda: held(loads, name, argv, cpus))
                base = (before + loads.run(cpus)) / 2
                result[name, way].append(None if figure is None else figure - base)
    return result


def over(values, floors):
    """The median of the differences within each round."""
    return middle([v - f for v, f in zip(values, floors) if v is not None and f is not None])


def hot_tracepoint(setup, table):
    table.title("funccount: t:syscalls:sys_enter_getppid, over a program that does nothing")
    category, name = GETPPID
    other = f"t:{category}:sys_enter_getpriority"
    jobs = [
        ("floor empty", [setup.bench / "floor", "empty", category, name]),
        ("funccount, one target", [setup.funccount, f"t:{category}:{name}"]),
        ("funccount, two targets", [setup.funccount, f"t:{category}:{name}", other]),
    ]
    ways = {"one CPU": [1], "two CPUs at once": [0, 1]}
    figures = costs(setup, Loads(setup, "getppid", setup.events), jobs, ways)
    for way in ways:
        empty = figures["floor empty", way]
        table.add(f"floor empty, {way}", shown(middle(empty), "ns"))
        for name, _ in jobs[1:]:
            more = over(figures[name, way], empty)
            table.add(f"{name}, {way}", f"+ {shown(more, 'ns', 1)}", goal=("value", MOST_NS, more))


def many_functions(setup, table):
    table.title("funccount: a user function (uprobe.multi), alone and among 10,000")
    program = setup.bench / "load-many"
    jobs = [
        ("alone", [setup.funccount, f"{program}:function_0000"]),
        ("among 10,000", [setup.funccount, f"{program}:function_*"]),
    ]
    loads = Loads(setup, "call", setup.events // 2, "load-many")
    figures = costs(setup, loads, jobs, {"": [1]})
    alone, among = figures["alone", ""], figures["among 10,000", ""]
    ratio = ratios(among, alone)
    table.add("alone", shown(middle(alone), "ns"))
    table.add("among 10,000", shown(middle(among), "ns"), ratio, "alone", ("ratio", 1.05, ratio))


def per_call(setup, table):
    hot_tracepoint(setup, table)
    many_functions(setup, table)
