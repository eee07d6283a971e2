"""The list of kinds: a cause, its named parameter sets, and how parameters are drawn from a seed.

A kind is one function, marked with `@kind`, in a file of `lab/kinds`. It is called with a `Case` and its
parameters; it records the case and returns what must be said of it (`expect.Expectation`).
"""

import importlib
import math
import pkgutil
import random
from dataclasses import dataclass
from typing import Callable

KINDS = {}


@dataclass
class Kind:
    name: str
    title: str
    record: Callable
    sets: dict
    draw: Callable
    # A field case ("B7") that it rebuilds, if it does.
    field_case: str | None


def kind(name, title, *, mild, harsh, healthy, draw, field_case=None, **more):
    """Declares a kind. `mild`, `harsh`, `healthy` and any further keyword are parameter sets (dicts);
    `healthy` is the twin without the fault under like load (None where the kind itself is healthy).
    `draw(dice)` returns a parameter set."""

    def declare(record):
        assert name not in KINDS, f"two kinds are called {name}"
        sets = {"mild": mild, "harsh": harsh, **({} if healthy is None else {"healthy": healthy}), **more}
        KINDS[name] = Kind(name, title, record, sets, draw, field_case)
        return record

    return declare


class Dice(random.Random):
    """Draws parameters."""

    def log_uniform(self, low, high):
        """Between low and high, each order of magnitude as likely; three significant digits."""
        return float(f"{math.exp(self.uniform(math.log(low), math.log(high))):.3g}")


def load():
    """Imports all files of `lab/kinds`; returns the kinds by name."""
    import kinds as folder

    for module in sorted(m.name for m in pkgutil.iter_modules(folder.__path__)):
        importlib.import_module(f"kinds.{module}")
    return KINDS
