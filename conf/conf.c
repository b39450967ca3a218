#include "conf/conf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/draft.h"
#include "conf/table.h"
#include "conf/topics.h"
#include "conf/yaml.h"

#define FILE_BYTES_MAX (256 * 1024)
#define PATH_BYTES_MAX 100 /* of a key on the command line */

#define X(name, word, ...) [PORT_##name] = {word, word ".listen"},
static const struct {
    const char *word, *key;
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

static const char *get_process_env(const char *name)
{
    return getenv(name);
}

static void set_defaults(struct conf *conf)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        bool ok = key->kind->set(key, key->fallback, conf_key_field(key, conf));

        assert(ok);
        (void)ok;
    }
}

/* ---- the file ---- */

static void expand_and_set(struct conf_draft *d, const struct conf_place *place,
                           const struct conf_key *key, const char *text)
{
    struct buf expanded = BUF_INIT, why = BUF_INIT;

    if (env_expand(text, d->get_env, &expanded, &why) == STATUS_OK) {
        draft_set(d, place, key, buf_text(&expanded));
    } else {
        draft_state(d, key)->is_bad = true;
        conf_errors_add(d->errors, place, key->path, "%s", buf_text(&why));
    }
    buf_fini(&expanded);
    buf_fini(&why);
}

/* The value of the key is no text. */
static void complain_shape(struct conf_draft *d, const struct conf_place *place,
                           const struct conf_key *key, const struct yaml_item *item)
{
    static const char *const shapes[] = {[ITEM_SECTION] = "a section", [ITEM_LIST] = "a list"};

    draft_state(d, key)->is_bad = true;
    if (item->kind == ITEM_NOTHING)
        conf_errors_add(d->errors, place, key->path,
                        "has no value; leave the key out for its default, or write \"\"");
    else
        draft_complain_unexpected(d, place, key,
                                  item->kind == ITEM_OTHER ? item->text : shapes[item->kind]);
}

static void take_key(struct conf_draft *d, const struct conf_place *at_key,
                     const struct conf_place *at_value, const struct conf_key *key,
                     const struct yaml_item *item)
{
    if (conf_key_is_of_row(key) && !d->is_in_row) {
        conf_errors_add(d->errors, at_key, key->path,
                        "belongs in a row of the list topics, as in \"- name: mail\"");
        return;
    }
    if (conf_key_is_of_row(key))
        topics_give(d, key);
    if (item->kind == ITEM_TEXT)
        expand_and_set(d, at_value, key, item->text);
    else
        complain_shape(d, at_value, key, item);
}

/* The list itself, or an item in it. A list without rows may be written as nothing. */
static void take_list(struct conf_draft *d, const struct conf_place *place,
                      const struct conf_key *key, const struct yaml_item *item)
{
    if (item->row && item->kind == ITEM_SECTION)
        topics_add(d, place);
    else if (item->row)
        conf_errors_add(d->errors, place, key->path,
                        "expected a row with keys, as in \"- name: mail\"");
    else if (item->kind == ITEM_TEXT)
        draft_complain_value(d, place, key, item->text);
    else if (item->kind != ITEM_LIST && item->kind != ITEM_NOTHING)
        complain_shape(d, place, key, item);
}

/* The keys below an unknown section are complained of, which says more than the section would.
 */
static bool has_keys_below(const struct yaml_items *items, size_t i)
{
    size_t len = strlen(items->at[i].path);

    return i + 1 < items->count && !strncmp(items->at[i + 1].path, items->at[i].path, len) &&
           items->at[i + 1].path[len] == '.';
}

static void take_section(struct conf_draft *d, const struct conf_place *place,
                         const struct yaml_item *item)
{
    if (item->kind != ITEM_SECTION && item->kind != ITEM_NOTHING)
        conf_errors_add(d->errors, place, item->path, "is a section: expected keys below it");
}

static const struct yaml_item *find_earlier(const struct yaml_items *items, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (items->at[k].row == items->at[i].row &&
            !strcmp(items->at[k].path, items->at[i].path))
            return &items->at[k];
    }
    return NULL;
}

/* Is the item in a list that should be none? That has been complained of. */
static bool is_stray(const struct conf_draft *d, const struct conf_key *key,
                     const struct yaml_item *item)
{
    return item->row && !d->is_in_row && !(key && key->kind->is_list);
}

