"""What a copy of a party's state opens: nothing before it, and nothing after fresh keys."""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest

from fedbandits.crypto import chains
from fedbandits.crypto.chains import Drawn, agreed, forward, message_key
from fedbandits.crypto.keystream import derive_key
from fedbandits.crypto.masks import PROTOCOL, Masks, PairKeys, salt_of
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.totals.keys import KEPT_PRIVATE, AgentKeys, keys_in, unpacked
from fedbandits.federation.totals.messages import Increment, Total, pack_words, unpack_words
from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets
from fedbandits.federation.totals.statements import pack_member, statement
from tests.federation.receiving import taken
from tests.federation.totals.world import World, pair_secret

RELEASES = 8
DRAWS = {"fresh": chains.draw, "never": chains.draw_nothing}


def played(draw, sums, world=None, seen=None):
    """A federation of one helper, and all that a controller sees of it."""
    world = world or World(agents=3, helpers=1, least=2, releases=RELEASES, draw=draw)
    seen = [] if seen is None else seen
    for number in sums:
        world.play(number, range(world.plan.agents), seen)
    return world, seen


def increments(seen, agent="agent-0"):
    return [each for each in seen if isinstance(each, Increment) and each.sender == agent]


def truth_of(world, message):
    """What is behind the masks of a message."""
    values = world.values[int(message.sender[-1])].view(np.uint64)
    return values[message.release] - values[message.base]


def opens(world, message, key):
    """Whether a key is that of the message's mask: by it the increment is read."""
    mask = np.empty(world.plan.size, np.uint64)
    Masks(key).fill(message.release, message.salt, mask)
    read = unpack_words(message.statistic, world.plan.size) - mask
    return bool((read == truth_of(world, message)).all())


def confirms(world, message, key):
    """Whether a key is that of the message's salt: by it a guess of the increment is confirmed."""
    place, total = int(message.sender[-1]), (message.total, message.total_digest)
    base = message.base, message.base_salt
    member = pack_member(place, 0, *base, *total, message.heard, message.public)
    text = statement(message.release, member) + pack_words(truth_of(world, message))
    return salt_of(key, text) == message.salt


def candidates(world, data):
    """Keys of masks that a thief makes of all 32 bytes in a row that are in a state.

    They may be a key of a mask, a chain, or the secret that the helper has handed to the agent.
    """
    label = f"{PROTOCOL} {world.terms.digest} agent-0 helper-0 chain"
    for at in range(len(data) - 31):
        key = data[at : at + 32]
        yield from (key, message_key(key))
        chain = derive_key(key, label)
        yield from (message_key(forward(chain, step)) for step in range(3))


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("party", ["agent-0", "helper-0"])
def test_who_steals_a_state_reads_no_message_that_was_sent_before(draw, party):
    world = World(agents=2, helpers=1, least=2, draw=DRAWS[draw])
    world, seen = played(None, (1, 2), world)
    before = world.parties[party].dump()
    world, seen = played(None, (3,), world, seen)
    sent = increments(seen)
    stolen = world.parties[party].dump()
    assert len(sent) == 3
    tried = set(candidates(world, stolen))
    assert not any(opens(world, message, key) for key in tried for message in sent)
    if draw == "never":  # the search can find: the state before has the key of the third
        assert any(opens(world, sent[2], key) for key in candidates(world, before))


def by_chain(world, keys, message, helper=0):
    """Keys of masks that a copy of an agent's keys has for a later message."""
    steps = message.release - keys.number
    for start in filter(None, (keys.chains, keys.ahead)):
        yield message_key(forward(start[helper], steps))


def read_later(world, keys, sent):
    return sum(any(opens(world, each, key) for key in by_chain(world, keys, each)) for each in sent)


@pytest.mark.parametrize(("draw", "read"), [("never", 6), ("fresh", 0)])
def test_an_old_backup_of_an_agent_reads_no_message_that_is_sent_later(draw, read):
    """Beside all that the controller sees. A chain alone would open all of them."""
    world, _ = played(DRAWS[draw], (1, 2))
    backup = world.agents[0].state.sending
    _, seen = played(None, range(3, RELEASES + 1), world)
    sent = increments(seen)
    assert len(sent) == 6
    assert read_later(world, backup.keys, sent) == read


