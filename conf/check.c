/* Rules between keys. Each rule complains about the key that the operator will change.
 *
 * To add a rule: a function, and a line in `rules` with the keys it looks at. The rules of
 * `topics` are in topics.c, of `ha` in check_ha.c, of `vip` in check_vip.c, of `tls` in
 * check_tls.c.
 */
#include "conf/check.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/value.h"

#define SECRET_BYTES_MAX 4096
#define NODE_ID_MAX      64

static struct draft_key *state_of(const struct conf_draft *d, const char *path)
{
    const struct conf_key *key = conf_key_find(path);

    assert(key);
    return &d->keys[conf_key_index(key)];
}

static bool is_good(const struct conf_draft *d, const char *path)
{
    return !state_of(d, path)->is_bad;
}

void check_complain(struct conf_draft *d, const char *path, const char *format, ...)
{
    const struct conf_place *place = &state_of(d, path)->place;
    char message[CHECK_WHY_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    conf_errors_add(d->errors, place, path, "%s", message);
}

static void name_the_node(struct conf_draft *d)
{
    char host[NODE_ID_MAX + 1] = "";
    char **id = &d->conf->node.id;

    if (**id)
        return;
    if (gethostname(host, sizeof(host) - 1) < 0 || !*host || !value_is_name(host))
        snprintf(host, sizeof(host), "dueq");
    free(*id);
    *id = bytes_copy(bytes_of_text(host));
}

void check_program(struct conf_draft *d, const char *path, const char *program)
{
    struct stat about;

    if (*program != '/') {
        check_complain(d, path,
                       "must be an absolute path of a program, and nothing else: no shell and "
                       "no PATH find it");
        return;
    }
    if (stat(program, &about) < 0 || access(program, X_OK) < 0) {
        check_complain(d, path, "%s cannot be run: %s", program, strerror(errno));
    } else if (!S_ISREG(about.st_mode)) {
        check_complain(d, path, "is no file; give a program");
    }
}

bool check_is_everywhere(const struct conf_address *address, int family)
{
    struct in6_addr any = IN6ADDR_ANY_INIT, given; /* of IPv4 the first bytes */

    return address->kind == ADDRESS_TCP && inet_pton(family, address->host, &given) == 1 &&
           !memcmp(&given, &any, family == AF_INET ? sizeof(struct in_addr) : sizeof(any));
}

/* Does the first hear all that the second does? `::` hears IPv4, too. */
static bool covers(const struct conf_address *a, const struct conf_address *b)
{
    return !strcmp(a->host, b->host) || check_is_everywhere(a, AF_INET6) ||
           (check_is_everywhere(a, AF_INET) && !strchr(b->host, ':'));
}

static bool meet(const struct conf_address *a, const struct conf_address *b)
{
    return a->kind == ADDRESS_TCP && b->kind == ADDRESS_TCP && a->port == b->port &&
           (covers(a, b) || covers(b, a));
}

const char *check_port_at(const struct conf_draft *d, const struct conf_address *address)
{
    const struct conf_address *listen = d->conf->listen;

    if (address->kind != ADDRESS_TCP || address->port == 0)
        return NULL;
    for (unsigned i = 0; i < CONF_PORTS && &listen[i] != address; i++)
        if (meet(&listen[i], address))
            return conf_port_key(i);
    return NULL;
}

static void tell_ports_apart(struct conf_draft *d)
{
    for (unsigned i = 1; i < CONF_PORTS; i++) {
        const char *other = check_port_at(d, &d->conf->listen[i]);

        if (other)
            check_complain(d, conf_port_key(i), "is the address of %s, or meets it", other);
    }
}

/* JSON may write one byte of a body as six. */
static void let_a_body_out(struct conf_draft *d)
{
    if (d->conf->limits.output_bytes < 6 * d->conf->limits.body_bytes)
        check_complain(
            d, "limits.output_bytes",
            "must be at least 6 times limits.body_bytes, or a job of that size could not "
            "be handed out");
}

/* Room in a request for the JSON around a body. */
#define AROUND_A_BODY_BYTES 4096

static void let_a_body_in(struct conf_draft *d)
{
    size_t largest = 6 * d->conf->limits.body_bytes + AROUND_A_BODY_BYTES;

    if (d->conf->limits.http_body_bytes < largest)
        check_complain(
            d, "limits.http_body_bytes",
            "must be at least 6 times limits.body_bytes and 4096, or a job of that size "
            "could not be pushed");
}

static void let_a_request_in(struct conf_draft *d)
{
    if (d->conf->limits.http_bodies_bytes < d->conf->limits.http_body_bytes)
        check_complain(d, "limits.http_bodies_bytes",
                       "must be at least limits.http_body_bytes");
}

static void let_an_address_send_a_request(struct conf_draft *d)
{
    size_t bytes = d->conf->limits.bytes_per_address;

    if (bytes && bytes < d->conf->limits.http_body_bytes)
        check_complain(d, "limits.bytes_per_address",
                       "must be at least limits.http_body_bytes, or 0 for no limit");
}

/* ---- secrets ---- */

/* Reads the text of `file`, without its end of line, into *secret, or complains about the key
 * `path`. */
static void read_secret(struct conf_draft *d, const char *path, const char *file, char **secret)
{
    struct file_limits limits = {
        .bytes_max = SECRET_BYTES_MAX, .forbidden = S_IROTH, .is_regular = d->is_reload};
    struct buf text = BUF_INIT, why = BUF_INIT;

    if (file_read(file, &limits, &text, &why)) {
        check_complain(d, path, "%s", buf_text(&why));
        goto out;
    }
    while (text.len && (text.at[text.len - 1] == '\n' || text.at[text.len - 1] == '\r'))
        text.len--;
    if (text.len == 0 || strlen(buf_text(&text)) != text.len) {
        check_complain(d, path, "it is empty or not a text");
        goto out;
    }
    free(*secret);
    *secret = bytes_copy(buf_bytes(&text));
out:
    if (text.at)
        explicit_bzero(text.at, text.room);
    buf_fini(&text);
    buf_fini(&why);
}

/* Why nobody asks for the secret; NULL: it is of use, or that is not known. */
static const char *why_not_secret(const struct conf_draft *d, const struct conf_key *key)
{
    enum conf_address_kind kind = d->conf->store.redis.kind;

    if (!is_good(d, "store.redis"))
        return NULL;
    if (!strcmp(key->path, "store.password") && kind == ADDRESS_EMBEDDED)
        return "the embedded Redis has no password: only this node can reach it";
    if (!strcmp(key->path, "store.sentinel_password") && kind != ADDRESS_SENTINELS)
        return "is of Sentinels, and store.redis names none (sentinel://...); "
               "the password of Redis is store.password";
    return NULL;
}

/* A secret stands in the configuration or in a file of its own, whose key is the next one. */
static void take_secret(struct conf_draft *d, const struct conf_key *key)
{
    const char *file_path = key[1].path, *why_not = why_not_secret(d, key);
    char **secret = conf_key_field(key, d->conf), **file = conf_key_field(key + 1, d->conf);

    if (!is_good(d, key->path) || !is_good(d, file_path))
        return;
    if (**secret && **file)
        check_complain(d, file_path, "%s is given too; only one of the two", key->path);
    if (why_not && **secret)
        check_complain(d, key->path, "%s", why_not);
    if (why_not && **file)
        check_complain(d, file_path, "%s", why_not);
    else if (**file && !**secret)
        read_secret(d, file_path, *file, secret);
}

static void take_secrets(struct conf_draft *d)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        if (conf_keys[i].is_secret)
            take_secret(d, &conf_keys[i]);
    }
}

