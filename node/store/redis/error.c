#include "node/store/redis/error.h"

#include <stddef.h>
#include <string.h>

/* AUTH without any password configured is put differently by each generation of Redis. */
static const char *const lasting[] = {
    "NOAUTH",
    "WRONGPASS",
    "NOPERM",
    "DENIED",
    "ERR AUTH ",
    "ERR Client sent AUTH",
    "ERR invalid password",
    "ERR unknown command",
    "ERR Error compiling script",
    NULL,
};

/* A script's error has its cause somewhere inside; which place depends on Redis's version. */
static const char *const lasting_inside[] = {"WRONGTYPE", "NOPERM", NULL};

static const char *const of_the_connection[] = {
    "READONLY", "LOADING", "MASTERDOWN", "BUSY", "NOAUTH", NULL,
};

static const char *const of_all_writes[] = {"MISCONF", "NOREPLICAS", "OOM", NULL};

/* Redis 6 puts a script's error into a sentence of its own. */
static const char *const of_all_writes_inside[] = {": -MISCONF ", ": -NOREPLICAS ", ": -OOM ",
                                                   NULL};

static bool begins_with_one_of(const char *error, const char *const *words)
{
    for (; *words; words++) {
        if (!strncmp(error, *words, strlen(*words)))
            return true;
    }
    return false;
}

static bool contains_one_of(const char *error, const char *const *words)
{
    for (; *words; words++) {
        if (strstr(error, *words))
            return true;
    }
    return false;
}

bool redis_error_is_lasting(const char *error)
{
    return begins_with_one_of(error, lasting) || contains_one_of(error, lasting_inside);
}

/* Redis 6 puts a script's error into a sentence of its own. */
bool redis_error_is_of_the_connection(const char *error)
{
    return begins_with_one_of(error, of_the_connection) || strstr(error, ": -READONLY ");
}

bool redis_error_refuses_writes(const char *error)
{
    return begins_with_one_of(error, of_all_writes) ||
           contains_one_of(error, of_all_writes_inside);
}
