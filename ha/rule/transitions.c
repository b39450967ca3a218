#include "ha/rule/transitions.h"

#include <inttypes.h>
#include <string.h>

#include "ha/rule/record.h"

static bool next_number(struct bytes *line, int64_t *number)
{
    struct bytes word;

    return record_word(line, &word) && record_number(word, number);
}

static bool next_text(struct bytes *line, char *text, size_t room)
{
    struct bytes word;

    return record_word(line, &word) && record_text(word, text, room);
}

static bool parse_change(struct ha_transition *c, struct bytes line)
{
    int64_t epoch;

    if (!next_number(&line, &c->at_wall_ms) || !next_text(&line, c->node, sizeof(c->node)) ||
        !next_text(&line, c->reason, sizeof(c->reason)) || !next_number(&line, &epoch))
        return false;
    c->epoch = (uint64_t)epoch;
    if (!next_number(&line, &c->without_leader_ms))
        c->without_leader_ms = -1;
    return true;
}

static void parse_left(struct transitions *t, struct bytes line)
{
    int64_t epoch;

    if (next_number(&line, &epoch) && next_text(&line, t->left_reason, sizeof(t->left_reason)))
        t->left_epoch = (uint64_t)epoch;
}

void transitions_parse(struct transitions *t, struct bytes text)
{
    struct bytes key, line;

    t->count = 0;
    t->left_epoch = 0;
    while (record_next(&text, &key, &line)) {
        struct ha_transition change;

        if (bytes_equal(key, BYTES("change")) && parse_change(&change, line))
            transitions_add(t, &change);
        else if (bytes_equal(key, BYTES("left")))
            parse_left(t, line);
    }
}

void transitions_print(const struct transitions *t, struct buf *text)
{
    for (unsigned i = 0; i < t->count; i++) {
        const struct ha_transition *c = &t->changes[i];

        buf_printf(text, "change %" PRId64 " %s %s %" PRIu64 " ", c->at_wall_ms, c->node,
                   c->reason, c->epoch);
        if (c->without_leader_ms < 0)
            buf_add_text(text, "-\n");
        else
            buf_printf(text, "%" PRId64 "\n", c->without_leader_ms);
    }
    if (t->left_epoch)
        buf_printf(text, "left %" PRIu64 " %s\n", t->left_epoch, t->left_reason);
}

void transitions_add(struct transitions *t, const struct ha_transition *change)
{
    unsigned at;

    if (t->count == HA_TRANSITIONS_MAX)
        memmove(t->changes, t->changes + 1, --t->count * sizeof(*t->changes));
    for (at = t->count; at > 0 && t->changes[at - 1].epoch > change->epoch; at--)
        t->changes[at] = t->changes[at - 1];
    t->changes[at] = *change;
    if (at == t->count++)
        t->left_epoch = 0;
}

uint64_t transitions_before(const struct transitions *t, uint64_t epoch)
{
    uint64_t before = 0;

    for (unsigned i = 0; i < t->count && t->changes[i].epoch < epoch; i++)
        before = t->changes[i].epoch;
    return before;
}

bool transitions_has(const struct transitions *t, const struct ha_transition *change)
{
    for (unsigned i = 0; i < t->count; i++) {
        if (t->changes[i].epoch == change->epoch &&
            t->changes[i].at_wall_ms == change->at_wall_ms)
            return true;
    }
    return false;
}

unsigned transitions_between(const struct transitions *t, int64_t from_wall_ms,
                             int64_t to_wall_ms)
{
    unsigned count = 0;

    for (unsigned i = 0; i < t->count; i++)
        count += strcmp(t->changes[i].reason, TRANSITION_RESUMED) != 0 &&
                 t->changes[i].at_wall_ms >= from_wall_ms &&
                 t->changes[i].at_wall_ms <= to_wall_ms;
    return count;
}
