"""``fedbandits federation``: the authority's commands, and a whole federation on one machine."""

from __future__ import annotations

import pathlib
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from fedbandits.cli.help import FINAL

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fedbandits.deployment.process.folder import PartyFolder
    from fedbandits.deployment.process.local_doors import LocalDoor, PartyReport
    from fedbandits.deployment.process.looking import SeenParty

app = typer.Typer(
    help="A federation: its authority, its broker, and all of it on one machine.",
    no_args_is_help=True,
)
Folder = Annotated[
    pathlib.Path, typer.Argument(metavar="DIR", help="As federation init has made it.")
]


#: Whether a party that was away ends the rounds that it has missed.
CATCH_UP = typer.Option(
    "--catch-up",
    help="End all rounds that were missed, where rounds are shared. Each releases noise without "
    "records.",
)


@app.command("example", epilog="Example: fedbandits federation example feducb > clinics.toml")
def example(
    preset: Annotated[str, typer.Argument(metavar="PRESET", help="See fedbandits list.")],
    every: Annotated[
        str | None, typer.Option(help="How long a round is.  [default: 1 h; SAMBA: 100 ms]")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where the broker listens.")] = 4222,
) -> None:
    """Print a federation's file to begin with, with comments, and ready to use."""
    from fedbandits.deployment.process.examples import example as text

    typer.echo(text(preset, every, port), nl=False)


@app.command(
    "init", epilog="Example: fedbandits federation init clinics.toml --out clinics --local"
)
def init(
    config: Annotated[
        pathlib.Path, typer.Argument(metavar="CONFIG.toml", help="The federation's file.")
    ],
    out: Annotated[pathlib.Path, typer.Option(help="A new folder.")],
    local: Annotated[
        bool,
        typer.Option("--local", help="Make all parties' folders, too: one machine has all keys."),
    ] = False,
    first_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of parties' doors, with --local; 0: free ones.")
    ] = 8420,
) -> None:
    """Make a federation: an authority that admits its members, and a broker's configuration.

    With secure sums (feducb-secure, feducb-secure-hybrid) there are also helpers, with seats of
    their own under [members]. Helpers have keys and no data, and any organisation can host a
    helper. The controller and all helpers must not be in one hand: together they could see single
    releases.
    """
    from fedbandits.deployment.hosting.cautions import counted_in_words, far_off, too_short
    from fedbandits.deployment.process.federation_folder import init_federation
    from fedbandits.systems.terms import cautions_of

    new = init_federation(config, out, local, first_port)
    for caution in (too_short(new.federation), far_off(new.federation, time.time())):
        if caution:
            typer.echo(f"warning: {caution}", err=True)
    for caution in cautions_of(new.federation.system, new.federation.plan):
        typer.echo(f"warning: system.{caution}", err=True)
    typer.echo(f"{out / 'authority'}: admits members; its fingerprint is {new.fingerprint}")
    typer.echo(f"{out / 'broker'}: nats-server -c nats.conf, run there, is the broker")
    if counted := counted_in_words(new.federation):
        typer.echo(counted)
    if helpers := new.federation.members.get("helper"):
        typer.echo(f"Helpers of secure sums: {', '.join(helpers)}, not in one hand with the rest")
        typer.echo("Members compare helpers' keys in calls: fedbandits party fingerprints DIR/NAME")
    if not local:
        command = "fedbandits party create NAME --federation CONFIG.toml --out DIR"
        typer.echo(f"Next, each member: {command}")
        return
    for name in new.parties:
        typer.echo(f"{out / name}: {new.federation.seat_of(name).role.name}")
    typer.echo(
        "This machine holds the keys of all parties: who has it sees everything. For a federation "
        "of organisations each makes its own, with fedbandits party create."
    )
    typer.echo(f"Next: fedbandits federation up {out}")


