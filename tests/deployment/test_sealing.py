"""Sealed frames open for their receiver alone, unaltered, under the same terms, and once."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.deployment.identity.sealing import OVERHEAD, WINDOW, Sealer, sealing_context
from fedbandits.errors import IdentityError, SealError

CONTEXT = sealing_context("clinics", "ab" * 16)
KEYS = {name: X25519PrivateKey.generate() for name in ("north", "south", "west")}
PUBLIC = {name: key.public_key().public_bytes_raw() for name, key in KEYS.items()}
SECRET = b"context and reward of one patient"


def sealer(name: str, context: bytes = CONTEXT, private: X25519PrivateKey | None = None) -> Sealer:
    """A new life of a member that knows all others."""
    made = Sealer(name, private or KEYS[name], context)
    for peer in PUBLIC.keys() - {name}:
        made.set_peer(peer, PUBLIC[peer])
    return made


@given(st.lists(st.binary(max_size=300), max_size=8), st.randoms(use_true_random=False))
def test_frames_open_in_any_order(contents, order):
    north, south = sealer("north"), sealer("south")
    frames = [(north.seal("south", content), content) for content in contents]
    order.shuffle(frames)
    for frame, content in frames:
        assert len(frame) == len(content) + OVERHEAD
        assert south.open("north", frame) == content


def test_the_same_content_never_looks_the_same_and_never_shows():
    north = sealer("north")
    frames = {north.seal("south", SECRET) for _ in range(50)}
    frames |= {sealer("north").seal("south", SECRET) for _ in range(50)}
    assert len({frame[-len(SECRET) - 16 :] for frame in frames}) == 100
    assert not any(SECRET in frame for frame in frames)


@settings(max_examples=300)
@given(st.binary(max_size=64), st.data())
def test_one_flipped_bit_anywhere_is_refused(content, data):
    north, south = sealer("north"), sealer("south")
    frame = north.seal("south", content)
    bit = data.draw(st.integers(0, 8 * len(frame) - 1))
    altered = bytearray(frame)
    altered[bit // 8] ^= 1 << bit % 8
    with pytest.raises(SealError):
        south.open("north", bytes(altered))
    assert south.open("north", frame) == content  # a refused frame has changed nothing


@given(st.binary(max_size=100))
def test_no_bytes_but_a_sealers_open(frame):
    with pytest.raises(SealError):
        sealer("south").open("north", frame)


def test_a_frame_that_is_cut_off_is_refused_by_name():
    frame = sealer("north").seal("south", SECRET)
    for length in range(len(frame)):
        with pytest.raises(SealError, match="cut off" if length < OVERHEAD else "does not open"):
            sealer("south").open("north", frame[:length])


@pytest.mark.parametrize(
    ("reader", "claimed"), [("west", "north"), ("south", "west"), ("north", "south")]
)
def test_a_frame_opens_for_its_receiver_alone_and_as_its_senders_alone(reader, claimed):
    """The last of these is a frame sent back to who sealed it."""
    frame = sealer("north").seal("south", SECRET)
    with pytest.raises(SealError, match="does not open"):
        sealer(reader).open(claimed, frame)


def test_names_are_bound_even_where_members_show_the_same_key():
    """Who names another's public key as its own gains nothing."""
    north, south = sealer("north"), sealer("south")
    for member in (north, south):
        member.set_peer("thief", PUBLIC["north" if member is south else "south"])
    with pytest.raises(SealError, match="does not open"):
        south.open("thief", north.seal("south", SECRET))
    with pytest.raises(SealError, match="does not open"):
        south.open("north", north.seal("thief", SECRET))


@pytest.mark.parametrize(
    "other", [sealing_context("clinics", "ac" * 16), sealing_context("clinic", "s" + "ab" * 16)]
)
def test_a_frame_under_other_terms_is_refused(other):
    with pytest.raises(SealError, match="other terms"):
        sealer("south").open("north", sealer("north", other).seal("south", SECRET))


def test_a_frame_that_was_opened_is_refused_when_it_comes_again():
    north, south = sealer("north"), sealer("south")
    frames = [north.seal("south", SECRET) for _ in range(3)]
    for frame in (frames[1], frames[2], frames[0]):
        south.open("north", frame)
        with pytest.raises(SealError, match="came again"):
            south.open("north", frame)


def test_a_frame_may_overtake_a_window_of_others_and_no_more():
    north, south = sealer("north"), sealer("south")
    frames = [north.seal("south", b"") for _ in range(WINDOW + 1)]
    south.open("north", frames[WINDOW])
    south.open("north", frames[1])
    with pytest.raises(SealError, match="long after"):
        south.open("north", frames[0])


def test_a_member_that_starts_anew_is_understood_and_few_lives_are_remembered():
    south = sealer("south")
    for _ in range(40):
        assert south.open("north", sealer("north").seal("south", SECRET)) == SECRET
    assert len(south._peers["north"].lives) == 4


def test_altered_frames_use_up_no_memory():
    south, frame = sealer("south"), sealer("north").seal("south", SECRET)
    for i in range(40):
        with pytest.raises(SealError):
            south.open("north", frame[:1] + bytes([i] * 16) + frame[17:])
    assert not south._peers["north"].lives


def test_a_new_key_of_a_peer_counts_at_once_and_the_earlier_one_no_longer():
    new = X25519PrivateKey.generate()
    north, south, earlier = sealer("north", private=new), sealer("south"), sealer("north")
    on_its_way = earlier.seal("south", SECRET)
    with pytest.raises(SealError, match="another key"):
        south.open("north", north.seal("south", SECRET))
    south.set_peer("north", new.public_key().public_bytes_raw())
    assert south.open("north", north.seal("south", SECRET)) == SECRET
    assert north.open("south", south.seal("north", SECRET)) == SECRET
    with pytest.raises(SealError):
        south.open("north", on_its_way)


def test_the_same_key_again_changes_nothing_so_no_frame_comes_twice():
    north, south = sealer("north"), sealer("south")
    frame = north.seal("south", SECRET)
    south.open("north", frame)
    south.set_peer("north", PUBLIC["north"])
    with pytest.raises(SealError, match="came again"):
        south.open("north", frame)


def test_no_nonce_comes_again_when_a_peer_is_removed_and_comes_back():
    north = sealer("north")
    headers = []
    for _ in range(5):
        headers.append(north.seal("south", SECRET)[:25])
        north.remove_peer("south")
        north.set_peer("south", PUBLIC["south"])
    assert len(set(headers)) == 5


def test_who_was_revoked_is_refused_both_ways():
    north, south = sealer("north"), sealer("south")
    frame = north.seal("south", SECRET)
    south.remove_peer("north")
    assert south.peers == ("west",)
    with pytest.raises(SealError, match="no key of 'north'"):
        south.open("north", frame)
    with pytest.raises(SealError, match="no key of 'north'"):
        south.seal("north", SECRET)


@pytest.mark.parametrize("public", [b"", bytes(31), bytes(33), bytes(32), b"\1" + bytes(31)])
def test_keys_that_are_none_are_refused_and_the_earlier_one_stays(public):
    """The last two are points of small order: all who use them share the same secret."""
    north, south = sealer("north"), sealer("south")
    with pytest.raises(IdentityError, match="sealing key of 'north'"):
        south.set_peer("north", public)
    assert south.open("north", north.seal("south", SECRET)) == SECRET
