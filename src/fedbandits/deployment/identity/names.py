"""Names of files and folders in a party's folder."""

from __future__ import annotations

import os

Path = str | os.PathLike[str]
#: Names in a party's folder.
FEDERATION, MEMBERS, KEYS = "federation.toml", "members.json", "keys"
REQUEST, ADMISSION = "request.json", "admission.json"
#: Names in the folder of a pair of keys.
SEALING, TLS, CERTIFICATE, ISSUER = "sealing.key", "tls.key", "tls.pem", "issuer.pem"
