#include "protocol/http/fault.h"

const struct http_fault_text *http_fault_text(enum http_fault fault)
{
    static const struct http_fault_text texts[] = {
        [HTTP_FAULT_NONE] = {200, "ok", "nothing is wrong"},
#define X(name, code, word, text) [HTTP_FAULT_##name] = {code, word, text},
        HTTP_FAULT_LIST(X)
#undef X
    };

    return &texts[fault];
}
