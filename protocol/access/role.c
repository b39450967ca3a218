#include "protocol/access/role.h"

static const struct {
    unsigned bit;
    const char *word;
} roles_known[] = {
#define X(name, bit, word) {bit, word},
    ACCESS_ROLE_LIST(X)
#undef X
};

#define ROLES_KNOWN (sizeof(roles_known) / sizeof(*roles_known))

const char *access_role_word(unsigned roles)
{
    for (size_t i = 0; i < ROLES_KNOWN; i++)
        if (roles & roles_known[i].bit)
            return roles_known[i].word;
    return "";
}

void access_roles_print(struct buf *to, unsigned roles)
{
    const char *between = "";

    for (size_t i = 0; i < ROLES_KNOWN; i++)
        if (roles & roles_known[i].bit) {
            buf_printf(to, "%s%s", between, roles_known[i].word);
            between = ",";
        }
}

static unsigned role_of(struct bytes word)
{
    if (bytes_equal(word, BYTES("all")))
        return ACCESS_ALL;
    for (size_t i = 0; i < ROLES_KNOWN; i++)
        if (bytes_equal(word, bytes_of_text(roles_known[i].word)))
            return roles_known[i].bit;
    return 0;
}

unsigned access_roles_read(struct bytes words)
{
    unsigned roles = 0;

    for (;;) {
        const char *comma = words.len ? memchr(words.at, ',', words.len) : NULL;
        size_t len = comma ? (size_t)(comma - words.at) : words.len;
        unsigned role = role_of(bytes_of(words.at, len));

        if (!role)
            return 0;
        roles |= role;
        if (!comma)
            return roles;
        words = bytes_of(comma + 1, words.len - len - 1);
    }
}
