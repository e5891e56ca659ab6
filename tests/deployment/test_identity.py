"""Who is a member: requests, admissions, lists of members, and what is refused by name."""

from __future__ import annotations

import concurrent.futures
import datetime
import pathlib
import shutil
import stat

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedbandits.deployment.identity import (
    authority,
    certificates,
    enrolment,
    members,
    private_files,
)
from fedbandits.deployment.identity.admission import Admission, Request, read_request
from fedbandits.deployment.identity.authority import admit, init_authority, load_authority, revoke
from fedbandits.deployment.identity.enrolment import create_party, install_admission, rotate_party
from fedbandits.deployment.identity.identity import load_identity
from fedbandits.deployment.identity.members import KnownMembers, Members, spoken_fingerprint
from fedbandits.errors import ConfigError, FedbanditsError, IdentityError, OutputExistsError
from tests.deployment.one_machine import EVERYBODY, OneMachine


@pytest.fixture(scope="module")
def admitted(tmp_path_factory) -> OneMachine:
    """Everybody is admitted; nobody changes this one."""
    return OneMachine(tmp_path_factory.mktemp("clinics")).admit_all()


@pytest.fixture
def machine(admitted, tmp_path) -> OneMachine:
    """The same, for one test alone."""
    return admitted.copy(tmp_path / "copy")


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    """All files of a folder, but locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def rewrite(path: pathlib.Path, kind: type[msgspec.Struct], **changes: object) -> None:
    """Change fields of something that was written as JSON."""
    found = msgspec.json.decode(path.read_bytes(), type=kind)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(found, **changes)))


# From keys to members.


def test_members_know_one_another_by_the_list_alone(admitted):
    identities = {name: admitted.identity(name) for name in EVERYBODY}
    for identity in identities.values():
        identity.check()
    hub = identities["hub"].sealer(("north", "south"))
    for name in ("north", "south"):
        frame = identities[name].sealer(("hub",)).seal("hub", name.encode())
        assert hub.open(name, frame) == name.encode()


def test_folders_and_files_are_their_owners_alone(admitted):
    for folder in (admitted.authority, *(admitted.party(name) for name in EVERYBODY)):
        for path in (folder, *folder.rglob("*")):
            expected = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_nothing_that_leaves_a_party_holds_a_private_key(admitted):
    private = []
    for path in (*admitted.folder.rglob("keys/*/*.key"), *admitted.authority.rglob("*.key")):
        key = certificates.load_key(path.read_bytes(), path)
        private.append(path.read_bytes().splitlines()[1])
        if isinstance(key, X25519PrivateKey):
            private.append(key.private_bytes_raw())
    assert len(private) == 3 * 2 + 3 + 3
    names = "request.json", "admission*.json", "members.json", "*.pem"
    public = [path.read_bytes() for name in names for path in admitted.folder.rglob(name)]
    assert public
    assert not any(key in text for key in private for text in public)


def test_certificates_are_for_clients_and_say_who_it_is(admitted):
    office = load_authority(admitted.authority)
    for name in EVERYBODY:
        certificate = admitted.identity(name).certificate
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert list(usage) == [certificates.CLIENT]
        assert names.get_values_for_type(x509.DNSName) == [office.members.members[name].user(name)]


def test_keys_are_never_written_over(machine):
    before = contents(machine.folder)
    with pytest.raises(OutputExistsError, match="is there already"):
        machine.create("north")
    with pytest.raises(OutputExistsError, match="is there already"):
        init_authority(machine.file, machine.authority)
    with pytest.raises(IdentityError, match="is there already"):
        private_files.write_private(machine.authority / "authority.key", b"another")
    assert contents(machine.folder) == before


def test_only_members_by_the_terms_are_made_and_admitted(machine):
    with pytest.raises(ConfigError, match=r"no member .* is called 'west'"):
        create_party(machine.file, "west", machine.folder)
    assert not (machine.folder / "west").exists()


# Requests.


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"name": "south"}, "altered"),
        ({"federation": "others"}, "asks to be admitted to 'others'"),
        ({"terms": "00" * 16}, "other terms"),
        ({"content": b"\x80"}, "other terms"),
        ({"content": b"\xc1"}, "not the terms of a federation"),
        ({"sealing": bytes(32)}, "altered"),
        ({"signing_request": "none"}, "signing request is damaged"),
        ({"signature": b""}, "altered"),
    ],
)
def test_an_altered_request_is_refused_and_nothing_changes(machine, changes, found):
    request = rotate_party(machine.party("north"))
    rewrite(request, Request, **changes)
    before = contents(machine.authority)
    with pytest.raises(IdentityError, match=found):
        admit(machine.authority, request)
    assert contents(machine.authority) == before


def test_a_request_of_other_terms_is_refused_by_the_first_key_that_differs(machine, tmp_path):
    other = OneMachine(tmp_path / "other", epsilon=2.0)
    with pytest.raises(IdentityError, match=r"system\.epsilon is 2\.0 there and 1\.0 here"):
        admit(machine.authority, other.create("north"))


def test_a_request_that_shows_anothers_key_is_refused(machine):
    """Signed with a key for TLS of one's own, and with a sealing key that somebody else has."""
    taken = load_authority(machine.authority).members.members["north"].sealing
    for sealing, found in ((taken, "uses a key of north"), (bytes(32), "not a public X25519 key")):
        request = forged(machine, "south", sealing)
        with pytest.raises(IdentityError, match=found):
            admit(machine.authority, request)


