"""On whom a finding's cost concentrates, and when: what must be said of it (`expect.on`) against what a diagnosis says."""

import re

_DURATION = re.compile(r"(\d[\d,]*(?:\.\d+)?) ?(ns|µs|us|ms|s|min|h)\b")
_SECONDS = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}


def missed(wanted, diagnosis):
    """What does not hold of these expectations: texts."""
    misses = []
    for one in wanted:
        found = [f for f in diagnosis["findings"] if f["code"] in one["of"]]
        said = [entry for f in found for entry in f.get("where") or []]
        if not any(_holds(one, entry) for entry in said):
            asked = " or ".join(f"{by} {pattern}" for by, pattern in one["any"].items())
            instead = ", ".join(f"{entry['by']} {entry['value']}" for entry in said) or ("nobody" if found else "no such finding")
            misses.append(f"{' or '.join(one['of'])} on {asked} {one.get('durations_s', '')}: said is {instead}")
    return misses


def _holds(one, entry):
    pattern = one["any"].get(entry["by"])
    within = lambda value, limits: value is not None and limits[0] <= value <= limits[1]
    if pattern is None or not re.search(pattern, entry["value"]) or "share" in one and not within(entry["share"], one["share"]):
        return False
    ranges = one.get("durations_s", [])
    named = durations(entry["value"])
    return not ranges or len(named) == len(ranges) and all(map(within, named, ranges))


def durations(text):
    """Durations that a text names, in seconds."""
    return [float(number.replace(",", "")) * _SECONDS[unit] for number, unit in _DURATION.findall(text)]
