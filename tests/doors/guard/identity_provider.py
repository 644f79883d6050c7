"""An OpenID Connect provider on this machine, over real HTTP: its description, its keys, and tokens it has signed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

AUDIENCE = "quoth"


class Provider:
    """Signs with real keys, gives the public halves, and counts how often it was asked for them."""

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}/realm"
        self.called = self.issuer
        self.asked = 0
        self.extra: list[dict[str, Any]] = []
        self._keys: dict[str, tuple[str, Any]] = {}

    def new_key(self, key_id: str, algorithm: str = "ES256", *, bits: int = 2_048) -> None:
        made: dict[str, Any] = {
            "RS256": lambda: rsa.generate_private_key(65_537, bits),
            "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
            "EdDSA": ed25519.Ed25519PrivateKey.generate,
        }
        self._keys[key_id] = (algorithm, made[algorithm]())

    def withdraw(self, key_id: str) -> None:
        del self._keys[key_id]

    def token(self, key_id: str, **claims: Any) -> str:  # noqa: ANN401 - any JSON
        """A token that holds, unless `claims` say otherwise; None leaves one out."""
        return self.signed(key_id, self.claims(**claims))

    def signed(self, key_id: str, claims: dict[str, Any], **headers: Any) -> str:  # noqa: ANN401 - any JSON
        algorithm, key = self._keys[key_id]
        return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": key_id, **headers})

    def claims(self, **claims: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 300}
        return {name: value for name, value in {**usual, **claims}.items() if value is not None}

    def public_key(self, key_id: str) -> Any:  # noqa: ANN401 - of any kind
        return self._keys[key_id][1].public_key()

    def page(self, path: str) -> dict[str, Any] | None:
        if path == "/realm/.well-known/openid-configuration":
            return {"issuer": self.called, "jwks_uri": f"{self.issuer}/keys"}
        if path != "/realm/keys":
            return None
        self.asked += 1
        kinds: dict[str, Any] = {
            "RS256": jwt.algorithms.RSAAlgorithm,
            "ES256": jwt.algorithms.ECAlgorithm,
            "EdDSA": jwt.algorithms.OKPAlgorithm,
        }
        keys = [
            {**kinds[algorithm].to_jwk(key.public_key(), as_dict=True), "kid": key_id, "use": "sig"}
            for key_id, (algorithm, key) in self._keys.items()
        ]
        return {"keys": [*self.extra, *keys]}


@contextmanager
def providing(port: int = 0, provider: Provider | None = None) -> Iterator[Provider]:
    """A provider that listens while the block runs; give it again to let it listen once more, on the same `port`."""
    held: list[Provider] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = held[0].page(self.path)
            body = json.dumps(page).encode()
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    held.append(provider or Provider(server.server_address[1]))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield held[0]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
