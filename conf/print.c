#include "conf/conf.h"

#include <string.h>

#include "conf/table.h"
#include "conf/value.h"

/* A secret that came from a file is told by that file's name. */
static bool is_told_elsewhere(const struct conf_key *key, const struct conf *conf)
{
    return key->is_secret && *conf->store.password_file;
}

static void print_value(const struct conf_key *key, const struct conf *conf, struct buf *to)
{
    struct buf plain = BUF_INIT;

    if (!is_told_elsewhere(key, conf))
        key->kind->print(key, conf_key_value(key, conf), &plain);
    if (key->is_secret && plain.len)
        buf_add_text(to, "\"***\"");
    else if (key->kind->is_quoted)
        value_print_quoted(to, buf_text(&plain));
    else
        buf_add_bytes(to, buf_bytes(&plain));
    buf_fini(&plain);
}

/* Keys of a section stand together in the table. */
static bool starts_section(size_t i)
{
    size_t len = strcspn(conf_keys[i].path, ".") + 1;

    return i == 0 || strncmp(conf_keys[i].path, conf_keys[i - 1].path, len) != 0;
}

void conf_print(const struct conf *conf, FILE *to)
{
    struct buf line = BUF_INIT;

    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        const char *dot = strchr(key->path, '.');

        if (starts_section(i))
            buf_printf(&line, "%.*s:\n", (int)(dot - key->path), key->path);
        buf_printf(&line, "  %s: ", dot + 1);
        print_value(key, conf, &line);
        buf_add_char(&line, '\n');
        fputs(buf_text(&line), to);
        buf_clear(&line);
    }
    buf_fini(&line);
}

void conf_print_keys(FILE *to)
{
    struct buf expected = BUF_INIT;

    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];

        buf_clear(&expected);
        conf_key_print_expected(key, &expected);
        fprintf(to, "%s  %-22s %s\n", starts_section(i) && i ? "\n" : "", key->path,
                *key->fallback ? key->fallback : "\"\"");
        fprintf(to, "      %s\n      (%s%s)\n", key->help, buf_text(&expected),
                key->is_reloadable ? "; SIGHUP reloads it" : "");
    }
    buf_fini(&expected);
}
