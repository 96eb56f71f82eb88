# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The loop driver, a module that guests have."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def delete_loop():
    return LIBC.syscall(176, b"loop", 0)


def insert_loop():
    with open("/tests/modules/loop.ko", "rb") as module:
        assert LIBC.syscall(313, module.fileno(), b"max_loop=2", 0) == 0, os.strerror(ctypes.get_errno())
