"""``--ordered``: classes that are steps of a scale, in ``label`` and ``agree``."""

from __future__ import annotations

import pytest

from softlabel import SoftLabels

VOTES = "item,annotator,label\n" + "".join(
    f"i{i},{who},{label}\n"
    for i, labels in enumerate(("112", "455", "323", "154", "551", "234"))
    for who, label in zip("abc", labels, strict=True)
)


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


def test_the_ordinal_pool_asks_whether_classes_are_a_scale(run, votes, tmp_path):
    out = tmp_path / "labels.npz"
    done = run("label", votes, out, "--aggregate", "ordinal")
    assert (done.code, out.exists()) == (1, False)
    assert "is for classes that are steps of a scale; if they are (1, 2, 3, 4, 5)" in done.err
    assert run("label", votes, out, "--aggregate", "ordinal", "--ordered").code == 0
    found = SoftLabels.load(out)
    assert found.index.ordered
    assert found.probs[3].argmax() in (0, 3, 4)
    assert run("label", votes, tmp_path / "plain.npz").code == 0
    assert not SoftLabels.load(tmp_path / "plain.npz").index.ordered


def test_agreement_on_a_scale(run, votes):
    plain = run("agree", votes)
    assert "alpha (ordinal)" not in plain.out
    done = run("agree", votes, "--ordered")
    assert "alpha (brier)" in done.out
    rows = {
        line.split(")")[0]: line.split()[2] for line in done.out.splitlines() if "alpha" in line
    }
    # the values of the Python package krippendorff 0.9.0 for this table
    assert float(rows["alpha (ordinal"]) == pytest.approx(0.203794, abs=5e-5)
    assert float(rows["alpha (interval"]) == pytest.approx(0.208777, abs=5e-5)
    asked = run("agree", votes, "--distance", "ordinal").out
    assert "alpha (ordinal)     0.2038 [" in asked


def test_a_cluster_does_not_use_the_order(run, votes, tmp_path):
    done = run("label", votes, tmp_path / "labels.csv", "--ordered", "--engine", "dask")
    assert "--ordered: is not for --engine" in done.err
