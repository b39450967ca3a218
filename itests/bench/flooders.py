"""Strangers at another address, who take what they can get of a node: processes that do one thing
as fast as they can until they are stopped.

They run at the lowest priority: strangers are on machines of their own, and what they cost here is
to be the node's work for them, not their own.
"""

import multiprocessing
import os
import select
import socket
import ssl
import struct
import time
from contextlib import contextmanager

FROM = "127.0.0.2"
BATCH = 32  # requests that are sent at once
CONNECTIONS = 32  # of one flooder, where it does not connect anew all the time
SLOW_CONNECTIONS = 100
PAUSE_S = 0.02  # of who was refused: else it would do nothing but be refused by its own machine
AT_ONCE = struct.pack("ii", 1, 0)


def _connect(port):
    made = socket.socket()
    made.bind((FROM, 0))
    made.settimeout(5)
    made.connect(("127.0.0.1", port))
    return made


def _request(token=None, body=b""):
    token = f"Authorization: Bearer {token}\r\n" if token else ""
    return (f"POST /v1/topics/flood/jobs HTTP/1.1\r\nHost: localhost\r\n{token}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def _fill(port, said, done):
    """Many connections, each as full of requests as it gets; another one for each that ends."""
    open_, watched = {}, select.epoll()
    while True:
        while len(open_) < CONNECTIONS:
            try:
                made = _connect(port)
            except OSError:
                time.sleep(PAUSE_S)
                break
            made.setblocking(False)
            open_[made.fileno()] = made
            watched.register(made, select.EPOLLIN | select.EPOLLOUT)
        for number, events in watched.poll(0.1):
            try:
                if events & ~select.EPOLLOUT:
                    got = open_[number].recv(1 << 18)
                    done.value += got.count(b"HTTP/1.1 ")
                    if not got:
                        raise ConnectionResetError
                if events & select.EPOLLOUT and open_[number].send(said * BATCH) == 0:
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                watched.unregister(number)
                open_.pop(number).close()


def without_token(port, done, _):
    _fill(port, _request(), done)


def wrong_token(port, done, _):
    _fill(port, _request("dq_" + "x" * 43), done)


def pushes(port, done, _):
    _fill(port, _request("flood", b'{"body": "x"}'), done)


def connections(port, done, _):
    """Each is reset at once."""
    while True:
        try:
            made = _connect(port)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            made.close()
            done.value += 1
        except OSError:
            time.sleep(PAUSE_S)


def wrong_tokens_on_new_connections(port, done, _):
    while True:
        try:
            with _connect(port) as made:
                made.sendall(_request("dq_" + "x" * 43))
                made.recv(4096)
            done.value += 1
        except OSError:
            pass


def slow_headers(port, done, _):
    """A byte each, again and again, on as many connections as it gets."""
    slow, word = [], b"GET /" + b"x" * 8000
    while True:
        while len(slow) < SLOW_CONNECTIONS:
            try:
                slow.append([_connect(port), 0])
            except OSError:
                break
        for each in list(slow):
            try:
                each[0].sendall(word[each[1] % 8000:each[1] % 8000 + 1])
                each[1] += 1
                done.value += 1
            except OSError:
                slow.remove(each)
                each[0].close()


def handshakes(port, done, ca):
    context = ssl.create_default_context(cafile=ca)
    while True:
        try:
            with _connect(port) as plain, \
                    context.wrap_socket(plain, server_hostname="localhost"):
                done.value += 1
        except OSError:
            pass


KINDS = {"requests without a token": without_token,
         "requests with a wrong token": wrong_token,
         "wrong tokens, each on a new connection": wrong_tokens_on_new_connections,
         "valid pushes, far over its rate": pushes,
         "new connections": connections,
         "headers that come byte by byte": slow_headers,
         "TLS handshakes": handshakes}


def _run(kind, port, done, ca):
    os.nice(19)
    KINDS[kind](port, done, ca)


@contextmanager
def flood(kind, port, ca):
    """While it lasts; gives a function that says how much was done so far."""
    context = multiprocessing.get_context("fork")
    done = context.Value("q", 0, lock=False)
    process = context.Process(target=_run, args=(kind, port, done, ca), daemon=True)
    process.start()
    try:
        yield lambda: done.value
    finally:
        process.kill()
        process.join()