static void take_item(struct conf_draft *d, const char *file, const struct yaml_items *items,
                      size_t i)
{
    const struct yaml_item *item = &items->at[i], *earlier = find_earlier(items, i);
    const struct conf_key *key = conf_key_find(item->path);
    struct conf_place at_key = {FROM_FILE, file, item->key.line, item->key.column};
    struct conf_place at_value = {FROM_FILE, file, item->value.line, item->value.column};

    d->is_in_row = d->is_in_row && item->row;
    if (is_stray(d, key, item))
        return;
    if (earlier)
        conf_errors_add(d->errors, &at_key, item->path, "is given twice; first in line %u",
                        earlier->key.line);
    else if (key && key->kind->is_list)
        take_list(d, &at_value, key, item);
    else if (conf_key_is_section(item->path))
        take_section(d, &at_value, item);
    else if (!key && !has_keys_below(items, i))
        draft_complain_unknown(d, &at_key, item->path);
    else if (key)
        take_key(d, &at_key, &at_value, key, item);
}

static void take_text(struct conf_draft *d, const char *file, struct bytes text)
{
    struct yaml_items items;
    struct yaml_problem problem;
    enum status status = yaml_read(text, &items, &problem);

    for (size_t i = 0; i < items.count; i++)
        take_item(d, file, &items, i);
    if (status != STATUS_OK) {
        struct conf_place place = {FROM_FILE, file, problem.mark.line, problem.mark.column};

        conf_errors_add(d->errors, &place, NULL, "%s", problem.message);
    }
    yaml_items_fini(&items);
}

static void take_file(struct conf_draft *d, const char *file)
{
    struct conf_place place = {FROM_FILE, file, 0, 0};
    struct file_limits limits = {.bytes_max = FILE_BYTES_MAX, .is_regular = d->is_reload};
    struct buf text = BUF_INIT, why = BUF_INIT;

    if (file_read(file, &limits, &text, &why) == STATUS_OK)
        take_text(d, file, buf_bytes(&text));
    else
        conf_errors_add(d->errors, &place, NULL, "%s", buf_text(&why));
    buf_fini(&text);
    buf_fini(&why);
}

/* ---- the command line ---- */

/* The text is taken as it is: variables are the shell's business. */
static void take_set(struct conf_draft *d, const char *set)
{
    static const struct conf_place place = {FROM_SET, NULL, 0, 0};
    const char *equals = strchr(set, '=');
    char path[PATH_BYTES_MAX + 1];
    const struct conf_key *key;

    if (!equals || equals == set || equals - set > PATH_BYTES_MAX) {
        conf_errors_add(d->errors, &place, set, "expected KEY=VALUE");
        return;
    }
    memcpy(path, set, (size_t)(equals - set));
    path[equals - set] = '\0';
    key = conf_key_find(path);
    if (!key)
        draft_complain_unknown(d, &place, path);
    else if (key->kind->is_list || conf_key_is_of_row(key))
        conf_errors_add(d->errors, &place, path,
                        "the rows of topics can only stand in the configuration file");
    else if (key->is_secret)
        conf_errors_add(d->errors, &place, path,
                        "is a secret, and a command line can be read by other users; "
                        "use the file with ${NAME}, or %s_file",
                        path);
    else
        draft_set(d, &place, key, equals + 1);
}

/* ---- all together ---- */

struct conf *conf_load(const struct conf_request *request, struct conf_errors *errors)
{
    unsigned before = errors->count;
    struct conf_draft d = {
        .conf = calloc(1, sizeof(*d.conf)),
        .errors = errors,
        .get_env = request->get_env ? request->get_env : get_process_env,
        .keys = calloc(conf_key_count, sizeof(*d.keys)),
        .is_reload = request->is_reload,
    };

    if (!d.conf || !d.keys)
        abort();
    set_defaults(d.conf);
    if (request->file)
        take_file(&d, request->file);
    for (size_t i = 0; i < request->set_count; i++)
        take_set(&d, request->sets[i]);
    draft_check(&d);
    free(d.keys);
    free(d.rows);
    if (errors->count == before)
        return d.conf;
    conf_free(d.conf);
    return NULL;
}

void conf_free(struct conf *conf)
{
    if (!conf)
        return;
    for (size_t i = 0; i < conf_key_count; i++) {
        if (conf_keys[i].kind->fini)
            conf_keys[i].kind->fini(conf_key_field(&conf_keys[i], conf));
    }
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

void conf_reload(struct conf *running, struct conf *fresh, struct buf *taken,
                 struct buf *need_restart)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        struct buf *list = key->is_reloadable ? taken : need_restart;

        if (is_same(key, running, fresh))
            continue;
        buf_printf(list, "%s%s", list->len ? ", " : "", key->path);
        if (key->is_reloadable)
            swap(key, running, fresh);
    }
}

/* ---- print ---- */

/* Secrets are texts. A secret read from a file is printed as "": the key beside it names the
 * file. */
static const char *hide(const struct conf_key *key, const struct conf *conf)
{
    char path[64];
    char *const *secret = conf_key_value(key, conf), *const * file;

    snprintf(path, sizeof(path), "%s_file", key->path);
    file = conf_key_value(conf_key_find(path), conf);
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
