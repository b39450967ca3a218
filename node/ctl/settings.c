#include "node/ctl/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/times.h"
#include "node/ctl/output.h"

#define DAYS_7_MS INT64_C(604800000)

static const char *const switches[] = {"false", "true", NULL};

const struct option_row setting_rows[] = {
    {"ttr", 0, OPTION_DURATION, "DURATION", "time to run; 0: a job is gone once delivered", 0,
     DAYS_7_MS, NULL},
    {"priority", 0, OPTION_COUNT, "N", "0 is the most urgent", 0, UINT32_MAX, NULL},
    {"max_tries", 0, OPTION_COUNT, "N", "hand-overs before a job is dead; 0: any number", 0,
     65534, NULL},
    {"backoff", 0, OPTION_BACKOFF, "BACKOFF", "rest between tries, as in 'dueqctl help push'",
     0, 0, NULL},
    {"ttl", 0, OPTION_DURATION, "DURATION", "dead if not done so long after it is due; 0: none",
     0, YEARS_10_MS, NULL},
    {"dead_max", 0, OPTION_COUNT, "N", "how many dead jobs are kept; 0: all", 0, UINT32_MAX,
     NULL},
    {"dead_age", 0, OPTION_DURATION, "DURATION", "how long dead jobs are kept; 0: for ever", 0,
     YEARS_10_MS, NULL},
    {"history", 0, OPTION_CHOICE, "SWITCH",
     "true: what jobs go through is written, for 'trace'", .choices = switches},
    {0},
};

static const char *const members[] = {"ttr_ms", "priority", "max_tries",   "backoff",
                                      "ttl_ms", "dead_max", "dead_age_ms", "history"};

_Static_assert(sizeof(setting_rows) / sizeof(setting_rows[0]) ==
                   sizeof(members) / sizeof(members[0]) + 1,
               "each has its name in the API");

const char setting_advice[] =
    "Look before you repeat it: 'dueqctl topic show TOPIC' shows what holds.";

const struct option_row *setting_find(const char *name, size_t len)
{
    struct buf known = BUF_INIT;

    for (const struct option_row *row = setting_rows; row->name; row++) {
        if (strlen(row->name) == len && !memcmp(row->name, name, len)) {
            buf_fini(&known);
            return row;
        }
        buf_printf(&known, "%s%s", known.len ? ", " : "", row->name);
    }
    ctl_misused("there is no setting '%.*s': there are %s", (int)len, name, buf_text(&known));
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
