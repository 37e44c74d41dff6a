"""``softlabel new`` and ``softlabel check``."""

from __future__ import annotations

import shlex
import subprocess
import sys


def test_a_new_study_is_without_mistakes(run, tmp_path):
    folder = tmp_path / "shapes"
    made = run("new", folder)
    assert made.code == 0
    assert f"wrote {folder / 'study.toml'}\n" in made.out
    steps = f"softlabel check {folder}, softlabel preview {folder}, then softlabel serve {folder}"
    assert made.out.endswith(f"next: {steps}\n")
    looked = run("check", folder)
    assert (looked.code, looked.err) == (0, "")
    facts = looked.facts
    assert facts["study"].strip() == "shapes: Which shape is it?"
    assert facts["people"].strip() == "12 at least, for 6 answers per item"
    assert facts["minutes"].strip().startswith("about 4 per person at 5.7 s per answer")
    again = run("new", folder)
    assert (again.code, again.out) == (1, "")
    assert again.err == f"error: {folder}: exists already and is not empty; name a new folder\n"


def test_the_next_commands_can_be_copied(run, tmp_path):
    folder = tmp_path / "my shapes"
    (line,) = (line for line in run("new", folder).out.splitlines() if line.startswith("next: "))
    for part in line.removeprefix("next: ").replace("then ", "").split(", "):
        assert shlex.split(part) == ["softlabel", shlex.split(part)[1], str(folder)]
    hint = run("status", folder).err
    assert f"softlabel serve {shlex.quote(str(folder))} lets people in" in hint


def test_every_mistake_is_a_line_and_the_exit_code_is_1(run, tmp_path):
    run("new", tmp_path / "shapes")
    path = tmp_path / "shapes" / "study.toml"
    text = path.read_text(encoding="utf-8")
    text = text.replace('mode = "quick"', 'mode = "quik"').replace("repeats = 2", "repeats = 20")
    path.write_text(text.replace('"consent.md"', '"consnet.md"'), encoding="utf-8")
    looked = run("check", tmp_path / "shapes")
    assert looked.code == 1
    assert looked.out.splitlines() == [
        "study.toml, study.mode = 'quik': no mode called 'quik' (did you mean 'quick'?); there "
        "are: chips, classic, hard, quick, search",
        "study.toml, items.repeats = 20: a person has only 12 items, so at most 12 can be repeated",
        "study.toml, pages.consent = 'consnet.md': no such file (did you mean 'consent.md'?)",
    ]
    assert looked.err == f"error: 3 mistakes in {tmp_path / 'shapes'}; correct and check again\n"


def test_pay_batches_and_notes(run, tmp_path):
    (tmp_path / "items.csv").write_text("text,batch,glod\na,0,x\nb,0,x\nc,1,x\n")
    (tmp_path / "study.toml").write_text(
        '[study]\nlabels = ["a", "b"]\nmode = "classic"\n[items]\nsource = "items.csv"\n'
        '[pay]\ncurrency = "GBP"\nminutes = 10\nper_session = 2\n'
    )
    looked = run("check", tmp_path)
    assert looked.code == 0
    assert "note: items.csv, glod: is kept" in looked.err
    assert "note: study.toml, items: batches have from 1 to 2 items" in looked.err
    assert looked.facts["batches"].strip() == "2"
    assert looked.facts["pay"].strip().startswith("2.00 GBP per person, 24.00 GBP in total")


def test_help_does_not_load_what_reads_studies():
    code = (
        "import sys, softlabel.cli; sys.exit('pydantic' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
