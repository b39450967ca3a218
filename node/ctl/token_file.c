/* Identities in a file. It is changed here, on this machine; nodes read it anew at SIGHUP.
 *
 * A new file takes the old one's place in one step, with its owner and mode, so that a node
 * never reads half of one. Lines that are not the identity's stay as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/ctl/token_place.h"
#include "protocol/access/access.h"
#include "protocol/access/role.h"

#define FILE_MAX_BYTES (1 << 20) /* as the node has it */

/* ---- the file ---- */

/* The file itself where `path` is a link to it, for the new one takes its place; the caller's.
 */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);

    return real ? real : must(strdup(path)); /* it is new */
}

/* From now until the end of the program nobody else changes files of the same directory. */
static void lock_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? bytes_copy(bytes_of(path, (size_t)(slash + 1 - path))) : NULL;
    int fd = open(directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        (void)flock(fd, LOCK_EX);
    free(directory);
}

static enum ctl_exit fail(const char *path, const char *what)
{
    ctl_say("%s %s: %s", path, what, strerror(errno));
    return CTL_REFUSED;
}

/* A file that is not there is empty; `about` has the mode of a new one then. */
static enum ctl_exit read_all(const char *path, struct buf *text, struct stat *about)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 1;

    *about = (struct stat){.st_mode = 0640, .st_uid = geteuid(), .st_gid = getegid()};
    if (fd < 0)
        return errno == ENOENT ? CTL_DONE : fail(path, "cannot be read");
    if (fstat(fd, about)) {
        n = -1;
    } else if (!S_ISREG(about->st_mode)) {
        close(fd);
        ctl_say("%s is not a regular file", path);
        return CTL_REFUSED;
    } else if (about->st_mode & (S_IWGRP | S_IWOTH)) {
        close(fd);
        ctl_say("%s: its mode is %04o: others may write it; chmod go-w", path,
                (unsigned)about->st_mode & 07777);
        return CTL_REFUSED;
    }
    while (n > 0 && text->len <= FILE_MAX_BYTES) {
        n = read(fd, buf_reserve(text, 65536), 65536);
        text->len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (n > 0)
        errno = EFBIG;
    return n == 0 ? CTL_DONE : fail(path, "cannot be read");
}

static bool write_to(int fd, const struct buf *text, const struct stat *about)
{
    size_t done = 0;

    while (done < text->len) {
        ssize_t n = write(fd, text->at + done, text->len - done);

        if (n < 0)
            return false;
        done += (size_t)n;
    }
    if ((about->st_uid != geteuid() || about->st_gid != getegid()) &&
        fchown(fd, about->st_uid, about->st_gid))
        return false;
    return !fchmod(fd, about->st_mode & 07777) && !fsync(fd);
}

static enum ctl_exit write_all(const char *path, const struct buf *text,
                               const struct stat *about)
{
    struct buf name = BUF_INIT;
    enum ctl_exit end = CTL_DONE;
    int fd;

    buf_printf(&name, "%s.XXXXXX", path);
    buf_text(&name);
    fd = mkostemp(name.at, O_CLOEXEC);
    if (fd < 0 || !write_to(fd, text, about) || rename(name.at, path)) {
        end = fail(path, "cannot be written");
        if (fd >= 0)
            unlink(name.at);
    }
    if (fd >= 0)
        close(fd);
    buf_fini(&name);
    return end;
}

/* ---- the lines ---- */

/* NULL: the line is none, or not the identity's. */
static struct identity *identity_in(struct bytes line, const char *name)
{
    const char *why;
    struct identity *identity = identity_parse(line, &why);

    if (identity && (!name || bytes_equal(identity->name, bytes_of_text(name))))
        return identity;
    identity_drop(identity);
    return NULL;
}

/* The identity of this name; NULL: there is none. */
static struct identity *find(const struct buf *text, const char *name)
{
    struct bytes rest = buf_bytes(text);

    while (rest.len) {
        struct identity *identity = identity_in(access_next_line(&rest), name);

        if (identity)
            return identity;
    }
    return NULL;
}

static void add_line_to(struct buf *to, struct bytes line)
{
    buf_add_bytes(to, line);
    buf_add_char(to, '\n');
}

/* `line` in the place of the identity's; "": without it. A new one comes last. */
static void replace(const struct buf *text, const char *name, const struct buf *line,
                    struct buf *to)
{
    struct bytes rest = buf_bytes(text);
    bool is_done = line->len == 0;

    while (rest.len) {
        struct bytes old = access_next_line(&rest);
        struct identity *identity = identity_in(old, name);

        if (!identity)
            add_line_to(to, old);
        else if (!is_done)
            add_line_to(to, buf_bytes(line));
        is_done |= identity != NULL;
        identity_drop(identity);
    }
    if (!is_done)
        add_line_to(to, buf_bytes(line));
}

