#include "conf/errors.h"

#include <stdarg.h>
#include <stdio.h>

void conf_errors_init(struct conf_errors *errors)
{
    *errors = (struct conf_errors){.lines = BUF_INIT};
}

void conf_errors_fini(struct conf_errors *errors)
{
    buf_fini(&errors->lines);
    errors->count = 0;
}

static void add_place(struct buf *to, const struct conf_place *place)
{
    if (place->origin == FROM_SET)
        buf_add_text(to, "--set ");
    else if (place->origin == FROM_FILE && place->line)
        buf_printf(to, "%s:%u:%u: ", place->file, place->line, place->column);
    else if (place->origin == FROM_FILE)
        buf_printf(to, "%s: ", place->file);
}

static void make_harmless(char *at, const char *end)
{
    for (; at < end; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    }
}

void conf_errors_add(struct conf_errors *errors, const struct conf_place *place,
                     const char *key, const char *format, ...)
{
    struct buf *lines = &errors->lines;
    size_t start = lines->len;
    char message[1024];
    va_list args;

    if (errors->count++ > CONF_ERRORS_MAX)
        return;
    if (errors->count > CONF_ERRORS_MAX) {
        buf_add_text(lines, "there are more errors than these\n");
        return;
    }
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    add_place(lines, place);
    if (key)
        buf_printf(lines, "%.100s: ", key);
    buf_add_text(lines, message);
    make_harmless(lines->at + start, lines->at + lines->len);
    buf_add_char(lines, '\n');
}

const char *conf_errors_text(struct conf_errors *errors)
{
    return buf_text(&errors->lines);
}
