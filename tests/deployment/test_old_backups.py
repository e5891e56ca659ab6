"""A party that was put back from an old backup releases nothing a second time."""

from __future__ import annotations

import asyncio
import contextlib
import io
import shutil

import msgspec
import pytest

from fedbandits import cli
from fedbandits.cli.help import code_of
from fedbandits.deployment.delivery import frames
from fedbandits.deployment.delivery.delivery import Quorum
from fedbandits.deployment.delivery.exchange import Exchange
from fedbandits.deployment.door.metrics import Metrics
from fedbandits.deployment.hosting.events import Kind
from fedbandits.deployment.hosting.known import Beside, left_beside
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.rows import Left
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import BudgetExceededError, FedbanditsError, NotReadyError, StaleStoreError
from fedbandits.privacy.ledger import Ledger
from fedbandits.systems.terms import claim_under
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import DeployedFederation, federation_from, until
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment import postgres
from tests.deployment.federations import clinics

ACTIONS = [[0.1, 0.2, 0.3, 0.4]] * 5
PEERS = 'graph = "{graph}"\nschedule = "every(1)"\nepsilon = 1.0\ndelta = 1e-5'


def peers(graph="complete", agents=4, **table):
    """Make a federation of agents that release to one another after every round."""
    settings = PEERS.format(graph=graph)
    return clinics("feducb-p2p", settings, agents, 8, "secure", others="", **table)


class Members:
    """Members of a federation, one of which is put back to what it was; whole machines are."""

    def __init__(self, federation, folder, stores=None, supplies=None):
        self.folder = folder
        own = {}
        if "buyer" in federation.members:
            values = Setting("pfcb").own()
            own = {federation.members[role][at]: given for (role, at), given in values.items()}
        self.deployed = DeployedFederation(
            federation, folder, own=own, stores=stores, moved=True, supplies=supplies
        )
        #: Who is not heard: their frames are lost.
        self.silent = set()
        self.deployed.hub.route = self._route
        #: Members, and the types of the frames that they have sent.
        self.sent = set()
        self.fatal = []

    def _route(self, sender, receiver, frame):
        self.sent.add((sender, type(frames.decode(frame))))
        return [] if {sender, receiver} & self.silent else [(0.0, frame)]

    async def start(self, *members):
        for member in members:
            node = self.deployed.make(member, self.fatal.append)
            try:
                await node.start()
            except FedbanditsError:
                await node.stop()
                raise
            self.deployed.nodes[member] = node

    def files(self, member, *but):
        found = self.folder.glob(f"{member}.*")
        return [path for path in found if path.suffix not in (".lock", *but)]

    async def keep(self, member):
        """Stop a member, and keep a copy of all that its machine holds."""
        await self.deployed.stop(member)
        (self.folder / "old").mkdir(exist_ok=True)
        for path in self.files(member):
            shutil.copy(path, self.folder / "old" / path.name)
        await self.start(member)

    async def put_back(self, member, *but):
        """Stop a member, and put its machine back, but for files that end so."""
        if member in self.deployed.nodes:
            await self.deployed.stop(member)
        for path in self.files(member, *but):
            path.unlink()
            shutil.copy(self.folder / "old" / path.name, path)
        await self.start(member)
        return self.deployed.nodes[member]

    async def greeted(self, member, others):
        node = self.deployed.nodes[member]
        await until(lambda: set(others) <= set(node.delivery.greeted))

    async def acknowledged(self, member, others):
        exchanges = self.deployed.nodes[member].delivery.exchanges
        await until(lambda: not any(exchanges[other].unacknowledged for other in others))


async def release(node):
    # Peers have handed over its secrets, it has begun, and most have said what they saw.
    await until(lambda: node.ready and not node.delivery.awaited)
    await node.end_round(node.host.view.next_end)


def played(members, work):
    async def play():
        try:
            return await work(members)
        finally:
            await members.deployed.stop()

    return asyncio.run(play())