/* Does a node take the file so? */
static enum ctl_exit check(const char *path, const char *else_say, const struct buf *text)
{
    struct access *access = access_new();
    struct buf why = BUF_INIT;
    bool is_good = access_take(access, buf_bytes(text), &why) == STATUS_OK;

    if (is_good && text->len > FILE_MAX_BYTES)
        buf_add_text(&why, "it is larger than 1 MiB");
    is_good = why.len == 0;
    if (!is_good)
        ctl_say("%s%s: %s", path, else_say, buf_text(&why));
    buf_fini(&why);
    access_free(access);
    return is_good ? CTL_DONE : CTL_REFUSED;
}

/* ---- the changes ---- */

static enum ctl_exit write_changed(const char *path, const struct buf *text,
                                   const struct stat *about, const char *name,
                                   const struct buf *line)
{
    struct buf changed = BUF_INIT;
    enum ctl_exit end;

    replace(text, name, line, &changed);
    end = check(path, " is not changed", &changed);
    if (end == CTL_DONE)
        end = write_all(path, &changed, about);
    buf_fini(&changed);
    return end;
}

static enum ctl_exit edit_line(const char *path, struct token_edit *edit,
                               const struct buf *text, struct buf *line)
{
    struct identity *old = find(text, edit->name);
    struct token_before before = {.is_there = old != NULL, .identity = old};
    struct buf why = BUF_INIT;
    enum ctl_exit end = token_edit_apply(edit, before, line, &why);

    if (end == CTL_USAGE)
        ctl_misused("token: %s", buf_text(&why));
    else if (end != CTL_DONE)
        ctl_say("%s %s", path, buf_text(&why));
    identity_drop(old);
    buf_fini(&why);
    return end;
}

static enum ctl_exit change(struct ctl *ctl, const char *path, struct token_edit *edit,
                            struct failure *failure)
{
    struct buf text = BUF_INIT, line = BUF_INIT;
    char *real = resolve(path);
    struct stat about;
    enum ctl_exit end;

    *failure = (struct failure){0};
    lock_directory(real);
    end = read_all(real, &text, &about);
    if (end == CTL_DONE)
        end = edit_line(real, edit, &text, &line);
    if (end == CTL_DONE)
        end = write_changed(real, &text, &about, edit->name, &line);
    ctl->has_changed = end == CTL_DONE;
    failure->end = end;
    buf_fini(&text);
    buf_fini(&line);
    free(real);
    return end;
}

/* ---- a look ---- */

enum ctl_exit token_file_read(const char *path, struct buf *text)
{
    char *real = resolve(path);
    struct stat about;
    enum ctl_exit end = read_all(real, text, &about);

    if (end == CTL_DONE)
        end = check(real, "", text);
    free(real);
    return end;
}

struct identity *token_file_next(struct bytes *rest)
{
    struct identity *identity = NULL;

    while (rest->len && !identity)
        identity = identity_in(access_next_line(rest), NULL);
    return identity;
}

static json_t *identity_json(const struct identity *identity)
{
    json_t *topics = json_array(), *object;
    struct buf roles = BUF_INIT;

    access_roles_print(&roles, identity->roles);
    for (unsigned i = 0; i < identity->topic_count; i++)
        json_array_append_new(topics,
                              json_stringn(identity->topics[i].at, identity->topics[i].len));
    object = json_pack(
        "{s:s%, s:s, s:o, s:i, s:o*, s:o}", "name", identity->name.at, identity->name.len,
        "roles", buf_text(&roles), "topics", topics, "tokens", (int)identity->token_count,
        "cert", identity->cert.len ? json_stringn(identity->cert.at, identity->cert.len) : NULL,
        "until_ms",
        identity->until_ms == INT64_MAX ? json_null() : json_integer(identity->until_ms));
    buf_fini(&roles);
    return object;
}

static enum ctl_exit list(struct ctl *ctl, const char *path, json_t **rows)
{
    struct buf text = BUF_INIT;
    enum ctl_exit end = token_file_read(path, &text);
    struct bytes rest = buf_bytes(&text);
    struct identity *identity;

    (void)ctl;
    *rows = json_array();
    while (end == CTL_DONE && (identity = token_file_next(&rest))) {
        json_array_append_new(*rows, identity_json(identity));
        identity_drop(identity);
    }
    buf_fini(&text);
    return end;
}

const struct token_place token_file = {
    .nodes = "nodes", .when = "after a SIGHUP", .list = list, .change = change};
