"""Keys of secure sums that were used are nowhere on a machine any more."""

from __future__ import annotations

import sqlalchemy as sa

from fedbandits.deployment.storage.store import SECRETS
from fedbandits.federation.totals.keys import unpacked
from fedbandits.federation.totals.messages import Increment, Opened
from tests.deployment.secure import AGENTS, HELPERS, is_sum, learn, played, release, summed


def kept(deployed, tmp_path, member):
    """All that a member's machine holds now, apart from what is in its memory."""
    return b"\0".join(path.read_bytes() for path in sorted(tmp_path.glob(f"{member}.*")))


async def sum_up(deployed, number):
    await learn(deployed)
    await release(deployed)
    await summed(deployed, number)


def agent_keys(deployed, agent):
    keys = deployed.state(agent).sending.keys
    return {*keys.chains, *keys.ahead, keys.own}


def helper_keys(deployed, helper):
    keys = deployed.state(helper).keys
    return {*unpacked(keys.chains), *unpacked(keys.first)}  # private ones are for more sums


def secrets_of_keys(batch):
    """The secrets in a store that keys of masks and salts follow from."""
    rows = batch.connection.execute(sa.select(SECRETS))
    return {row.name: row.value for row in rows if "masks" in row.name or "salts" in row.name}


def looked_at(deployed, tmp_path, before, left):
    """Note in ``left`` which keys of ``before`` a machine has when what they were for leaves."""

    def look(member, host, send):
        def sent(messages):
            kinds = {type(host.seat.federation.roles.codec.decode(m.body)) for m in messages}
            if kinds & {Increment, Opened}:
                here = kept(deployed, tmp_path, member)
                left.append((member, [key for key in before[member] if any(key) and key in here]))
            send(messages)

        return sent

    for member in before:
        host = deployed.nodes[member].host
        host._on_sent = look(member, host, host._on_sent)


def test_no_key_that_was_used_is_left_on_any_machine(tmp_path):
    """Neither in a store, nor in its log, nor in the secret that was handed over.

    They are gone when what they were for leaves: until the next sum nothing more may be written.
    """

    async def work(deployed):
        lab, found, before, left = deployed.nodes["lab"], [], {}, []
        first = unpacked(deployed.state("lab").keys.first)
        assert tuple(lab.gift(agent, "masks-0") for agent in AGENTS) == first
        assert lab.gift("clinic-0", "masks-1") is None
        for number in (1, 2):
            before.update({agent: agent_keys(deployed, agent) for agent in AGENTS})
            before.update({helper: helper_keys(deployed, helper) for helper in HELPERS})
            if number == 1:
                looked_at(deployed, tmp_path, before, left)
            for member, keys in before.items():
                here = kept(deployed, tmp_path, member)
                found += [key in here for key in keys if any(key)]
            await sum_up(deployed, number)
            is_sum(deployed)
            for member, keys in before.items():
                here = kept(deployed, tmp_path, member)
                assert not [key for key in keys if any(key) and key in here], (member, number)
        assert all(found), "the search can find"
        assert sorted(left) == sorted((member, []) for member in (*AGENTS, *HELPERS) * 2)
        assert [lab.gift(agent, "masks-0") for agent in AGENTS] == [None] * 3
        for member in (*AGENTS, *HELPERS):
            found = await deployed.nodes[member].host.call(secrets_of_keys)
            assert set(found.values()) == {b""}, found

    played(tmp_path, work)


def test_a_machine_starts_again_without_the_secrets_that_were_erased(tmp_path):
    async def work(deployed):
        await sum_up(deployed, 1)
        for number, member in enumerate(("clinic-0", "lab"), 2):
            await deployed.stop(member)
            await deployed.start(member)
            await deployed.greeted()
            await sum_up(deployed, number)
            is_sum(deployed)
        assert not any(deployed.state(agent).sending.retired for agent in AGENTS)

    played(tmp_path, work)
