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

/* The state is one, and where it is that of the dead, the stamp a reason. */
static bool header_is_sound(const char *at)
{
    unsigned state = (uint8_t)at[0] & JOB_STATE_MASK;
    int64_t stamp;

    if (state != JOB_DEAD)
        return state >= JOB_DELAYED && state < JOB_DEAD;
    stamp = packed_get(at + 13, 6);
    return stamp > DEATH_NONE && stamp < DEATH_COUNT;
}

static void read_header(const char *at, struct job *job)
{
    int64_t stamp = packed_get(at + 13, 6);

    job->state = (enum job_state)((uint8_t)at[0] & JOB_STATE_MASK);
    job->tries = (unsigned)packed_get(at + 1, 2);
    job->ttr_ms = packed_get(at + 3, 4);
    job->due_ms = packed_get(at + 7, 6);
    job->stamp = job->state == JOB_DEAD ? 0 : stamp;
    job->death = job->state == JOB_DEAD ? (enum death)stamp : DEATH_NONE;
    job->delay_ms = packed_get(at + 19, 5);
}

/* Every job that is handed out comes through here: what it has is written once. */
enum status job_unpack(struct bytes packed, struct job *job)
{
    struct job_rules rules;
    struct bytes left = packed, header, holder = {NULL, 0};
    unsigned flags;

    if (!cut(&left, JOB_HEADER_BYTES, &header) || !header_is_sound(header.at))
        return STATUS_STORE_ERROR;
    flags = (uint8_t)header.at[0];
    if (flags & JOB_FLAG_RULES && !take_rules(&left, &rules))
        return STATUS_STORE_ERROR;
    if (flags & JOB_FLAG_HOLDER && !take_holder(&left, &holder))
        return STATUS_STORE_ERROR;
    read_header(header.at, job);
    job->rules = flags & JOB_FLAG_RULES ? rules : rules_default;
    job->holder = holder;
    job->body = left;
    return STATUS_OK;
}
