"""``fedbandits party``: commands of one member. ``fedbandits samba``: those of a customer."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from fedbandits.cli.federation import CATCH_UP
from fedbandits.cli.help import code_of, exit_code_lines

if TYPE_CHECKING:
    from fedbandits.deployment.process.inspecting import StoredMessages

app = typer.Typer(help="One member's party, on its own machine.", no_args_is_help=True)
customer = typer.Typer(help="SAMBA's customer.", no_args_is_help=True)
Folder = Annotated[pathlib.Path, typer.Argument(metavar="DIR/NAME", help="The party's folder.")]


@app.command(
    "create", epilog="Example: fedbandits party create north --federation clinics.toml --out ."
)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The member's name in the file.")],
    federation: Annotated[
        pathlib.Path, typer.Option(metavar="CONFIG.toml", help="The federation's file.")
    ],
    out: Annotated[pathlib.Path, typer.Option(metavar="DIR", help="Where NAME is made.")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of its door, on this machine.")
    ] = 8420,
) -> None:
    """Make a party's folder with keys of its own, which never leave it."""
    from fedbandits.deployment.identity.enrolment import create_party
    from fedbandits.deployment.process.folder import write_settings
    from fedbandits.settings.federation import load_federation

    request = create_party(federation, name, out)
    write_settings(out / name, load_federation(federation), name, port)
    _say_request(request)
    typer.echo(f"{out / name / 'party.toml'}: its own settings")


def _say_request(request: pathlib.Path, replaces: str = "") -> None:
    """Print the next step with a request, and the fingerprint to tell the authority."""
    from fedbandits.deployment.identity.admission import read_request

    fingerprint = read_request(request).fingerprint
    typer.echo(f"{request}: send it to the authority, for fedbandits federation admit{replaces}")
    typer.echo(f"The fingerprint of its keys is {fingerprint}: say it in a call.")


@app.command("admit", epilog="Example: fedbandits party admit ./north admission-north.json")
def admit(
    folder: Folder,
    admission: Annotated[
        pathlib.Path, typer.Argument(metavar="admission.json", help="From the authority.")
    ],
    authority: Annotated[
        str, typer.Option(metavar="FINGERPRINT", help="The authority's, as you were told it.")
    ] = "",
) -> None:
    """Install an admission from the authority. The first admission pins the trusted authority."""
    from fedbandits.deployment.identity.enrolment import install_admission
    from fedbandits.deployment.identity.identity import pinned_admission
    from fedbandits.deployment.identity.members import spoken_fingerprint

    members = install_admission(folder, admission, authority)
    pinned = pinned_admission(folder)
    if pinned is not None and not authority:
        fingerprint = spoken_fingerprint(pinned.authority)
        typer.echo(f"The authority's fingerprint is {fingerprint}: compare it with what it says.")
    typer.echo(f"Admitted; members: {', '.join(members.present)}")
    _say_fingerprints(folder)
    typer.echo(f"Next: fedbandits party run {folder}")


def _say_fingerprints(folder: pathlib.Path) -> None:
    from fedbandits.deployment.identity.enrolment import fingerprints_in

    for line in fingerprints_in(folder).lines(folder):
        typer.echo(line)


@app.command("fingerprints", epilog="Example: fedbandits party fingerprints ./north")
def fingerprints(folder: Folder) -> None:
    """Show fingerprints of sealing keys: of the party, and of all that hand secrets to it.

    The authority signs the owner of each key. With secure sums it could name keys of its own for
    all helpers, and read single releases together with the controller. So compare them in a call.
    """
    _say_fingerprints(folder)