async def released_once(members, first, away, others):
    """Let a member release once, while somebody is cut off, and put it back to before that."""
    await members.start(first, away, *others)
    await members.greeted(first, others)
    await members.keep(first)
    await members.greeted(first, (away, *others))
    members.silent = {away}
    await release(members.deployed.nodes[first])
    await members.acknowledged(first, others)
    members.silent = set(others)
    return await members.put_back(first)


def buyers():
    return federation_from(Setting("pfcb"), noise="secure")


FEDERATIONS = {
    "buyers": (buyers, "buyer-0", "buyer-2", ("buyer-1",)),
    "complete": (peers, "clinic-0", "clinic-3", ("clinic-1", "clinic-2")),
    "ring": (lambda: peers("ring"), "clinic-0", "clinic-3", ("clinic-1",)),
}


@pytest.mark.parametrize("name", FEDERATIONS)
def test_one_peer_that_has_seen_nothing_does_not_let_a_release_go(name, tmp_path):
    make, first, away, others = FEDERATIONS[name]

    async def work(members):
        node = await released_once(members, first, away, others)
        await until(lambda: away in node.delivery.greeted)
        with pytest.raises(NotReadyError, match="releases wait"):
            await node.end_round(node.host.view.next_end)
        assert set(others) <= set(node.status()["waits_for"])
        page = Metrics(node).page(node.status(), {}).decode()
        for other in others:
            assert f'fedbandits_waits_for{{peer="{other}"}} 1.0' in page
        assert (await node.privacy())["releases"] == 0
        members.silent = set()
        await until(lambda: bool(members.fatal))
        assert "old backup" in str(members.fatal[0])

    played(Members(make(), tmp_path), work)


@pytest.mark.parametrize("name", FEDERATIONS)
def test_what_was_released_again_is_told_from_what_left_first(name, tmp_path):
    """As many messages are no proof: they may be other ones."""
    make, first, away, others = FEDERATIONS[name]

    async def work(members):
        node = await released_once(members, first, away, others)
        await until(lambda: away in node.delivery.greeted)
        await node.host.do(Kind.END_ROUND, node.host.view.next_end)  # however it has come to that
        other = members.deployed.nodes[away]
        counts = [members.deployed.nodes[m].host.counts[first][0] for m in others]
        assert all(count <= node.host.counts[m][1] for m, count in zip(others, counts, strict=True))
        members.silent = set()
        await until(lambda: bool(members.fatal))
        assert type(members.fatal[0]).__name__ == "StaleStoreError"
        assert other.host.counts[first][0] == 0, "nothing has left meanwhile"

    played(Members(make(), tmp_path), work)


def vouching(exchanges, *peers):
    for peer in peers:
        exchanges[peer].vouches = True


def test_a_party_starts_while_a_minority_is_down():
    """More than half are enough at once, a half in a while, and fewer never are."""
    now = [0.0]
    for count, at_once, in_a_while in ((1, 1, 1), (2, 2, 1), (3, 2, 2), (4, 3, 2), (5, 3, 3)):
        peers = [f"peer-{i}" for i in range(count)]
        for vouch in range(count + 1):
            exchanges = {peer: Exchange(peer) for peer in peers}
            quorum = Quorum(exchanges, 60.0, lambda: now[0])
            vouching(exchanges, *peers[:vouch])
            assert (quorum.missing(peers) == ()) == (vouch >= at_once)
            now[0] += 60.0
            missing = quorum.missing(peers)
            assert missing == (() if vouch >= in_a_while else tuple(peers[vouch:]))


def test_a_quorum_that_was_reached_stays_until_the_next_start():
    exchanges = {peer: Exchange(peer) for peer in ("a", "b", "c")}
    quorum = Quorum(exchanges, 60.0, lambda: 0.0)
    vouching(exchanges, "a", "b")
    assert quorum.missing(exchanges) == ()
    exchanges["a"].vouches = exchanges["b"].vouches = False
    assert quorum.missing(exchanges) == ()
    quorum.begin()
    assert quorum.missing(exchanges) == ("a", "b", "c")
    assert quorum.missing(()) == (), "who protects nothing waits for nobody"


