#include "node/ctl/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/topic_settings.h"
#include "node/ctl/output.h"
#include "node/ctl/times.h"

static const char *const switches[] = {"false", "true", NULL};

/* clang-format off */
#define ROW_DURATION(word, max, help) {word, 0, OPTION_DURATION, "DURATION", help, 0, max, NULL}
#define ROW_COUNT(word, max, help)    {word, 0, OPTION_COUNT, "N", help, 0, max, NULL}
#define ROW_BACKOFF(word, max, help)  {word, 0, OPTION_BACKOFF, "BACKOFF", help, 0, 0, NULL}
#define ROW_SWITCH(word, max, help)   {word, 0, OPTION_CHOICE, "SWITCH", help, .choices = switches}
/* clang-format on */

const struct option_row setting_rows[] = {
#define X(name, word, field, kind, bytes, max, built_in, help) ROW_##kind(word, max, help),
    TOPIC_SETTING_LIST(X)
#undef X
        {0},
};

/* The rest of a line of 80 beside the word. */
#define X(name, word, field, kind, bytes, max, built_in, help) \
    _Static_assert(sizeof(help) <= 54 + 1, "the help of " word " is too long");
TOPIC_SETTING_LIST(X)
#undef X

static const char *const members[SETTING_COUNT] = {
#define X(name, word, field, ...) #field,
    TOPIC_SETTING_LIST(X)
#undef X
};

const char setting_advice[] =
    "Look before you repeat it: 'dueqctl topic show TOPIC' shows what holds.";

const struct option_row *setting_find(const char *name, size_t len)
{
    struct nearest nearest = nearest_to(bytes_of(name, len));
    struct buf known = BUF_INIT;

    for (const struct option_row *row = setting_rows; row->name; row++) {
        if (strlen(row->name) == len && !memcmp(row->name, name, len)) {
            buf_fini(&known);
            return row;
        }
        if (bytes_equal(bytes_of(name, len), bytes_of_text(setting_member(row))))
            nearest_offer_at(&nearest, row->name, 1);
        nearest_offer(&nearest, row->name);
        buf_printf(&known, "%s%s", known.len ? ", " : "", row->name);
    }
    if (nearest.found)
        ctl_misused("there is no setting '%.*s'; did you mean %s?", (int)len, name,
                    nearest.found);
    else
        ctl_misused("there is no setting '%.*s': there are %s", (int)len, name,
                    buf_text(&known));
    buf_fini(&known);
    return NULL;
}

const char *setting_member(const struct option_row *row)
{
    return members[row - setting_rows];
}

/* ---- backoff ---- */

static void set_number(json_t *object, const char *name, int64_t number)
{
    if (number && json_object_set_new(object, name, json_integer(number)))
        abort();
}

json_t *setting_backoff_json(const char *text)
{
    struct backoff b = {.kind = "none"};
    json_t *object;

    if (!backoff_parse(text, &b))
        abort();
    object = json_pack("{s:s}", "kind", b.kind);
    set_number(object, "base_ms", b.base_ms);
    set_number(object, "cap_ms", b.cap_ms);
    set_number(object, "jitter_percent", b.jitter_percent);
    return object;
}

void setting_backoff_print(struct buf *to, const json_t *value)
{
    struct backoff b = {
        .kind = output_text(value, "kind").at,
        .base_ms = output_number(value, "base_ms", 0),
        .cap_ms = output_number(value, "cap_ms", 0),
        .jitter_percent = output_number(value, "jitter_percent", 0),
    };

    backoff_print(to, &b);
}

/* ---- any ---- */

json_t *setting_json(const struct option_row *row, const struct option_value *value)
{
    if (row->kind == OPTION_BACKOFF)
        return setting_backoff_json(value->text);
    if (row->kind == OPTION_CHOICE)
        return json_boolean(value->number);
    return json_integer(value->number);
}

void setting_print(struct buf *to, const struct option_row *row, const json_t *value)
{
    if (json_is_object(value))
        setting_backoff_print(to, value);
    else if (json_is_boolean(value))
        buf_add_text(to, switches[json_is_true(value)]);
    else if (json_is_integer(value) && row->kind == OPTION_DURATION)
        duration_write(to, json_integer_value(value));
    else if (json_is_integer(value))
        buf_printf(to, "%" PRId64, (int64_t)json_integer_value(value));
    else
        buf_add_char(to, '-');
}
