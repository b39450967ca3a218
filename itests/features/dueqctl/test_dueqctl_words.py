"""What dueqctl and dueq-node say of themselves: help, man pages, completion. All the same."""

import os
import pty
import re
import shutil
import subprocess

import pytest

from harness.build import ROOT, node_program
from harness.dueqctl import Dueqctl, environment, program
from harness.topic_settings import WORDS
from harness.wait import wait_until

MAN = ROOT / "doc" / "man"
COMMANDS = list(dict.fromkeys(re.findall(  # those of the man page
    r"^\.It Cm ([a-z]+)\b", (MAN / "dueqctl.1").read_text(encoding="utf-8")
    .partition("\n.Sh COMMANDS\n")[2].partition("\n.Sh ")[0], re.M)))
SHELLS = ["bash", "zsh", "fish"]

ctl = Dueqctl("http://127.0.0.1:9")  # nobody is there: help asks no node


def help_of(*words):
    return ctl.ok(*words, "--help").text


def options_of(text):
    """{"--delay DURATION": "-d" or ""} of the lines of a help."""
    found = re.findall(r"^  (?:(-\w), |    )(--[a-z-]+(?: [A-Z=]+)?) ", text, re.MULTILINE)
    return {long: short for short, long in found}


def page(name):
    """A man page as people see it, without overstrikes."""
    done = subprocess.run(["mandoc", "-T", "ascii", MAN / name], capture_output=True, text=True,
                          check=True)
    return re.sub(r".\x08", "", done.stdout)


def options_of_page(text):
    """The same of the tagged paragraphs of a man page, and of lines that begin with a command."""
    found = re.findall(r"(?:^ +|\[)(?:(-\w), )?(--[a-z-]+(?: [A-Z=]+)?)(?=\n|\])", text,
                       re.MULTILINE)
    return {long: short for short, long in found}


# ---- help ----

def test_help_names_every_command_and_option_and_exit_code():
    text = help_of()
    assert re.findall(r"^  ([a-z]+) {2,}[a-z]", text, re.MULTILINE) == COMMANDS
    assert {"--url URL", "--ca FILE", "--cert FILE", "--key FILE", "--token-file FILE",
            "--timeout DURATION", "--json", "--help", "--version"} == set(options_of(text))
    assert re.findall(r"^  (\d)  ", text, re.MULTILINE) == list("012345")
    assert ctl.ok("help").text == text and ctl.ok("-h").text == text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command):
    text = help_of(command)
    assert text.startswith(f"Usage: dueqctl {command} ")
    assert text == ctl.ok("help", command).text == ctl.ok(command, "-h").text
    assert set(options_of(help_of())) - {"--version"} <= set(options_of(text))
    assert all(len(line) <= 80 for line in (text + help_of()).splitlines())


def test_version_is_the_nodes_own():
    version = subprocess.run([node_program(), "--version"], capture_output=True, text=True,
                             check=True).stdout.split()[1]
    for words in (["version"], ["--version"], ["-V"]):
        assert ctl.ok(*words).text == f"dueqctl {version}\n"
    assert ctl.json("version") == {"name": "dueqctl", "version": version}


def test_the_way_shown_is_that_of_the_command_if_there_is_one():
    for words, way in ((("push",), "push --help"), (("push", "t", "--no-such"), "push --help"),
                       (("no-such",), "--help"), (("help", "no-such"), "--help")):
        assert ctl(*words).complaint.endswith(f"\nTry 'dueqctl {way}'.\n")


def test_an_option_cut_too_short_shows_what_it_may_be():
    complaint = ctl("push", "t", "--t", "1s").complaint
    assert complaint.startswith("dueqctl: push: '--t' may be several: --ttr, --ttl, --token-file, "
                                "--timeout\n")
    complaint = ctl("push", "t", "--del=1", "x").complaint
    assert complaint.startswith("dueqctl: --delay: '1' is not a duration")
    assert ctl("--ur").complaint.startswith("dueqctl: option '--ur' needs a value\n")
    assert ctl("--no").complaint.startswith("dueqctl: there is no option '--no'\n")


