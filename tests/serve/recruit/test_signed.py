"""Secure links: who comes with a token that Prolific has signed for us, and nobody else."""

from __future__ import annotations

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from softlabel.serve.recruit.signed import DAY, MINUTE, KeyRing, NoKeys, Unsigned, Verifier

IDS = {"PROLIFIC_PID": "5" * 24, "STUDY_ID": "1" * 24, "SESSION_ID": "6" * 24}


class Ticks:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def ticks():
    return Ticks()


@pytest.fixture
def ring(fake, ticks):
    return KeyRing(fake.url, ticks)


def make_claims(fake, **changes):
    claims = {
        "iss": "https://www.prolific.com",
        "aud": "https://birds.example.org",
        "exp": int(fake.now()) + 600,
        "prolific": IDS,
    }
    return {name: value for name, value in (claims | changes).items() if value is not None}


def fetches(fake):
    return sum("jwks" in line for line in fake.requests)


def test_a_signed_link_lets_in_and_the_token_leaves_the_address(announced):
    submission, person = announced.come()
    assert person.heading() == "Before you begin"
    assert announced.session(submission).annotator == announced.desk.pseudonym(submission.person)


def test_plain_ids_prove_nothing_where_links_are_signed(announced):
    reply = announced.running.person().get("/", params=IDS | {"STUDY_ID": announced.id})
    assert reply.status_code == 400
    assert announced.running.store.sessions("birds") == ()


def test_plain_ids_are_enough_where_they_are_not(announce):
    study = announce(signed="false")
    submission, _ = study.come()
    assert study.session(submission) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://elsewhere.example"},
        {"exp": 1},
        {"iss": "https://evil.example"},
        {"prolific": IDS},  # another study
        {"prolific": "me"},
    ],
    ids=["audience", "expired", "issuer", "study", "claim"],
)
def test_a_token_that_is_not_for_us_is_refused(announced, changes):
    submission, _ = announced.fake.take_place(announced.id)
    link = announced.fake.make_link(submission, **changes).removeprefix(announced.running.url)
    reply = announced.running.person().get(link)
    assert reply.status_code == 400
    assert "expired, or it was changed" in reply.text
    assert announced.running.store.sessions("birds") == ()


def test_a_token_is_read_whatever_way_the_host_is_written(fake, ring):
    reads = Verifier(ring, ["birds.example.org"]).read
    for audience in (
        "birds.example.org",
        "https://birds.example.org/",
        ["https://birds.example.org"],
    ):
        assert reads(fake.sign_token(make_claims(fake, aud=audience))) == IDS


@pytest.mark.parametrize("claim", ["exp", "aud", "iss", "prolific"])
def test_no_claim_may_be_missing(fake, ring, claim):
    token = fake.sign_token(make_claims(fake, **{claim: None}))
    with pytest.raises(Unsigned):
        Verifier(ring, ["birds.example.org"]).read(token)


def test_forged_tokens_are_refused(fake, ring):
    """Another key under a known name, a token without signature, and the public key as a secret."""
    read = Verifier(ring, ["birds.example.org"]).read
    genuine = fake.sign_token(make_claims(fake))
    id = jwt.get_unverified_header(genuine)["kid"]
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    named = {"kid": id}
    forged = [
        jwt.encode(make_claims(fake), other, algorithm="RS256", headers=named),
        jwt.encode(make_claims(fake), None, algorithm="none", headers=named),
        jwt.encode(make_claims(fake), "x" * 32, algorithm="HS256", headers=named),
        genuine[:-4] + "AAAA",
        "no token",
        "x" * 10_000,
    ]
    for token in forged:
        with pytest.raises(Unsigned):
            read(token)
    assert read(genuine) == IDS


def test_keys_are_kept_for_a_day(fake, ring, ticks):
    read = Verifier(ring, ["birds.example.org"]).read
    for _ in range(3):
        read(fake.sign_token(make_claims(fake)))
    assert fetches(fake) == 1
    ticks.now += DAY
    read(fake.sign_token(make_claims(fake)))
    assert fetches(fake) == 2


def test_a_new_key_is_fetched_when_it_is_first_used(fake, ring, ticks):
    read = Verifier(ring, ["birds.example.org"]).read
    old = fake.sign_token(make_claims(fake))
    assert read(old) == IDS
    fake.rotate_keys()
    ticks.now += MINUTE
    assert read(fake.sign_token(make_claims(fake))) == IDS
    assert read(old) == IDS, "the old key is still published"
    fake.rotate_keys(keep=0)
    ticks.now += DAY
    with pytest.raises(Unsigned):
        read(old)


def test_unknown_names_do_not_make_us_ask_more_than_once_a_minute(fake, ring, ticks):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    verifier = Verifier(ring, ["birds.example.org"])
    for number in range(20):
        token = jwt.encode(make_claims(fake), key, algorithm="RS256", headers={"kid": f"{number}"})
        with pytest.raises(Unsigned):
            verifier.read(token)
        ticks.now += 5
    assert fetches(fake) == 2


def test_old_keys_stay_while_new_ones_cannot_be_fetched(fake, ring, ticks, httpx_down):
    verifier = Verifier(ring, ["birds.example.org"])
    token = fake.sign_token(make_claims(fake))
    verifier.read(token)
    ticks.now += DAY
    with httpx_down():
        assert verifier.read(token) == IDS
        with pytest.raises(NoKeys):
            Verifier(KeyRing(fake.url, ticks), ["birds.example.org"]).read(token)


@pytest.fixture
def httpx_down(monkeypatch):
    def down():
        patch = pytest.MonkeyPatch.context()
        context = patch.__enter__()

        def fail(*args, **kwargs):
            raise httpx.ConnectError("down")

        context.setattr(httpx, "get", fail)

        class Closing:
            def __enter__(self):
                return None

            def __exit__(self, *_):
                patch.__exit__(None, None, None)

        return Closing()

    return down


def test_people_are_asked_to_come_back_while_nobody_can_be_recognised(announced, fake):
    fake.faults.clear()
    submission, _ = fake.take_place(announced.id)
    from softlabel.serve.fake_prolific import Fault

    fake.faults.append(Fault("jwks", 500))
    reply = announced.running.person().get(
        fake.make_link(submission).removeprefix(announced.running.url)
    )
    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "60"
