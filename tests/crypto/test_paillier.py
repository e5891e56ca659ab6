from __future__ import annotations

import math
import secrets

import phe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.crypto import paillier
from fedbandits.crypto.paillier import CiphertextError, PrivateKey, PublicKey
from fedbandits.errors import RemoteProtocolError

TINY = PrivateKey(7, 11)
#: Long enough to look like a key, short enough for many examples: 2^255 - 19 and 2^224 - 2^96 + 1.
SHORT = PrivateKey(2**255 - 19, 2**224 - 2**96 + 1)

#: Any size of message, with the ends made likely.
fractions = st.one_of(st.just(0.0), st.floats(0.0, 1.0, exclude_max=True))


@pytest.fixture(scope="session")
def key() -> PrivateKey:
    return paillier.generate(2048)


def messages_under(key: PrivateKey) -> st.SearchStrategy[int]:
    n = key.public_key.n
    return st.one_of(st.sampled_from([0, 1, n - 1]), st.integers(0, n - 1))


def oracle(key: PrivateKey) -> tuple[phe.PaillierPublicKey, phe.PaillierPrivateKey]:
    public = phe.PaillierPublicKey(key.public_key.n)
    return public, phe.PaillierPrivateKey(public, key.p, key.q)


def number(ciphertext: bytes) -> int:
    return int.from_bytes(ciphertext, "big")


def packed(key: PrivateKey, value: int) -> bytes:
    return value.to_bytes(key.public_key.ciphertext_size, "big")


# -- known answers


def test_known_answers_by_hand():
    # n = 15, n² = 225. E(0; 2) = 2^15 = 32768 = 145·225 + 143; E(1; 1) = 16; E(7; 2): 7·15 + 1 =
    # 106, 106·143 = 15158 = 67·225 + 83.
    small = PrivateKey(3, 5)
    assert paillier._encrypt(15, 0, 2) == 143
    assert paillier._encrypt(15, 1, 1) == 16
    assert paillier._encrypt(15, 7, 2) == 83
    assert [small.decrypt(bytes([c])) for c in (143, 16, 83)] == [0, 1, 7]


@pytest.mark.parametrize("primes", [(7, 11), (11, 7), (5, 13), (3, 5)])
def test_every_message_with_every_randomness_comes_back(primes):
    key = PrivateKey(*primes)
    n = key.public_key.n
    units = [r for r in range(1, n) if math.gcd(r, n) == 1]
    seen = set()
    for message in range(n):
        for r in units:
            ciphertext = (n + 1) ** message * r**n % n**2  # the definition, unabridged
            assert paillier._encrypt(n, message, r) == ciphertext
            assert key.decrypt(packed(key, ciphertext)) == message
            seen.add(ciphertext)
    # One-to-one and onto Z*ₙ²: every ciphertext that is accepted is one of a message.
    assert seen == {c for c in range(1, n**2) if math.gcd(c, n) == 1}


# -- properties


@given(st.data())
def test_round_trip(data):
    message = data.draw(messages_under(SHORT))
    assert SHORT.decrypt(SHORT.public_key.encrypt(message)) == message


@given(st.lists(messages_under(SHORT), min_size=1, max_size=12))
def test_the_sum_of_ciphertexts_is_one_of_the_sum(messages):
    public = SHORT.public_key
    total = public.add(*map(public.encrypt, messages))
    assert SHORT.decrypt(total) == sum(messages) % public.n


@settings(max_examples=8)
@given(data=st.data())
def test_a_real_key_adds_too(key, data):
    messages = data.draw(st.lists(messages_under(key), min_size=1, max_size=4))
    public = key.public_key
    assert key.decrypt(public.add(*map(public.encrypt, messages))) == sum(messages) % public.n


def test_partial_sums_can_be_added_in_any_order(key):
    public = key.public_key
    a, b, c = map(public.encrypt, (3, 40, 500))
    assert public.add(public.add(a, b), c) == public.add(c, a, b)
    assert public.add(a) == a


# -- against an independent implementation


@settings(max_examples=8)
@given(data=st.data())
def test_the_same_randomness_gives_the_oracles_ciphertext(key, data):
    n = key.public_key.n
    message, r = data.draw(messages_under(key)), data.draw(st.integers(1, n - 1))
    assert paillier._encrypt(n, message, r) == oracle(key)[0].raw_encrypt(message, r_value=r)


@settings(max_examples=8)
@given(data=st.data())
def test_each_decrypts_what_the_other_encrypted(key, data):
    message = data.draw(messages_under(key))
    public, private = oracle(key)
    assert private.raw_decrypt(number(key.public_key.encrypt(message))) == message
    assert key.decrypt(packed(key, public.raw_encrypt(message))) == message


def test_ours_and_theirs_can_be_added(key):
    public, _ = oracle(key)
    theirs = packed(key, public.raw_encrypt(1000))
    assert key.decrypt(key.public_key.add(theirs, key.public_key.encrypt(234))) == 1234


def test_a_key_of_theirs_decrypts_here():
    public, private = phe.generate_paillier_keypair(n_length=512)
    mine = PrivateKey(int(private.p), int(private.q))
    assert mine.decrypt(packed(mine, public.raw_encrypt(42))) == 42


# -- randomness


def test_two_encryptions_of_a_message_differ(key):
    ciphertexts = {key.public_key.encrypt(5) for _ in range(10)}
    assert len(ciphertexts) == 10


def test_randomness_covers_the_units_and_nothing_else():
    # 60 units; one is missed with probability below 60·e^(-50).
    drawn = {paillier._random_unit(77) for _ in range(3000)}
    assert drawn == {r for r in range(1, 77) if math.gcd(r, 77) == 1}


