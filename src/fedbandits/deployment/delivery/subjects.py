"""Names of subjects at the broker. Each names the sender and the receiver of its frames."""

from __future__ import annotations


def frames(federation: str, sender: str, receiver: str) -> str:
    """The subject of frames from one member to another; ``*`` stands for any."""
    return f"fb.{federation}.{sender}.{receiver}"


def sender_of(subject: str) -> str:
    """The member that may publish on a subject of frames; the broker sees to it."""
    return subject.split(".")[2]


def members(federation: str) -> str:
    """The subject of lists of members, which the authority has signed, whoever publishes them."""
    return f"fb.{federation}.members"


def ask_members(federation: str) -> str:
    """The subject on which members say which version of that list they know."""
    return f"fb.{federation}.members.version.known"
