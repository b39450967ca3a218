#include "node/store/redis_error.h"

#include <stddef.h>
#include <string.h>

/* AUTH without any password configured is put differently by each generation of Redis. */
static const char *const beginnings[] = {
    "NOAUTH",
    "WRONGPASS",
    "NOPERM",
    "DENIED",
    "ERR AUTH ",
    "ERR Client sent AUTH",
    "ERR invalid password",
    "ERR unknown command",
    "ERR Error compiling script",
};

/* A script's error has its cause somewhere inside; which place depends on Redis's version. */
static const char *const inside[] = {"WRONGTYPE", "NOPERM"};

bool redis_error_is_lasting(const char *error)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        if (!strncmp(error, beginnings[i], strlen(beginnings[i])))
            return true;
    }
    for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++) {
        if (strstr(error, inside[i]))
            return true;
    }
    return false;
}