def test_randomness_comes_from_the_operating_system(monkeypatch):
    monkeypatch.setattr(secrets, "randbelow", lambda bound: min(7, bound - 1))
    assert number(TINY.public_key.encrypt(5)) == paillier._encrypt(77, 5, 8)


# -- keys


def test_a_generated_key_has_the_length_asked_for(key):
    assert key.public_key.bits == 2048
    assert key.p.bit_length() == key.q.bit_length() == 1024
    assert key.public_key.ciphertext_size == 512
    assert len(key.public_key.encrypt(0)) == 512
    assert key.public_key.n == key.p * key.q


@pytest.mark.parametrize("bits", [0, -2048, 512, 1024, 2047, 8192])
def test_other_lengths_are_refused(bits):
    with pytest.raises(ValueError, match=f"bits must be one of 2048, 3072, 4096, got {bits}"):
        paillier.generate(bits)


@pytest.mark.parametrize(
    ("p", "q", "why"),
    [
        (7, 7, "different"),
        (9, 11, "two primes"),
        (7, 1, "two primes"),
        (0, 7, "two primes"),
        (3, 7, "φ"),
        (7, 3, "φ"),
        (2, 5, "φ"),
    ],
)
def test_primes_that_make_no_key_are_refused(p, q, why):
    with pytest.raises(ValueError, match=why):
        PrivateKey(p, q)


@pytest.mark.parametrize("n", [-15, 0, 1, 13, 76])
def test_a_modulus_that_cannot_be_one_is_refused(n):
    with pytest.raises(ValueError, match="modulus"):
        PublicKey(n)


@pytest.mark.parametrize(
    ("n", "why"),
    [
        (2**521 - 1, "prime"),
        ((2**255 - 19) ** 2, "power"),
        (3 ** (2**10), "power"),
        (65_521 * (2**521 - 1), "65,536"),
        (3 * (2**3217 - 1), "65,536"),
        (61 * 999_983, "factor below 64"),
    ],
)  # fmt: skip
def test_a_modulus_that_anybody_can_factor_is_refused(n, why):
    with pytest.raises(ValueError, match=why):
        PublicKey(n)


def test_public_keys_are_values_and_cannot_change():
    assert PublicKey(77) == TINY.public_key
    assert hash(PublicKey(77)) == hash(TINY.public_key)
    assert PublicKey(77) != PublicKey(91)
    for changed in (TINY, TINY.public_key):
        with pytest.raises(AttributeError):
            changed.n = 5
    with pytest.raises(AttributeError):
        TINY.p = 5


# -- refusals


@pytest.mark.parametrize("message", [-1, 77, 10**30])
def test_messages_that_do_not_fit_are_refused(message):
    with pytest.raises(ValueError, match=r"\[0, n\)") as refusal:
        TINY.public_key.encrypt(message)
    assert str(message) not in str(refusal.value)


@pytest.mark.parametrize("message", [2.0, "2", None])
def test_messages_that_are_no_integers_are_refused(message):
    with pytest.raises(TypeError):
        TINY.public_key.encrypt(message)


def malformed(key: PrivateKey) -> dict[str, tuple[bytes, str]]:
    """Bytes that are no ciphertext, and what the error says of them."""
    n, size, good = key.public_key.n, key.public_key.ciphertext_size, key.public_key.encrypt(1)
    return {
        "empty": (b"", "bytes long, this is 0"),
        "truncated": (good[:-1], f"{size} bytes long, this is {size - 1}"),
        "too long": (good + b"\0", f"this is {size + 1}"),
        "padded": (b"\0" + good, f"this is {size + 1}"),
        "zero": (bytes(size), "between 0 and n²"),
        "n squared": (packed(key, n**2), "between 0 and n²"),
        "too large": (b"\xff" * size, "between 0 and n²"),
        "a multiple of p": (packed(key, key.p * 3), "factor in common"),
        "a multiple of q": (packed(key, key.q), "factor in common"),
        "a multiple of n": (packed(key, n), "factor in common"),
    }


@pytest.mark.parametrize("kind", malformed(TINY))
def test_malformed_ciphertexts_are_refused(key, kind):
    (bad, why), good = malformed(key)[kind], key.public_key.encrypt(1)
    for use in (key.decrypt, key.public_key.add, lambda c: key.public_key.add(good, c)):
        with pytest.raises(CiphertextError, match=why) as refusal:
            use(bad)
        assert isinstance(refusal.value, RemoteProtocolError)
        assert not shown(key, refusal.value)


def test_the_largest_ciphertext_is_accepted():
    assert TINY.decrypt(packed(TINY, 77**2 - 1)) == TINY.decrypt(
        packed(TINY, paillier._encrypt(77, 0, 76))
    )


def test_a_sum_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        TINY.public_key.add()


# -- secrets


def shown(key: PrivateKey, thing: object) -> bool:
    """Whether a secret, or the start of one, shows in what a log or a traceback would print."""
    texts = (repr(thing), str(thing), f"{thing}")
    secret = (key.p, key.q, (key.p - 1) * (key.q - 1))
    return any(form(s)[2:22] in text for s in secret for form in (str, hex) for text in texts)


def test_nothing_secret_shows(key):
    key.decrypt(key.public_key.encrypt(1))  # fills what is computed once
    assert repr(key) == str(key) == "PrivateKey(2048 bits)"
    assert repr(key.public_key) == "PublicKey(2048 bits)"
    assert not shown(key, key)
    assert not shown(key, vars(key)["_halves"])
    assert not shown(key, key.public_key)


def test_a_refused_key_does_not_show_its_primes(key):
    for p, q in ((key.p, key.p), (key.p, key.q + 2)):
        with pytest.raises(ValueError, match="primes") as refusal:
            PrivateKey(p, q)
        assert not shown(key, refusal.value)