/* ---- `store`: keys for one kind of Redis only, and times that need an order ---- */

static enum conf_address_kind kind_of(const struct conf_draft *d)
{
    return d->conf->store.redis.kind;
}

static void allow_appendfsync_when_embedded(struct conf_draft *d)
{
    if (kind_of(d) != ADDRESS_EMBEDDED && d->conf->store.appendfsync != APPENDFSYNC_ALWAYS)
        check_complain(d, "store.appendfsync",
                       "is for the embedded Redis only; another one has its own redis.conf");
}

static void want_a_password_for_the_user(struct conf_draft *d)
{
    if (*d->conf->store.user && kind_of(d) == ADDRESS_EMBEDDED)
        check_complain(d, "store.user",
                       "the embedded Redis has no users: only this node can reach it");
    else if (*d->conf->store.user && !*d->conf->store.password)
        check_complain(d, "store.user", "needs a password: store.password_file");
}

#define MEMORY_MIN (16u << 20)

/* The file, or where it is not there yet its directory, and then its name. */
static bool find_file(const char *path, struct stat *about, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *directory;
    bool is_there;

    *name = "";
    if (!stat(path, about))
        return true;
    *name = slash ? slash + 1 : path;
    directory = slash ? bytes_copy(bytes_of(path, (size_t)(*name - path))) : NULL;
    is_there = !stat(directory ? directory : ".", about);
    free(directory);
    return is_there;
}

