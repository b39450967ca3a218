/* The list `topics`: its rows checked, and the list as a value.
 *
 * A row is a struct conf_topic with a table of keys (table.h); its values are read, refused and
 * printed like all others. This file has the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/check.h"

/* ---- what must hold ---- */

#define BACKOFF_KEYS                                                                 \
    (1u << TOPIC_BACKOFF_KIND | 1u << TOPIC_BACKOFF_BASE | 1u << TOPIC_BACKOFF_CAP | \
     1u << TOPIC_BACKOFF_JITTER)

struct judged {
    struct conf_draft *draft;
    const struct conf_topic *row;
    const struct draft_row *state;
};

static void complain(const struct judged *j, enum conf_topic_key key, const char *message)
{
    const struct conf_place *place =
        conf_topic_has(j->row, key) ? &j->state->keys[key].place : &j->state->place;

    conf_errors_add(j->draft->errors, place, conf_topic_keys[key].path, "%s", message);
}

static void want_a_name(const struct judged *j)
{
    if (!conf_topic_has(j->row, TOPIC_NAME))
        complain(j, TOPIC_NAME, "is missing: which topics is this row for?");
}

static void want_a_kind_of_backoff(const struct judged *j)
{
    if (j->row->given & BACKOFF_KEYS && !conf_topic_has(j->row, TOPIC_BACKOFF_KIND))
        complain(j, TOPIC_BACKOFF_KIND, "is missing: none, fixed or exponential");
}

static void want_what_the_kind_needs(const struct judged *j)
{
    enum conf_backoff kind = j->row->backoff.kind;

    if (!conf_topic_has(j->row, TOPIC_BACKOFF_KIND))
        return;
    if (kind == CONF_BACKOFF_NONE && j->row->given & BACKOFF_KEYS & ~(1u << TOPIC_BACKOFF_KIND))
        complain(j, TOPIC_BACKOFF_KIND, "with none there is neither base nor cap nor jitter");
    else if (kind != CONF_BACKOFF_NONE && !conf_topic_has(j->row, TOPIC_BACKOFF_BASE))
        complain(j, TOPIC_BACKOFF_BASE, "is missing: how long is the first rest?");
}

static void want_a_cap_that_caps(const struct judged *j)
{
    if (!conf_topic_has(j->row, TOPIC_BACKOFF_CAP))
        return;
    if (j->row->backoff.kind == CONF_BACKOFF_FIXED)
        complain(j, TOPIC_BACKOFF_CAP, "fixed rests do not grow: only exponential has a cap");
    else if (j->row->backoff.kind == CONF_BACKOFF_EXPONENTIAL &&
             j->row->backoff.cap_ms < j->row->backoff.base_ms)
        complain(j, TOPIC_BACKOFF_CAP, "must not be below backoff.base");
}

static bool has_bad_value(const struct draft_row *state)
{
    for (size_t i = 0; i < TOPIC_KEY_COUNT; i++) {
        if (state->keys[i].is_bad)
            return true;
    }
    return false;
}

static void judge(const struct judged *j)
{
    want_a_name(j);
    want_a_kind_of_backoff(j);
    if (has_bad_value(j->state))
        return;
    want_what_the_kind_needs(j);
    want_a_cap_that_caps(j);
}

void check_topics(struct conf_draft *d)
{
    const struct conf_topics *topics = &d->conf->topics;

    for (size_t i = 0; i < topics->count; i++)
        judge(&(struct judged){d, &topics->at[i], &d->rows[i]});
    if (topics->count > CONF_TOPICS_MAX)
        conf_errors_add(d->errors, &d->rows[CONF_TOPICS_MAX].place, "topics",
                        "this row is one too many: at most %d are possible", CONF_TOPICS_MAX);
}

/* ---- the list as a value ---- */

static void fini_list(void *field)
{
    struct conf_topics *topics = field;

    for (size_t i = 0; i < topics->count; i++)
        free(topics->at[i].name);
    free(topics->at);
    *topics = (struct conf_topics){NULL, 0};
}

/* Rows are read key by key; only the empty list is a text. */
static bool set_list(const struct conf_key *key, const char *text, void *field)
{
    if (strcmp(text, "[]") != 0)
        return false;
    fini_list(field);
    return true;
}

/* The part a row's key is in: "backoff" for "topics.backoff.kind", "" for "topics.ttr". */
static struct bytes part_of(const struct conf_key *key)
{
    const char *name = strchr(key->path, '.') + 1, *dot = strchr(name, '.');

    return bytes_of(name, dot ? (size_t)(dot - name) : 0);
}

/* The first key, the name, is in every row. Keys of a part stand together in the table. */
static void print_row(const struct conf_topic *row, struct buf *to)
{
    struct bytes inside = {NULL, 0};

    for (size_t i = 0; i < TOPIC_KEY_COUNT; i++) {
        const struct conf_key *key = &conf_topic_keys[i];
        struct bytes part = part_of(key);

        if (!conf_topic_has(row, (enum conf_topic_key)i))
            continue;
        buf_add_text(to, i == TOPIC_NAME ? "\n  - " : "\n    ");
        if (part.len && !bytes_equal(part, inside))
            buf_printf(to, "%.*s:\n    ", BYTES_ARG(part));
        buf_printf(to, "%s%s: ", part.len ? "  " : "", strrchr(key->path, '.') + 1);
        conf_key_print_value(key, row, to);
        inside = part;
    }
}

static void print_list(const struct conf_key *key, const void *field, struct buf *to)
{
    const struct conf_topics *topics = field;

    if (!topics->count)
        buf_add_text(to, " []");
    for (size_t i = 0; i < topics->count; i++)
        print_row(&topics->at[i], to);
}

static void print_list_range(const struct conf_key *key, struct buf *to)
{
    buf_printf(to, "of at most %d rows, each with a name", (int)key->max);
}

const struct conf_kind kind_list = {
    .what = "a list",
    .bytes = sizeof(struct conf_topics),
    .set = set_list,
    .print = print_list,
    .fini = fini_list,
    .print_range = print_list_range,
    .is_list = true,
};