def forged(machine: OneMachine, name: str, sealing: bytes) -> pathlib.Path:
    """A request that is signed as it should be, whatever sealing key is in it."""
    key, terms = certificates.new_key(), machine.federation.terms
    request = Request(
        name=name,
        federation="clinics",
        terms=terms.digest,
        content=terms.content,
        sealing=sealing,
        signing_request=certificates.signing_request(name, key).decode(),
    )
    signature = key.sign(
        members.signable(request), certificates.ec.ECDSA(certificates.hashes.SHA256())
    )
    path = machine.folder / "forged.json"
    path.write_bytes(msgspec.structs.replace(request, signature=signature).encode())
    return path


def test_who_is_no_member_by_the_terms_is_not_admitted(machine):
    sealing = X25519PrivateKey.generate().public_key().public_bytes_raw()
    with pytest.raises(IdentityError, match="'west' is no member"):
        admit(machine.authority, forged(machine, "west", sealing))


def test_admissions_at_the_same_time_follow_one_another(tmp_path):
    """No two lists of members have the same version."""
    machine = OneMachine(tmp_path)
    requests = [machine.create(name) for name in EVERYBODY]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda request: admit(machine.authority, request), requests))
    lists = [msgspec.json.decode(r.admission.read_bytes(), type=Admission).members for r in results]
    assert sorted(found.version for found in lists) == [1, 2, 3]
    assert set(load_authority(machine.authority).members.present) == set(EVERYBODY)


# Admissions.


@pytest.mark.parametrize("field", Admission.__struct_fields__)
def test_an_altered_admission_is_refused_and_nothing_changes(machine, tmp_path, field):
    admission = admit(machine.authority, machine.party("north") / "request.json").admission
    found = msgspec.json.decode(admission.read_bytes(), type=Admission)
    value = getattr(found, field)
    false = {str: "x", bytes: bytes(len(value) if isinstance(value, bytes) else 0)}
    other = false.get(type(value)) or msgspec.structs.replace(value, version=99)
    rewrite(admission, Admission, **{field: other})
    before = contents(machine.party("north"))
    with pytest.raises(IdentityError):
        install_admission(machine.party("north"), admission)
    assert contents(machine.party("north")) == before


def test_an_admission_is_for_its_own_party_and_its_own_keys(machine):
    south = admit(machine.authority, machine.party("south") / "request.json").admission
    with pytest.raises(IdentityError, match="is an admission of 'south', but this party is north"):
        install_admission(machine.party("north"), south)
    rotate_party(machine.party("south"))
    shutil.rmtree(machine.party("north"))
    machine.create("north")
    earlier = machine.authority / "admission-north.json"
    with pytest.raises(IdentityError, match="is not for the keys of north"):
        install_admission(machine.party("north"), earlier)


def test_the_first_admission_decides_which_authority_is_trusted(machine, tmp_path):
    """A fingerprint that was told by other means is compared."""
    other = init_authority(machine.file, tmp_path / "other")
    false = admit(other, machine.party("north") / "request.json").admission
    with pytest.raises(IdentityError, match="but this party trusts"):
        install_admission(machine.party("north"), false)
    shutil.rmtree(machine.party("north"))
    request = machine.create("north")
    told = spoken_fingerprint(load_authority(machine.authority).public)
    admission = admit(other, request, replace=True).admission
    with pytest.raises(IdentityError, match="of authority"):
        install_admission(machine.party("north"), admission, told)
    right = admit(machine.authority, request, replace=True).admission
    install_admission(machine.party("north"), right, told.upper())
    load_identity(machine.party("north")).check()


