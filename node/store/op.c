#include "node/store/op.h"

#include <assert.h>

const char *op_word(enum op_verb verb)
{
    static const char *const words[OP_COUNT] = {
#define X(name, word) [OP_##name] = word,
        OP_LIST(X)
#undef X
    };

    assert(verb < OP_COUNT);
    return words[verb];
}

bool op_is_fenced(enum op_verb verb)
{
    return verb == OP_SCAN || verb == OP_AUDIT || verb == OP_REPAIR || verb == OP_FENCE;
}

bool op_leads(const struct op *op)
{
    return op_is_fenced(op->verb) && !(op->verb == OP_SCAN && op->in.scan.share);
}

#define ENSEMBLE_LEN 33 /* its digits, and what is behind them */

struct bytes op_token_ensemble(struct bytes token)
{
    return bytes_of(token.at, token.len < ENSEMBLE_LEN ? token.len : ENSEMBLE_LEN);
}

bool op_is_of_leases(enum op_verb verb)
{
    return verb == OP_DELIVERED || verb == OP_KEEP || verb == OP_RETURN;
}

const char *event_word(enum job_event event)
{
    static const char *const words[EVENT_COUNT] = {
#define X(name, word) [EVENT_##name] = word,
        EVENT_LIST(X)
#undef X
    };

    return event < EVENT_COUNT ? words[event] : "";
}

const char *damage_word(enum damage damage)
{
    static const char *const words[DAMAGE_COUNT] = {
#define X(name, word) [DAMAGE_##name] = word,
        DAMAGE_LIST(X)
#undef X
    };

    return damage < DAMAGE_COUNT ? words[damage] : "";
}

bool op_is_read(enum op_verb verb)
{
    static const bool reads[OP_COUNT] = {
        [OP_GET] = true,   [OP_LIST] = true,   [OP_STATS] = true,
        [OP_OWNER] = true, [OP_TOPICS] = true, [OP_SETTINGS] = true,
        [OP_TRACE] = true, [OP_PLACES] = true, [OP_AUDIT] = true,
    };

    assert(verb < OP_COUNT);
    return reads[verb];
}