# ---- man pages ----

@pytest.mark.parametrize("name", ["dueqctl.1", "dueq-node.8"])
def test_the_man_pages_are_well_formed(name):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", MAN / name],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "", done.stdout
    text = page(name)
    for section in ("SYNOPSIS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        assert f"\n{section}\n" in text, section


def test_the_man_page_of_dueqctl_has_what_the_help_has_and_nothing_else():
    text = page("dueqctl.1")
    commands = re.split(r"^     (?=[a-z]+\b)", text[text.index("\nCOMMANDS\n"):
                                                   text.index("\nENVIRONMENT\n")], flags=re.M)[1:]
    sections = {section.split()[0]: section for section in commands}
    assert list(sections) == COMMANDS
    common = options_of(help_of())
    front = text[text.index("Common options"):text.index("\nCOMMANDS\n")]
    assert options_of_page(front) == common
    for command in COMMANDS:
        own = {long: short for long, short in options_of(help_of(command)).items()
               if long not in common}
        assert options_of_page(sections[command]) == own, command


def test_the_man_page_of_the_node_has_what_its_help_has_and_nothing_else():
    shown = subprocess.run([node_program(), "--help"], capture_output=True, text=True,
                           check=True).stdout
    text = page("dueq-node.8")
    description = text[text.index("\nDESCRIPTION\n"):text.index("\nSIGNALS\n")]
    assert options_of_page(description) == options_of(shown[:shown.index("Configuration keys")])
    codes = text[text.index("\nEXIT STATUS\n"):text.index("\nEXAMPLES\n")]
    assert (re.findall(r"^     (\d+) ", codes, re.M)
            == re.findall(r"^(?:Exit status:|             ) +(\d+) ", shown, re.M))


def test_the_exit_codes_of_dueqctl_are_the_same_in_man_and_help():
    text = page("dueqctl.1")
    codes = text[text.index("\nEXIT STATUS\n"):text.index("\nEXAMPLES\n")]
    assert re.findall(r"^     (\d) ", codes, re.M) == re.findall(r"^  (\d)  ", help_of(), re.M)


def test_help_of_topic_tells_every_setting():
    lines = help_of("topic").split("\nSettings:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split("=")[0].strip() for line in lines] == WORDS
    assert "0: it is gone once delivered" in lines[0]
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


# ---- completion ----

def completes(*words):
    """What fits in place of the last word, {word: its text}, and what else the shell does."""
    *lines, rest = ctl.ok("__complete", *words).text.splitlines()
    return dict(line.partition("\t")[::2] for line in lines), rest


def test_completion_offers_what_the_help_has():
    text = help_of()
    offered, rest = completes("")
    assert list(offered) == COMMANDS and rest == ":"
    assert all(f"{name} {summary}" in re.sub(" +", " ", text) for name, summary in offered.items())
    assert list(completes("-")[0]) == [
        "--version", "--url", "--ca", "--cert", "--key", "--token-file", "--timeout", "--json",
        "--help"]


@pytest.mark.parametrize("command", COMMANDS)
def test_completion_offers_the_options_that_the_help_of_a_command_has(command):
    assert list(completes(command, "-")[0]) == [
        option.split()[0] for option in options_of(help_of(command))]


@pytest.mark.parametrize("line, offered", [
    ("sta", ["stats", "status"]), ("--url x -j can", ["cancel"]), ("--url x:1 can", ["cancel"]),
    ("--url=x can", ["cancel"]), ("-ux can", ["cancel"]), ("-u push sta", ["stats", "status"]),
    ("-j -u x push --d", ["--delay"]), ("--url ", []), ("no-such ", []), ("--no-such can", ["cancel"]),
    ("push t --d", ["--delay"]), ("push --delay ", []), ("push --del 1s t --mo", ["--mode"]),
    ("push -- --d", []), ("push -d 1s --mode= ", []), ("push sta", []), ("completion z", ["zsh"]),
    ("completion bash z", []), ("help ver", ["version"]), ("help version sta", []),
    ("push t --mode re", ["reject", "replace"]), ("push -j -mre", ["-mreject", "-mreplace"]),
    ("list -s ", ["delayed", "ready", "reserved", "dead"]), ("list -js d", ["delayed", "dead"]),
    ("list --state=d", ["--state=delayed", "--state=dead"]),
    ("purge t -s ready,de", ["ready,delayed", "ready,dead"]),
    ("purge --state=dead,ready,", ["--state=dead,ready,delayed", "--state=dead,ready,reserved"]),
    ("topic ", ["show", "set", "unset"]), ("topic un", ["unset"]), ("topic set ", []),
    ("-u x topic --url x unset mail tt", ["ttr", "ttl"]), ("topic unset mail ttr tt", ["ttr", "ttl"]),
    ("topic show mail ", []), ("topic show uns", [])])
def test_completion_reads_the_line_as_the_program_does(line, offered):
    words, rest = completes(*line.split(" "))
    assert list(words) == offered and rest == ":"


@pytest.mark.parametrize("line, offered, rest", [
    ("topic set mail dead", ["dead_max=", "dead_age="], ":nospace"), ("push --file ", [], ":files"),
    ("push --file=b", [], ":files"), ("push -fb", [], ":files")])
def test_completion_says_what_else_the_shell_does(line, offered, rest):
    words, told = completes(*line.split(" "))
    assert list(words) == offered and told == rest


def in_path(**more):
    """An environment in which the shells find the program, as when it is installed."""
    return environment(PATH=f"{program().parent}:{os.environ['PATH']}", **more)


def test_bash_completes_behind_an_address_on_a_terminal(tmp_path):
    with Bash(tmp_path) as bash:
        for line, completed in [
                ("dueqctl --url http://h:8000 can", "8000 cancel "),
                ("dueqctl --url=http://h:8000 can", "8000 cancel "),
                ("true; TZ=UTC dueqctl -u http://h:8000 can", "8000 cancel "),
                (f"{program()} -u http://h:8000 can", "8000 cancel "),
                ("dueqctl -u http://h:8000 push --d", "push --delay "),
                ("dueqctl list --state=rea", "list --state=ready "),
                ("dueqctl purge t -s ready,res", "t -s ready,reserved"),
                ("dueqctl topic set mail hi", "mail history="),
                ("dueqctl push t --url http://h:8000 --li", "8000 --lines ")]:
            bash.type(line + "\t")
            bash.wait_for(completed)
            bash.type("\x15")


@pytest.mark.parametrize("option", ["-f ", "--file ", "--file="])
@pytest.mark.parametrize("name", ["x$(id>PWNED)", "x`id>PWNED`", "x;id>PWNED", "x a  b", "x'a\"b",
                                  "x:y=z"])
def test_bash_quotes_the_file_names_that_it_inserts(tmp_path, name, option):
    (tmp_path / name).write_text("the body")
    with Bash(tmp_path) as bash:
        bash.type("dueqctl() { shift 2; echo \"$((6 * 7)) <$(cat \"${1#--file=}\")>\"; }\n")
        bash.type(f"dueqctl push {'t ' if '=' in option else ''}{option}x\t\n")
        bash.wait_for("42 <the body>")
    assert not (tmp_path / "PWNED").exists()


def fish_completes(line, directory=None):
    script = f"dueqctl completion fish | source; complete -C '{line}'"
    shown = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True,
                           check=True, env=in_path(), cwd=directory).stdout
    return [each.split("\t")[0] for each in shown.splitlines()]


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish")
def test_fish_completes_commands_options_and_choices(tmp_path):
    assert fish_completes("dueqctl ") == sorted(COMMANDS)
    assert fish_completes("dueqctl push --d") == ["--delay"]
    assert fish_completes(f"{program()} -u http://h:8000 push --d") == ["--delay"]
    assert fish_completes("dueqctl --url=http://h:8000 push --d") == ["--delay"]
    assert fish_completes("dueqctl push sta") == []
    assert fish_completes("dueqctl list --state=d") == ["--state=dead", "--state=delayed"]
    assert fish_completes("dueqctl purge t -s ready,de") == ["ready,dead", "ready,delayed"]
    assert fish_completes("dueqctl topic set mail dead") == ["dead_age=", "dead_max="]
    (tmp_path / "body.txt").touch()
    assert fish_completes("dueqctl push t -f bo", tmp_path) == ["body.txt"]
    assert fish_completes("dueqctl push t --file=bo", tmp_path) == ["--file=body.txt"]
    (tmp_path / "my body").touch()
    assert fish_completes("dueqctl push t -f my\\ ", tmp_path) == ["my body"]
    assert fish_completes('dueqctl push t -f "my ', tmp_path) == ["my body"]
    assert fish_completes("dueqctl topic set mail ttr=") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_understands_its_script(shell, tmp_path):
    path = tmp_path / shell
    path.write_bytes(ctl.ok("completion", shell).out)
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    subprocess.run([shell, "-n", path], check=True)


CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f]")


