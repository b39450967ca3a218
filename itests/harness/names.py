"""What topics and ids may look like, at its oddest."""

import string

TOPIC_CHARACTERS = string.ascii_letters + string.digits + "_.:/+;$()-"
ID_CHARACTERS = "".join(map(chr, range(0x21, 0x7F)))

ODD_TOPICS = ["a/b", "/", "//", "a+b", "+", "a;b", "$(x)", "a:b.c_d-e", "...", "a/../b", "jobs",
              "pop", TOPIC_CHARACTERS, "x" * 200]
ODD_IDS = ["/", "a/b", "...", "%", "%2F", "%00", "?", "#", "a?b=c&d#e", "+", "&", '"', "\\",
           "ack", "jobs", "-", ",", "{}", ID_CHARACTERS, "y" * 200]
BAD_TOPICS = ["-a", "a b", "a\tb", "ä", "a\0", "a?b", "a%b", "x" * 201, ".", ".."]
BAD_IDS = ["a b", "a\nb", "a\0", "ü", "\x7f", "y" * 201, ".", ".."]
