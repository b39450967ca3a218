"""dueqctl token, on the API of a node: made, changed and revoked, at the same time as by others, and
with answers that are lost. (The file's are in test_access.py.)"""

import hashlib

import pytest

from harness.canned import reply, server
from harness.dueqctl import DONE, NOTHING, REFUSED, UNKNOWN, UNREACHABLE, USAGE, Dueqctl
from harness.identities import Identities, serving

A, B, C = (digit * 64 for digit in "abc")


def hash_of(token):
    return hashlib.sha256(token.encode()).hexdigest()


def run(known, *words, **options):
    with serving(known) as url:
        return Dueqctl(url)("token", *words, **options)


def test_a_token_is_made_rotated_and_revoked():
    known = Identities()
    first = run(known, "new", "shop", "--roles", "produce", "--topics", "orders,mail/*")
    assert first.code == DONE and "all nodes know it within a second" in first.complaint
    assert known.line("shop") == f"shop produce topics=orders,mail/* token={hash_of(first.text.strip())}"
    second = run(known, "new", "shop", "--rate", "7", "--json").json()
    assert second["name"] == "shop" and second["version"] == known.rows["shop"][1]
    assert known.tokens("shop") == [hash_of(first.text.strip()), hash_of(second["token"])]
    assert "topics=orders,mail/*" in known.line("shop") and "rate=7" in known.line("shop")
    assert not any(first.text.strip() in str(change) for change in known.changes)
    rows = run(known, "list", "--json").json()["identities"]
    assert [(row["name"], row["tokens"]) for row in rows] == [("shop", 2)]
    known.put("odd", "odd produce colour=red")
    assert [row.split() for row in run(known, "list").text.splitlines()] == [
        "NAME ROLES TOPICS TOKENS CERT UNTIL".split(), "shop produce orders,mail/* 2 - -".split(),
        "odd - - 0 - -".split()]
    del known.rows["odd"]
    assert run(known, "revoke", "shop", "--old").code == DONE
    assert known.tokens("shop") == [hash_of(second["token"])]
    again = run(known, "revoke", "shop", "--old", "--json")
    assert again.code == NOTHING and again.json()["error"]["code"] == "not_found"
    assert "has no second token of shop" in again.complaint
    gone = run(known, "revoke", "shop")
    assert gone.code == DONE and "shop is revoked; all nodes know that within a second" in gone.complaint
    assert known.rows == {} and run(known, "revoke", "shop").code == NOTHING
    assert len(known.changes) == 4, "nothing else was sent"


def test_a_certificate_needs_no_token():
    known = Identities()
    done = run(known, "new", "mill", "--roles", "produce", "--san", "DNS:mill.example.com")
    assert done.code == DONE and done.out == b"" and "all nodes take a certificate" in done.complaint
    assert known.line("mill") == "mill produce cert=DNS:mill.example.com"


def test_what_is_wrong_is_said_before_anything_is_sent():
    known = Identities(odd="odd produce colour=red")
    for words, said in ((("new", "shop"), "--roles is missing: shop is new"),
                        (("new", "shop", "--roles", "king"), "roles are"),
                        (("new", "a$", "--roles", "all"), "a name is 1 to 64"),
                        (("new", "..", "--roles", "all"), "no identity '.' or '..'"),
                        (("import",), "--file FILE is missing"), (("list", "x"), "new|list"),
                        (("new",), "new|list")):
        done = run(known, *words)
        assert done.code == USAGE and said in done.complaint, done
    done = run(known, "new", "odd")
    assert done.code == REFUSED and "has a line of odd that cannot be read" in done.complaint
    assert known.changes == []
    assert run(known, "revoke", "odd").code == DONE and known.rows == {}


# ---- others are faster ----

