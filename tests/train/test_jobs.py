"""Jobs: what makes them other runs, sent elsewhere as text, and grid files of them."""

from __future__ import annotations

import pytest

from softlabel.errors import FileError, SoftlabelError
from softlabel.train import Job, Run, file_job, jobs, read_grid
from softlabel.train.worker import complete_job

GRID = """
recipe = "small"
images = "cifar10h"
deliver = ["hard", "sls:resample=true"]
seeds = [3, 5]
[set]
lr = [0.1, 0.2]
epochs = 4
"""


@pytest.fixture
def write(tmp_path):
    def grid(text: str):
        path = tmp_path / "grid.toml"
        path.write_text(text)
        return path

    return grid


def test_lists_are_crossed(write):
    found = read_grid(write(GRID.replace(":resample=true", "")))
    assert len(found) == 2 * 2 * 2
    made = [(job.deliver, job.settings["lr"], job.seed) for job in found]
    assert made[:3] == [("hard", 0.1, 3), ("hard", 0.1, 5), ("hard", 0.2, 3)]
    assert len(set(made)) == 8
    assert {(job.recipe, job.source.images, job.config.epochs) for job in found} == {
        ("small", "cifar10h", 4)
    }


def test_five_seeds_unless_told(write):
    found = read_grid(write('recipe = ["small", "u20"]\nimages = "x.npz"\n'))
    assert [(job.recipe, job.seed) for job in found] == [
        (recipe, seed) for recipe in ("small", "u20") for seed in range(5)
    ]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "recipe",
            "recipes",
            r"no key called 'recipes' \(did you mean 'recipe'\?\); the keys of a",
        ),
        ('recipe = "small"', "", "has no recipe; the keys of a grid are"),
        ('"small"', '"smalll"', r"no recipe called 'smalll' \(did you mean 'small'\?\)"),
        ("epochs", "epoch", r"no setting called 'epoch' \(did you mean 'epochs'\?\)"),
        ("epochs = 4", "epochs = 4.5", "epochs = 4.5 is of the wrong type"),
        ("epochs = 4", "epochs = 0", "epochs = 0 must be at least 1"),
        ("epochs = 4", 'schedule = "cosin"', r"'cosin' \(did you mean 'cosine'\?\)"),
        ("sls:resample=true", "slss", r"no deliver called 'slss' \(did you mean 'sls'\?\)"),
        ("resample=true", "rate=1", "no option of deliver 'sls' called 'rate'"),
        ("[3, 5]", "0", "seeds = 0 is neither a number of seeds nor a list of them"),
        ("[3, 5]", '["a"]', "is neither a number of seeds nor a list"),
        ("[3, 5]", "[7, 5, 7]", "seeds names 7 twice"),
        ("[0.1, 0.2]", "[]", r"lr = \[\] leaves nothing to run"),
        ("[0.1, 0.2]", "[0.1, 0.1]", "lr names 0.1 twice"),
        ('"cifar10h"', "7", "images = 7 is not text"),
        ("[set]", "[sets]", r"no key called 'sets' \(did you mean 'set'\?\)"),
        ("[set]", "[set", "is not TOML"),
    ],
)
def test_mistakes_are_found_before_anything_runs(write, before, after, message):
    text = GRID if "resample" in before else GRID.replace(":resample=true", "")
    assert before in text
    with pytest.raises(FileError, match=message) as error:
        read_grid(write(text.replace(before, after, 1)))
    assert "grid.toml" in str(error.value)
    with pytest.raises(FileError, match="no such file"):
        read_grid(write(text).with_name("other.toml"))


# ── one job ──────────────────────────────────────────────────────────────────────────────────


def test_labels_delivery_and_settings_make_other_runs(toy):
    made = [
        file_job(**toy.words()),
        file_job(**toy.words(seed=1)),
        file_job(**toy.words(labels=toy.labels)),
        file_job(**toy.words(deliver="hard")),
        file_job(**toy.words(settings={"lr": 0.2})),
        file_job(**toy.words(recipe="u20")),
    ]
    assert len({job.start_run().name for job in made}) == len(made)
    often = file_job(**toy.words(settings={"checkpoint_seconds": 9.0}))  # decides nothing
    assert often.start_run().name == made[0].start_run().name
    assert Job.from_json(made[4].to_json()) == made[4]


def test_a_job_for_somebody_elsewhere_has_whole_paths(toy, monkeypatch):
    monkeypatch.chdir(toy.folder)
    job = file_job("small", "toy.npz", "votes.csv", settings=toy.words()["settings"])
    sent = job.resolve()
    assert (sent.source.images, sent.out) == (toy.pictures, str(toy.folder / "runs"))
    assert file_job("small", "cifar10h").resolve().source.images == "cifar10h"
    assert sent.start_run() == Run(toy.folder / "runs" / job.start_run().name)  # the same run


def test_a_job_of_other_code_is_refused(monkeypatch):
    """By a worker that has another version, or after the code was changed while others ran."""
    sent = file_job("small", "cifar10h").to_json()
    monkeypatch.setattr(jobs, "code_digest", lambda: "0123456789abcdef")
    with pytest.raises(SoftlabelError, match="and this process has 0123456789abcdef"):
        Job.from_json(sent)
    assert complete_job(sent)["state"] == "failed"


def test_files_that_change_are_read_again(toy):
    job = file_job(**toy.words())
    before = job.start_run().name
    assert job.split() is job.split()
    lines = (toy.folder / "votes.csv").read_text().splitlines()
    (toy.folder / "votes.csv").write_text("\n".join(lines[:-5]) + "\n")
    assert job.start_run().name != before
