#include "conf/env.h"

#include <stdbool.h>
#include <string.h>

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

/* `at` is behind "${". */
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

/* Returns behind the reference, NULL with `why` when it has no value. */
static const char *expand_one(const char *at, const char *(*get_env)(const char *),
                              struct buf *to, struct buf *why)
{
    struct reference ref;
    const char *value;

    if (!parse_reference(at, &ref)) {
        /* Not quoted: it may be a piece of a password. */
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
