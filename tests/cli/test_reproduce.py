"""``softlabel reproduce``: what it prints, and what it says without data."""

from __future__ import annotations


def test_the_replay_prints_ours_beside_the_targets(run, data_folder, tmp_path, monkeypatch):
    monkeypatch.delenv("SOFTLABEL_DATA")
    page = tmp_path / "pooling.md"
    done = run("reproduce", "pooling", "--quick", "--data", data_folder, "--output", page)
    assert done.code == 0
    assert "5 votes per image, mixture: KL" in done.out
    lines = [line for line in done.out.splitlines() if line.endswith((" pass", " FAIL"))]
    assert len(lines) == 25
    assert "| 6 rich answers, stack: KL | <= 0.200 |" in page.read_text()
    monkeypatch.setenv("SOFTLABEL_DATA", str(data_folder))  # the command has set it, too


def test_missing_data_say_how_to_get_them(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_DATA", "elsewhere")
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "cache"))
    done = run("reproduce", "pooling", "--data", tmp_path)
    assert done.code == 1
    assert "softlabel data fetch cifar10h" in done.err


def test_a_folder_that_is_not_there_is_wrong_usage(run, tmp_path):
    assert run("reproduce", "pooling", "--data", tmp_path / "nowhere").code == 2
