#!/usr/bin/env python3
"""Pushes one delayed job over gmq's protocol, waits for it, and says how late it came.

`./dev up` shows with it that a new node works; it is also the shortest client there is.
"""
import argparse
import json
import socket
import sys
import time
import uuid

TOPIC = "hello"


class Client:
    """One JSON object out, one line back."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.lines = self.socket.makefile("r", encoding="utf-8")

    def call(self, method, param):
        request = {"method": "Service." + method, "params": [param], "id": 1}
        self.socket.sendall(json.dumps(request).encode())
        reply = json.loads(self.lines.readline())
        return reply["result"], reply["error"]


def push(client, delay_s):
    job = {"id": "hello-" + uuid.uuid4().hex[:12], "topic": TOPIC, "body": "hello, later",
           "delay": delay_s, "TTR": 10}
    pushed_at = time.monotonic()
    _, error = client.call("Push", job)
    if error:
        sys.exit(f"the push was refused: {error}")
    print(f"pushed   {job['id']} to topic '{TOPIC}', due in {delay_s} s")
    return job["id"], pushed_at


def wait_for(client, job_id, deadline):
    """Takes jobs until it is ours; returns when that was. Others are left to an earlier run."""
    while time.monotonic() < deadline:
        job, error = client.call("Pop", [TOPIC])
        arrived_at = time.monotonic()
        if error and error != "empty":
            sys.exit(f"the pop failed: {error}")
        if not error:
            client.call("Ack", job["id"])
            if job["id"] == job_id:
                return job, arrived_at
    sys.exit("the job did not arrive")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9503)
    parser.add_argument("--delay", type=int, default=2, help="seconds")
    args = parser.parse_args()
    try:
        client = Client(args.port)
        job_id, pushed_at = push(client, args.delay)
        job, arrived_at = wait_for(client, job_id, pushed_at + args.delay + 10)
    except (OSError, ValueError) as error:
        sys.exit(f"no answer from the node on port {args.port}: {error}")
    # Due is counted from when the store took the job, a moment after we sent it: this is the
    # most that it can have been late.
    late_ms = (arrived_at - pushed_at - args.delay) * 1000
    print(f"arrived  {job['id']}: '{job['body']}', {late_ms:.1f} ms late")


if __name__ == "__main__":
    main()
