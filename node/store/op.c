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

bool op_is_of_leases(enum op_verb verb)
{
    return verb == OP_DELIVERED || verb == OP_KEEP || verb == OP_RETURN;
}