@app.command("admit", epilog="Example: fedbandits federation admit clinics request.json")
def admit(
    folder: Folder,
    request: Annotated[
        pathlib.Path, typer.Argument(metavar="request.json", help="From party create.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Its earlier keys are worth nothing from now on.")
    ] = False,
) -> None:
    """Admit a party: sign its keys. The signed file goes back to the party.

    Ask the member for the fingerprint of its keys, on another way than that of the file.
    """
    from fedbandits.deployment.process.federation_folder import admit_here

    admitted = admit_here(folder, request, replace)
    typer.echo(f"The keys of {admitted.name} have the fingerprint {admitted.fingerprint}:")
    typer.echo(f"ask {admitted.name} whether that is so, and revoke it if not.")
    typer.echo(f"{admitted.admission}: send it to the party, for fedbandits party admit")
    _publish(folder)


@app.command("revoke", epilog="Example: fedbandits federation revoke clinics north")
def revoke(
    folder: Folder, name: Annotated[str, typer.Argument(metavar="NAME", help="A member.")]
) -> None:
    """Revoke an admission: all others exchange no more messages with the party."""
    from fedbandits.deployment.process.federation_folder import revoke_here

    revoke_here(folder, name)
    typer.echo(f"{name} is revoked")
    _publish(folder)


@app.command("publish", epilog="Example: fedbandits federation publish clinics")
def publish(folder: Folder) -> None:
    """Tell all connected parties the current members; up does so by itself."""
    _tell_members(folder)
    typer.echo("published")


@app.command(
    "broker-certificate",
    epilog="Example: fedbandits federation broker-certificate clinics --name broker.example.org",
)
def broker_certificate(
    folder: Folder,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A further name or address; it may be given several times."),
    ] = None,
    days: Annotated[float, typer.Option(min=1.0, help="For how long it is valid.")] = 730.0,
) -> None:
    """Renew the broker's certificate, under its names and further ones; its key stays.

    The certificate takes effect when the broker reads the file. A broker on another machine needs
    the file.
    """
    from fedbandits.deployment.process.federation_folder import renew_here

    place, certificate = renew_here(folder, name or (), days)
    typer.echo(f"{place / 'server.pem'}: valid until {certificate.ends:%Y-%m-%d}, for the names")
    typer.echo(f"{', '.join(certificate.names)}")
    typer.echo(
        f"Next: nats-server --signal reload=nats.pid, in {place}; federation up does so by itself. "
        "If the broker runs elsewhere, copy server.pem there before."
    )


def _warn_of_broker(folder: pathlib.Path) -> None:
    """Warn of a broker's certificate that ends soon."""
    from fedbandits.deployment.process.federation_folder import broker_caution

    if caution := broker_caution(folder):
        typer.echo(f"warning: {caution}", err=True)


def _tell_members(folder: pathlib.Path) -> None:
    import asyncio

    from fedbandits.deployment.delivery.nats_transport import publish_members
    from fedbandits.deployment.process.federation_folder import authority_in

    asyncio.run(publish_members(authority_in(folder)))


def _publish(folder: pathlib.Path) -> None:
    """Send the list of members to a running broker; connected parties take the list at once."""
    from fedbandits.errors import TransportError

    _warn_of_broker(folder)
    try:
        _tell_members(folder)
        typer.echo("All parties that are connected were told.")
    except TransportError as error:
        typer.echo(f"Nobody was told yet: {error}", err=True)
        typer.echo("When the broker runs: fedbandits federation publish DIR", err=True)