@pytest.mark.parametrize(("draw", "known"), [("never", 6), ("fresh", 0)])
def test_an_old_backup_confirms_no_guess_of_what_is_sent_later(draw, known):
    """A salt is made of the numbers themselves, and few numbers can be guessed."""
    world, _ = played(DRAWS[draw], (1, 2))
    backup = world.agents[0].state.sending.keys
    _, seen = played(None, range(3, RELEASES + 1), world)

    def key_of(message):
        return message_key(forward(backup.own, message.release - backup.number))

    assert sum(confirms(world, each, key_of(each)) for each in increments(seen)) == known


@pytest.mark.parametrize(("draw", "read"), [("never", 5), ("fresh", 0)])
def test_a_backup_with_a_message_under_way_reads_none_after_it(draw, read):
    world, _ = played(DRAWS[draw], (1, 2))
    sent = [out for agent in world.agents for out in agent.end_round(3)]
    backup = world.agents[0].state.sending
    assert backup.pending == 3
    world.settle(sent)
    _, seen = played(None, range(4, RELEASES + 1), world)
    assert len(increments(seen)) == 5
    assert read_later(world, backup.keys, increments(seen)) == read


def test_a_copy_of_a_helper_reads_messages_for_its_keys_and_none_after_them():
    world, _ = played(chains.draw, (1, 2))
    copy = world.helpers[0].state.keys
    _, seen = played(None, range(3, RELEASES + 1), world)
    chain = unpacked(copy.chains)[0]
    known = {number: Drawn(key) for number, key in copy.drawn}
    read = []
    for message in increments(seen):
        steps = message.release - copy.number
        if drawn := known.get(message.heard):
            root = agreed(forward(chain, steps), drawn.agree(message.public))
            read.append(opens(world, message, message_key(root)))
        else:
            read.append(opens(world, message, message_key(forward(chain, steps))))
    assert read == [True] + [False] * 5


@pytest.mark.parametrize(("apart", "read"), [(KEPT_PRIVATE, KEPT_PRIVATE), (KEPT_PRIVATE + 1, 1)])
def test_copies_of_a_helper_read_what_is_between_them_if_few_sums_are(apart, read):
    """The later one has the private keys by which the chain of the earlier one goes on."""
    world = World(agents=2, helpers=1, least=2, releases=16, draw=chains.draw)
    played(None, (1, 2), world)
    early = world.helpers[0].state.keys
    _, seen = played(None, range(3, 3 + apart), world)
    late = world.helpers[0].state.keys
    chain = unpacked(early.chains)[0]
    known = {number: Drawn(key) for number, key in (*early.drawn, *late.drawn)}
    found = 0
    for message in increments(seen):
        if (drawn := known.get(message.heard)) is not None:
            chain = agreed(chain, drawn.agree(message.public))
        found += opens(world, message, message_key(chain))
        chain = forward(chain, 1)
    assert found == read


def test_who_was_silent_for_one_message_is_shut_out_though_keys_come_from_it_later():
    """The chain goes on from what was agreed on: a backup does not know it any more."""
    world, _ = played(chains.draw, (1, 2))
    backup = world.agents[0].state.sending.keys.chains[0]
    played(None, (3,), world)
    mine = chains.draw()  # it puts its own public key in the place of the helper's
    agent = world.agents[0]
    keys = msgspec.structs.replace(agent.state.sending.keys, public=(mine.public,))
    lied = msgspec.structs.replace(agent.state.sending, keys=keys)
    _, (message,) = agent.sender.send(lied, 4, world.values[0, 4])
    shared = mine.agree(message.public)
    assert opens(world, message, message_key(agreed(keys.chains[0], shared)))
    assert not opens(world, message, message_key(agreed(forward(backup, 1), shared)))


def test_both_sides_stay_together_whatever_is_late_lost_repeated_or_restarted():
    """Totals stay exact; that is only so while both make the same masks."""
    for seed in range(4):
        drawn = random.Random(seed)  # noqa: S311
        world = World(agents=4, helpers=2, least=2, releases=24, draw=chains.draw, seed=seed)
        waiting = {agent.name: [] for agent in world.agents}
        for number in range(1, 25):
            present = [i for i in range(4) if drawn.random() < 0.7]
            queue = [out for i in present for out in world.agents[i].end_round(number)]
            queue += queue[: drawn.randrange(2)]
            while queue:
                message = queue.pop(drawn.randrange(len(queue)))
                if drawn.random() < 0.3:
                    world.restart(message.receiver)
                if isinstance(message, Total):
                    waiting[message.receiver].append(message)
                    continue
                queue += taken(world.parties[message.receiver], message)
                controller = world.parties["controller"]
                if not queue and (awaited := controller.awaited) is not None:
                    queue += controller.deadline(awaited)
            for name, totals in waiting.items():
                if totals and drawn.random() < 0.6:  # the last one makes up for all others
                    for total in totals[-1:] if drawn.random() < 0.5 else totals:
                        world.settle(taken(world.parties[name], total))
                    totals.clear()
            world.total()
        opened = world.parties["controller"].state.opened
        assert opened.min() > 12
        assert not any(agent.state.sending.retired for agent in world.agents)


