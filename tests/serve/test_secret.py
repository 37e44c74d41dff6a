"""The study's secret: made once, closed to others, and what is made from it."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from softlabel.errors import SoftlabelError
from softlabel.serve.secret import (
    Secret,
    hash_token,
    new_token,
    open_secret,
    open_with_token,
    read_secret,
)


def test_it_is_made_once_and_kept(tmp_path):
    first, token = open_with_token(tmp_path)
    again, nothing = open_with_token(tmp_path)
    assert (first, nothing) == (again, None)
    assert first.is_researcher(token)
    assert not first.is_researcher(token + "x")
    path = tmp_path / ".softlabel" / "secret.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token not in path.read_text()
    assert set(json.loads(path.read_text())) == {"key", "researcher"}
    assert [one.name for one in path.parent.iterdir()] == ["secret.json"], "no drafts are left"


def test_a_new_token_ends_the_old_one_and_nothing_else(tmp_path):
    first, old = open_with_token(tmp_path)
    second, new = open_with_token(tmp_path, renew=True)
    assert (second.key, second.is_researcher(new)) == (first.key, True)
    assert not second.is_researcher(old)
    assert stat.S_IMODE((tmp_path / ".softlabel" / "secret.json").stat().st_mode) == 0o600


def test_who_only_needs_the_key_gives_no_token_away(tmp_path):
    early = open_secret(tmp_path)
    assert not early.is_researcher("")
    later, token = open_with_token(tmp_path)
    assert (later.key, later.is_researcher(token)) == (early.key, True)


def test_a_file_that_others_can_read_is_refused(tmp_path):
    open_secret(tmp_path)
    path = tmp_path / ".softlabel" / "secret.json"
    for mode in (0o644, 0o640, 0o602):
        path.chmod(mode)
        with pytest.raises(
            SoftlabelError, match=r"can read this file; close it with: chmod 600 .*json"
        ):
            open_secret(tmp_path)
    path.chmod(0o600)
    open_secret(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"key": "zz", "researcher": ""}', '{"key": 1}'])
def test_a_damaged_file_is_not_replaced(tmp_path, text):
    open_secret(tmp_path)
    path = tmp_path / ".softlabel" / "secret.json"
    path.write_text(text)
    with pytest.raises(SoftlabelError, match="restore it from a backup"):
        open_with_token(tmp_path)
    assert path.read_text() == text


def test_servers_that_start_together_agree(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: open_with_token(tmp_path), range(8)))
    assert len({secret.key for secret, _ in made}) == 1
    (token,) = [token for _, token in made if token is not None]
    assert all(secret.is_researcher(token) for secret, _ in made), "one of them tells, for all"


def test_pseudonyms_depend_on_key_kind_and_id():
    ann, bob = Secret(b"1" * 32, ""), Secret(b"2" * 32, "")
    made = [
        ann.pseudonym("prolific", "x"),
        ann.pseudonym("url", "x"),
        bob.pseudonym("prolific", "x"),
    ]
    assert len(set(made)) == 3
    assert all(len(name) == 16 for name in made)
    assert ann.pseudonym("prolific", "x") == made[0]
    # HMAC-SHA256 of "prolific:x" under that key, computed by OpenSSL
    assert made[0] == "e3689263fab02ffe"


def test_tokens_have_256_bits_and_hashes_do_not_show_them():
    token = new_token()
    assert len(token) == 43
    assert read_back(hash_token(token)) != token
    assert len({new_token() for _ in range(100)}) == 100


def read_back(hashed):
    return bytes.fromhex(hashed).decode("latin-1")


def test_the_folder_of_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_secret(tmp_path / "secret.json")
