#include "base/status.h"

#include <assert.h>

static const struct {
    const char *word;
    const char *text;
} table[STATUS_COUNT] = {
#define X(name, word, text) [STATUS_##name] = {word, text},
    STATUS_LIST(X)
#undef X
};

const char *status_text(enum status s)
{
    assert(s < STATUS_COUNT);
    return table[s].text;
}

const char *status_word(enum status s)
{
    assert(s < STATUS_COUNT);
    return table[s].word;
}

bool status_is_unknown(enum status s)
{
    return s == STATUS_UNKNOWN || s == STATUS_NOT_REPLICATED;
}
