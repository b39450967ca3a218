#include "node/store/rules.h"

#include "node/store/packed.h"

#define JITTER_STEPS 2001 /* so many different ones, the middle one being none */

const struct job_rules rules_default = {.priority = RULES_PRIORITY_DEFAULT};

/* A base of nothing stays nothing when it is doubled (and for a script, too often: it would be
 * no number). */
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

/* Without a kind or a base the rest means nothing, and is written as nothing. */
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
