"""Finding, fetching and checking files, against a real server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from softlabel.datasets import FetchError, File, Info, MissingData, base, files
from softlabel.errors import FileError

BODY = bytes(range(256)) * 1000


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves ``server.files``; resumes if ``server.resumes``; stops after ``server.cut`` bytes."""

    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.asked.append((self.path, asked))
        body = self.server.files.get(self.path.partition("?")[0])
        if body is None:
            return self.send_error(404)
        start = 0
        if asked and self.server.resumes:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            if start >= len(body):
                return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start:][: self.server.cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked, running.resumes, running.cut = {}, [], True, None
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join(timeout=60)


@pytest.fixture(autouse=True)
def _nothing_of_the_user(monkeypatch):
    monkeypatch.delenv("SOFTLABEL_DATA", raising=False)


@pytest.fixture
def toy(server):
    """A data set of one file that the server has."""
    server.files["/votes.csv"] = BODY
    return Info(
        "toy", "Toy", "home", "MIT", (File("votes.csv", sha(BODY), server.url + "/votes.csv"),)
    )


# ── fetching ─────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_fetched_with_progress(toy, server):
    told = []
    (path,) = files.fetch(toy, lambda *now: told.append(now))
    assert path == base.cache_folder(toy) / "votes.csv"
    assert path.read_bytes() == BODY
    assert [name for name, _, _ in told] == ["votes.csv"] * len(told)
    done = [done for _, done, _ in told]
    assert done == sorted(done)
    assert len(done) > 1
    assert told[-1][1:] == (len(BODY), len(BODY))
    assert os.listdir(path.parent) == ["votes.csv"]
    assert base.locate(toy, "votes.csv") == path


def test_what_is_here_is_not_fetched_again(toy, server):
    files.fetch(toy)
    assert files.fetch(toy) == []
    assert len(server.asked) == 1


def test_a_file_in_the_users_own_folder_counts(toy, server, own_folder):
    (own_folder / "toy").mkdir()
    (own_folder / "toy" / "votes.csv.gz").write_bytes(gzip.compress(BODY, mtime=0))
    assert files.fetch(toy) == []
    assert server.asked == []


def test_a_wrong_file_in_the_users_own_folder_is_not_hidden(toy, own_folder):
    (own_folder / "toy").mkdir()
    (own_folder / "toy" / "votes.csv").write_bytes(b"other")
    with pytest.raises(FileError, match="hides the fetched file and should be moved away"):
        files.fetch(toy)


def test_a_damaged_file_in_the_cache_is_fetched_again(toy, server):
    (path,) = files.fetch(toy)
    path.write_bytes(BODY[:-1])
    assert files.fetch(toy) == [path]
    assert path.read_bytes() == BODY


def half_fetched(info, server):
    server.cut = 100_000
    with pytest.raises(FetchError, match="broke off after 100000 of 256000 bytes; fetch again"):
        files.fetch(info)
    server.cut = None
    assert (base.cache_folder(info) / "votes.csv.part").stat().st_size == 100_000


@pytest.mark.parametrize("resumes", [True, False])
def test_a_broken_download_goes_on(resumes, toy, server):
    half_fetched(toy, server)
    server.resumes = resumes
    told = []
    (path,) = files.fetch(toy, lambda *now: told.append(now))
    assert path.read_bytes() == BODY
    assert server.asked[-1] == ("/votes.csv", "bytes=100000-")
    assert (told[0][1] > 100_000) == resumes  # else it starts over
    assert told[-1][1:] == (len(BODY), len(BODY))
    assert os.listdir(path.parent) == ["votes.csv"]


def test_a_whole_part_only_needs_its_name(toy, server):
    folder = base.cache_folder(toy)
    folder.mkdir(parents=True)
    (folder / "votes.csv.part").write_bytes(BODY)  # the server answers 416
    (path,) = files.fetch(toy)
    assert path.read_bytes() == BODY


def test_a_wrong_checksum_keeps_nothing(toy, server):
    server.files["/votes.csv"] = BODY[::-1]
    with pytest.raises(FetchError) as caught:
        files.fetch(toy)
    for told in ("votes.csv", sha(BODY), sha(BODY[::-1]), server.url):
        assert told in str(caught.value)
    assert os.listdir(base.cache_folder(toy)) == []


def test_a_wrong_checksum_leaves_the_other_files_alone(toy, server):
    (path,) = files.fetch(toy)
    wrong = Info("toy", "", "", "", (*toy.files, File("b", "0" * 64, server.url + "/votes.csv?b")))
    with pytest.raises(FetchError, match=r"b from .* was not kept"):
        files.fetch(wrong)
    assert path.read_bytes() == BODY


def test_an_address_that_is_gone(toy, server):
    server.files.clear()
    with pytest.raises(FetchError, match=r"/votes\.csv answered 404 Not Found"):
        files.fetch(toy)


def test_a_server_that_is_gone(toy, server):
    gone = Info("toy", "", "", "", (File("a", None, "http://127.0.0.1:1/a"),))
    with pytest.raises(FetchError, match=r"127\.0\.0\.1:1/a: .*refused.*fetch again"):
        files.fetch(gone)


def packed(kind, members):
    box = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(box, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(fileobj=box, mode="w:gz") as archive:
            for name, data in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return box.getvalue()


@pytest.fixture(params=["zip", "tar.gz"])
def boxed(request, server):
    """A data set of two members of an archive."""
    members = {"v1/one.txt": b"one" * 1000, "v1/two.txt": b"two", "v1/junk": b"x"}
    path = f"/box.{request.param}"
    server.files[path] = packed(request.param, members)
    files = tuple(
        File(name, sha(members[f"v1/{name}"]), server.url + path + "?dl=1", inner=f"v1/{name}")
        for name in ("one.txt", "two.txt")
    )
    return Info("boxed", "Boxed", "home", "MIT", files)


def test_members_of_an_archive(boxed, server):
    one, two = files.fetch(boxed)
    assert (one.read_bytes(), two.read_bytes()) == (b"one" * 1000, b"two")
    assert sorted(os.listdir(one.parent)) == ["one.txt", "two.txt"]
    assert len(server.asked) == 1
    two.unlink()
    assert files.fetch(boxed) == [two]


def test_a_member_that_is_not_there(boxed, server):
    absent = Info("boxed", "", "", "", (File("a", None, boxed.files[0].url, inner="v2/a"),))
    with pytest.raises(FileError, match="v2/a"):
        files.fetch(absent)
    assert os.listdir(base.cache_folder(boxed)) == []


def test_a_member_with_another_checksum(boxed, server):
    one = boxed.files[0]
    wrong = Info("boxed", "", "", "", (File(one.name, "0" * 64, one.url, inner=one.inner),))
    with pytest.raises(FetchError, match=r"one\.txt from .* was not kept"):
        files.fetch(wrong)
    assert os.listdir(base.cache_folder(boxed)) == []


def test_an_archive_that_is_none(boxed, server):
    server.files = dict.fromkeys(server.files, b"<html>sorry</html>")
    with pytest.raises(FileError, match="damaged or not what it should be"):
        files.fetch(boxed)
    assert os.listdir(base.cache_folder(boxed)) == []


def test_a_check_in_place_of_a_checksum(server):
    server.files["/a"] = b"a"
    said = ["the answers differ"]
    info = Info(
        "toy", "", "", "", (File("a", None, server.url + "/a", check=lambda path: said[0]),)
    )
    with pytest.raises(FetchError, match=r"a from .* was not kept: the answers differ"):
        files.fetch(info)
    said[0] = ""
    assert [path.name for path in files.fetch(info)] == ["a"]
    said[0] = "changed"
    assert files.verify(info) == ["changed"]


def test_files_to_be_got_by_hand(toy):
    both = Info(
        "toy", "", "", "", (File("b.npz", "0"), *toy.files), by_hand="Go to https://example.org."
    )
    with pytest.raises(MissingData) as caught:
        files.fetch(both)
    text = str(caught.value)
    assert "toy: b.npz is not in" in text
    assert "by hand. Go to https://example.org." in text
    assert base.find(both, "votes.csv")  # what could be fetched was


# ── finding ──────────────────────────────────────────────────────────────────────────────────


def test_the_users_own_folder_comes_first(toy, own_folder):
    fetched = base.cache_folder(toy) / "votes.csv"
    fetched.parent.mkdir(parents=True)
    fetched.write_bytes(BODY)
    assert base.find_files(toy) == {"votes.csv": fetched}
    own = own_folder / "toy" / "votes.csv.gz"
    own.parent.mkdir()
    own.write_bytes(gzip.compress(BODY, mtime=0))
    assert base.find_files(toy) == {"votes.csv": own}
    assert files.verify(toy) == []


def test_a_missing_file_says_where_it_was_looked_for(toy, own_folder):
    with pytest.raises(MissingData) as caught:
        base.locate(toy, "votes.csv")
    text = str(caught.value)
    for told in ("toy", "votes.csv", str(own_folder / "toy"), str(base.cache_folder(toy))):
        assert told in text
    assert text.endswith("Get it with: softlabel data fetch toy")


def test_a_missing_file_tells_of_the_variable(toy):
    with pytest.raises(MissingData, match=r"nor in \$SOFTLABEL_DATA/toy"):
        base.locate(toy, "votes.csv")


def test_where_the_cache_is(toy, monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "a"))
    assert base.cache_folder(toy) == tmp_path / "a" / "data" / "toy"
    monkeypatch.delenv("SOFTLABEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert base.cache_folder(toy) == tmp_path / "b" / "softlabel" / "data" / "toy"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert base.cache_folder(toy) == tmp_path / ".cache" / "softlabel" / "data" / "toy"


# ── checking ─────────────────────────────────────────────────────────────────────────────────


def test_verify(toy):
    assert files.verify(toy) == ["toy: none of its files is here"]
    (path,) = files.fetch(toy)
    assert files.verify(toy) == []
    path.write_bytes(b"other")
    assert files.verify(toy) == [f"{path}: sha256 is {sha(b'other')}, expected {sha(BODY)}"]
    path.unlink()
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(BODY, mtime=0)[:-20])
    (wrong,) = files.verify(toy)
    assert "votes.csv.gz: damaged" in wrong


def test_arrays_are_compared_whatever_the_zip(tmp_path):
    arrays = {"b": np.arange(6).reshape(2, 3), "a": np.array([1.5])}
    plain, packed_, other = (tmp_path / name for name in ("1.npz", "2.npz", "3.npz"))
    np.savez(plain, **arrays)
    np.savez_compressed(packed_, **dict(reversed(arrays.items())))
    np.savez(other, **{**arrays, "b": np.arange(6).reshape(3, 2)})
    digests = [files.digest(path, path.name) for path in (plain, packed_, other)]
    assert digests[0] == digests[1] != digests[2]
