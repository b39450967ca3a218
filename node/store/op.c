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