class Shell:
    """An interactive shell on a terminal."""

    argv = []

    def __init__(self, directory):
        self._people, terminal = pty.openpty()
        os.set_blocking(self._people, False)
        self._process = subprocess.Popen(
            self.argv, stdin=terminal, stdout=terminal, stderr=terminal,
            start_new_session=True, cwd=directory,
            env=in_path(TERM="dumb", HOME=str(directory)))
        os.close(terminal)
        self._shown = ""

    def type(self, keys):
        self._shown = ""
        os.write(self._people, keys.encode())

    def wait_for(self, text):
        def is_shown():
            try:
                self._shown += os.read(self._people, 65536).decode()
            except BlockingIOError:
                pass
            return text in CONTROLS.sub("", self._shown)

        wait_until(is_shown, f"the shell shows '{text}'")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._process.kill()
        self._process.wait()
        os.close(self._people)


class Bash(Shell):
    argv = ["bash", "--norc", "--noprofile", "-i"]

    def __init__(self, directory):
        super().__init__(directory)
        self.type("bind 'set enable-bracketed-paste off'; "
                  "source <(dueqctl completion bash); echo $((6 * 7)) ready\n")
        self.wait_for("42 ready")


class Zsh(Shell):
    """With the completion script in its path."""

    argv = ["zsh", "-f", "-i"]

    def __init__(self, directory):
        (directory / "_dueqctl").write_bytes(ctl.ok("completion", "zsh").out)
        super().__init__(directory)
        self.type(f"fpath=('{directory}' $fpath); autoload -Uz compinit; compinit -D -u; "
                  "echo $((6 * 7)) ready\n")
        self.wait_for("42 ready")


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh")
def test_zsh_completes_commands_options_and_choices(tmp_path):
    (tmp_path / "body.txt").touch()
    with Zsh(tmp_path) as zsh:
        for line, completed in [
                ("dueqctl can", "cancel "), ("dueqctl --url x -j can", "cancel "),
                (f"{program()} push t --d", "--delay "), ("dueqctl pop t --b", "--body-only "),
                ("dueqctl push -f bo", "body.txt "), ("dueqctl push --file=bo", "=body.txt "),
                ("dueqctl push 'a b' --mode i", "ignore "), ("dueqctl list --state=rea", "=ready "),
                ("dueqctl topic un", "unset "), ("dueqctl topic set mail hi\tt", "history=t"),
                ("dueqctl push -fbo", "-fbody.txt "),
                ("dueqctl topic unset mail hi", "history "),
                ("dueqctl purge t -s ready,res", "ready,reserved")]:
            zsh.type(line + "\t")
            zsh.wait_for(completed)
            zsh.type("\x15")
