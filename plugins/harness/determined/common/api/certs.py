"""Which certificates of the master are accepted."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import ssl
from typing import Optional

# The value of DET_MASTER_CERT_FILE that turns verification off.
NOVERIFY = "noverify"


@dataclasses.dataclass(frozen=True)
class Cert:
    """Trusted certificates in addition to the system's authorities.

    ``cert_pem`` has further authorities, ``noverify`` accepts any certificate, ``name`` is the name
    that the certificate must have, by default the host's.

    Example:

        >>> import ssl
        >>> Cert(noverify=True).context().verify_mode == ssl.CERT_NONE
        True
    """

    cert_pem: Optional[str] = None
    noverify: bool = False
    name: Optional[str] = None

    def __post_init__(self) -> None:
        if self.cert_pem is not None and self.noverify:
            raise ValueError("give a certificate, or disable its verification, but not both")

    def context(self) -> ssl.SSLContext:
        """Return the TLS settings for these certificates."""
        context = ssl.create_default_context()
        if self.noverify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self.cert_pem is not None:
            context.load_verify_locations(cadata=self.cert_pem)
        return context


def from_names(file: Optional[str], name: Optional[str]) -> Cert:
    """Return the ``Cert`` for a file (or the word noverify) and a name.

    Example:

        >>> from_names("noverify", None)
        Cert(cert_pem=None, noverify=True, name=None)
    """
    if file == NOVERIFY:
        return Cert(noverify=True, name=name or None)
    if not file:
        return Cert(name=name or None)
    try:
        pem = pathlib.Path(file).read_text(encoding="ascii")
    except (OSError, ValueError) as err:
        raise ValueError(
            f"DET_MASTER_CERT_FILE or cert_path names {file}, which cannot be read: {err}"
        ) from err
    return Cert(cert_pem=pem, name=name or None)


def default_load(
    master_url: str,
    explicit_path: Optional[str] = None,
    explicit_cert_name: Optional[str] = None,
    explicit_noverify: bool = False,
) -> Cert:
    """Return the ``Cert`` for the arguments, else for the environment.

    master_url is for messages only.

    Example:

        >>> default_load("https://localhost:8443", explicit_noverify=True).noverify
        True
    """
    if explicit_noverify:
        return Cert(noverify=True, name=explicit_cert_name)
    try:
        return from_names(
            explicit_path or os.environ.get("DET_MASTER_CERT_FILE"),
            explicit_cert_name or os.environ.get("DET_MASTER_CERT_NAME"),
        )
    except ValueError as err:
        raise ValueError(f"{err} (needed to reach {master_url})") from err