def test_an_admission_that_came_late_is_put_to_use_and_an_outdated_one_is_not(machine):
    party = machine.party("north")
    rotate_party(party)
    first = admit(machine.authority, party / "request.json", replace=True).admission
    kept = first.with_name("kept.json")
    shutil.copy(first, kept)
    newer = revoke(machine.authority, "south").read_bytes()
    load_identity(party).members.offer(newer)
    install_admission(party, kept)  # older than the list that is known, and yet right
    identity = load_identity(party)
    identity.check()
    assert identity.members.current.members["south"].revoked
    before = contents(party)
    admit(machine.authority, party / "request.json")  # again: another certificate
    identity.members.offer((machine.authority / "members.json").read_bytes())
    with pytest.raises(IdentityError, match="version 6 of the list of members has other keys"):
        install_admission(party, kept)
    assert contents(party).keys() == before.keys()


def test_a_list_in_an_admission_needs_a_signature_of_its_own(machine):
    """It is kept by itself, and passed on."""
    office = load_authority(machine.authority)
    path = machine.party("north") / "admission.json"
    found = msgspec.json.decode(path.read_bytes(), type=Admission)
    bare = msgspec.structs.replace(found.members, signature=b"")
    path.write_bytes(msgspec.structs.replace(found, members=bare).signed(office.signing).encode())
    with pytest.raises(IdentityError, match="not signed by the authority"):
        install_admission(machine.party("north"), path)


def test_a_party_that_was_not_admitted_yet_says_so(tmp_path):
    machine = OneMachine(tmp_path)
    machine.create("north")
    with pytest.raises(IdentityError, match="not admitted yet"):
        load_identity(machine.party("north"))


# Revoking and rotating.


def test_a_revoked_member_knows_and_comes_back_with_new_keys_alone(machine):
    party = machine.party("south")
    revoke(machine.authority, "south")
    with pytest.raises(IdentityError, match="'south' is not admitted; admitted: hub, north"):
        revoke(machine.authority, "south")
    with pytest.raises(IdentityError, match="was revoked by the authority"):
        machine.identity("south").check()
    with pytest.raises(IdentityError, match="were revoked or replaced"):
        machine.admit("south")
    rotate_party(party)
    machine.admit("south", replace=True)
    machine.identity("south").check()
    assert set(load_authority(machine.authority).members.present) == set(EVERYBODY)


def test_a_party_goes_on_with_its_keys_until_new_ones_are_admitted(machine):
    party = machine.party("north")
    before = load_identity(party)
    rotate_party(party)
    load_identity(party).check()
    assert len(list((party / "keys").iterdir())) == 2
    admission = admit(machine.authority, party / "request.json", replace=True)
    load_identity(party).check()  # it does not know yet
    hub = machine.identity("hub").sealer(("north",))
    frame = before.sealer(("hub",)).seal("hub", b"")
    with pytest.raises(FedbanditsError, match="another key"):
        hub.open("north", frame)
    with pytest.raises(IdentityError, match="were replaced by version 4"):
        machine.identity("north").check()
    install_admission(party, admission.admission)
    after = load_identity(party)
    after.check()
    assert hub.open("north", after.sealer(("hub",)).seal("hub", b"new")) == b"new"
    assert len(list((party / "keys").iterdir())) == 1


def test_keys_take_the_place_of_others_only_if_the_authority_says_so(machine, tmp_path):
    """Anybody can make a request in north's name."""
    before = load_authority(machine.authority).members
    forged = create_party(machine.file, "north", tmp_path)
    asked = read_request(forged)
    own = read_request(machine.party("north") / "request.json")
    assert asked.fingerprint != own.fingerprint
    with pytest.raises(IdentityError, match=f"if north itself says that {asked.fingerprint}"):
        admit(machine.authority, forged)
    assert load_authority(machine.authority).members == before
    machine.identity("north").check()
    assert admit(machine.authority, forged, replace=True).fingerprint == asked.fingerprint
    with pytest.raises(IdentityError, match="were replaced by version"):
        machine.identity("north").check()


def test_a_sealing_key_alone_prolongs_nothing(machine):
    """All members know it: who shows it beside another key for TLS may be any of them."""
    sealing = load_authority(machine.authority).members.members["north"].sealing
    request = forged(machine, "north", sealing)
    with pytest.raises(IdentityError, match="has new keys of north"):
        admit(machine.authority, request)
    (machine.authority / "admission-north.json").unlink()
    with pytest.raises(IdentityError, match="has new keys of north"):
        admit(machine.authority, request)
    machine.identity("north").check()


