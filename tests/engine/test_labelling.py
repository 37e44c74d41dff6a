"""``softlabel label --engine``: the labels of a single process, from files, folders and tables."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from softlabel import SoftLabels
from softlabel.cli import main
from softlabel.engine import ClusterPlan, label_on_cluster, labelling


@pytest.fixture
def run(capsys):
    def command(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, dict(line.split("  ", 1) for line in out.splitlines()), err

    return command


@pytest.fixture
def dask(cluster_client):
    """The address of the cluster, as users write it."""
    return cluster_client.scheduler.address.replace("tcp://", "dask://")


@pytest.fixture
def large(monkeypatch):
    """Every file is streamed."""
    monkeypatch.setattr(labelling.io.large, "LARGE", 0)


def labels_in(path) -> dict[str, list[float]]:
    frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    return {row[0]: list(row[1:]) for row in frame.iter_rows()}


def agree(one, other) -> None:
    assert set(one) == set(other)
    items = list(one)
    np.testing.assert_allclose(
        np.array([one[item] for item in items], float),
        np.array([other[item] for item in items], float),
        atol=1e-9,
    )


@pytest.mark.parametrize("name", ["v.csv", "v.parquet"])
def test_streamed_files_are_labelled_as_in_one_process(
    run, dask, large, votes, write_votes, tmp_path, name
):
    path = write_votes(votes, tmp_path / name)
    words = ("--aggregate", "dawid-skene")
    code, alone, _ = run("label", path, tmp_path / "one.csv", *words)
    assert code == 0
    code, facts, err = run(
        "label", path, tmp_path / "many.csv", *words, "--engine", dask, "--parts", 3
    )
    assert (code, err) == (0, "")
    agree(labels_in(tmp_path / "one.csv"), labels_in(tmp_path / "many.csv"))
    for fact in ("items", "annotators", "classes", "answers", "repeats dropped", "fit", "pool"):
        assert facts[fact] == alone[fact], fact
    assert facts["engine"].strip().startswith(f"{dask} (workers ")
    assert facts["engine"].endswith(", parts 3)")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["many.csv", "one.csv", name]


def test_tables_are_labelled_in_their_order(run, dask, votes, write_votes, tmp_path):
    path = write_votes(votes, tmp_path / "v.csv")
    words = ("--aggregate", "bayes-dawid-skene")
    run("label", path, tmp_path / "one.csv", *words)
    assert run("label", path, tmp_path / "many.csv", *words, "--engine", dask)[0] == 0
    one, many = labels_in(tmp_path / "one.csv"), labels_in(tmp_path / "many.csv")
    assert list(one) == list(many)
    agree(one, many)


@pytest.mark.parametrize(
    "pool", ["mean", "share", "majority:ties=random", "softmax:tau=2", "log-pool"]
)
@pytest.mark.parametrize("kind", ["votes", "soft_votes"])
def test_pools_of_one_item_at_a_time(run, dask, request, write_votes, tmp_path, pool, kind):
    path = write_votes(request.getfixturevalue(kind), tmp_path / "v.csv")
    run("label", path, tmp_path / "one.csv", "--aggregate", pool)
    code, _, err = run("label", path, tmp_path / "many.csv", "--aggregate", pool, "--engine", dask)
    assert (code, err) == (0, "")
    agree(labels_in(tmp_path / "one.csv"), labels_in(tmp_path / "many.csv"))


def test_every_kind_of_output_holds_the_same(run, dask, large, votes, write_votes, tmp_path):
    path = write_votes(votes, tmp_path / "v.csv")
    for kind in ("csv", "parquet", "jsonl", "npz"):
        out = tmp_path / f"s.{kind}"
        assert run("label", path, out, "--aggregate", "one-coin", "--engine", dask)[0] == 0
    frame = pl.read_parquet(tmp_path / "s.parquet")
    assert frame.columns == ["item", "c0", "c1", "c2", "c3", "count"]
    assert pl.read_csv(tmp_path / "s.csv").equals(frame)
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert lines == frame.to_dicts()
    soft = SoftLabels.load(tmp_path / "s.npz")
    assert soft.index.items.tolist() == frame["item"].to_list()
    np.testing.assert_array_equal(soft.probs, frame.select("c0", "c1", "c2", "c3").to_numpy())
    np.testing.assert_array_equal(soft.count, 6)
    assert (soft.estimand, len(soft.index.annotators)) == ("truth", 30)
    with np.load(tmp_path / "s.npz") as file:
        np.testing.assert_array_equal(file["c2"], frame["c2"].to_numpy())


@pytest.fixture
def branch_answers(tmp_path):
    """Answers of the mode search; some people name a branch, one item has no such answer."""
    rng = np.random.default_rng(3)
    labels = ["cat", "dog", "bird/owl", "bird/tit"]
    rows = []
    for item in [f"i{n}" for n in range(7)]:
        for person in "abcd":
            node = "dog" if item == "i4" else str(rng.choice(["bird", "cat", "dog", "bird/owl"]))
            chips = int(rng.integers(1, 20))
            other = "cat" if node != "cat" else "dog"
            picks = [{"node": node, "chips": chips}, {"node": other, "chips": 20 - chips}]
            kinds = ["target", "repeat"] if (item, person) == ("i1", "b") else ["target"]
            rows += [
                {
                    "schema": "softlabel.response/1",
                    "response_uuid": f"{item}-{person}-{kind}",
                    "item": item,
                    "annotator": person,
                    "labels": labels,
                    "presentation": {"kind": kind, "mode": "search", "mode_version": 3},
                    "answer": {"n": 20, "picks": picks, "rest": "ruled_out"},
                    "skip": None,
                }
                for kind in kinds
            ]
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("words", [(), ("--repeats", "mean"), ("--construct", "uniform")])
def test_answers_that_name_a_branch_have_the_same_column(run, dask, branch_answers, words):
    path, folder = branch_answers, branch_answers.parent
    for kind in ("csv", "npz", "jsonl", "parquet")[: 1 if words else 4]:
        one, many = folder / f"one.{kind}", folder / f"many.{kind}"
        assert run("label", path, one, *words)[0] == 0
        code, _, err = run("label", path, many, *words, "--engine", dask, "--parts", 3)
        assert (code, err) == (0, "")
        if kind == "npz":
            with np.load(one) as alone, np.load(many) as together:
                assert sorted(alone) == sorted(together)
                np.testing.assert_array_equal(alone["branch"], together["branch"])
        else:
            assert many.read_bytes() == one.read_bytes() or kind == "parquet"
    frame = pl.read_csv(folder / "many.csv")
    assert frame.columns[-2:] == ["count", "branch"]
    assert dict(frame.select("item", "branch").iter_rows())["i4"] == 0
    assert 0 < frame["branch"].max() < 1
    if not words:
        assert pl.read_parquet(folder / "many.parquet").equals(frame)


def test_a_folder_is_labelled_where_it_lies(run, dask, votes, write_votes, tmp_path):
    path = write_votes(votes, tmp_path / "v.csv")
    (tmp_path / "votes").mkdir()
    rows = pl.read_csv(path).with_columns(part=pl.col("item").str.slice(-1))
    for key, part in rows.partition_by("part", as_dict=True, include_key=False).items():
        part.write_parquet(tmp_path / "votes" / f"ends-in-{key[0]}.parquet")
    words = ("--aggregate", "fast-dawid-skene")
    run("label", path, tmp_path / "one.csv", *words)
    code, facts, err = run(
        "label", tmp_path / "votes", tmp_path / "many.parquet", *words, "--engine", dask
    )
    assert (code, err) == (0, "")
    assert "parts 10" in facts["engine"]
    agree(labels_in(tmp_path / "one.csv"), labels_in(tmp_path / "many.parquet"))


REPEATED = "item,annotator,label\ni,w1,x\nj,w1,x\ni,w2,y\ni,w1,y\nj,w2,x\n"


@pytest.mark.parametrize("streamed", [True, False])
def test_repeats(run, dask, tmp_path, monkeypatch, streamed):
    monkeypatch.setattr(labelling.io.large, "LARGE", 0 if streamed else 10**9)
    path = tmp_path / "v.csv"
    path.write_text(REPEATED)
    words = ("label", path, tmp_path / "s.csv", "--engine", dask)
    code, _, err = run(*words)
    assert code == 1
    assert "line 5: 'w1' answered item 'i' on line 2 and again here" in err
    assert not (tmp_path / "s.csv").exists()
    assert run(*words, "--repeats", "first")[1]["repeats dropped"].strip() == "1"
    assert labels_in(tmp_path / "s.csv")["i"] == [0.5, 0.5, 2]
    assert run(*words, "--repeats", "all")[1]["repeats dropped"].strip() == "0"
    assert labels_in(tmp_path / "s.csv")["i"] == pytest.approx([1 / 3, 2 / 3, 3])


def test_repeats_of_a_parquet_file_are_found_by_their_rows(run, dask, large, tmp_path):
    (tmp_path / "v.csv").write_text(REPEATED)
    pl.read_csv(tmp_path / "v.csv").write_parquet(tmp_path / "v.parquet")
    code, _, err = run("label", tmp_path / "v.parquet", tmp_path / "s.csv", "--engine", dask)
    assert (code, "'w1' answered item 'i' in row 1 and again in row 4" in err) == (1, True)


def test_gold_items_are_fixed(run, dask, large, votes, write_votes, tmp_path):
    path = write_votes(votes, tmp_path / "v.csv")
    (tmp_path / "gold.csv").write_text("item,label\nitem 5,c3\nitem 200,c0\nelsewhere,c1\n")
    words = ("--aggregate", "dawid-skene", "--gold", tmp_path / "gold.csv")
    run("label", path, tmp_path / "one.csv", *words)
    code, facts, _ = run("label", path, tmp_path / "many.csv", *words, "--engine", dask)
    assert (code, facts["gold"].strip()) == (0, "2 items fixed")
    many = labels_in(tmp_path / "many.csv")
    assert many["item 5"] == [0, 0, 0, 1, 6]
    agree(labels_in(tmp_path / "one.csv"), many)
    (tmp_path / "gold.csv").write_text("item,label\nelsewhere,c1\n")
    code, _, err = run("label", path, tmp_path / "many.csv", *words, "--engine", dask)
    assert (code, "names none of the items" in err) == (1, True)


def test_a_checkpoint_is_gone_on_from_and_belongs_to_its_fit(
    run, dask, large, votes, write_votes, tmp_path, monkeypatch
):
    path = write_votes(votes, tmp_path / "v.csv")
    words = ("label", path, tmp_path / "s.csv", "--engine", dask, "--checkpoint", tmp_path / "kept")
    method = ("--aggregate", "dawid-skene:n_iter=9,tol=0")
    assert run(*words, *method)[0] == 0
    whole = (tmp_path / "s.csv").read_bytes()
    split = []
    monkeypatch.setattr(labelling.parted, "split_file", lambda *_: split.append("again"))
    code, facts, _ = run(*words, *method)
    assert (code, split) == (0, []), "neither the parts nor the steps are made again"
    assert (tmp_path / "s.csv").read_bytes() == whole
    assert facts["fit"].strip().startswith("9 steps")
    code, _, err = run(*words, "--aggregate", "dawid-skene:n_iter=10,tol=0")
    assert (code, "is of another fit, whose pool was" in err) == (1, True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    code, _, err = run(*words[:-1], tmp_path / "other", *method)
    assert (code, "holds other files" in err) == (1, True)


REFUSED = [
    (["--aggregate", "glad", "--engine", "dask"], "glad needs all items at once"),
    (["--gold", "gold.csv", "--engine", "dask"], "--gold: mean does not learn from items"),
    (["--engine", "spark"], "no engine called 'spark'"),
    (["--engine", "dask://"], "no engine called 'dask://'"),
    (["--parts", 3], "--parts 3: is for --engine"),
    (["--checkpoint", "kept"], "--checkpoint kept: is for --engine"),
    (["--intervals", "--engine", "dask"], "--intervals"),
    (["--aggregate", "dawid-skene:tol=-1", "--engine", "dask"], "tol = -1.0"),
]


@pytest.mark.parametrize(("words", "complaint"), REFUSED)
def test_refusals(run, votes, write_votes, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    write_votes(votes, tmp_path / "v.csv")
    code, _, err = run("label", "v.csv", "s.csv", *words)
    assert (code, err.count("\n")) == (1, 1)
    assert complaint in err
    assert [file.name for file in tmp_path.iterdir()] == ["v.csv"]


def test_without_dask_it_is_said_what_to_install(run, votes, write_votes, tmp_path, monkeypatch):
    write_votes(votes, tmp_path / "v.csv")
    monkeypatch.setitem(__import__("sys").modules, "softlabel.engine.cluster", None)
    code, _, err = run("label", tmp_path / "v.csv", tmp_path / "s.csv", "--engine", "dask")
    assert (code, "pip install 'softlabel[cluster]'" in err) == (1, True)


def test_items_that_nobody_answered_have_no_label(cluster_client, tmp_path):
    from softlabel import Annotations, Index
    from softlabel import io as files
    from softlabel.labelling import Plan

    index = Index(["i", "nobody", "j"], ["a", "b"], ["x", "y"])
    said = Annotations(index, np.array([0, 0, 2]), np.array([0, 1, 1]), label=np.array([0, 1, 1]))
    source = files.Source("table", said, repeats="first")
    job = ClusterPlan("table", tmp_path / "s.csv", Plan(), lambda: source)
    label_on_cluster(job, cluster_client.scheduler.address.replace("tcp://", "dask://"))
    text = (tmp_path / "s.csv").read_text().splitlines()
    assert text == ["item,x,y,count", "i,0.5,0.5,2", "j,0.0,1.0,1", "nobody,,,0"]
