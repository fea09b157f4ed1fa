"""Requests as a SuperNode or a stranger makes them, over TLS, one by one: what an attacker has in hand."""

import http.client
import ssl
from base64 import b64encode
from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.supercore.primitives.asymmetric import public_key_to_bytes, sign_message
from flwr.supercore.protobuf.translation import PROTOBUF_REQUEST_TYPES

PROTOBUF = {"content-type": "application/protobuf"}


def new_key():
    """A good key that nobody knows."""
    return ec.generate_private_key(ec.SECP384R1())


def key_of(folder):
    """A site's private key."""
    return load_ssh_private_key((folder / "key").read_bytes(), None)


def public(key):
    return public_key_to_bytes(key.public_key())


def key_headers(key, when=None, claimed=None):
    """A signature of the time, as Flower's nodes make it; `claimed` is the key that is said to have made it."""
    signed = (when or datetime.now(UTC)).isoformat()
    return {
        "flwr-public-key": b64encode(public(claimed or key)).decode(),
        "flwr-timestamp": signed,
        "flwr-signature": b64encode(sign_message(key, signed.encode())).decode(),
    }


def body_of(path, key=None, node=0):
    """A request that Flower can read: a refusal is then no matter of its form."""
    if ("POST", path) not in PROTOBUF_REQUEST_TYPES:
        return b"{}"
    request = PROTOBUF_REQUEST_TYPES["POST", path]()
    names = {field.name for field in request.DESCRIPTOR.fields}
    if "public_key" in names and key is not None:
        request.public_key = public(key)
    if "heartbeat_interval" in names:
        request.heartbeat_interval = 30.0
    if "node" in names:
        request.node.node_id = node
    elif "node_id" in names:
        request.node_id = node
    return request.SerializeToString()


def knock(server, path, headers=None, body=b"", *, port=None, plain=False):
    """The status of one POST to the proxy, or to another port of this machine."""
    port = port or server.port
    if plain:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    else:
        trusted = ssl.create_default_context(cafile=str(server.file("ca.pem")))
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=trusted, timeout=30)
    try:
        connection.request("POST", path, body, {**PROTOBUF, **(headers or {})})
        with connection.getresponse() as answer:
            answer.read()
            return answer.status
    finally:
        connection.close()
