#include "conf/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 4096

/* False: errno is set, to EFBIG when the file has more than `bytes_max`. */
static bool read_all(int fd, size_t bytes_max, struct buf *to)
{
    size_t start = to->len;

    for (;;) {
        ssize_t got = read(fd, buf_reserve(to, CHUNK_BYTES), CHUNK_BYTES);

        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        to->len += (size_t)got;
        if (to->len - start > bytes_max) {
            errno = EFBIG;
            return false;
        }
    }
}

enum status file_read(const char *path, const struct file_limits *limits, struct buf *to,
                      struct buf *why)
{
    size_t before = to->len;
    /* O_NONBLOCK: else open() waits until somebody writes to a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | (limits->is_regular ? O_NONBLOCK : 0));
    struct stat about;
    bool ok = false;

    if (fd < 0 || fstat(fd, &about) < 0)
        buf_printf(why, "cannot open it: %s", strerror(errno));
    else if (limits->is_regular && !S_ISREG(about.st_mode))
        buf_add_text(why, "it is not a regular file, and a running node reads no other");
    else if (about.st_mode & limits->forbidden)
        buf_printf(why, "its mode is %04o: others may read it; chmod o-r",
                   (unsigned)about.st_mode & 07777);
    else if (!(ok = read_all(fd, limits->bytes_max, to)) && errno == EFBIG)
        buf_printf(why, "it is larger than %zu bytes", limits->bytes_max);
    else if (!ok)
        buf_printf(why, "cannot read it: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!ok)
        to->len = before;
    return ok ? STATUS_OK : STATUS_IO_ERROR;
}

/* ---- variables ---- */

#define NAME_BYTES_MAX 128

struct reference {
    char name[NAME_BYTES_MAX];
    struct bytes fallback; /* at NULL: none was given */
    const char *end;       /* behind the brace */
};

static size_t name_length(const char *at)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                                  "0123456789";

    return *at >= '0' && *at <= '9' ? 0 : strspn(at, letters);
}

/* Parses a reference; `at` points behind "${". */
static bool parse_reference(const char *at, struct reference *ref)
{
    size_t len = name_length(at);
    const char *rest = at + len, *brace = strchr(rest, '}');

    if (len == 0 || len >= sizeof(ref->name) || !brace)
        return false;
    memcpy(ref->name, at, len);
    ref->name[len] = '\0';
    ref->fallback = (struct bytes){NULL, 0};
    ref->end = brace + 1;
    if (rest == brace)
        return true;
    if (strncmp(rest, ":-", 2) != 0)
        return false;
    ref->fallback = bytes_of(rest + 2, (size_t)(brace - rest - 2));
    return true;
}

/* Returns the place behind the reference, or NULL with `why` when it has no value. */
static const char *expand_one(const char *at, const char *(*get_env)(const char *),
                              struct buf *to, struct buf *why)
{
    struct reference ref;
    const char *value;

    if (!parse_reference(at, &ref)) {
        /* The text is not quoted, because it may be a piece of a password. */
        buf_add_text(why, "expected ${NAME} or ${NAME:-default} ($${ stands for a plain ${)");
        return NULL;
    }
    value = get_env(ref.name);
    if (ref.fallback.at && (!value || !*value)) {
        buf_add_bytes(to, ref.fallback);
    } else if (value) {
        buf_add(to, value, strnlen(value, ENV_TEXT_MAX + 1));
    } else {
        buf_printf(why,
                   "the environment variable %s is not set, and there is no default "
                   "(${%s:-default})",
                   ref.name, ref.name);
        return NULL;
    }
    return ref.end;
}

enum status env_expand(const char *text, const char *(*get_env)(const char *), struct buf *to,
                       struct buf *why)
{
    size_t before = to->len;

    while (*text && to->len - before <= ENV_TEXT_MAX) {
        if (!strncmp(text, "$${", 3)) {
            buf_add_text(to, "${");
            text += 3;
        } else if (strncmp(text, "${", 2) != 0) {
            buf_add_char(to, *text++);
        } else if (!(text = expand_one(text + 2, get_env, to, why))) {
            to->len = before;
            return STATUS_BAD_CONFIG;
        }
    }
    if (to->len - before > ENV_TEXT_MAX) {
        to->len = before;
        buf_printf(why, "is longer than %d bytes", ENV_TEXT_MAX);
        return STATUS_BAD_CONFIG;
    }
    return STATUS_OK;
}

/* ---- values ---- */

void draft_complain_unexpected(struct conf_draft *d, const struct conf_place *place,
                               const struct conf_key *key, const char *got)
{
    struct buf expected = BUF_INIT;

    conf_key_print_expected(key, &expected);
    conf_errors_add(d->errors, place, key->path, "expected %s%s%s", buf_text(&expected),
                    got ? ", got " : "", got ? got : "");
    buf_fini(&expected);
}

/* Neither a secret is shown, nor a password that somebody wrote into an address. */
void draft_complain_value(struct conf_draft *d, const struct conf_place *place,
                          const struct conf_key *key, const char *text)
{
    const char *goes_to = key->kind->password_goes_to;
    const char *login_end = goes_to ? strrchr(text, '@') : NULL;
    struct buf got = BUF_INIT;

    if (login_end)
        text = login_end;
    buf_printf(&got, "\"%s%.60s%s\"", login_end ? "***" : "", text,
               strlen(text) > 60 ? "..." : "");
    if (login_end)
        buf_printf(&got, "; a password goes to %s", goes_to);
    if (key->kind->is_addresses && strpbrk(text, " \t"))
        buf_add_text(&got, "; no blanks between the addresses");
    draft_complain_unexpected(d, place, key, key->is_secret ? NULL : buf_text(&got));
    buf_fini(&got);
}

void draft_complain_unknown(struct conf_draft *d, const struct conf_place *place,
                            const char *path)
{
    const struct conf_key *nearest = conf_key_nearest(path);

    if (nearest)
        conf_errors_add(d->errors, place, path, "unknown key; did you mean %s?", nearest->path);
    else
        conf_errors_add(d->errors, place, path, "unknown key");
}

struct draft_key *draft_state(struct conf_draft *d, const struct conf_key *key)
{
    size_t i = conf_key_index(key);

    return conf_key_is_of_row(key) ? &d->rows[d->conf->topics.count - 1].keys[i] : &d->keys[i];
}

static void *field_of(struct conf_draft *d, const struct conf_key *key)
{
    struct conf_topics *topics = &d->conf->topics;

    return conf_key_field(key, conf_key_is_of_row(key) ? (void *)&topics->at[topics->count - 1]
                                                       : d->conf);
}

void draft_set(struct conf_draft *d, const struct conf_place *place, const struct conf_key *key,
               const char *text)
{
    bool ok = key->kind->set(key, text, field_of(d, key));

    *draft_state(d, key) = (struct draft_key){*place, !ok};
    if (!ok)
        draft_complain_value(d, place, key, text);
}
