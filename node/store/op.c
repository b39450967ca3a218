#include "node/store/op.h"

#include <assert.h>

static const struct {
    const char *word;
    unsigned traits;
} rows[OP_COUNT] = {
#define X(name, word, traits) [OP_##name] = {word, traits},
    OP_VERBS(X)
#undef X
};

const char *op_word(enum op_verb verb)
{
    assert(verb < OP_COUNT);
    return rows[verb].word;
}

bool op_has(enum op_verb verb, unsigned traits)
{
    assert(verb < OP_COUNT);
    return rows[verb].traits & traits;
}

bool op_leads(const struct op *op)
{
    return op_has(op->verb, TRAIT_FENCED) && !(op->verb == OP_SCAN && op->in.scan.share);
}

#define ENSEMBLE_LEN 33 /* its digits, and the separator */

struct bytes op_token_ensemble(struct bytes token)
{
    return bytes_of(token.at, token.len < ENSEMBLE_LEN ? token.len : ENSEMBLE_LEN);
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
