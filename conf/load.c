/* Loading a configuration, from the first step to the last. */
#include "conf/load.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/yaml.h"

#define FILE_BYTES_MAX (256 * 1024)
#define PATH_BYTES_MAX 100 /* of a key on the command line */

/* ---- mistakes ---- */

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

/* ---- small files ---- */

#define CHUNK_BYTES 4096

/* False: errno is set, to EFBIG when the file has more than `bytes_max`. */
static bool read_all(int fd, size_t bytes_max, struct buf *to)
{
    size_t start = to->len;

    for (;;) {
        ssize_t got = read(fd, buf_reserve(to, CHUNK_BYTES), CHUNK_BYTES);

        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        to->len += (size_t)got;
        if (to->len - start > bytes_max) {
            errno = EFBIG;
            return false;
        }
    }
}

enum status file_read(const char *path, const struct file_limits *limits, struct buf *to,
                      struct buf *why)
{
    size_t before = to->len;
    /* O_NONBLOCK: else open() waits until somebody writes to a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | (limits->is_regular ? O_NONBLOCK : 0));
    struct stat about;
    bool ok = false;

    if (fd < 0 || fstat(fd, &about) < 0)
        buf_printf(why, "cannot open it: %s", strerror(errno));
    else if (limits->is_regular && !S_ISREG(about.st_mode))
        buf_add_text(why, "it is not a regular file, and a running node reads no other");
    else if (about.st_mode & limits->forbidden)
        buf_printf(why, "its mode is %04o: others may %s", (unsigned)about.st_mode & 07777,
                   about.st_mode & limits->forbidden & S_IROTH ? "read it; chmod o-r"
                                                               : "write it; chmod go-w");
    else if (!(ok = read_all(fd, limits->bytes_max, to)) && errno == EFBIG)
        buf_printf(why, "it is larger than %zu bytes", limits->bytes_max);
    else if (!ok)
        buf_printf(why, "cannot read it: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!ok)
        to->len = before;
    return ok ? STATUS_OK : STATUS_IO_ERROR;
}

/* ---- variables ---- */

#define NAME_BYTES_MAX 128

struct reference {
    char name[NAME_BYTES_MAX];
    struct bytes fallback; /* at NULL: none was given */
    const char *end;       /* behind the brace */
};

static size_t name_length(const char *at)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                                  "0123456789";

    return *at >= '0' && *at <= '9' ? 0 : strspn(at, letters);
}

/* Parses a reference; `at` points behind "${". */
static bool parse_reference(const char *at, struct reference *ref)
{
    size_t len = name_length(at);
    const char *rest = at + len, *brace = strchr(rest, '}');

    if (len == 0 || len >= sizeof(ref->name) || !brace)
        return false;
    memcpy(ref->name, at, len);
    ref->name[len] = '\0';
    ref->fallback = (struct bytes){NULL, 0};
    ref->end = brace + 1;
    if (rest == brace)
        return true;
    if (strncmp(rest, ":-", 2) != 0)
        return false;
    ref->fallback = bytes_of(rest + 2, (size_t)(brace - rest - 2));
    return true;
}

/* Returns the place behind the reference, or NULL with `why` when it has no value. */
static const char *expand_one(const char *at, const char *(*get_env)(const char *),
                              struct buf *to, struct buf *why)
{
    struct reference ref;
    const char *value;

    if (!parse_reference(at, &ref)) {
        /* The text is not quoted, because it may be a piece of a password. */
        buf_add_text(why, "expected ${NAME} or ${NAME:-default} ($${ stands for a plain ${)");
        return NULL;
    }
    value = get_env(ref.name);
    if (ref.fallback.at && (!value || !*value)) {
        buf_add_bytes(to, ref.fallback);
    } else if (value) {
        buf_add(to, value, strnlen(value, ENV_TEXT_MAX + 1));
    } else {
        buf_printf(why,
                   "the environment variable %s is not set, and there is no default "
                   "(${%s:-default})",
                   ref.name, ref.name);
        return NULL;
    }
    return ref.end;
}

enum status env_expand(const char *text, const char *(*get_env)(const char *), struct buf *to,
                       struct buf *why)
{
    size_t before = to->len;

    while (*text && to->len - before <= ENV_TEXT_MAX) {
        if (!strncmp(text, "$${", 3)) {
            buf_add_text(to, "${");
            text += 3;
        } else if (strncmp(text, "${", 2) != 0) {
            buf_add_char(to, *text++);
        } else if (!(text = expand_one(text + 2, get_env, to, why))) {
            to->len = before;
            return STATUS_BAD_CONFIG;
        }
    }
    if (to->len - before > ENV_TEXT_MAX) {
        to->len = before;
        buf_printf(why, "is longer than %d bytes", ENV_TEXT_MAX);
        return STATUS_BAD_CONFIG;
    }
    return STATUS_OK;
}

/* ---- values ---- */

static void complain_unexpected(struct conf_draft *d, const struct conf_place *place,
                                const struct conf_key *key, const char *got)
{
    struct buf expected = BUF_INIT;

    conf_key_print_expected(key, &expected);
    conf_errors_add(d->errors, place, key->path, "expected %s%s%s", buf_text(&expected),
                    got ? ", got " : "", got ? got : "");
    buf_fini(&expected);
}