def test_a_change_of_somebody_else_stays_when_both_meet():
    known = Identities(shop=f"shop produce token={A}")
    known.trouble = [lambda: known.put("shop", f"shop produce,consume token={A},{B}"),
                     lambda: known.put("shop", f"shop consume token={B},{C}")]
    done = run(known, "new", "shop")
    assert done.code == DONE
    assert known.line("shop") == f"shop consume token={C},{hash_of(done.text.strip())}"


def test_the_older_token_is_the_one_that_was_seen_first():
    """Somebody else has revoked it and added another one: B is in use, and not revoked."""
    known = Identities(shop=f"shop produce token={A},{B}")
    known.trouble = [lambda: known.put("shop", f"shop produce token={B},{C}")]
    assert run(known, "revoke", "shop", "--old").code == NOTHING
    assert known.tokens("shop") == [B, C]


def test_an_identity_that_others_have_revoked_is_not_made_again():
    known = Identities(shop=f"shop produce token={A}")
    known.trouble = [known.rows.clear]
    done = run(known, "new", "shop", "--rate", "5")
    assert done.code == USAGE and "--roles is missing: shop is new" in done.complaint
    assert known.rows == {} and done.out == b""


def test_it_gives_up_where_others_are_always_faster():
    known = Identities(shop=f"shop produce token={A}")
    known.trouble = [lambda: known.put("shop", f"shop produce token={B}")] * 100
    done = run(known, "new", "shop", "--timeout", "400ms", "--json")
    assert done.code == REFUSED and done.json() == {"error": {"code": "wrong_state", "message": "no"}}
    assert len(known.changes) > 1 and known.tokens("shop") == [B]


def test_a_refusal_that_has_another_reason_is_told_at_once():
    """The version is still the same: access.in_redis is off, for example."""
    known = Identities(shop=f"shop produce token={A}")
    known.trouble = ["wrong_state"] * 100
    done = run(known, "new", "shop")
    assert done.code == REFUSED and "shop: no (wrong_state)" in done.complaint and "--file" in done.complaint
    assert done.out == b"" and len(known.changes) == 1


# ---- answers that are lost ----

CHANGES = [("new", "shop", "--roles", "consume"), ("revoke", "shop", "--old"), ("revoke", "shop")]


@pytest.mark.parametrize("words", CHANGES)
@pytest.mark.parametrize("trouble", [["lost"], ["gone"], ["unknown"], ["gone", "gone", "lost"]])
def test_an_answer_that_is_lost_is_looked_for(words, trouble):
    known = Identities(shop=f"shop produce token={A},{B}")
    known.trouble = list(trouble)
    done = run(known, *words)
    assert done.code == DONE, done
    if words[0] == "new":
        assert known.line("shop") == f"shop consume token={B},{hash_of(done.text.strip())}"
    else:
        assert known.rows.get("shop", [None])[0] == (f"shop produce token={B}" if "--old" in words else None)
    assert len(known.changes) == len(trouble) + (trouble[-1] != "lost")


def test_a_node_that_is_away_for_a_moment_is_asked_again():
    known = Identities(shop=f"shop produce token={A}")
    shown, lists = known.shown, iter([known.shown(), "unavailable"])
    known.shown = lambda: next(lists, None) or shown()
    known.trouble = ["lost"]
    done = run(known, "new", "shop")
    assert done.code == DONE and known.tokens("shop") == [A, hash_of(done.text.strip())]


@pytest.mark.parametrize("format", [(), ("--json",)])
def test_a_token_that_may_hold_is_shown(format):
    known = Identities(shop=f"shop produce token={A}")
    lists = iter([known.shown()])
    known.shown = lambda: next(lists, "unavailable")
    known.trouble = ["gone"]
    done = run(known, "new", "shop", *format, "--timeout", "400ms")
    assert done.code == UNKNOWN
    assert "may have happened (unknown)" in done.complaint and "dueqctl token list" in done.complaint
    assert "this token may hold or not" in done.complaint
    if format:
        assert done.json()["token"].startswith("dq_") and done.json()["error"]["code"] == "unknown"
    else:
        assert done.text.startswith("dq_")


