#include "node/store/job.h"

#include <string.h>

#include "node/store/packed.h"

#define JITTER_STEPS 2001 /* so many different ones, the middle one is no jitter */

const struct job_rules rules_default = {.priority = RULES_PRIORITY_DEFAULT};

/* A base of 0 stays 0 when doubled (and a script would double it until it is no number). */
static bool is_nothing(const struct backoff *backoff)
{
    return backoff->kind == BACKOFF_NONE || backoff->base_ms == 0;
}

bool rules_are_default(const struct job_rules *rules)
{
    return rules->priority == RULES_PRIORITY_DEFAULT && rules->max_tries == 0 &&
           is_nothing(&rules->backoff) && rules->expires_ms == 0;
}

void rules_pack(const struct job_rules *rules, char packed[RULES_BYTES])
{
    packed_put(packed, 4, rules->priority);
    packed_put(packed + 4, 2, rules->max_tries);
    backoff_pack(&rules->backoff, packed + 6);
    packed_put(packed + 16, 6, rules->expires_ms);
}

bool rules_unpack(const char *packed, struct job_rules *rules)
{
    int64_t max_tries = packed_get(packed + 4, 2);
    struct backoff backoff;

    if (max_tries > RULES_TRIES_MAX || !backoff_unpack(packed + 6, &backoff))
        return false;
    *rules = (struct job_rules){
        .priority = (uint32_t)packed_get(packed, 4),
        .max_tries = (unsigned)max_tries,
        .backoff = backoff,
        .expires_ms = packed_get(packed + 16, 6),
    };
    return true;
}

/* Without a kind or a base the other fields mean nothing, and are written as 0. */
void backoff_pack(const struct backoff *backoff, char packed[BACKOFF_BYTES])
{
    static const struct backoff none;
    const struct backoff *from = is_nothing(backoff) ? &none : backoff;

    packed_put(packed, 1, from->kind);
    packed_put(packed + 1, 1, from->jitter_percent);
    packed_put(packed + 2, 4, from->base_ms);
    packed_put(packed + 6, 4, from->cap_ms);
}

bool backoff_unpack(const char *packed, struct backoff *backoff)
{
    int64_t kind = packed_get(packed, 1), jitter = packed_get(packed + 1, 1);
    int64_t base_ms = packed_get(packed + 2, 4), cap_ms = packed_get(packed + 6, 4);

    if (kind > BACKOFF_EXPONENTIAL || jitter > 100 || base_ms > RULES_BACKOFF_MAX_MS ||
        cap_ms > RULES_BACKOFF_MAX_MS)
        return false;
    *backoff = (struct backoff){(enum backoff_kind)kind, (unsigned)jitter, base_ms, cap_ms};
    return true;
}

/* Doubling ends at the cap, so nothing overflows however many tries there were. */
static int64_t grown_ms(const struct backoff *backoff, unsigned tries)
{
    int64_t cap_ms = backoff->cap_ms ? backoff->cap_ms : RULES_BACKOFF_MAX_MS;
    int64_t rest_ms = backoff->base_ms;

    if (backoff->kind == BACKOFF_EXPONENTIAL) {
        for (unsigned i = 1; i < tries && rest_ms < cap_ms; i++)
            rest_ms *= 2;
    }
    return rest_ms < cap_ms ? rest_ms : cap_ms;
}

int64_t backoff_rest_ms(const struct backoff *backoff, unsigned tries, int64_t stamp)
{
    int64_t step = stamp % JITTER_STEPS * 7919 % JITTER_STEPS;
    int64_t share = 100000 + (int64_t)backoff->jitter_percent * (step - 1000);

    if (is_nothing(backoff))
        return 0;
    return grown_ms(backoff, tries) * share / 100000;
}

/* ---- what some jobs have beside their rules ---- */

