"""The container file, and the proxies and the service of docs/running.md, as far as they can be
tried without a container engine."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
IDENTIFYING = ("$request ", "$request'", "$request_uri", "$args", "$query_string", "$http_referer")
IDENTIFYING += ("$remote_addr", "$http_cookie", "$uri ")


def block(kind, holding):
    """The one example of this kind that holds these words."""
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    (only,) = [text for text in found if holding in text]
    return only


# ── the container ────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def container():
    """Instructions and their arguments, in order."""
    text = (ROOT / "Containerfile").read_text()
    lines = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ").splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def of(container, name):
    return [rest for kind, rest in container if kind == name]


def test_the_image_is_made_of_files_that_exist_and_holds_no_secret(container):
    kinds = {kind for kind, _ in container}
    assert kinds == {
        *("FROM", "COPY", "RUN", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK"),
        "ENTRYPOINT",
    }
    for line in of(container, "COPY"):
        *sources, _ = line.split()
        assert all((ROOT / one).exists() for one in sources)
        assert not any(".softlabel" in one or one == "." for one in sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    copied = " ".join(of(container, "COPY"))
    assert all(one in copied for one in (project["readme"], *project["license-files"]))
    (run,) = of(container, "RUN")
    assert "'/source[serve]'" in run
    assert "serve" in project["optional-dependencies"]
    (base,) = of(container, "FROM")
    assert re.fullmatch(r"python:3\.\d+-slim", base)


def test_the_container_runs_as_nobody_in_particular(container):
    (user,), (volume,) = of(container, "USER"), of(container, "VOLUME")
    assert (user, volume) == ("softlabel", "/study")
    order = [kind for kind, _ in container]
    assert order.index("RUN") < order.index("USER") < order.index("ENTRYPOINT")
    assert "-o softlabel -g softlabel -m 0700 /study" in of(container, "RUN")[0]


def test_its_command_serves_and_its_token_stays_out_of_the_log(
    container, study_folder, serve_study
):
    folder = study_folder()
    (entry,) = map(json.loads, of(container, "ENTRYPOINT"))
    program, command, place, *options = (word.replace("/study", str(folder)) for word in entry)
    assert (program, command, place) == ("softlabel", "serve", str(folder))
    at = options.index("--port")
    assert of(container, "EXPOSE") == [options.pop(at + 1)]
    options.pop(at)
    served = serve_study(folder, *options)
    token = folder / ".softlabel" / "token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert token.read_text().strip() not in served.log.read_text()


def test_its_health_check_asks_whether_answers_can_be_stored(container, study_folder, serve_study):
    (line,) = of(container, "HEALTHCHECK")
    python, flag, code = json.loads(line.partition(" CMD ")[2])
    assert (python, flag) == ("python", "-c")
    assert "http://127.0.0.1:8000/ready" in code
    served = serve_study(study_folder())
    code = code.replace("http://127.0.0.1:8000", served.url)

    def healthy():
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        return done.returncode == 0

    assert healthy() == (httpx.get(f"{served.url}/ready").status_code == 200)
    served.end()
    assert not healthy()


# ── the service ──────────────────────────────────────────────────────────────────────────────


def test_the_unit_is_closed_and_its_command_exists():
    unit = dict(re.findall(r"(?m)^(\w+)=(.*)$", block("ini", "[Service]")))
    assert (unit["NoNewPrivileges"], unit["ProtectSystem"]) == ("yes", "strict")
    assert (unit["UMask"], unit["ReadWritePaths"]) == ("0077", "/srv/birds/study")
    program, command, *words = shlex.split(unit["ExecStart"])
    assert (Path(program).name, command) == ("softlabel", "serve")
    assert "--token-file" in words, "the journal keeps what is printed"
    known = subprocess.run(
        [sys.executable, "-m", "softlabel", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "200", "PYTHONPATH": ":".join(sys.path)},
    ).stdout
    assert all(word in known for word in words if word.startswith("--"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_the_unit(tmp_path):
    text = block("ini", "[Service]").replace("/srv/birds/venv/bin/softlabel", sys.executable)
    unit = tmp_path / "birds.service"
    unit.write_text(text.replace("User=birds\n", ""))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    about_it = [line for line in done.stderr.splitlines() if "birds.service" in line]
    assert about_it == []


# ── the proxies ──────────────────────────────────────────────────────────────────────────────


def test_the_log_of_nginx_identifies_nobody():
    text = block("nginx", "proxy_pass")
    assert text.count("{") == text.count("}")
    (name, logged) = re.search(r"log_format (\w+) ('.*');", text).groups()
    assert not any(word in logged for word in IDENTIFYING), logged
    assert re.search(rf"access_log \S+ {name};", text)
    assert re.search(r"(?m)^    ~\^/i/ /i/\.\.\.;$", text), "personal links are not logged"
    assert re.search(r"error_log \S+ crit;", text), "at lower levels it quotes requests"


def test_no_page_sends_its_address_anywhere(running):
    reply = running.person().get("/", params={"PROLIFIC_PID": "1" * 24})
    assert reply.headers["referrer-policy"] == "no-referrer"
