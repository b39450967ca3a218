#include "node/warden/redis_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

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
    {"auto-aof-rewrite-percentage 100", NULL},
    {"auto-aof-rewrite-min-size 64mb", NULL},
    {"maxmemory-policy noeviction", "jobs are never evicted"},
    {"logfile \"\"", "the log goes to the warden"},
    {"loglevel notice", NULL},
    {"always-show-logo no", NULL},
};

void redis_text_conf(struct buf *to, const struct redis_text_options *options)
{
    buf_add_text(to, "# Written by dueq-node at every start: changes made here are lost.\n");
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        if (settings[i].why)
            buf_printf(to, "\n# %s\n", settings[i].why);
        buf_printf(to, "%s\n", settings[i].setting);
    }
    buf_printf(to, "\n# store.appendfsync\nappendfsync %s\n", options->appendfsync);
    buf_printf(to, "\n# store.memory\nmaxmemory %" PRIu64 "\n", options->memory_bytes);
    buf_printf(to, "\n# store.strict\naof-load-truncated %s\n",
               options->is_strict ? "no" : "yes");
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

/* The text behind the first `what`; `at` is NULL: it is not there. */
static struct bytes behind(struct bytes text, const char *what)
{
    const char *at = memmem(text.at, text.len, what, strlen(what));

    return at ? skip(text, (size_t)(at - text.at) + strlen(what)) : bytes_of(NULL, 0);
}

static uint64_t number(struct bytes text)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.len && isdigit((unsigned char)text.at[i]); i++)
        n = n * 10 + (uint64_t)(text.at[i] - '0');
    return n;
}

/* "!!! Truncating the AOF appendonly.aof.1.incr.aof at offset 1166 !!!"; before 7.0 no name. */
bool redis_text_cuts(struct bytes message, struct bytes *file, uint64_t *offset)
{
    struct bytes name = behind(message, "Truncating the AOF");
    struct bytes after = name.at ? behind(name, " at offset ") : name;

    if (!after.at)
        return false;
    name.len = (size_t)(after.at - name.at) - strlen(" at offset ");
    *file = name.len ? skip(name, 1) : name;
    *offset = number(after);
    return true;
}

bool redis_text_cannot_write(struct bytes message)
{
    return !redis_text_writes_again(message) && (behind(message, "AOF write error").at ||
                                                 behind(message, "No space left on device").at);
}

bool redis_text_writes_again(struct bytes message)
{
    return behind(message, "AOF write error looks solved").at;
}

bool redis_text_must_not_cut(struct bytes message)
{
    return behind(message, "Unexpected end of file reading the append only file").at;
}

bool redis_text_is_denied(struct bytes message)
{
    return behind(message, "Permission denied").at;
}

/* "0::/path" is version 2, "7:memory:/path" version 1. */
void redis_text_limit_path(struct buf *to, struct bytes groups)
{
    struct bytes old = behind(groups, ":memory:");
    struct bytes path = old.at ? old : behind(groups, "0::");
    const char *end = path.len ? memchr(path.at, '\n', path.len) : NULL;

    if (end)
        path.len = (size_t)(end - path.at);
    if (path.len == 1) /* "/" */
        path.len = 0;
    buf_printf(to, "/sys/fs/cgroup%s%.*s/%s", old.at ? "/memory" : "", BYTES_ARG(path),
               old.at ? "memory.limit_in_bytes" : "memory.max");
}

bool redis_text_limit_above(struct buf *path)
{
    const char *at = buf_text(path), *file = strrchr(at, '/');
    const char *group = file ? memrchr(at, '/', (size_t)(file - at)) : NULL;

    if (!group)
        return false;
    memmove(path->at + (group - at), file, strlen(file));
    path->len -= (size_t)(file - group);
    return true;
}

uint64_t redis_text_memory(struct bytes meminfo, struct bytes limit)
{
    struct bytes total = behind(meminfo, "MemTotal:");
    uint64_t machine, group = number(limit);

    while (total.len && *total.at == ' ')
        total = skip(total, 1);
    machine = number(total) * 1024;
    if (group == 0 || machine == 0)
        return group ? group : machine;
    return group < machine ? group : machine;
}
