from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from fedbandits.crypto.aead import (
    NEVER,
    NONCE_BYTES,
    Channel,
    PacketLengthError,
    ReplayedPacketError,
    SealedBeforeError,
    StreamCipher,
    TamperedPacketError,
    counter_blocks,
    make_cipher,
    position_prefix,
)

KEY = bytes(range(32))
NAMES = ("aes-gcm", "stream", "none")


def pair(name, key=KEY):
    ciphers = (make_cipher(name, KEY), make_cipher(name, key))
    return [Channel(cipher, 1, 4) for cipher in ciphers]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_sealed_opens_again(name):
    sender, receiver = pair(name)
    last = NEVER
    for step in (5, 6, 900):
        for iteration in (1, 2):
            payloads = [bytes([step % 256, i, 0, 0]) for i in range(3)]
            sealed = sender.seal(step, iteration, range(3), payloads, last)
            assert receiver.open(step, iteration, range(3), sealed, last) == payloads
            last = step, iteration


def test_packets_are_aes_gcm_with_the_stated_position():
    (sealed,) = pair("aes-gcm")[0].seal(7, 2, [9], [b"abcd"], NEVER)
    position = bytes([1, 2]) + (7).to_bytes(6, "big") + (9).to_bytes(4, "big")
    nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    assert rest == AESGCM(KEY).encrypt(nonce, b"abcd", position)


def test_the_stream_cipher_is_aes_in_counter_mode():
    (sealed,) = pair("stream")[0].seal(7, 2, [9], [b"abcd"], NEVER)
    position = position_prefix(1, 7, 2) + (9).to_bytes(4, "big")
    counter = bytes(a ^ b for a, b in zip(position, sealed, strict=False)) + bytes(4)
    assert sealed[NONCE_BYTES:] == Cipher(AES(KEY), CTR(counter)).encryptor().update(b"abcd")


def test_the_stream_cipher_takes_packets_of_any_length():
    cipher, position = make_cipher("stream", KEY), [bytes(range(12)), bytes(12), bytes([7] * 12)]
    payloads = [bytes(range(256)) * 300, b"", b"abc" * 11]
    sealed = cipher.seal(position, payloads)
    assert cipher.open(position, sealed) == payloads
    for place, packet, payload in zip(position, sealed, payloads, strict=True):
        nonce, body = packet[:NONCE_BYTES], packet[NONCE_BYTES:]
        counter = bytes(a ^ b for a, b in zip(place, nonce, strict=True)) + bytes(4)
        assert body == Cipher(AES(KEY), CTR(counter)).encryptor().update(payload)


@pytest.mark.parametrize("name", ["aes-gcm", "stream"])
def test_one_position_twice_is_never_one_nonce_twice(name):
    """Two owners given one place, or one that is set up again, seal independently."""
    one, two = (channel.seal(5, 1, [0] * 50, [b"same"] * 50, NEVER) for channel in pair(name))
    assert len({packet[:NONCE_BYTES] for packet in one + two}) == 100
    assert len({packet[NONCE_BYTES:] for packet in one + two}) == 100


def test_bulk_key_stream_is_that_of_single_packets(monkeypatch):
    monkeypatch.setattr("fedbandits.crypto.aead.secrets.token_bytes", bytes)
    blocks = counter_blocks(1, first_step=300, steps=3, iterations=2, slots=4)
    stream = StreamCipher(KEY).keystream(blocks)
    for s, i, slot in np.ndindex(3, 2, 4):
        channel = Channel(StreamCipher(KEY), 1, 16)
        (sealed,) = channel.seal(300 + s, i + 1, [slot], [bytes(16)], NEVER)
        assert stream[s, i, slot].astype("<u8").tobytes() == sealed[NONCE_BYTES:]


WRONG = {
    "another key": lambda: pair("aes-gcm", key=KEY[::-1]),
    "turned round": lambda: [
        Channel(make_cipher("aes-gcm", KEY), direction, 4) for direction in (1, 2)
    ],
}


@pytest.mark.parametrize("case", WRONG)
def test_a_packet_from_elsewhere_does_not_open(case):
    sender, receiver = WRONG[case]()
    sealed = sender.seal(5, 1, range(2), [b"abcd", b"efgh"], NEVER)
    with pytest.raises(TamperedPacketError) as caught:
        receiver.open(5, 1, range(2), sealed, NEVER)
    assert "abcd" not in str(caught.value)


@pytest.mark.parametrize("place", [(6, 1, [0]), (5, 2, [0]), (5, 1, [1])])
def test_step_iteration_and_slot_are_bound(place):
    sender, receiver = pair("aes-gcm")
    sealed = sender.seal(5, 1, [0], [b"abcd"], NEVER)
    with pytest.raises(TamperedPacketError):
        receiver.open(*place, sealed, NEVER)


def test_every_changed_bit_is_noticed():
    sender, receiver = pair("aes-gcm")
    (sealed,) = sender.seal(5, 1, [0], [b"abcd"], NEVER)
    for position in range(8 * len(sealed)):
        changed = bytearray(sealed)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(TamperedPacketError):
            receiver.open(5, 1, [0], [bytes(changed)], NEVER)
    assert receiver.open(5, 1, [0], [sealed], NEVER) == [b"abcd"]


@pytest.mark.parametrize("name", NAMES)
def test_truncation_replay_and_reuse_are_refused(name):
    sender, receiver = pair(name)
    (sealed,) = sender.seal(5, 1, [0], [b"abcd"], NEVER)
    for wrong in (b"", sealed[:-1], sealed + b"x"):
        with pytest.raises(PacketLengthError):
            receiver.open(5, 1, [0], [wrong], NEVER)
    receiver.open(5, 1, [0], [sealed], NEVER)
    for again in ((5, 1), (4, 2)):
        with pytest.raises(ReplayedPacketError):
            receiver.open(*again, [0], [sealed], last=(5, 1))
        with pytest.raises(SealedBeforeError):
            sender.seal(*again, [0], [b"abcd"], last=(5, 1))


def test_a_step_has_its_limits():
    with pytest.raises(ValueError, match="48 bits"):
        position_prefix(1, 1 << 48, 1)