def test_keys_that_wait_to_be_admitted_are_kept(machine):
    """Of two rotations either can be admitted first."""
    party = machine.party("north")
    first = machine.folder / "first.json"
    shutil.copy(rotate_party(party), first)
    rotate_party(party)
    install_admission(party, admit(machine.authority, first, replace=True).admission)
    load_identity(party).check()
    machine.admit("north", replace=True)
    load_identity(party).check()
    assert len(list((party / "keys").iterdir())) == 1
    with pytest.raises(IdentityError, match="were revoked or replaced"):
        admit(machine.authority, first)


def test_the_same_request_again_is_a_longer_certificate(machine):
    before = load_identity(machine.party("north"))
    machine.admit("north", days=500)
    after = load_identity(machine.party("north"))
    assert after.expires > before.expires
    assert after.members.current.version == before.members.current.version + 1


def test_a_certificate_that_has_expired_is_named(machine):
    identity = machine.identity("north")
    identity.check(identity.expires - datetime.timedelta(hours=1))
    with pytest.raises(IdentityError, match=rf"north has expired on {identity.expires:%Y-%m-%d}"):
        identity.check(identity.expires + datetime.timedelta(seconds=1))
    with pytest.raises(IdentityError, match="not valid yet; set this machine's clock"):
        identity.check(identity.expires - datetime.timedelta(days=1000))


# Lists of members.


def known(machine: OneMachine) -> KnownMembers:
    return load_identity(machine.party("hub")).members


def test_an_older_list_is_refused_and_the_same_one_changes_nothing(machine):
    first = (machine.authority / "admission-north.json").read_bytes()
    older = msgspec.json.decode(first, type=Admission).members.encode()  # of version 1
    hub = known(machine)
    before = hub.current
    assert not hub.offer(before.encode())
    with pytest.raises(IdentityError, match="version 1 of the list of members, but 3 is known"):
        hub.offer(older)
    assert hub.current == before
    assert known(machine).current == before


def test_a_list_is_by_the_authority_or_refused(machine, tmp_path):
    hub = known(machine)
    newer = msgspec.structs.replace(hub.current, version=9)
    with pytest.raises(IdentityError, match="not signed by the authority"):
        hub.offer(newer.encode())
    with pytest.raises(IdentityError, match="not signed by the authority"):
        hub.offer(msgspec.structs.replace(newer, signature=b"").encode())
    stranger = load_authority(init_authority(machine.file, tmp_path / "other"))
    with pytest.raises(IdentityError, match="not signed by the authority"):
        hub.offer(newer.signed(stranger.signing).encode())
    for damaged in (b"", b"{}", b"[" * 100_000, b"\xff", newer.encode()[:-9]):
        with pytest.raises(IdentityError, match="is damaged, or no list of members"):
            hub.offer(damaged)


@pytest.mark.parametrize("changes", [{"federation": "others"}, {"terms": "00" * 16}])
def test_a_list_of_another_federation_is_refused_even_if_signed(machine, changes):
    office, hub = load_authority(machine.authority), known(machine)
    other = msgspec.structs.replace(hub.current, version=9, **changes).signed(office.signing)
    with pytest.raises(IdentityError, match="expected 'clinics' with terms"):
        hub.offer(other.encode())


def test_two_lists_of_one_version_are_refused(machine):
    """The authority's folder was put back from a backup, and used again."""
    office, hub = load_authority(machine.authority), known(machine)
    fewer = {name: hub.current.members[name] for name in ("north", "hub")}
    other = msgspec.structs.replace(hub.current, members=fewer).signed(office.signing)
    with pytest.raises(IdentityError, match="two lists of members of version 3"):
        hub.offer(other.encode())


def test_a_running_party_never_writes_an_older_list_over_a_newer_one(machine):
    """An admission may be installed while it runs."""
    running = known(machine)
    fourth = revoke(machine.authority, "south").read_bytes()
    machine.admit("hub")  # version 5
    assert running.current.version == 3
    with pytest.raises(IdentityError, match="version 4 of the list of members, but 5 is known"):
        running.offer(fourth)
    assert running.current.version == 5
    load_identity(machine.party("hub")).check()


# Damage, and things that stop halfway.


def files_of(folder: str) -> list[str]:
    return {
        "party": ["federation.toml", "request.json", "admission.json", "members.json",
                  "sealing.key", "tls.key", "tls.pem", "issuer.pem"],
        "authority": ["federation.toml", "authority.key", "issuer.key", "issuer.pem",
                      "members.json"],
    }[folder]  # fmt: skip


