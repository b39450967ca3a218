/* A configuration that is there: printed, reloaded, and asked. */
#include "conf/conf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/table.h"

#define X(name, word, ...) [PORT_##name] = {word, word ".listen", word ".tls"},
static const struct {
    const char *word, *key, *tls_key;
} ports[] = {CONF_PORT_LIST(X)};
#undef X

const char *conf_port_word(enum conf_port port)
{
    return ports[port].word;
}

const char *conf_port_key(enum conf_port port)
{
    return ports[port].key;
}

const char *conf_port_tls_key(enum conf_port port)
{
    return ports[port].tls_key;
}

bool conf_topic_has(const struct conf_topic *topic, enum conf_topic_key key)
{
    return topic->given & 1u << key;
}

static char **tls_texts(struct conf *conf, unsigned side)
{
    return (char **)((char *)conf + conf_tls_files[side].text);
}

static void forget_tls_texts(struct conf *conf, unsigned side)
{
    char **texts = tls_texts(conf, side);

    for (unsigned part = 0; part < TLS_PARTS; part++) {
        if (texts[part])
            explicit_bzero(texts[part], strlen(texts[part]));
        free(texts[part]);
    }
}

void conf_free(struct conf *conf)
{
    if (!conf)
        return;
    for (size_t i = 0; i < conf_key_count; i++) {
        if (conf_keys[i].kind->fini)
            conf_keys[i].kind->fini(conf_key_field(&conf_keys[i], conf));
    }
    for (unsigned side = 0; side < TLS_SIDES; side++)
        forget_tls_texts(conf, side);
    free(conf);
}

struct log_options conf_log_options(const struct conf *conf)
{
    return (struct log_options){
        .level = conf->log.level,
        .modules = conf->log.modules,
        .json = conf->log.format == LOG_FORMAT_JSON,
        .file = conf->log.file,
    };
}

/* ---- reloading ---- */

/* Values are compared in their printed form, which serves all kinds. */
static bool is_same(const struct conf_key *key, const struct conf *a, const struct conf *b)
{
    struct buf text_a = BUF_INIT, text_b = BUF_INIT;
    bool same;

    key->kind->print(key, conf_key_value(key, a), &text_a);
    key->kind->print(key, conf_key_value(key, b), &text_b);
    same = bytes_equal(buf_bytes(&text_a), buf_bytes(&text_b));
    buf_fini(&text_a);
    buf_fini(&text_b);
    return same;
}

static void swap(const struct conf_key *key, struct conf *a, struct conf *b)
{
    void *field_a = conf_key_field(key, a), *field_b = conf_key_field(key, b);
    char kept[sizeof(struct conf_address)];

    assert(key->kind->bytes <= sizeof(kept));
    memcpy(kept, field_a, key->kind->bytes);
    memcpy(field_a, field_b, key->kind->bytes);
    memcpy(field_b, kept, key->kind->bytes);
}

/* The files may have changed where their names have not. */
static void list_tls_texts(struct conf *running, struct conf *fresh, unsigned side,
                           struct buf *list)
{
    char **ours = tls_texts(running, side), **theirs = tls_texts(fresh, side);

    for (unsigned part = 0; part < TLS_PARTS; part++)
        if (strcmp(ours[part], theirs[part]) != 0)
            buf_printf(list, "%sthe file of %s", list->len ? ", " : "",
                       conf_tls_files[side].keys[part]);
}

static void swap_tls_texts(struct conf *a, struct conf *b, unsigned side)
{
    char **texts_a = tls_texts(a, side), **texts_b = tls_texts(b, side);

    for (unsigned part = 0; part < TLS_PARTS; part++) {
        char *kept = texts_a[part];

        texts_a[part] = texts_b[part];
        texts_b[part] = kept;
    }
}

/* What the section store.tls says is for the Redis that store.redis names, and waits with it
 * for a restart. */
static bool goes_with_redis(const struct conf_key *key)
{
    static const char section[] = "store.tls.";

    return !strncmp(key->path, section, strlen(section));
}

void conf_reload(struct conf *running, struct conf *fresh, struct buf *taken,
                 struct buf *need_restart)
{
    bool is_same_redis = is_same(conf_key_find("store.redis"), running, fresh);

    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        bool is_taken = key->is_reloadable && (is_same_redis || !goes_with_redis(key));
        struct buf *list = is_taken ? taken : need_restart;

        if (is_same(key, running, fresh))
            continue;
        buf_printf(list, "%s%s", list->len ? ", " : "", key->path);
        if (is_taken)
            swap(key, running, fresh);
    }
    for (unsigned side = 0; side < TLS_SIDES; side++) {
        bool is_taken = is_same_redis || side != TLS_OF_STORE;

        list_tls_texts(running, fresh, side, is_taken ? taken : need_restart);
        if (is_taken)
            swap_tls_texts(running, fresh, side);
    }
}

/* ---- print ---- */

/* A secret that was read from a file is printed as "": the key beside it names the file. */
static const char *hide(const struct conf_key *key, const struct conf *conf)
{
    char *const *secret = conf_key_value(key, conf), *const *file =
                                                         conf_key_value(key + 1, conf);

    return **secret && !**file ? " \"***\"" : " \"\"";
}

/* Prints the text behind the key's colon. A list has lines of its own. */
static void print_value(const struct conf_key *key, const struct conf *conf, struct buf *to)
{
    if (key->is_secret) {
        buf_add_text(to, hide(key, conf));
    } else {
        buf_add_text(to, key->kind->is_list ? "" : " ");
        conf_key_print_value(key, conf, to);
    }
}

/* The key's section; "" for a key in none. */
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
