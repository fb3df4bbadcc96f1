"""A server that is no c10d store: stranger.py PORT answers|silent."""

import contextlib
import sys
import threading
from socket import create_server, socket


def serve(peer: socket) -> None:
    with peer, contextlib.suppress(ConnectionError):
        while peer.recv(4096):
            if sys.argv[2] == "answers":
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


with create_server(("", int(sys.argv[1]))) as server:
    print("listening", flush=True)
    while True:
        threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
