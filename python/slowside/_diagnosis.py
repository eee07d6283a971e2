"""The answer of ``slowside diagnose``, as an object."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Mapping, Optional

# The parts of a call's time, in the order in which it passes.
_PARTS = {
    "client_host_ns": "client host",
    "network_out_ns": "network out",
    "server_ns": "server",
    "network_back_ns": "network back",
}


class Diagnosis(Mapping[str, Any]):
    """``slowside.diagnosis/1`` as a mapping, with what is asked for most as attributes.

    Times are nanoseconds (``_ns``); what cannot be known is ``None``.
    """

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = dict(known)
        self._json: Optional[str] = None

    @classmethod
    def read(cls, answer: str) -> Diagnosis:
        """What ``slowside diagnose --format json`` wrote."""
        read = cls(json.loads(answer))
        read._json = answer
        return read

    @property
    def json(self) -> str:
        """As ``slowside diagnose --format json`` writes it."""
        return json.dumps(self._known) if self._json is None else self._json

    def __getitem__(self, name: str) -> Any:
        return self._known[name]

    def __iter__(self):
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def verdict(self) -> dict[str, Any]:
        """``side``, ``cause``, ``confidence`` (0 to 1), and the ``sentence``."""
        return self._known["verdict"]

    @property
    def side(self) -> str:
        """``client``, ``network``, ``server``, ``mixed``, ``none`` (nothing is wrong) or ``undetermined``."""
        return self.verdict["side"]

    @property
    def budget(self) -> dict[str, Optional[int]]:
        """Where a call's time goes, mean per call, ns."""
        return self._known["budget"]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Named causes, those that cost most first: ``code``, ``side``, ``cost_ns``, ``evidence``, ``why``, ``remedy``."""
        return self._known["findings"]

    @property
    def operations(self) -> list[dict[str, Any]]:
        """Response times by operation, at both ends."""
        return self._known["ops"]

    @property
    def captures(self) -> list[dict[str, Any]]:
        """What was read, and what it lacks."""
        return self._known["captures"]

    def __repr__(self) -> str:
        return f"<slowside.Diagnosis: {self.side}: {self.verdict['sentence']}>"

    def _repr_html_(self) -> str:
        parts = []
        for name, words in _PARTS.items():
            ns = self.budget.get(name)
            shown = "not known" if ns is None else f"{ns / 1e6:,.3f} ms"
            parts.append(f"<tr><td>{words}</td><td style='text-align:right'>{shown}</td></tr>")
        found = []
        for f in self.findings:
            cost = f.get("cost_ns")
            shown = "" if cost is None else f"{cost / 1e9:,.3f} s"
            cells = [f["code"], f["side"], shown, f["title"]]
            found.append("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in cells) + "</tr>")
        calls = self.budget.get("calls") or 0
        head = f"<p><b>{escape(self.verdict['sentence'])}</b></p>"
        budget = f"<table><caption>a call's time, mean of {calls:,}</caption>{''.join(parts)}</table>"
        findings = (
            "<table><tr><th>finding</th><th>side</th><th>cost</th><th></th></tr>"
            + "".join(found)
            + "</table>"
        )
        return head + budget + (findings if found else "")
