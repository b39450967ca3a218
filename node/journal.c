#include "node/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"

void ha_journal_open(struct ha_journal *j, const char *data_dir, const char *node)
{
    char path[4096 + 16];
    struct stat about;

    *j = (struct ha_journal){.fd = -1, .node = node};
    snprintf(path, sizeof(path), "%s/ha.journal", data_dir);
    j->fd =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (j->fd >= 0 &&
        (fstat(j->fd, &about) || !S_ISREG(about.st_mode) || about.st_nlink != 1)) {
        ha_journal_close(j);
        errno = ELOOP; /* as with a link: it is somebody else's file */
    }
    if (j->fd < 0)
        LOG_ERROR("ha", "ha.journal: cannot open %s: %s", path, strerror(errno));
}

void ha_journal_close(struct ha_journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
}

static void write_line(struct ha_journal *j, struct buf *line)
{
    struct bytes text;

    buf_add_text(line, "}\n");
    text = buf_bytes(line);
    if (write(j->fd, text.at, text.len) != (ssize_t)text.len)
        LOG_ERROR("ha", "ha.journal: a line is lost: %s", strerror(errno));
    buf_fini(line);
}

void ha_journal_role(struct ha_journal *j, const char *role, const char *before,
                     const char *reason, const char *token, int64_t boot_ms)
{
    struct buf line = BUF_INIT;

    if (j->fd < 0)
        return;
    j->until_ms = 0;
    buf_printf(&line,
               "{\"event\":\"role\",\"node\":\"%s\",\"role\":\"%s\",\"before\":\"%s\","
               "\"reason\":\"%s\",\"token\":\"%s\",\"boot_ms\":%lld",
               j->node, role, before, reason, token, (long long)boot_ms);
    write_line(j, &line);
}

void ha_journal_lease(struct ha_journal *j, const char *token, int64_t from_ms,
                      int64_t until_ms)
{
    struct buf line = BUF_INIT;

    if (j->fd < 0 || until_ms <= j->until_ms)
        return;
    j->until_ms = until_ms;
    buf_printf(&line,
               "{\"event\":\"lease\",\"node\":\"%s\",\"token\":\"%s\",\"from_ms\":%lld,"
               "\"until_ms\":%lld",
               j->node, token, (long long)from_ms, (long long)until_ms);
    write_line(j, &line);
}

void ha_journal_fenced(struct ha_journal *j, const char *token, const char *seen,
                       int64_t boot_ms)
{
    struct buf line = BUF_INIT;

    if (j->fd < 0)
        return;
    buf_printf(&line,
               "{\"event\":\"fenced\",\"node\":\"%s\",\"token\":\"%s\",\"seen\":\"%s\","
               "\"boot_ms\":%lld",
               j->node, token, seen, (long long)boot_ms);
    write_line(j, &line);
}

void ha_journal_vip(struct ha_journal *j, const char *state, int64_t boot_ms)
{
    struct buf line = BUF_INIT;

    if (j->fd < 0)
        return;
    buf_printf(&line, "{\"event\":\"vip\",\"node\":\"%s\",\"state\":\"%s\",\"boot_ms\":%lld",
               j->node, state, (long long)boot_ms);
    write_line(j, &line);
}

void ha_journal_death(const char *data_dir, const char *node, int64_t boot_ms)
{
    struct ha_journal j;

    ha_journal_open(&j, data_dir, node);
    ha_journal_role(&j, "offline", "", "died", "", boot_ms);
    ha_journal_close(&j);
}
