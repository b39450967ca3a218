/* What must hold between keys. Each rule reports at the key that the operator will change.
 *
 * To add a rule: a function, and a line in `rules` with the keys it looks at. What must hold in
 * a row of `topics` is in topics.c, in `store` in check_store.c, in `ha` in check_ha.c, in
 * `vip` in check_vip.c.
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

#include "conf/draft.h"
#include "conf/topics.h"
#include "conf/value.h"

#define SECRET_BYTES_MAX 4096
#define NODE_ID_MAX      64

static const struct conf_key *must_find(const char *path)
{
    const struct conf_key *key = conf_key_find(path);

    assert(key);
    return key;
}

void check_complain(struct conf_draft *d, const char *path, const char *format, ...)
{
    const struct conf_place *place = &d->keys[conf_key_index(must_find(path))].place;
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
    *id = strdup(host);
    if (!*id)
        abort();
}

void check_read_secret(struct conf_draft *d, const char *path, const char *file, char **secret)
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
    *secret = strdup(buf_text(&text));
    if (!*secret)
        abort();
out:
    if (text.at)
        explicit_bzero(text.at, text.room);
    buf_fini(&text);
    buf_fini(&why);
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

const char *check_port_at(const struct conf_draft *d, const struct conf_address *address)
{
    const struct conf_address *listen = d->conf->listen;

    if (address->kind != ADDRESS_TCP || address->port == 0)
        return NULL;
    for (unsigned i = 0; i < CONF_PORTS && &listen[i] != address; i++)
        if (!strcmp(listen[i].text, address->text))
            return conf_port_key(i);
    return NULL;
}

static void tell_ports_apart(struct conf_draft *d)
{
    for (unsigned i = 1; i < CONF_PORTS; i++) {
        const char *other = check_port_at(d, &d->conf->listen[i]);

        if (other)
            check_complain(d, conf_port_key(i), "is the address of %s", other);
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

/* The same, and what is around it. */
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

static const struct check_rule rules[] = {
    {name_the_node, {"node.id"}},
    {tell_ports_apart, {CHECK_PORT_KEYS}},
    {let_a_body_out, {"limits.body_bytes", "limits.output_bytes"}},
    {let_a_body_in, {"limits.body_bytes", "limits.http_body_bytes"}},
    {let_a_request_in, {"limits.http_body_bytes", "limits.http_bodies_bytes"}},
};

static bool has_all(const struct conf_draft *d, const char *const *keys)
{
    for (unsigned i = 0; i < CHECK_KEYS_MAX && keys[i]; i++) {
        if (!draft_has(d, must_find(keys[i])))
            return false;
    }
    return true;
}

void check_rules(struct conf_draft *d, const struct check_rule *these, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (has_all(d, these[i].keys))
            these[i].judge(d);
    }
}

void draft_check(struct conf_draft *d)
{
    check_store(d);
    check_rules(d, rules, sizeof(rules) / sizeof(*rules));
    check_ha(d);
    check_vip(d);
    topics_check(d);
}
