"""Twenty people fill a study in every mode, through a server process, and what they believe comes
out at the other end."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import SoftLabels, metrics, store
from softlabel.labelling import Plan, label_file
from softlabel.serve import export_answers
from softlabel.simulate import fill_study
from softlabel.simulate.people import FILE, read_truth_file

PEOPLE = 20


@pytest.mark.parametrize("mode", ["hard", "classic", "quick", "chips", "search"])
def test_twenty_people_fill_a_study_and_the_truth_is_recovered(
    make_study, stored, mode, serve_study
):
    study = make_study(mode)
    server = serve_study(study.folder, "--rehearsal")
    report = fill_study(server.url, study, annotators=PEOPLE, seed=2)
    assert not report.errors
    assert report.finished == PEOPLE
    assert report.acknowledged == PEOPLE * (len(study.items) + 1)
    told = [id for person in report.people for id in person.acknowledged]
    rows = stored(study)
    assert sorted(row.id for row in rows) == sorted(told)
    assert {row.mode for row in rows} == {mode}
    known = read_truth_file(study.folder / FILE, study.labels)
    labels = labels_of(study)
    true = np.array([known[name] for name in labels.index.items.tolist()])
    found = metrics.total_variation(true, labels.probs).mean()
    nothing = metrics.total_variation(true, np.full_like(true, 1 / len(study.labels))).mean()
    others = metrics.total_variation(true, np.roll(labels.probs, 1, axis=0)).mean()
    assert found < 0.5 * nothing
    assert found < 0.5 * others


def labels_of(study) -> SoftLabels:
    """Export, read, construct and pool."""
    responses, out = study.folder / "responses.jsonl", study.folder / "labels.npz"
    with store.open(study.folder / ".softlabel/rehearsal.db", read_only=True) as answers:
        export_answers(study, answers, responses)
    label_file(responses, out, Plan(repeats="first"))
    return SoftLabels.load(out)
