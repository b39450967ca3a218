#include "node/embedded_redis_text.h"

#include <ctype.h>

/* Each setting that matters for the promises is written out, also where it is the default. */
static const struct {
    const char *setting;
    const char *why;
} settings[] = {
    {"port 0", "reached through the socket only"},
    {"unixsocket " EMBEDDED_REDIS_SOCKET, NULL},
    {"unixsocketperm 700", NULL},
    {"protected-mode yes", NULL},
    {"daemonize no", "the warden watches it"},
    {"supervised no", NULL},
    {"databases 1", NULL},
    {"dir ./", "everything lies in the data directory"},
    {"appendonly yes", "the append-only file is the data; there are no snapshots beside it"},
    {"save \"\"", NULL},
    {"no-appendfsync-on-rewrite no", "an answer given during a rewrite is on disk, too"},
    {"aof-use-rdb-preamble yes", "a rewritten file loads faster"},
    {"aof-load-truncated yes", "a command cut short by a power cut was never answered"},
    {"auto-aof-rewrite-percentage 100", NULL},
    {"auto-aof-rewrite-min-size 64mb", NULL},
    {"maxmemory 0", "jobs are never evicted"},
    {"maxmemory-policy noeviction", NULL},
    {"logfile \"\"", "the log goes to the warden"},
    {"loglevel notice", NULL},
    {"always-show-logo no", NULL},
};

void redis_text_conf(struct buf *to, const char *appendfsync)
{
    buf_add_text(to, "# Written by dueq-node at every start: changes made here are lost.\n");
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        if (settings[i].why)
            buf_printf(to, "\n# %s\n", settings[i].why);
        buf_printf(to, "%s\n", settings[i].setting);
    }
    buf_printf(to, "\n# store.appendfsync\nappendfsync %s\n", appendfsync);
}

static struct bytes skip(struct bytes text, size_t n)
{
    return bytes_of(text.at + n, text.len - n);
}

/* Skips digits, at least one, and then `until`. */
static bool skip_number(struct bytes *text, char until)
{
    size_t n = 0;

    while (n < text->len && isdigit((unsigned char)text->at[n]))
        n++;
    if (n == 0 || n == text->len || text->at[n] != until)
        return false;
    *text = skip(*text, n + 1);
    return true;
}

static bool skip_words(struct bytes *text, unsigned words)
{
    while (words--) {
        const char *blank = memchr(text->at, ' ', text->len);

        if (!blank)
            return false;
        *text = skip(*text, (size_t)(blank - text->at) + 1);
    }
    return true;
}

static bool starts_with(struct bytes text, struct bytes start)
{
    return text.len >= start.len && !memcmp(text.at, start.at, start.len);
}

enum log_level redis_text_log_line(struct bytes line, struct bytes *message)
{
    struct bytes rest = line;
    char mark;

    *message = line;
    if (!skip_number(&rest, ':'))
        return LEVEL_WARN;
    /* "4321:signal-handler (1795238999) text" */
    if (starts_with(rest, BYTES("signal-handler ")) && skip_words(&rest, 2)) {
        *message = rest;
        return LEVEL_INFO;
    }
    /* "4321:M 21 Nov 2026 10:00:00.000 # text": pid, role, four words of date and time. */
    if (!skip_words(&rest, 5) || rest.len < 2 || rest.at[1] != ' ')
        return LEVEL_WARN;
    mark = rest.at[0];
    *message = skip(rest, 2);
    if (mark == '.' || mark == '-')
        return LEVEL_DEBUG;
    return mark == '*' ? LEVEL_INFO : LEVEL_WARN;
}
