#include "protocol/access/role.h"

const char *access_role_word(unsigned roles)
{
#define X(name, bit, word)     \
    if (roles & ACCESS_##name) \
        return word;
    ACCESS_ROLE_LIST(X)
#undef X
    return "";
}
