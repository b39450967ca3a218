#include "conf/conf.h"

#include <string.h>

#include "conf/table.h"

/* Secrets are texts. One that came from a file is told by that file's name: each has such a key
 * beside it. */
static const char *hide(const struct conf_key *key, const struct conf *conf)
{
    char path[64];
    char *const *secret = conf_key_value(key, conf), *const * file;

    snprintf(path, sizeof(path), "%s_file", key->path);
    file = conf_key_value(conf_key_find(path), conf);
    return **secret && !**file ? " \"***\"" : " \"\"";
}

/* Behind the key's colon. A list has lines of its own. */
static void print_value(const struct conf_key *key, const struct conf *conf, struct buf *to)
{
    if (key->is_secret) {
        buf_add_text(to, hide(key, conf));
    } else {
        buf_add_text(to, key->kind->is_list ? "" : " ");
        conf_key_print_value(key, conf, to);
    }
}

/* Its section, "" when it is in none, and its name there. */
static struct bytes section_of(const struct conf_key *key)
{
    const char *dot = strchr(key->path, '.');

    return bytes_of(key->path, dot ? (size_t)(dot - key->path) : 0);
}

static const char *name_of(const struct conf_key *key)
{
    struct bytes section = section_of(key);

    return key->path + section.len + (section.len > 0);
}

/* Keys of a section stand together in the table. */
static bool starts_section(size_t i)
{
    return i == 0 || !bytes_equal(section_of(&conf_keys[i]), section_of(&conf_keys[i - 1]));
}

void conf_print(const struct conf *conf, FILE *to)
{
    struct buf line = BUF_INIT;

    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        struct bytes section = section_of(key);

        if (section.len && starts_section(i))
            buf_printf(&line, "%.*s:\n", BYTES_ARG(section));
        buf_printf(&line, "%s%s:", section.len ? "  " : "", name_of(key));
        print_value(key, conf, &line);
        buf_add_char(&line, '\n');
        fputs(buf_text(&line), to);
        buf_clear(&line);
    }
    buf_fini(&line);
}

static void print_key(const struct conf_key *key, bool is_reloadable, FILE *to)
{
    struct buf expected = BUF_INIT;
    const char *fallback = key->fallback ? key->fallback : "(left out)";

    conf_key_print_expected(key, &expected);
    fprintf(to, "  %-29s %s\n", key->path, *fallback ? fallback : "\"\"");
    fprintf(to, "      %s\n      (%s%s)\n", key->help, buf_text(&expected),
            is_reloadable ? "; SIGHUP reloads it" : "");
    buf_fini(&expected);
}

void conf_print_keys(FILE *to)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];

        fputs(starts_section(i) && i ? "\n" : "", to);
        print_key(key, key->is_reloadable, to);
        for (size_t k = 0; k < TOPIC_KEY_COUNT && key->kind->is_list; k++)
            print_key(&conf_topic_keys[k], key->is_reloadable, to);
    }
}
