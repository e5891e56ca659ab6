"""Reports of a member: its state, its problems, its claim, and what it has spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fedbandits.deployment.hosting.ledgers import budget_of, claim_of

if TYPE_CHECKING:
    from fedbandits.deployment.hosting.node import Node


async def privacy_of(node: Node) -> dict[str, Any]:
    """The claim, and what was spent and is left."""
    claim, budget = claim_of(node.seat), budget_of(node.seat)
    told: dict[str, Any] = {
        "party": node.member,
        "claim": claim.headline,
        "unit": claim.unit,
        "from_whom": claim.from_whom,
        "conditional_on": list(claim.conditional_on),
        "not_protected": msgspec.to_builtins(claim.not_protected),
        "exhausted": node.exhausted,
    }
    if budget is None:
        return told
    ledger = node.host.store.ledger
    found = await node.host.call(lambda batch: ledger.statement(batch.connection, node.member))
    return told | {
        "releases": found.charges,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "epsilon_spent": found.spent_epsilon,
        "epsilon_left": found.left_epsilon,
    }


def status_of(node: Node) -> dict[str, Any]:
    """What can be seen of it. No context, no reward, no statistic is in it."""
    view = node.host.view
    return {
        "party": node.member,
        "role": node.seat.role.name,
        "federation": node.federation.name,
        "terms": node.seat.terms.digest,
        "ready": node.ready,
        "connected": node.delivery.transport.connected,
        "greeted": list(node.delivery.greeted),
        "problems": problems_of(node),
        "stage": view.stage,
        "decisions": view.decisions,
        "open_decisions": view.open,
        "events": view.events,
        "messages": {**view.messages, "sent": view.sent, "given_up": view.given_up},
        "outbox": sum(len(e.unacknowledged) for e in node.delivery.exchanges.values()),
        "refusals": view.refusals,
        "refused_frames": dict(node.delivery.refused),
        "last_refusal": view.last_refusal,
        "exhausted": node.exhausted,
        "ticks": node.clock.done,
        "next_tick": node.clock.next_tick,
    }


def problems_of(node: Node) -> dict[str, str]:
    """What is wrong, a line each; empty while nothing is."""
    problems = dict(node.delivery.problems)
    if node.failed is not None:
        problems["self"] = f"{type(node.failed).__name__}: {node.failed}"
    if node.host.problem:
        problems["store"] = node.host.problem
    if node.clock.problem:
        problems["clock"] = node.clock.problem
    trouble = getattr(node.delivery.transport, "problem", "")
    return problems | ({"transport": trouble} if trouble else {})