@pytest.mark.parametrize("word", ["unauthorized", "unavailable", "duplicate"])
def test_no_token_is_shown_of_what_was_refused(word):
    known = Identities()
    known.trouble = [word]
    done = run(known, "new", "shop", "--roles", "all")
    assert done.code == REFUSED and done.out == b"" and known.rows == {} and len(known.changes) == 1


def test_a_node_without_identities_in_redis_says_so():
    with server(reply(b"404 Not Found", b'{"error":{"code":"not_found","message":"access.in_redis is off"}}')) as url:
        for words in (("list",), ("new", "shop", "--roles", "all"), ("revoke", "shop")):
            done = Dueqctl(url)("token", *words)
            assert done.code == REFUSED and "access.in_redis is off" in done.complaint
            assert "--file" in done.complaint and done.out == b""
    assert Dueqctl(url)("token", "new", "shop", "--roles", "all").code == UNREACHABLE


# ---- a token that the caller has made ----

def test_a_token_of_the_callers_own(tmp_path):
    known, file = Identities(), tmp_path / "token"
    file.write_text("x" * 31 + "\n" + "y" * 40)
    file.chmod(0o600)
    words = ("new", "shop", "--roles", "all", "--token-from", file)
    short = run(known, *words)
    assert short.code == USAGE and "has 31 characters" in short.complaint
    file.write_text("x" * 32 + "\n" + "y" * 40)
    done = run(known, *words)
    assert done.code == DONE and done.out == b"" and known.tokens("shop") == [hash_of("x" * 32)]
    assert run(known, *words).code == DONE and known.tokens("shop") == [hash_of("x" * 32)]
    file.write_text("two words, and still long enough\n")
    assert "is no token" in run(known, *words).complaint
    file.chmod(0o604)
    assert "chmod o-r" in run(known, *words).complaint


# ---- import ----

@pytest.fixture
def file(tmp_path):
    path = tmp_path / "identities"
    path.write_text(f"# ours\nshop produce token={A}\n\nmill  produce cert=DNS:Mill.example.com\nops operate,admin token={B}\n")
    path.chmod(0o600)
    return path


def test_a_file_is_imported_as_far_as_nothing_else_is_there(file):
    known = Identities(shop=f"shop produce token={A}", mill="mill consume")
    done = run(known, "import", "--file", file)
    assert done.code == REFUSED
    assert done.text == "shop: there already\nops: imported\n"
    assert "mill: http://" in done.complaint and "another line for mill; --force" in done.complaint
    assert [change[0] for change in known.changes] == ["ops"] and known.line("ops") == f"ops operate,admin token={B}"
    done = run(known, "import", "--file", file, "--force", "--json")
    assert done.code == DONE and done.json() == {"results": [
        {"name": "shop", "result": "there already"}, {"name": "mill", "result": "imported"},
        {"name": "ops", "result": "there already"}]}
    assert known.line("mill") == "mill produce cert=DNS:mill.example.com" and len(known.changes) == 2


def test_an_import_goes_on_behind_a_lost_answer_and_ends_where_nobody_answers(file):
    known = Identities()
    known.trouble = ["gone", "lost"]
    assert run(known, "import", "--file", file).text == "shop: imported\nmill: imported\nops: imported\n"
    known = Identities()
    known.trouble = [None] + ["gone"] * 100
    done = run(known, "import", "--file", file, "--json", "--timeout", "300ms")
    assert done.code == UNKNOWN and list(known.rows) == ["shop"]
    assert [row.get("result") or row["error"]["code"] for row in done.json()["results"]] == ["imported", "unknown"]


def test_a_file_that_no_node_takes_is_not_imported(file):
    known = Identities()
    with file.open("a") as more:
        more.write("eve everything\n")
    done = run(known, "import", "--file", file)
    assert done.code == REFUSED and "line 6: roles are" in done.complaint and known.changes == []
    file.write_text("")
    assert run(known, "import", "--file", file).code == NOTHING
