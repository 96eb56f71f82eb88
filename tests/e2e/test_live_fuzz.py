# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Some seconds of what tests/soak/soak_fuzz does for ten minutes."""

import os
import random

import pytest
from live_fuzz import Fuzz

pytestmark = [pytest.mark.thorough, pytest.mark.needs("unwinding")]


def test_mutated_files_of_a_user_against_live_runs():
    """STACKCOUNT_SEED=N: that one."""
    seed = os.environ.get("STACKCOUNT_SEED") or random.randrange(1 << 32)
    with Fuzz(seed, seconds=5) as fuzz:
        fuzz.run()
        fuzz.judge()
