"""SIGHUP: what can change while the node runs does, what cannot is named, and a mistake
changes nothing."""

import signal

from harness.wait import wait_until


def configured_node(make_node, text):
    """A node with a file of its own, and a function that writes the file anew and reloads."""
    node = make_node()
    path = node.directory / "dueq.yaml"
    path.write_text(text)
    node.argv = lambda argv=node.argv: [*argv(), "--config", path]

    def reload(new_text):
        path.write_text(new_text)
        node.process.signal(signal.SIGHUP)

    return node.start(), reload


def test_the_log_level_can_change(make_node):
    node, reload = configured_node(make_node, "log:\n  level: info\n")
    assert " debug " not in node.output()
    reload("log:\n  level: debug\n")

    def a_connection_is_logged():
        with node.python_client() as client:
            client.push("topic", "logged-1", ttr=0)
            client.pop("topic")
        return " debug " in node.output()

    wait_until(a_connection_is_logged, "debug lines appear")


def test_what_needs_a_restart_is_named(make_node):
    node, reload = configured_node(make_node, "gmq:\n  strict: false\n")
    reload("gmq:\n  strict: true\n")
    wait_until(lambda: "gmq.strict" in node.output(), "the log names the key")
    with node.python_client() as client:
        client.push("topic", "still-1")
        assert client.pop("topic")["status"] == 3


def test_a_mistake_changes_nothing(make_node):
    node, reload = configured_node(make_node, "log:\n  level: info\n")
    reload("log:\n  level: debug\n  nonsense: 1\n")
    wait_until(lambda: "log.nonsense" in node.output(), "the log names the mistake")
    with node.python_client() as client:
        client.push("topic", "quiet-1")
    assert " debug " not in node.output()