def test_what_is_paid_for_may_leave_once_more(tmp_path, monkeypatch):
    """A budget that is large enough pays for both."""
    monkeypatch.setattr(HostedSeat, "claim", property(claim_of_two))

    async def work(members):
        await with_a_hub_that_forgets(members)
        before = await members.deployed.nodes["clinic-0"].privacy()
        members.deployed.restores = True
        node = await members.put_back("clinic-0", ".left")
        await members.greeted("clinic-0", ["hub"])
        await release(node)
        assert (await node.privacy())["epsilon_spent"] > 1.2 * before["epsilon_spent"]

    played(Members(stars(), tmp_path), work)


def claim_of_two(seat):
    """Return a claim for twice as much as a party releases by its plan."""
    claim = claim_under(seat.federation.system, seat.federation.plan, seat.terms)
    return msgspec.structs.replace(claim, mu=2 * claim.mu, epsilon=2.2, epsilon_contents=2.2)


async def with_a_hub_that_forgets(members):
    """Let an agent release three times to a controller that then says it has seen nothing."""
    await members.start("clinic-0", "hub")
    for member in ("clinic-0", "hub"):
        await members.keep(member)
    await members.greeted("clinic-0", ["hub"])
    for _ in range(3):
        await release(members.deployed.nodes["clinic-0"])
    await members.acknowledged("clinic-0", ["hub"])
    await members.put_back("hub")


def stars():
    settings = 'schedule = "every(1)"\nepsilon = 1.0\ndelta = 1e-5'
    return clinics(settings=settings, rounds=8, noise="secure")


def test_a_controller_that_lies_gets_no_second_first_release(tmp_path):
    """Whatever the only peer says, what has left is written beside the store."""

    async def work(members):
        await with_a_hub_that_forgets(members)
        for _ in range(2):
            with pytest.raises(StaleStoreError, match="--restore"):
                await members.put_back("clinic-0", ".left")
        for path in members.files("clinic-0", ".left"):
            path.unlink()
        with pytest.raises(StaleStoreError, match="--restore"):  # nor does it begin anew
            await members.start("clinic-0")

    played(Members(stars(), tmp_path), work)


@pytest.mark.parametrize("known", [True, False])
def test_who_restores_pays_for_all_that_may_have_left(known, tmp_path):
    async def work(members):
        await with_a_hub_that_forgets(members)
        before = await members.deployed.nodes["clinic-0"].privacy()
        members.deployed.restores = True
        if not known:
            await members.deployed.stop("clinic-0")
            (tmp_path / "clinic-0.left").unlink()
        node = await members.put_back("clinic-0", ".left")
        told = await node.privacy()
        assert told["epsilon_spent"] == pytest.approx(
            before["epsilon_spent"] if known else told["epsilon"], rel=1e-6
        )
        await members.greeted("clinic-0", ["hub"])
        with pytest.raises(BudgetExceededError):  # its first one costs too much beside that
            await release(node)
        assert (await node.decide(node.application.ASKED(actions=ACTIONS))).number == 1
        members.deployed.restores = False
        spent = (await node.privacy())["epsilon_spent"]
        await members.deployed.stop("clinic-0")
        await members.start("clinic-0")  # an ordinary start costs nothing
        assert (await members.deployed.nodes["clinic-0"].privacy())["epsilon_spent"] == spent
        with pytest.raises(StaleStoreError, match="so an old backup may have been"):
            await members.put_back("clinic-0", ".left")

    played(Members(stars(), tmp_path), work)


def test_who_cannot_pay_for_what_may_have_left_is_not_restored(tmp_path):
    async def work(members):
        await members.start("clinic-0", "hub")
        await members.greeted("clinic-0", ["hub"])
        await release(members.deployed.nodes["clinic-0"])
        await members.deployed.stop("clinic-0")
        (tmp_path / "clinic-0.left").unlink()  # so all of the budget is to be paid once more
        members.deployed.restores = True
        with pytest.raises(StaleStoreError, match="cannot pay once more") as refused:
            await members.start("clinic-0")
        assert code_of(refused.value) == 14

    played(Members(stars(), tmp_path), work)