@app.command("run", epilog=f"Example: fedbandits party run ./north\n\n{exit_code_lines()}")
def run(
    folder: Folder,
    moved: Annotated[
        bool,
        typer.Option("--moved", help="The store is a copy, and the original is never used again."),
    ] = False,
    restore: Annotated[
        bool,
        typer.Option("--restore", help="The store is older than what has left: pay for it again."),
    ] = False,
    catch_up: Annotated[bool, CATCH_UP] = False,
    log_format: Annotated[
        str | None, typer.Option(help="json or plain.  [default: as party.toml says]")
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    attached: Annotated[bool, typer.Option("--attached", hidden=True)] = False,
) -> None:
    """Run a party until SIGTERM or Ctrl-C, which finishes waiting work and saves the state."""
    from fedbandits._schema import convert
    from fedbandits.deployment.process.own_settings import LogSettings
    from fedbandits.deployment.process.party_process import run_party

    def log(settings: LogSettings) -> LogSettings:
        changed = {"format": log_format or settings.format, "level": log_level or settings.level}
        converted: LogSettings = convert(changed, LogSettings, "--log")
        return converted

    run_party(
        folder, moved=moved, restores=restore, catches_up=catch_up, log=log, attached=attached,
        exit_code=code_of,
    )  # fmt: skip


@app.command("warm", epilog="Example: fedbandits party warm clinics.toml")
def warm(
    source: Annotated[
        pathlib.Path,
        typer.Argument(metavar="DIR/NAME|CONFIG.toml", help="A party, or a federation's file."),
    ],
) -> None:
    """Compile the kernels of a party, so that it starts at once, such as in a built image."""
    from fedbandits.deployment.process import rehearsal
    from fedbandits.deployment.process.folder import load_party
    from fedbandits.errors import OutputError
    from fedbandits.settings.federation import load_federation

    if source.is_dir():
        party = load_party(source)
        federation, own = party.federation, {party.member: party.settings.own}
    else:
        federation, own = load_federation(source), {}
    kernels = rehearsal.warm(federation, own)
    from fedbandits._compile import cache  # the compiler is loaded by now

    if kernels and not cache.are_kept():
        raise OutputError("what was compiled is not kept, so each start compiles it anew")
    said = f"Compiled {kernels} kernel{'s' * (kernels != 1)}"
    typer.echo(f"{said}; all are kept in {cache.folder_of_kernels()}")


@app.command("status", epilog="Example: fedbandits party status ./north --json")
def status(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Show the state of a party on this machine; exit code 3: it does not run."""
    from fedbandits.cli import federation

    federation.show_status(folder, as_json)


@app.command("inspect", epilog="Example: fedbandits party inspect ./north --contents")
def inspect(
    folder: Folder,
    contents: Annotated[
        bool, typer.Option("--contents", help="Messages that are kept whole, field by field.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
) -> None:
    """Show the sent and seen messages of a party, which may run meanwhile, and does not change."""
    from fedbandits.cli import console, federation_tables
    from fedbandits.deployment.process.looking import look_at
    from fedbandits.deployment.process.store_file import headers_in, is_in_file

    party = look_at(folder)
    stored = None
    if contents or as_json or not is_in_file(party):  # decoding takes the plan
        stored = _decoded(folder)
    if stored is not None and as_json:
        typer.echo(_as_json(stored))
        return
    headers, whole = headers_in(party) if stored is None else (stored.headers, len(stored.contents))
    shown = console.output()
    shown.print(federation_tables.headers_of(party.member, headers))
    shown.print(f"{whole} of them are kept whole: not acknowledged yet, or not saved.")
    if contents and stored is not None:
        for table in federation_tables.contents_of(stored):
            shown.print(table)


def _decoded(folder: pathlib.Path) -> StoredMessages:
    """Read the messages in a party's store, and decode the whole messages."""
    from fedbandits.deployment.process.folder import load_party
    from fedbandits.deployment.process.inspecting import inspect as read

    return read(load_party(folder))


def _as_json(stored: StoredMessages) -> str:
    import msgspec

    whole = [
        {"way": seen.way, "peer": seen.peer, "fields": seen.fields()} for seen in stored.contents
    ]
    headers = [header._asdict() for header in stored.headers]
    text = msgspec.json.encode({"headers": headers, "contents": whole})
    return msgspec.json.format(text).decode()


@app.command("rotate", epilog="Example: fedbandits party rotate ./north")
def rotate(folder: Folder) -> None:
    """Make new keys; the old keys are used until the authority has admitted the new ones."""
    from fedbandits.deployment.identity.enrolment import rotate_party

    request = rotate_party(folder)
    _say_request(request, " --replace")
    typer.echo("It goes on with its keys until the new admission is installed and it starts again.")


@app.command("token", epilog="Example: fedbandits party token ./north --name booking")
def token(
    folder: Folder,
    name: Annotated[str, typer.Option(help="Whose it is.")] = "app",
    read_only: Annotated[
        bool, typer.Option("--read-only", help="For status and numbers, not for decisions.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="Show which there are.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Forget the one of that name.")] = False,
) -> None:
    """Make, list or revoke tokens, which applications show at the party's door."""
    from fedbandits.deployment.door import make_token, read_tokens, revoke_token
    from fedbandits.deployment.process.looking import look_at

    party = look_at(folder)
    if listing:
        for known in read_tokens(folder):
            typer.echo(f"{known.name}: {', '.join(known.scopes)}, made {known.made}")
    elif revoke:
        revoke_token(folder, name)
        typer.echo(f"{name} is revoked")
    else:
        scopes = ("read",) if read_only else ("decide", "read")
        typer.echo(make_token(folder, name, scopes, party.member))  # type: ignore[arg-type]
        typer.echo(
            "It is shown this once. Applications send it as: Authorization: Bearer …", err=True
        )


@app.command("backup", epilog="Example: fedbandits party backup ./north north-monday.db")
def backup(
    folder: Folder,
    out: Annotated[pathlib.Path, typer.Argument(metavar="OUT", help="A new file.")],
) -> None:
    """Copy a party's store at one moment; the party may run meanwhile.

    To go on from a copy, put the copy in the store's place, beside the file of sent messages, and
    use party run --moved, once. If messages were sent since, the copy is refused; --restore pays
    for all sent messages once more. Peers that know more than the copy stop the party all the same.
    """
    from fedbandits.deployment.process.looking import look_at
    from fedbandits.deployment.process.store_file import back_up

    typer.echo(f"{back_up(look_at(folder), out)}: as secret as the store itself")


@app.command("export", epilog="Example: fedbandits party export ./north north.npz")
def export(
    folder: Folder,
    out: Annotated[pathlib.Path, typer.Argument(metavar="OUT.npz", help="A new file.")],
) -> None:
    """Write the party's model, as of its newest saved state, for others to begin from."""
    from fedbandits.deployment.process.folder import load_party
    from fedbandits.deployment.process.inspecting import export_model

    model = export_model(load_party(folder), out)
    rows, dimension = model.learned.estimate.shape
    behind = f"{model.learned.counts.sum():g} {model.learned.counted}"
    typer.echo(f"{out}: {rows} x {dimension} numbers, {behind} behind them")
    if model.learned.contains_own_records:
        typer.echo(
            "It contains this party's own records without noise: no claim covers handing it out."
        )


@customer.callback()
def options() -> None:
    """SAMBA's customer: orders a run, and alone learns the earned reward."""


@customer.command("order", epilog="Example: fedbandits samba order clinics/customer")
def order(
    folder: Annotated[
        pathlib.Path, typer.Argument(metavar="DIR/NAME", help="The customer's folder.")
    ],
) -> None:
    """Order the run that the terms describe, and wait for its total.

    A customer that runs already is asked; else the customer runs until the total is here.
    """
    from fedbandits.deployment.process.party_process import order as ordered

    total = ordered(folder, lambda line: typer.echo(line, err=True))
    typer.echo(f"total: {total}")