def summed(world, number, present, cut_off=()):
    """Have a sum made, whatever the numbers of messages; who is cut off gets nothing."""
    queue = [out for i in present for out in world.agents[i].end_round(number)]
    controller = world.parties["controller"]
    while queue or controller.state.newest < number:
        message = (queue := queue or controller.deadline(controller.awaited)).pop(0)
        if message.receiver not in cut_off:
            queue += taken(world.parties[message.receiver], message)


def test_an_agent_that_has_missed_too_many_totals_is_left_out_once():
    """Helpers have erased the private keys that go with the last ones that it has heard of."""
    for missed, opened in ((KEPT_PRIVATE - 1, True), (KEPT_PRIVATE, False)):
        world = World(agents=3, helpers=2, least=2, releases=16, draw=chains.draw)
        world.play(1, range(3))
        for number in range(2, missed + 2):
            summed(world, number, (0, 1), ("agent-2",))
        late = missed + 2
        summed(world, late, range(3))
        assert world.parties["controller"].state.opened[2] == (late if opened else 1)
        summed(world, late + 1, range(3))
        assert world.parties["controller"].state.opened.tolist() == [late + 1] * 3
        world.total()


def test_a_helper_has_no_key_of_a_sum_that_it_has_answered():
    """Its answer is kept: it could not be made again."""
    world, _ = played(chains.draw, (1, 2, 3))
    state = world.helpers[0].state
    assert state.keys.number == 4
    assert not state.keys.first.any()
    chain = PairKeys.derive(pair_secret(0, 0), world.terms.digest, "agent-0", "helper-0").chain
    assert chain not in state.keys.chains.tobytes()
    assert [number for number, _ in state.keys.drawn] == [1, 2, 3]
    world, _ = played(chains.draw_nothing, (1, 2))
    assert world.helpers[0].state.keys.drawn == ()


def test_nothing_that_has_keys_shows_them():
    """Not in a traceback, nor in the text of an error."""
    world, _ = played(chains.draw, (1, 2))
    agent, helper = world.agents[0].state.sending, world.helpers[0].state
    own, secret = b"o" * 32, pair_secret(0, 0)
    _, used = agent.keys.step(3, chains.draw)
    holders = {
        AgentSecrets((secret,), own): {secret, own},
        HelperSecrets((secret,)): {secret},
        PairKeys(secret, own, own): {secret, own},
        used: {*used.masks, used.salt},
    }
    texts = [(repr(each), keys) for each, keys in holders.items()]
    texts.append((repr(agent), {*agent.keys.chains, *agent.keys.confirmations, agent.keys.own}))
    texts.append((repr(helper), {key for _, key in helper.keys.drawn}))
    assert not [text for text, keys in texts for key in keys if repr(key)[2:-1] in text]
    assert "HelperKeys(number=3)" in texts[-1][0]  # whose arrays would be cut short


def test_keys_that_were_erased_make_no_message():
    """A state without keys is that of a party which has not read its store yet."""
    right = AgentKeys.first(AgentSecrets((bytes(32),), bytes(32)), "terms", "a", ["h"])
    after, _ = right.step(3, chains.draw)
    erased = AgentKeys.first(AgentSecrets((b"",), b""), "terms", "a", ["h"])
    for keys, number in ((after, 3), (after, 1), (erased, 1)):
        with pytest.raises(LocalProtocolError, match="erased"):
            keys.step(number, chains.draw)
    assert keys_in(bytes(64)) == (bytes(32), bytes(32))
    assert not world_keys_alike(right)


def world_keys_alike(keys):
    """Whether two messages would have one key in common."""
    made = []
    for _ in range(4):
        keys, used = keys.step(keys.number, chains.draw)
        keys = keys.over(is_opened=False)
        made += [*used.masks, used.salt]
    return len(set(made)) < len(made)
