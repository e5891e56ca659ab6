"""FedUCB by secure sums: whatever is late or lost, and that own noise is in no decision."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Linear
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.exchange import outlet
from fedbandits.federation.totals.messages import Total, pack_words
from fedbandits.settings.experiment import system
from fedbandits.systems.feducb import roles as agent_module
from fedbandits.testing.replicates import federate, plan_of, system_of
from tests.federation.receiving import next_number, taken
from tests.systems.summed import losing, noisy_supplies, play_with_losses, require_total

WORLD = Linear(agents=5, dim=2, arms=3)
ROUNDS = 60
HELPERS = {"kind": "secure-sum", "helpers": 2, "least_parties": 3, "colluding": 1}


def config_of(preset="feducb-secure", **parts):
    settings = {"schedule": "every(4)", "epsilon": 5.0, "aggregation": HELPERS, **parts}
    return system(preset, **settings).config


@pytest.mark.parametrize("lost", [0.15, 0.4])
@pytest.mark.parametrize("preset", ["feducb-secure", "feducb-secure-hybrid"])
def test_whatever_is_lost_the_total_is_that_of_the_newest_shares(preset, lost):
    run = federate(config_of(preset), WORLD, ROUNDS, 3, 0, route=losing(1, lost), lenient=True)
    play_with_losses(run, ROUNDS)
    assert {agent.state.released.made for agent in run.players} == {len(range(4, ROUNDS, 4))}


def one_agent_away(until, preset="feducb-secure"):
    """All that agent-0 sends is lost, up to some release."""

    def route(message):
        away = message.sender == "agent-0" and getattr(message, "release", until) < until
        return None if away else 0

    return federate(config_of(preset), WORLD, ROUNDS, 3, 0, route=route)


@pytest.mark.parametrize("preset", ["feducb-secure", "feducb-secure-hybrid"])
def test_who_was_away_comes_back_with_all_that_it_has(preset):
    run = one_agent_away(4, preset)
    run.advance(13)
    agent, controller = run.of("agent")[0], run.one("controller")
    assert controller.state.opened.tolist() == [0, 3, 3, 3, 3]
    assert (agent.state.taken, agent.state.included) == (3, 0)
    run.advance(17)
    assert controller.state.opened.tolist() == [4] * 5
    assert agent.state.included == 4
    require_total(run)


def test_a_sum_of_too_few_is_no_sum_and_costs_nothing_but_time():
    """Of five agents three are away: least_parties is three."""

    def route(message):
        away = message.sender in ("agent-0", "agent-1", "agent-2")
        return None if away and getattr(message, "release", 9) in (2, 3) else 0

    run = federate(config_of(), WORLD, ROUNDS, 3, 0, route=route)
    run.advance(13)
    controller = run.one("controller")
    assert (controller.state.newest, controller.state.opened.tolist()) == (3, [1] * 5)
    require_total(run)
    run.advance(17)
    assert controller.state.opened.tolist() == [4] * 5
    require_total(run)


def at_first_total(preset, seed, view=None):
    """An agent that is about to hear the first total, and that total."""
    config, told = config_of(preset, **(view or {})), []
    run = federate(
        config, WORLD, ROUNDS, 3, 0, supplies=noisy_supplies(config, WORLD, ROUNDS, "agent", seed),
        route=lambda message: told.append(message) if isinstance(message, Total) else 0,
    )  # fmt: skip
    run.advance(5)
    return run.of("agent")[0], next(m for m in told if m.receiver == "agent-0")


VIEWS = [
    ("feducb-secure", {}),
    ("feducb-secure", {"local_view": "raw"}),
    ("feducb-secure", {"local_view": "raw", "confidence": "adaptive"}),
    ("feducb-secure-hybrid", {}),
]


def acted_on(preset, view, seed, statistic):
    """What an agent acts on after a total of given numbers."""
    agent, total = at_first_total(preset, seed, view)
    total = msgspec.structs.replace(
        total, statistic=statistic, number=next_number(agent, "controller")
    )
    taken(agent, total)
    assert agent.state.taken == 1
    state = agent.state
    return [np.array(array).tobytes() for part in (state.pool, state.view) for array in part]


@pytest.mark.parametrize(("preset", "view"), VIEWS)
def test_nothing_that_an_agent_acts_on_depends_on_its_own_noise(preset, view):
    """The total is the same, and the agent's noise in it another one."""
    first, total = at_first_total(preset, 1, view)
    second, other = at_first_total(preset, 2, view)
    assert total.statistic != other.statistic
    shares = [a.state.sending.pending_values for a in (first, second)]
    assert (shares[0] != shares[1]).any()
    assert acted_on(preset, view, 1, total.statistic) == acted_on(preset, view, 2, total.statistic)


def test_an_agent_that_takes_its_own_noise_out_is_found(monkeypatch):
    """The test above would see it."""
    _, total = at_first_total("feducb-secure-hybrid", 1)
    acting, others_in_sum = [], agent_module.others_in_sum

    def leaks(constants, index, newest, values, had):
        others, variance = others_in_sum(constants, index, newest, values, had)
        share = constants.step * acting[-1].state.sending.pending_values
        return others + had.statistic - share.reshape(others.shape), variance

    monkeypatch.setattr(agent_module, "others_in_sum", leaks)
    for seed in (1, 2):
        agent, own = at_first_total("feducb-secure-hybrid", seed)
        acting.append(agent)
        number = next_number(agent, "controller")
        taken(agent, msgspec.structs.replace(own, statistic=total.statistic, number=number))
    one, two = (agent.state.view.estimate for agent in acting)
    assert (one != two).any()


