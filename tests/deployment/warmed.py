"""The kernels of FedUCB's agents, for whoever forks members: they are back in no time.

It is imported there and nowhere else: to load them takes a second.
"""

from __future__ import annotations

from fedbandits.deployment.process.rehearsal import warm
from tests.deployment.federations import clinics

warm(clinics(agents=2, kind="rounds"), {})
