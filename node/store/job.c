#include "node/store/job.h"

#include <string.h>

#include "node/store/packed.h"

const char *death_word(enum death death)
{
    static const char *const words[DEATH_COUNT] = {
#define X(name, word) [DEATH_##name] = word,
        DEATH_LIST(X)
#undef X
    };

    return death < DEATH_COUNT ? words[death] : "";
}

const char *job_state_word(enum job_state state)
{
    static const char *const words[] = {"", "delayed", "ready", "reserved", "dead"};

    return state <= JOB_DEAD ? words[state] : "";
}

void job_pack_header(const struct job *job, char header[JOB_HEADER_BYTES])
{
    int64_t stamp = job->state == JOB_DEAD ? (int64_t)job->death : job->stamp;

    packed_put(header, 1, job->state);
    packed_put(header + 1, 2, job->tries < JOB_TRIES_MAX ? job->tries : JOB_TRIES_MAX);
    packed_put(header + 3, 4, job->ttr_ms);
    packed_put(header + 7, 6, job->due_ms);
    packed_put(header + 13, 6, stamp);
    packed_put(header + 19, 5, job->delay_ms);
}

/* The first `len` bytes of what is left; false where it is shorter. */
static bool cut(struct bytes *left, size_t len, struct bytes *cut)
{
    if (left->len < len)
        return false;
    *cut = bytes_of(left->at, len);
    *left = bytes_of(left->at + len, left->len - len);
    return true;
}

static bool take_rules(struct bytes *left, struct job_rules *rules)
{
    struct bytes packed;

    return cut(left, RULES_BYTES, &packed) && rules_unpack(packed.at, rules);
}

static bool take_holder(struct bytes *left, struct bytes *holder)
{
    struct bytes len;

    return cut(left, 1, &len) && cut(left, (uint8_t)len.at[0], holder) &&
           holder->len <= JOB_HOLDER_MAX;
}

static bool take_header(const char *at, struct job *job)
{
    unsigned state = (uint8_t)at[0] & JOB_STATE_MASK;
    int64_t stamp = packed_get(at + 13, 6);
    bool is_dead = state == JOB_DEAD;

    if (state < JOB_DELAYED || state > JOB_DEAD)
        return false;
    if (is_dead && (stamp == DEATH_NONE || stamp >= DEATH_COUNT))
        return false;
    job->state = (enum job_state)state;
    job->tries = (unsigned)packed_get(at + 1, 2);
    job->ttr_ms = packed_get(at + 3, 4);
    job->due_ms = packed_get(at + 7, 6);
    job->stamp = is_dead ? 0 : stamp;
    job->death = is_dead ? (enum death)stamp : DEATH_NONE;
    job->delay_ms = packed_get(at + 19, 5);
    return true;
}

enum status job_unpack(struct bytes packed, struct job *job)
{
    struct job found = {.id = job->id, .rules = rules_default};
    struct bytes left = packed, header;
    unsigned flags;

    if (!cut(&left, JOB_HEADER_BYTES, &header) || !take_header(header.at, &found))
        return STATUS_STORE_ERROR;
    flags = (uint8_t)header.at[0];
    if (flags & JOB_FLAG_RULES && !take_rules(&left, &found.rules))
        return STATUS_STORE_ERROR;
    if (flags & JOB_FLAG_HOLDER && !take_holder(&left, &found.holder))
        return STATUS_STORE_ERROR;
    found.body = left;
    *job = found;
    return STATUS_OK;
}