@app.command("up", epilog="Example: fedbandits federation up clinics")
def up(
    folder: Folder,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="All parties in one process, without a broker.")
    ] = False,
    catch_up: Annotated[bool, CATCH_UP] = False,
    log_format: Annotated[str, typer.Option(help="Of the parties' logs: json or plain.")] = "plain",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Run the broker and all parties of a folder, a process each, until Ctrl-C.

    Ctrl-C stops them in order, and the next up continues from the same state. A party that dies is
    started again.
    """
    import asyncio

    from fedbandits._schema import convert
    from fedbandits.deployment.door import new_loop
    from fedbandits.deployment.hosting.cautions import over_since
    from fedbandits.deployment.process import supervisor
    from fedbandits.deployment.process.federation_folder import load_parties
    from fedbandits.deployment.process.own_settings import LogSettings
    from fedbandits.deployment.process.party_process import log_to_stderr

    log = convert({"format": log_format, "level": log_level}, LogSettings, "--log")
    log_to_stderr("up", log)
    parties = load_parties(folder)
    if not parties[0].protects:
        _say("NOTHING IS PROTECTED: by the terms noise is simulated, it comes from a seed.")
    if over := over_since(parties[0].federation, time.time()):
        _say(f"{over}; nothing more is released")
    _compile_ahead(parties)
    code = 0
    if in_process:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(supervisor.run_in_process(parties, _say, catch_up))
    else:
        arguments = ["--log-format", log.format, "--log-level", log.level]
        arguments += ["--catch-up"] * catch_up
        code = asyncio.run(supervisor.Supervisor(folder, parties, arguments, FINAL, _say).run())
    _say("all have ended")
    raise typer.Exit(code)


def _say(line: str) -> None:
    typer.echo(line)
    sys.stdout.flush()


def _compile_ahead(parties: list[PartyFolder]) -> None:
    """Compile all kernels once before the parties' processes start, instead of once in each."""
    from fedbandits.deployment.process.rehearsal import warm

    began = time.monotonic()

    def say() -> None:
        from fedbandits._compile.cache import are_kept  # the compiler is loaded by now

        kept = "; it is kept" if are_kept() else ", by each of them: it is not kept"
        _say(f"Compiling what the parties need. That takes up to a minute{kept}.")

    kernels = warm(
        parties[0].federation, {party.member: party.settings.own for party in parties}, say
    )
    if kernels:
        _say(
            f"Compiled {kernels} kernel{'s' * (kernels != 1)} in {time.monotonic() - began:.0f} s."
        )


@app.command("status", epilog="Example: fedbandits federation status clinics --watch")
def status(
    folder: Annotated[
        pathlib.Path, typer.Argument(metavar="DIR", help="Parties' folders, or one of them.")
    ],
    watch: Annotated[bool, typer.Option("--watch", help="Again and again, until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Show decisions, rounds, messages, releases, spent and remaining ε; exit code 3: none runs."""
    if watch and not as_json:
        _watch(_doors(folder))
    else:
        show_status(folder, as_json)


def show_status(folder: pathlib.Path, as_json: bool) -> None:
    """Print the state of the parties of a folder; exit with :data:`.NOT_RUNNING` if none runs."""
    import msgspec

    from fedbandits.cli import console, federation_tables

    doors = _doors(folder)
    reports = [door.report() for door in doors]
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(reports)).decode())
    else:
        for shown in federation_tables.status_of(doors[0].folder.federation, reports):
            console.output().print(shown)
    federation_tables.end_unless_running(reports)


def _doors(folder: pathlib.Path) -> list[LocalDoor[SeenParty]]:
    from fedbandits.deployment.process.local_doors import LocalDoor
    from fedbandits.deployment.process.looking import look_at_parties

    return [LocalDoor(party) for party in look_at_parties(folder)]


def _watch(doors: list[LocalDoor[SeenParty]]) -> None:
    from rich.console import Group
    from rich.live import Live

    from fedbandits.cli import console

    try:
        with Live(Group(*_tables(doors)), console=console.output(), auto_refresh=False) as live:
            while True:
                time.sleep(1.0)
                live.update(Group(*_tables(doors)), refresh=True)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _tables(doors: list[LocalDoor[SeenParty]]) -> list[RenderableType]:
    from fedbandits.cli import federation_tables

    reports: list[PartyReport] = [door.report() for door in doors]
    return federation_tables.status_of(doors[0].folder.federation, reports)
