"""Exit codes, help, versions, and what becomes of the unexpected."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
import typer.main

import softlabel
from softlabel import registry
from softlabel.cli import app, shared
from softlabel.cli.shared import ORDER

PROGRAM = typer.main.get_command(app)
GROUPS = {"": PROGRAM} | {
    name: command for name, command in PROGRAM.commands.items() if hasattr(command, "commands")
}
COMMANDS = [[], *([*group.split(), name] for group in GROUPS for name in GROUPS[group].commands)]
VOTES = "item,annotator,label\na,w1,x\na,w2,y\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_every_option(run, command):
    done = run(*command, "--help")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("  --"):
            beside = line.strip().partition("  ")[2].strip()
            below = lines[number + 1] if number + 1 < len(lines) else ""
            assert beside or below.startswith("     "), f"{line.strip()} has no help"


@pytest.mark.parametrize("group", GROUPS)
def test_help_says_of_every_command_what_it_does_in_a_whole_sentence(run, group):
    listed = run(*group.split(), "--help").out.partition("Commands:\n")[2]
    assert "..." not in listed
    said = " ".join(listed.split())
    for name, command in GROUPS[group].commands.items():
        first = " ".join(command.help.partition("\n\n")[0].split())
        assert first.endswith(".")
        assert f"{name} {first}" in said


def test_commands_are_in_the_order_of_the_work(run):
    listed = run("--help").out.partition("Commands:\n")[2].splitlines()
    names = [line.split()[0] for line in listed if line[2:3] != " "]
    assert names == list(ORDER)
    assert set(names) == set(PROGRAM.commands)


def test_label_has_no_more_options_than_can_be_kept_in_mind(run):
    options = [line for line in run("label", "--help").out.splitlines() if line.startswith("  --")]
    making, where = 8, 3  # the label, --arm of a comparison with it; --engine and its two
    learning = 3  # --gold, --intervals, --judges
    reading = 5  # --from, --columns, --missing, --spelling, --ordered, wherever answers are read
    most = making + learning + where + reading + 2  # --load and --help, which every command has
    assert len(options) <= most


def test_every_described_option_belongs_to_a_command():
    taken = {}
    for group in GROUPS.values():
        for command in group.commands.values():
            if not hasattr(command, "commands"):
                own = taken.setdefault(command.callback.__name__, set())
                own |= {parameter.name for parameter in command.params}
    for name, described in shared.OPTIONS.items():
        known = set().union(*taken.values()) if name == "shared" else taken[name]
        assert set(described) <= known, name


def test_version(run):
    assert run("--version") == (0, f"softlabel {softlabel.__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ["labl"],
        ["label"],
        ["label", "a.csv"],
        ["label", "a.csv", "b.csv", "--what"],
        ["label", "a.csv", "b.csv", "--repeats", "latest"],
        ["label", "a.csv", "b.csv", "--sample", "0"],
    ],
)
def test_wrong_usage_exits_with_2(run, words):
    assert run(*words).code == 2


@pytest.mark.parametrize("family", [*registry.FAMILIES, None])
def test_list_names_everything_with_its_defaults(run, family):
    out = run("list", *([family] if family else [])).out
    for name in [family] if family else registry.FAMILIES:
        for member, kind in registry.members(name).items():
            assert f"  {member}" in out
            assert getattr(kind, "paper", "") in out
            for parameter, (_, default) in registry.parameters(kind).items():
                assert f"{parameter}={default}" in out
    assert ("clamp:top=all,spread=0.1,mode=strict" in out) == (family in ("construct", None))


def test_list_of_a_family_that_does_not_exist(run):
    done = run("list", "pool")
    assert done.out == ""
    assert (done.code, "no family called 'pool'" in done.err) == (1, True)


def test_a_mistake_of_ours_is_owned(run, tmp_path, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("softlabel.labelling.label_source", broken)
    (tmp_path / "v.csv").write_text(VOTES)
    words = ("label", tmp_path / "v.csv", tmp_path / "s.csv")
    done = run(*words)
    assert done.code == 70
    assert done.err.startswith("error: this is a bug in softlabel (ZeroDivisionError: oh); ")
    assert "Traceback" not in done.err
    monkeypatch.setenv("SOFTLABEL_DEBUG", "1")
    assert "Traceback" in run(*words).err


def test_interruption_is_quiet(run, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("softlabel.labelling.label_source", interrupted)
    (tmp_path / "v.csv").write_text(VOTES)
    assert run("label", tmp_path / "v.csv", tmp_path / "s.csv") == (130, "", "")


def python(*words, **more):
    return subprocess.run(
        [sys.executable, "-m", "softlabel", *map(str, words)],
        capture_output=True,
        text=True,
        **more,
    )


def test_the_real_program(tmp_path):
    (tmp_path / "v.csv").write_text(VOTES)
    done = python("label", "v.csv", "s.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "s.csv").read_text() == "item,x,y,count\na,0.5,0.5,2\n"
    bad = python("label", "w.csv", "s.csv", cwd=tmp_path)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr == "error: w.csv: there is no such file\n"


def test_a_closed_pipe_is_no_crash():
    done = subprocess.run(
        f"{sys.executable} -m softlabel list | head -1", shell=True, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("mode:\n", "")


# a shell starts background jobs with SIGINT ignored, so the handler is set by hand
INTERRUPTIBLE = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from softlabel import cli, labelling

def endless(*arguments):
    print("working", flush=True)
    while True:
        time.sleep(0.01)

labelling.label_source = endless
sys.exit(cli.main(["label", "v.csv", "s.csv"]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_exits_with_130(tmp_path):
    (tmp_path / "v.csv").write_text(VOTES)
    words = [sys.executable, "-c", INTERRUPTIBLE]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=tmp_path, text=True, **pipes) as process:
        try:
            assert process.stdout.readline() == "working\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["v.csv"]


def test_progress_is_shown_on_a_terminal_after_a_while(monkeypatch):
    from rich.console import Console
    from rich.progress import Progress

    shown: list[str] = []
    monkeypatch.setattr(shared, "PATIENCE", 0.01)
    monkeypatch.setattr(Console, "is_terminal", property(lambda self: True))
    monkeypatch.setattr(Progress, "start", lambda self: shown.append("started"))
    monkeypatch.setattr(
        Progress, "update", lambda self, task, **values: shown.append(values["description"])
    )
    with shared.progress() as tell:
        time.sleep(0.1)
        tell("reading [red].csv")
    assert shown == ["started", "reading [red].csv"]
