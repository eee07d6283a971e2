"""The notebook of the examples, from a fresh kernel: it runs, and draws three plots that say what they show."""

import ast
import os
import pathlib
import re

import pytest

# Where everything must hold, nothing is left out.
if not os.environ.get("CI"):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    pytest.importorskip("polars")

import nbformat  # noqa: E402
from nbclient import NotebookClient  # noqa: E402

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples/notebook/three-plots.ipynb"

# What stands on each plot, which is gone once it is drawn.
BEFORE = """
import matplotlib.pyplot as plt

said, shown = [], plt.show

def show():
    said.extend((ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) for ax in plt.gcf().axes)
    shown()

plt.show = show
"""


def test_it_draws_three_plots_with_titles_and_units():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells), "outputs are to be stripped"
    before, after = nbformat.v4.new_code_cell(BEFORE), nbformat.v4.new_code_cell("said")
    notebook.cells = [before, *notebook.cells, after]
    NotebookClient(notebook, resources={"metadata": {"path": NOTEBOOK.parent}}, timeout=120).execute()
    shown = [output.get("data", {}) for cell in cells for output in cell.outputs]
    assert sum("image/png" in data for data in shown) == 3
    assert any("The SERVER is slow" in data.get("text/html", "") for data in shown), "the diagnosis"
    said = ast.literal_eval(after.outputs[0].data["text/plain"])
    assert len(said) == 3 and all(title for title, _, _ in said)
    axes = [axis for _, *both in said for axis in both]
    assert [axis for axis in axes if not re.search(r"\((s|ms|%)\)$", axis)] == ["place: cause"]
