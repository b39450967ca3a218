#include "itests/bench/load/die.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void die(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "dueq-load: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(1);
}

void *must_calloc(long long count, long long size)
{
    void *memory = calloc((size_t)count, (size_t)size);

    if (!memory)
        die("no memory for %lld of %lld bytes", count, size);
    return memory;
}