/* By other paths, too, and through links. */
static bool is_one_file(const char *a, const char *b)
{
    struct stat at_a, at_b;
    const char *name_a, *name_b;

    return !strcmp(a, b) || (find_file(a, &at_a, &name_a) && find_file(b, &at_b, &name_b) &&
                             at_a.st_dev == at_b.st_dev && at_a.st_ino == at_b.st_ino &&
                             !strcmp(name_a, name_b));
}

static void keep_the_logs_apart(struct conf_draft *d)
{
    const char *file = d->conf->log.file, *audit = d->conf->log.audit;

    if (*audit && *file && is_one_file(audit, file))
        check_complain(d, "log.audit", "is log.file, too; give it a file of its own");
}

static void want_enough_memory(struct conf_draft *d)
{
    size_t bytes = d->conf->store.memory_bytes;

    if (kind_of(d) != ADDRESS_EMBEDDED && bytes > 0)
        check_complain(d, "store.memory",
                       "is for the embedded Redis only; another one has maxmemory in its own "
                       "redis.conf");
    else if (bytes > 0 && bytes < MEMORY_MIN)
        check_complain(d, "store.memory",
                       "is too little to work with: give 16MiB or more, or 0 for half of the "
                       "memory that there is");
}

static void allow_no_replicas_when_embedded(struct conf_draft *d)
{
    if (kind_of(d) == ADDRESS_EMBEDDED && d->conf->store.min_replicas > 0)
        check_complain(d, "store.min_replicas",
                       "the embedded Redis has no replicas, so no push would ever be "
                       "acknowledged; set it to 0, or give store.redis a Redis of your own");
}

/* The WAIT of a connection is a command as well, and a late answer ends the connection. */
static void wait_for_replicas_within_a_command(struct conf_draft *d)
{
    if (d->conf->store.min_replicas > 0 &&
        d->conf->store.replica_timeout_ms >= d->conf->store.command_timeout_ms)
        check_complain(d, "store.replica_timeout",
                       "must be below store.command_timeout, or waiting for replicas would "
                       "look like a lost link");
}

/* A name is one in node.data_dir, where the node and its Redis have files of their own. */
static void want_a_name_of_a_socket(struct conf_draft *d)
{
    const char *name = d->conf->admin.socket;
    size_t len = strlen(name);
    bool is_sock = len > 5 && !strcmp(name + len - 5, ".sock");

    if (*name && !strchr(name, '/') && (!is_sock || !strcmp(name, "redis.sock")))
        check_complain(d, "admin.socket",
                       "is a name in node.data_dir, and has to end in .sock and not be Redis's "
                       "own, such as admin.sock; or give a path");
}

/* ---- the table ---- */

static const struct check_rule rules[] = {
    {allow_appendfsync_when_embedded, {"store.redis", "store.appendfsync"}},
    {want_a_password_for_the_user,
     {"store.redis", "store.user", "store.password", "store.password_file"}},
    {keep_the_logs_apart, {"log.file", "log.audit"}},
    {want_enough_memory, {"store.redis", "store.memory"}},
    {allow_no_replicas_when_embedded, {"store.redis", "store.min_replicas"}},
    {wait_for_replicas_within_a_command,
     {"store.min_replicas", "store.replica_timeout", "store.command_timeout"}},
    {name_the_node, {"node.id"}},
    {tell_ports_apart, {CHECK_PORT_KEYS}},
    {want_a_name_of_a_socket, {"admin.socket"}},
    {let_a_body_out, {"limits.body_bytes", "limits.output_bytes"}},
    {let_a_body_in, {"limits.body_bytes", "limits.http_body_bytes"}},
    {let_a_request_in, {"limits.http_body_bytes", "limits.http_bodies_bytes"}},
    {let_an_address_send_a_request, {"limits.http_body_bytes", "limits.bytes_per_address"}},
};

void check_rules(struct conf_draft *d, const struct check_rule *these, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *const *keys = these[i].keys;
        bool has_all = true;

        for (unsigned k = 0; k < CHECK_KEYS_MAX && keys[k]; k++)
            has_all = has_all && is_good(d, keys[k]);
        if (has_all)
            these[i].judge(d);
    }
}

void draft_check(struct conf_draft *d)
{
    take_secrets(d);
    check_rules(d, rules, sizeof(rules) / sizeof(*rules));
    check_ha(d);
    check_vip(d);
    check_tls(d);
    check_topics(d);
}
