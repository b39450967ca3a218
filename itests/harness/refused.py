"""A node that is set up wrongly, and ends."""

from harness.process import reap_orphans


def said_by(node):
    """What a node says that does not start; checks that it left nothing running."""
    node.launch()
    code = node.process.wait()
    node.process = None
    reap_orphans()
    assert code > 0, f"ended with {code}:\n{node.output()}"
    node.check_sanitizers()
    return node.output()
