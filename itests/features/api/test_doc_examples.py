"""The examples of doc/http.md answer what the page says."""
from harness.page import Page

VARYING = ("next", "holder", "oldest_ready_age_ms", "next_due_in_ms")


def test_every_example_answers_what_the_page_says(node):
    page = Page("http.md", {"H": f"http://127.0.0.1:{node.http_port}"}, VARYING)
    assert page.check(has_statuses=False) > 10


def test_a_page_that_says_something_else_is_found_out(node):
    env = {"H": f"http://127.0.0.1:{node.http_port}"}
    for wrong in ('    $ curl $H/v1/topics/none\n    {"topic":"some"}\n',
                  '    $ curl $H/v1/topics/none/jobs/1\n    {...}\n',
                  '    $ curl $H/health/live\n    HTTP 503\n    {"status":"live"}\n'):
        page = Page("http.md", env)
        page.text = wrong
        try:
            page.check()
        except AssertionError:
            continue
        raise RuntimeError(wrong)