def test_a_party_that_is_killed_between_its_commit_and_its_file_goes_on(tmp_path):
    async def work(members):
        await members.start("clinic-0", "hub")
        await members.greeted("clinic-0", ["hub"])
        older = (tmp_path / "clinic-0.left").read_bytes()
        await release(members.deployed.nodes["clinic-0"])
        assert (tmp_path / "clinic-0.left").read_bytes() != older
        await members.acknowledged("clinic-0", ["hub"])
        spent = (await members.deployed.nodes["clinic-0"].privacy())["epsilon_spent"]
        await members.deployed.stop("clinic-0")
        (tmp_path / "clinic-0.left").write_bytes(older)
        await members.start("clinic-0")
        assert (await members.deployed.nodes["clinic-0"].privacy())["epsilon_spent"] == spent
        await members.deployed.stop("clinic-0")
        for lost in (b"", b"{}", b"\xff"):
            (tmp_path / "clinic-0.left").write_bytes(lost)
            with pytest.raises(StaleStoreError, match="is missing"):
                await members.start("clinic-0")

    played(Members(stars(), tmp_path), work)


def test_a_database_that_is_put_back_is_noticed_as_a_file_is(postgres_server, tmp_path):
    now, older = (postgres.database(postgres_server, name) for name in ("put-back", "older"))

    async def work(members):
        await members.start("clinic-0", "hub")
        await members.keep("hub")
        await members.greeted("clinic-0", ["hub"])
        await members.deployed.stop("clinic-0")
        postgres.copy(now, older)
        await members.start("clinic-0")
        await members.greeted("clinic-0", ["hub"])
        await release(members.deployed.nodes["clinic-0"])
        await members.acknowledged("clinic-0", ["hub"])
        await members.deployed.stop("clinic-0")
        await members.put_back("hub")
        members.deployed._stores["clinic-0"] = older
        with pytest.raises(StaleStoreError, match="--restore"):
            await members.start("clinic-0")

    played(Members(stars(), tmp_path, {"clinic-0": now}), work)


@pytest.mark.parametrize("member", ["owner-0", "controller", "comp"])
def test_a_party_of_samba_that_is_put_back_sends_nothing(member, tmp_path):
    setting = Setting("samba-ucb")
    supplies = setting.system.simulated_supplies(setting.plan, setting.stated, 1, 0)
    federation = federation_from(setting)

    async def work(members):
        await members.start(*federation.everybody)
        owner = members.deployed.nodes["owner-0"]
        await until(lambda: owner.host.view.round_to_act is not None)
        await members.keep(member)
        await members.deployed.greeted()
        driver = WorldDriver(members.deployed, setting.world, 1)
        for _ in range(2):
            await members.deployed.settle()
            await driver._pull_due()
            await driver._end_rounds()
        await members.deployed.settle()
        members.silent = set(federation.everybody)
        node = await members.put_back(member)
        members.sent.clear()
        assert set(node.status()["waits_for"]) == set(node.host.counts) != set()
        await until(lambda: (member, frames.Hello) in members.sent)
        members.silent = set()
        node.delivery.resend_all()
        await until(lambda: bool(members.fatal))
        assert "old backup" in str(members.fatal[0])
        assert (member, frames.Data) not in members.sent

    played(Members(federation, tmp_path, supplies=supplies), work)


SECURE = """
schedule = "every(1)"
epsilon = 5.0
delta = 1e-5
aggregation = {kind = "secure-sum", helpers = 1, least_parties = 2, colluding = 1}
"""