def use_party(folder: pathlib.Path) -> None:
    identity = load_identity(folder)
    identity.check()
    identity.tls_context()


DAMAGE = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-30]),
    "nonsense": lambda path: path.write_bytes(b"\xff" * 300),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    ("kind", "file"), [(kind, file) for kind in ("party", "authority") for file in files_of(kind)]
)
def test_what_is_damaged_is_named(machine, kind, file, damage):
    folder = machine.party("north") if kind == "party" else machine.authority
    (path,) = folder.rglob(file)
    DAMAGE[damage](path)
    with pytest.raises((IdentityError, ConfigError)) as refused:
        use_party(folder) if kind == "party" else load_authority(folder)
    told = str(refused.value)
    assert path.name in told or str(path.parent) in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("kind", "file"), [("party", "sealing.key"), ("party", "tls.key"),
                       ("authority", "authority.key"), ("authority", "issuer.key")],
)  # fmt: skip
def test_keys_that_others_can_read_are_refused(machine, kind, file):
    folder = machine.party("north") if kind == "party" else machine.authority
    (path,) = folder.rglob(file)
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        with pytest.raises(IdentityError, match=f"can be read by others .mode 0{mode:o}"):
            load_identity(folder) if kind == "party" else load_authority(folder)


def test_keys_that_do_not_belong_together_are_refused(machine):
    """A sealing key, and one for TLS, that were put in place of those that were admitted."""
    other = machine.copy(machine.folder / "again")
    rotate_party(other.party("north"))
    other.admit("north", replace=True)
    for file in ("sealing.key", "tls.key"):
        (path,) = machine.party("north").rglob(file)
        (false,) = other.party("north").rglob(file)
        kept = path.read_bytes()
        path.write_bytes(false.read_bytes())
        with pytest.raises(
            IdentityError, match=r"not the key that was admitted|missing or damaged"
        ):
            use_party(machine.party("north"))
        path.write_bytes(kept)
    use_party(machine.party("north"))


class Stops:
    """Fails at one of the writes, as a machine that loses its power there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self._left, self._write = at, private_files.write_private
        for module in (authority, enrolment, members):
            monkeypatch.setattr(module, "write_private", self)

    def __call__(self, *args: object, **options: object) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        self._write(*args, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("at", range(1, 5))
def test_an_admission_that_stops_halfway_can_be_installed_again(machine, monkeypatch, at):
    party = machine.party("north")
    rotate_party(party)
    admission = admit(machine.authority, party / "request.json", replace=True).admission
    with monkeypatch.context() as patch:
        Stops(patch, at)
        with pytest.raises(KeyboardInterrupt):
            install_admission(party, admission)
    load_identity(party)  # with its earlier keys, which it may know to be replaced
    install_admission(party, admission)
    use_party(party)


@pytest.mark.parametrize("at", range(1, 4))
def test_admitting_that_stops_halfway_can_be_done_again(machine, monkeypatch, at):
    party = machine.party("north")
    rotate_party(party)
    with monkeypatch.context() as patch:
        Stops(patch, at)
        with pytest.raises(KeyboardInterrupt):
            admit(machine.authority, party / "request.json", replace=True)
    machine.admit("north", replace=True)
    use_party(party)


@pytest.mark.parametrize("at", range(1, 4))
def test_keys_that_are_half_made_are_not_there(tmp_path, monkeypatch, at):
    machine = OneMachine(tmp_path)
    with monkeypatch.context() as patch:
        Stops(patch, at)
        with pytest.raises(KeyboardInterrupt):
            machine.create("north")
    assert not machine.party("north").exists()
    assert not list(machine.party("north").parent.iterdir())
    machine.create("north")


def test_a_disk_that_is_full_is_named_and_nothing_changes(machine, monkeypatch):
    before = contents(machine.authority)

    def full(path: pathlib.Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(private_files, "_write", full)
    with pytest.raises(IdentityError, match=r"members\.json: cannot be written \(No space left"):
        revoke(machine.authority, "north")
    assert contents(machine.authority) == before


def test_lists_say_the_same_on_every_machine(admitted):
    """What is signed does not depend on the order in which members were admitted."""
    current = load_authority(admitted.authority).members
    turned = msgspec.structs.replace(current, members=dict(reversed(current.members.items())))
    assert members.signable(turned) == members.signable(current)
    assert members.decode(Members, current.encode(), "a list") == current
