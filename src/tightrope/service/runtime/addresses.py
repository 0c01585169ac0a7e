"""Addresses that webhooks may be delivered to: those of the public internet, and networks that the operator names.

Who may make a webhook could else reach, from inside, what only machines inside can reach. A name may lead to another address every time it
is asked for, so it is looked up once, and the connection is made to an address that was checked.
"""

import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from ..domain.errors import Refused

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Place = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]  # what a socket connects to
AddressInfo = tuple[socket.AddressFamily, socket.SocketKind, int, str, Place]  # as `getaddrinfo` answers
TRANSLATED = tuple(ipaddress.IPv6Network(one) for one in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"))  # to IPv4
REMEDY = "give a public address, or let the operator name its network (tightrope serve --webhook-network)"


def networks_of(texts: Sequence[str], option: str = "webhook_network") -> list[Network]:
    """Networks from text such as 10.0.0.0/8. option: that has them. Raises ValueError with a sentence."""
    networks: list[Network] = []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError:
            raise ValueError(f"{option} = {text!r} is not a network; give one such as 10.0.0.0/8 or 127.0.0.1/32.") from None
    return networks


def is_inside(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == one.version and address in one for one in networks)


def is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if any(address in one for one in TRANSLATED):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def parts_of(url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port, and the header Host of the address of a webhook. Refused where it is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or parts.scheme not in ("https", "http") or any(not "!" <= one <= "~" for one in url):
        raise Refused(422, "url is not an address of a webhook; give one such as https://hooks.example.com/tightrope.", "url")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise Refused(422, "url has a user, a password or a fragment, which are not sent; leave them out.", "url")
    standard = 443 if parts.scheme == "https" else 80
    return parts.scheme, host, standard if port is None else port, parts.netloc


def checked_addresses(scheme: str, host: str, port: int, networks: Sequence[Network]) -> Sequence[AddressInfo]:
    """The addresses of a name, as `getaddrinfo` answers, where all may be connected to. Raises Refused where one may not, and OSError
    where nobody knows the name."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, place in addresses:
        address = ipaddress.ip_address(str(place[0]).partition("%")[0])
        if is_inside(address, networks):
            continue
        if not is_public(address):
            raise Refused(422, f"url = {host!r} leads to {address}, which is not an address of the public internet; {REMEDY}.", "url")
        if scheme != "https":
            raise Refused(422, f"url begins with {scheme}://, by which anybody on the way can read it; give one with https://.", "url")
    return addresses