def test_a_helper_never_goes_on_from_an_old_store(tmp_path):
    """It would open a sum for a second set of members; there is no price for that."""
    federation = clinics(
        "feducb-secure", SECURE, agents=3, rounds=8, noise="secure",
        others='controller = ["hub"]\nhelper = ["aid"]',
    )  # fmt: skip
    everybody = ("clinic-0", "clinic-1", "clinic-2", "hub", "aid")

    async def work(members):
        deployed = members.deployed
        await members.start(*everybody)
        for member in everybody:
            await members.greeted(member, set(deployed.nodes[member].delivery.exchanges))
        await members.keep("aid")
        for member in everybody[:3]:
            await release(deployed.nodes[member])
        await until(lambda: deployed.state("hub").newest == 1)
        assert deployed.state("aid").answered == 1
        for restores in (False, True):
            deployed.restores = restores
            with pytest.raises(StaleStoreError, match="none goes on from an old store"):
                await members.put_back("aid", ".left")
        for path in members.files("aid", ".left"):
            path.unlink()
        with pytest.raises(StaleStoreError, match="begin a new federation"):
            await members.start("aid")  # nor does it begin anew

    played(Members(federation, tmp_path), work)


@pytest.mark.parametrize("beside", ["newer", "its own", "none"])
def test_a_look_at_an_old_ledger_says_what_it_does_not_know(beside, tmp_path):
    """The command says no less than was spent, and ends as a party does that would start so."""

    async def work(members):
        await members.start("clinic-0", "hub")
        await members.greeted("clinic-0", ["hub"])
        node = members.deployed.nodes["clinic-0"]
        await release(node)
        if beside != "newer":
            await members.deployed.stop("clinic-0")
            return await ledger_of(members, "clinic-0")
        await members.keep("clinic-0")
        await members.greeted("clinic-0", ["hub"])
        await release(members.deployed.nodes["clinic-0"])
        await members.deployed.stop("clinic-0")
        spent = await ledger_of(members, "clinic-0")
        shutil.copy(tmp_path / "old" / "clinic-0.db", tmp_path / "clinic-0.db")
        return spent

    async def ledger_of(members, member):
        with Ledger.existing(tmp_path / f"{member}.db") as ledger, ledger.read() as connection:
            return ledger.statement(connection, member)

    statement = played(Members(stars(), tmp_path), work)
    spent = f"ε = {statement.spent_epsilon:.4g} at δ = 1e-05 (μ = {statement.spent_mu:.4g})"
    if beside == "none":
        (tmp_path / "clinic-0.left").unlink()
    code = 14 if beside == "newer" else 0
    out, error = looked_at(tmp_path / "clinic-0.db", code)
    assert spent in out
    assert (f"in this file, but {spent} by what has left" in out) == (beside == "newer")
    assert ("more has left than this ledger knows" in error) == (beside == "newer")
    assert ("what left since is not known" in out) == (beside == "none")
    if beside == "newer":
        assert f"μ = {statement.left_mu:.4g}, which by itself" in out


def test_a_ledger_without_an_account_does_not_hide_what_has_left(tmp_path):
    """A party that was refused without its store has left a new one, with nothing in it."""
    path = tmp_path / "store.db"
    Store.open(path, "clinics", "clinic-0", "terms").close()
    assert "0 parties" in looked_at(path, 0)[0]
    left_beside(path).write(Left(1.2, {"hub": (1, b"mark")}))
    assert "more has left than this ledger knows" in looked_at(path, 14)[1]
    with Ledger.existing(path) as ledger, ledger.read() as connection:
        beside = Beside.of(path)
        left_beside(path).write(Left(1.3, {"hub": (2, b"next")}))  # it runs, and releases
        assert beside.knows_more(ledger, connection, "clinic-0") is None


def looked_at(path, code):
    """What ``fedbandits privacy --ledger`` says of a ledger."""
    out, error = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        patch.setattr("sys.argv", ["fedbandits", "privacy", "--ledger", str(path)])
        ended = None
        try:
            cli.main()
        except SystemExit as end:
            ended = end.code
    assert (ended or 0) == code
    return " ".join(out.getvalue().split()), error.getvalue()
