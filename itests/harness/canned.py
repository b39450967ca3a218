"""A server whose answers were written before: what a node would have to be in trouble to say."""

import contextlib
import itertools
import socket
import threading


@contextlib.contextmanager
def server(answer, connections=None):
    """A server on loopback that sends `answer` to each request and closes; None: says nothing.
    A list: the answers one by one, and then no request is taken any more. The requests it got
    are appended to `connections`."""
    held = []
    answers = answer if isinstance(answer, list) else itertools.repeat(answer)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            for next_answer in answers:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                held.append(connection)
                data = connection.recv(65536)
                if connections is not None:
                    connections.append(data)
                if next_answer is not None:
                    connection.sendall(next_answer)
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            for connection in held:
                connection.close()


def reply(status, body=b"", headers=b""):
    return (b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s"
            % (status, len(body), headers, body))
