#include "node/ctl/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/topic_settings.h"
#include "node/ctl/output.h"
#include "node/ctl/times.h"

static const char *const switches[] = {"false", "true", NULL};

#define ROW_DURATION(most) OPTION_DURATION, "DURATION", .max = (most)
#define ROW_COUNT(most)    OPTION_COUNT, "N", .max = (most)
#define ROW_BACKOFF(most)  OPTION_BACKOFF, "BACKOFF"
#define ROW_SWITCH(most)   OPTION_SWITCH, "SWITCH", .choices = switches

const struct option_row setting_rows[] = {
#define X(name, word, field, kind, bytes, most, built_in, help) \
    {word, 0, ROW_##kind(most), .text = help, .member = #field},
    TOPIC_SETTING_LIST(X)
#undef X
        {0},
};

/* The rest of a line of 80 beside the word. */
#define X(name, word, field, kind, bytes, max, built_in, help) \
    _Static_assert(sizeof(help) <= 54 + 1, "the help of " word " is too long");
TOPIC_SETTING_LIST(X)
#undef X

const struct advice setting_advice[] = {
    {"unknown", "Look before you repeat it: 'dueqctl topic show TOPIC' shows what holds."},
    {0}};

const struct option_row *setting_find(const char *name, size_t len)
{
    struct nearest nearest = nearest_to(bytes_of(name, len));
    struct buf known = BUF_INIT;

    for (const struct option_row *row = setting_rows; row->name; row++) {
        if (strlen(row->name) == len && !memcmp(row->name, name, len)) {
            buf_fini(&known);
            return row;
        }
        if (bytes_equal(bytes_of(name, len), bytes_of_text(row->member)))
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

void setting_print(struct buf *to, const struct option_row *row, const json_t *value)
{
    if (json_is_object(value))
        output_backoff(to, value);
    else if (json_is_boolean(value))
        buf_add_text(to, switches[json_is_true(value)]);
    else if (json_is_integer(value) && row->kind == OPTION_DURATION)
        duration_write(to, json_integer_value(value));
    else if (json_is_integer(value))
        buf_printf(to, "%" PRId64, (int64_t)json_integer_value(value));
    else
        buf_add_char(to, '-');
}

/* ---- values in the API's form ---- */

static void set_new(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value))
        abort();
}

static void set_number(json_t *object, const char *name, int64_t number)
{
    if (number)
        set_new(object, name, json_integer(number));
}

/* Its text was found good. */
static json_t *backoff_json(const char *text)
{
    struct backoff b = {.kind = "none"};
    json_t *object = json_object();

    if (!backoff_parse(text, &b))
        abort();
    set_new(object, "kind", json_string(b.kind));
    set_number(object, "base_ms", b.base_ms);
    set_number(object, "cap_ms", b.cap_ms);
    set_number(object, "jitter_percent", b.jitter_percent);
    return object;
}

json_t *option_json(const struct option_row *row, const struct option_value *value)
{
    switch (row->kind) {
    case OPTION_FLAG:
        return json_true();
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_CHOICE:
    case OPTION_CHOICES:
        return json_string(value->text);
    case OPTION_SWITCH:
        return json_boolean(value->number);
    case OPTION_BACKOFF:
        return backoff_json(value->text);
    case OPTION_COUNT:
    case OPTION_DURATION:
    case OPTION_MOMENT:
    case OPTION_PAST:
        break;
    }
    return json_integer(value->number);
}

json_t *options_json(const struct option_row *rows, const struct arguments *arguments)
{
    json_t *object = json_object();

    for (size_t i = 0; rows && rows[i].name; i++) {
        if (rows[i].member && arguments->own[i].is_given)
            set_new(object, rows[i].member, option_json(&rows[i], &arguments->own[i]));
    }
    return object;
}