def test_a_total_that_makes_no_estimate_settles_messages_all_the_same():
    """If it were refused everybody would wait for ever."""
    agent, total = at_first_total("feducb-secure", 1)
    before = agent.state.view
    for wrong in (-(2**60), 2**62):
        fresh, total = at_first_total("feducb-secure", 1)
        values = np.full(fresh._plan.constants.release_size, wrong, np.int64)
        bad = msgspec.structs.replace(
            total, statistic=pack_words(values.view(np.uint64)),
            number=next_number(fresh, "controller"),
        )  # fmt: skip
        taken(fresh, bad)
        assert fresh.state.unused == 1
        assert (fresh.state.taken, fresh.state.sending.base) == (0, 1)
        assert fresh.state.view.estimate.tobytes() == before.estimate.tobytes()
        (again,) = fresh.end_round(fresh.next_end)
        assert (again.release, again.base) == (2, 1)


def test_an_agent_that_is_told_lies_goes_on_acting_and_sends_nothing_more():
    run = federate(config_of("feducb-secure-hybrid"), WORLD, ROUNDS, 3, 0)
    carry, codec = run.network.send_bytes, run.network._codec

    def lies(sender, receiver, data, ticks=0):
        message = codec.decode(data)
        if isinstance(message, Total) and receiver == "agent-0" and message.release == 2:
            data = codec.encode(msgspec.structs.replace(message, digest=bytes(32)))
        carry(sender, receiver, data, ticks)

    run.network.send_bytes = lies
    run.advance(ROUNDS)
    agent, controller = run.of("agent")[0], run.one("controller")
    assert agent.state.sending.retired
    assert agent.state.released.made == 2  # and pays for nothing more
    assert controller.state.opened.tolist() == [2, *[14] * 4]
    assert agent.state.taken == 14  # and it acts on every total
    assert agent.state.included == 2
    sent = [m for _, m in run.network.transcript.deliveries if m.sender == "agent-0"]
    assert [type(message).__name__ for message in sent] == ["Increment"] * 2 + ["Retired"]


def told_otherwise(run, by):
    """A controller adds to the totals of some agents, from the second on: ``{agent: steps}``."""
    carry, codec = run.network.send_bytes, run.network._codec

    def lies(sender, receiver, data, ticks=0):
        message = codec.decode(data)
        if isinstance(message, Total) and receiver in by and message.release >= 2:
            words = np.frombuffer(message.statistic, "<i8") + by[receiver]
            data = codec.encode(msgspec.structs.replace(message, statistic=words.tobytes()))
        carry(sender, receiver, data, ticks)

    run.network.send_bytes = lies
    run.advance(ROUNDS)
    return run.of("agent"), run.one("controller")


def test_an_agent_that_is_told_other_totals_names_the_controller_and_acts_on_none_after():
    run = federate(config_of("feducb-secure-hybrid"), WORLD, ROUNDS, 3, 0)
    agents, controller = told_otherwise(run, {"agent-0": 1000})
    assert controller.state.opened.tolist() == [2, *[14] * 4]
    assert [agent.state.taken for agent in agents] == [2, *[14] * 4]
    assert not any(agent.state.sending.retired for agent in agents)
    report = agents[0].report
    assert (report["told_otherwise_by"], report["other_total"]) == (["controller"], 13)
    assert (report["acts_on_totals"], report["unused_sums"]) == (False, 12)
    for agent in agents[1:]:
        assert (agent.report["told_otherwise_by"], agent.report["acts_on_totals"]) == ([], True)


def test_where_all_agents_are_told_other_totals_no_sum_is_opened_and_all_are_told():
    run = federate(config_of("feducb-secure-hybrid"), WORLD, ROUNDS, 3, 0)
    agents, controller = told_otherwise(run, {f"agent-{i}": i for i in range(5)})
    assert controller.state.opened.tolist() == [2] * 5
    assert controller.report["refused_by"] == ["helper-0", "helper-1"]
    for agent in agents:
        assert agent.report["told_otherwise_by"] == ["controller"]
        assert (agent.report["disputed_total"], agent.state.taken) == (2, 2)


def test_nobody_is_made_without_secrets():
    config = config_of()
    simulated = system_of(config).simulated_supplies(plan_of(config, WORLD, ROUNDS), None, 3, 0)

    def bare(role, place):
        brought = simulated(role, place)
        return brought._replace(masks=None) if role == "agent" else brought

    with pytest.raises(LocalProtocolError, match="secrets to mask"):
        federate(config, WORLD, ROUNDS, 3, 0, supplies=bare)


def test_no_message_has_a_share_in_it(monkeypatch):
    """Nor an increment of one, nor a record, in whole steps or as released in clear."""
    run = federate(config_of(), WORLD, ROUNDS, 3, 0)
    hidden = []
    release = outlet.release_share

    def noting(*given):
        state, share = release(*given)
        hidden.extend([share.astype(np.int64).view(np.uint64), share.view(np.uint64)])
        return state, share

    monkeypatch.setattr(outlet, "release_share", noting)
    run.advance(ROUNDS)
    codec = run.network._codec
    sent = b"".join(codec.encode(m) for _, m in run.network.transcript.deliveries)
    assert len(hidden) == 2 * 14 * 5
    assert not any(pack_words(np.array([word])) in sent for row in hidden for word in row if word)