/* Neither a secret is shown, nor a password that somebody wrote into an address. */
static void complain_value(struct conf_draft *d, const struct conf_place *place,
                           const struct conf_key *key, const char *text)
{
    const char *goes_to = key->kind->password_goes_to;
    const char *login_end = goes_to ? strrchr(text, '@') : NULL;
    struct buf got = BUF_INIT;

    if (login_end)
        text = login_end;
    buf_printf(&got, "\"%s%.60s%s\"", login_end ? "***" : "", text,
               strlen(text) > 60 ? "..." : "");
    if (login_end)
        buf_printf(&got, "; a password goes to %s", goes_to);
    if (key->kind->is_addresses && strpbrk(text, " \t"))
        buf_add_text(&got, "; no blanks between the addresses");
    complain_unexpected(d, place, key, key->is_secret ? NULL : buf_text(&got));
    buf_fini(&got);
}

static void complain_unknown(struct conf_draft *d, const struct conf_place *place,
                             const char *path)
{
    const struct conf_key *nearest = conf_key_nearest(path);

    if (nearest)
        conf_errors_add(d->errors, place, path, "unknown key; did you mean %s?", nearest->path);
    else
        conf_errors_add(d->errors, place, path, "unknown key");
}

static struct draft_key *state_of(struct conf_draft *d, const struct conf_key *key)
{
    size_t i = conf_key_index(key);

    return conf_key_is_of_row(key) ? &d->rows[d->conf->topics.count - 1].keys[i] : &d->keys[i];
}

static void *field_of(struct conf_draft *d, const struct conf_key *key)
{
    struct conf_topics *topics = &d->conf->topics;

    return conf_key_field(key, conf_key_is_of_row(key) ? (void *)&topics->at[topics->count - 1]
                                                       : d->conf);
}

static void set_value(struct conf_draft *d, const struct conf_place *place,
                      const struct conf_key *key, const char *text)
{
    bool ok = key->kind->set(key, text, field_of(d, key));

    *state_of(d, key) = (struct draft_key){*place, !ok};
    if (!ok)
        complain_value(d, place, key, text);
}

/* ---- the file ---- */

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

static void expand_and_set(struct conf_draft *d, const struct conf_place *place,
                           const struct conf_key *key, const char *text)
{
    struct buf expanded = BUF_INIT, why = BUF_INIT;

    if (env_expand(text, d->get_env, &expanded, &why) == STATUS_OK) {
        set_value(d, place, key, buf_text(&expanded));
    } else {
        state_of(d, key)->is_bad = true;
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

    state_of(d, key)->is_bad = true;
    if (item->kind == ITEM_NOTHING)
        conf_errors_add(d->errors, place, key->path,
                        "has no value; leave the key out for its default, or write \"\"");
    else
        complain_unexpected(d, place, key,
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
        d->conf->topics.at[d->conf->topics.count - 1].given |= 1u << conf_key_index(key);
    if (item->kind == ITEM_TEXT)
        expand_and_set(d, at_value, key, item->text);
    else
        complain_shape(d, at_value, key, item);
}

/* Adds an empty row at the end of the list. */
static void add_row(struct conf_draft *d, const struct conf_place *place)
{
    struct conf_topics *topics = &d->conf->topics;
    size_t i = topics->count++;

    topics->at = must(reallocarray(topics->at, topics->count, sizeof(*topics->at)));
    d->rows = must(reallocarray(d->rows, topics->count, sizeof(*d->rows)));
    topics->at[i] = (struct conf_topic){.name = bytes_copy(BYTES(""))};
    d->rows[i] = (struct draft_row){.place = *place};
    d->is_in_row = true;
}

/* The list itself, or an item in it. A list without rows may be written as nothing. */
static void take_list(struct conf_draft *d, const struct conf_place *place,
                      const struct conf_key *key, const struct yaml_item *item)
{
    if (item->row && item->kind == ITEM_SECTION)
        add_row(d, place);
    else if (item->row)
        conf_errors_add(d->errors, place, key->path,
                        "expected a row with keys, as in \"- name: mail\"");
    else if (item->kind == ITEM_TEXT)
        complain_value(d, place, key, item->text);
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
        complain_unknown(d, &at_key, item->path);
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
        complain_unknown(d, &place, path);
    else if (key->kind->is_list || conf_key_is_of_row(key))
        conf_errors_add(d->errors, &place, path,
                        "the rows of topics can only stand in the configuration file");
    else if (key->is_secret)
        conf_errors_add(d->errors, &place, path,
                        "is a secret, and a command line can be read by other users; "
                        "use the file with ${NAME}, or %s_file",
                        path);
    else
        set_value(d, &place, key, equals + 1);
}

/* ---- all together ---- */

struct conf *conf_load(const struct conf_request *request, struct conf_errors *errors)
{
    unsigned before = errors->count;
    struct conf_draft d = {
        .conf = must(calloc(1, sizeof(*d.conf))),
        .errors = errors,
        .get_env = request->get_env ? request->get_env : get_process_env,
        .keys = must(calloc(conf_key_count, sizeof(*d.keys))),
        .is_reload = request->is_reload,
    };

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