/* The key that stands here says no more than that the job is served by its id. */
size_t extra_pack(const struct job_extra *extra, char *to)
{
    size_t bytes = EXTRA_BYTES + extra->attributes.len;

    packed_put(to, 2, (int64_t)bytes);
    packed_put(to + 2, 6, extra->by_id ? JOB_KEY_MIDDLE : 0);
    packed_put(to + 8, 6, extra->created_ms);
    packed_put(to + 14, 2, extra->reserves);
    packed_put(to + 16, 2, extra->timeouts);
    packed_put(to + 18, 2, extra->releases);
    packed_put(to + 20, 2, extra->buries);
    packed_put(to + 22, 2, extra->kicks);
    if (extra->attributes.len)
        memcpy(to + EXTRA_BYTES, extra->attributes.at, extra->attributes.len);
    return bytes;
}

/* ---- job ---- */

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

/* Cuts the first `len` bytes off `left`; false where it is shorter. */
static bool cut(struct bytes *left, size_t len, struct bytes *cut)
{
    if (left->len < len)
        return false;
    *cut = bytes_of(left->at, len);
    *left = bytes_of(left->at + len, left->len - len);
    return true;
}

/* The rules, and whether an EXTRA block follows. */
static bool take_rules(struct bytes *left, struct job_rules *rules, bool *has_extra)
{
    struct bytes packed;
    char plain[RULES_BYTES];

    if (!cut(left, RULES_BYTES, &packed))
        return false;
    memcpy(plain, packed.at, RULES_BYTES);
    *has_extra = (uint8_t)plain[RULES_KIND_AT] & RULES_EXTRA;
    plain[RULES_KIND_AT] &= ~RULES_EXTRA;
    return rules_unpack(plain, rules);
}

/* What else is in the block is looked at by its readers. */
static bool take_extra(struct bytes *left, struct job_extra *extra)
{
    struct bytes block;
    const char *at;

    if (left->len < EXTRA_BYTES || !cut(left, (size_t)packed_get(left->at, 2), &block) ||
        block.len < EXTRA_BYTES || block.len > EXTRA_BYTES_MAX)
        return false;
    at = block.at;
    *extra = (struct job_extra){
        .is_there = true,
        .by_id = packed_get(at + 2, 6) != 0,
        .created_ms = packed_get(at + 8, 6),
        .reserves = (unsigned)packed_get(at + 14, 2),
        .timeouts = (unsigned)packed_get(at + 16, 2),
        .releases = (unsigned)packed_get(at + 18, 2),
        .buries = (unsigned)packed_get(at + 20, 2),
        .kicks = (unsigned)packed_get(at + 22, 2),
        .attributes = bytes_of(at + EXTRA_BYTES, block.len - EXTRA_BYTES),
    };
    return true;
}

static bool take_holder(struct bytes *left, struct bytes *holder)
{
    struct bytes len;

    return cut(left, 1, &len) && cut(left, (uint8_t)len.at[0], holder) &&
           holder->len <= JOB_HOLDER_MAX;
}

/* Is the state known, and the stamp of a dead job a known reason? */
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
    job->delay_ms = packed_get(at + 19, 5) % JOB_COUNTED;
}

/* Every job that is handed out comes through here, so each field is written once only. */
enum status job_unpack(struct bytes packed, struct job *job)
{
    struct job_rules rules;
    struct job_extra extra;
    struct bytes left = packed, header, holder = {NULL, 0};
    bool has_extra = false;
    unsigned flags;

    if (!cut(&left, JOB_HEADER_BYTES, &header) || !header_is_sound(header.at))
        return STATUS_STORE_ERROR;
    flags = (uint8_t)header.at[0];
    if (flags & JOB_FLAG_RULES && !take_rules(&left, &rules, &has_extra))
        return STATUS_STORE_ERROR;
    if (has_extra && !take_extra(&left, &extra))
        return STATUS_STORE_ERROR;
    if (flags & JOB_FLAG_HOLDER && !take_holder(&left, &holder))
        return STATUS_STORE_ERROR;
    read_header(header.at, job);
    job->rules = flags & JOB_FLAG_RULES ? rules : rules_default;
    job->extra = has_extra ? extra : (struct job_extra){0};
    job->holder = holder;
    job->body = left;
    return STATUS_OK;
}
