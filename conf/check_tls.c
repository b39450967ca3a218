/* The sections `tls` and `store.tls`: their files are read here, at the start and at each
 * reload, and must fit together as TLS will need them. So a bad certificate is a mistake in the
 * configuration like any other: a starting node refuses it, and a running one keeps what it
 * has. A worker that is replaced gets the texts that were good, whatever the files hold then.
 */
#include "conf/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CERTIFICATE_BYTES_MAX 65536
#define CA_BYTES_MAX          (1 << 20)

static const struct file_limits part_limits[TLS_PARTS] = {
    [TLS_CERTIFICATE] = {.bytes_max = CERTIFICATE_BYTES_MAX},
    [TLS_KEY] = {.bytes_max = CERTIFICATE_BYTES_MAX, .forbidden = S_IROTH | S_IWOTH},
    [TLS_CA] = {.bytes_max = CA_BYTES_MAX},
};

static char **files_of(const struct conf_draft *d, enum conf_tls_side side)
{
    return (char **)((char *)d->conf + conf_tls_files[side].file);
}

static char **texts_of(const struct conf_draft *d, enum conf_tls_side side)
{
    return (char **)((char *)d->conf + conf_tls_files[side].text);
}

static bool is_given(const struct conf_draft *d, enum conf_tls_side side, enum tls_part part)
{
    return *files_of(d, side)[part];
}

/* The text of the part's file, or "" with a complaint; the caller's. */
static char *read_part(struct conf_draft *d, enum conf_tls_side side, enum tls_part part)
{
    struct file_limits limits = part_limits[part];
    const char *file = files_of(d, side)[part];
    struct buf text = BUF_INIT, why = BUF_INIT;
    char *copy;

    limits.is_regular = d->is_reload;
    if (*file && file_read(file, &limits, &text, &why))
        check_complain(d, conf_tls_files[side].keys[part], "%s: %s", file, buf_text(&why));
    if (text.len && memchr(text.at, '\0', text.len)) {
        check_complain(d, conf_tls_files[side].keys[part],
                       "%s: has a byte of zero in it, so it is no text", file);
        explicit_bzero(text.at, text.len);
        text.len = 0;
    }
    copy = bytes_copy(buf_bytes(&text));
    if (text.at)
        explicit_bzero(text.at, text.room);
    buf_fini(&text);
    buf_fini(&why);
    return copy;
}

static bool has_all_texts(const struct conf_draft *d, enum conf_tls_side side)
{
    for (unsigned part = 0; part < TLS_PARTS; part++)
        if (is_given(d, side, part) && !*texts_of(d, side)[part])
            return false;
    return true;
}

static void fit_together(struct conf_draft *d, enum conf_tls_side side)
{
    struct tls_texts texts = {.is_client_required = d->conf->tls.client == TLS_CLIENT_REQUIRED};
    struct buf why = BUF_INIT;
    enum tls_part blamed;
    struct tls_context *context;

    for (unsigned part = 0; part < TLS_PARTS; part++)
        texts.pem[part] = texts_of(d, side)[part];
    context = side == TLS_OF_PORTS ? tls_context_new(&texts, &blamed, &why)
                                   : tls_context_new_client(&texts, &blamed, &why);
    if (!context)
        check_complain(d, conf_tls_files[side].keys[blamed], "%s: %s",
                       files_of(d, side)[blamed], buf_text(&why));
    tls_context_free(context);
    buf_fini(&why);
}

/* Complains where there is a certificate without its key, or the reverse. */
static bool is_pair(struct conf_draft *d, enum conf_tls_side side)
{
    const char *const *keys = conf_tls_files[side].keys;
    bool has_certificate = is_given(d, side, TLS_CERTIFICATE),
         has_key = is_given(d, side, TLS_KEY);

    if (has_certificate && !has_key)
        check_complain(d, keys[TLS_KEY], "is missing: %s needs its key", keys[TLS_CERTIFICATE]);
    else if (has_key && !has_certificate)
        check_complain(d, keys[TLS_CERTIFICATE], "is missing: %s is of no use without it",
                       keys[TLS_KEY]);
    return has_certificate == has_key;
}

static void take_files_of_ports(struct conf_draft *d)
{
    bool has_certificate = is_given(d, TLS_OF_PORTS, TLS_CERTIFICATE);

    if (!is_pair(d, TLS_OF_PORTS))
        return;
    if (has_certificate && has_all_texts(d, TLS_OF_PORTS))
        fit_together(d, TLS_OF_PORTS);
    else if (!has_certificate && is_given(d, TLS_OF_PORTS, TLS_CA))
        check_complain(d, "tls.client_ca",
                       "needs tls.certificate and tls.key: clients show their certificates to "
                       "a node that shows its own");
}

static void want_certificate(struct conf_draft *d)
{
    for (unsigned i = 0; i < CONF_PORTS; i++)
        if (d->conf->port_tls[i] != PORT_TLS_OFF && !is_given(d, TLS_OF_PORTS, TLS_CERTIFICATE))
            check_complain(d, conf_port_tls_key(i), "needs tls.certificate and tls.key");
}

#define OF_NO_USE                                                              \
    "is of no use: TLS is spoken where store.redis begins with rediss:// (or " \
    "rediss+sentinel://, "                                                     \
    "rediss+cluster://)"

static void take_files_of_store(struct conf_draft *d)
{
    const struct conf_address *redis = &d->conf->store.redis;

    for (unsigned part = 0; part < TLS_PARTS && !redis->is_tls; part++)
        if (is_given(d, TLS_OF_STORE, part))
            check_complain(d, conf_tls_files[TLS_OF_STORE].keys[part], OF_NO_USE);
    if (!redis->is_tls && *d->conf->store.tls.server_name)
        check_complain(d, "store.tls.server_name", OF_NO_USE);
    if (redis->is_tls && is_pair(d, TLS_OF_STORE) && has_all_texts(d, TLS_OF_STORE))
        fit_together(d, TLS_OF_STORE);
}

static const struct check_rule rules[] = {
    {take_files_of_ports, {"tls.certificate", "tls.key", "tls.client_ca", "tls.client"}},
    {want_certificate, {"tls.certificate", CHECK_PORT_TLS_KEYS}},
    {take_files_of_store,
     {"store.redis", "store.tls.certificate", "store.tls.key", "store.tls.ca",
      "store.tls.server_name"}},
};

void check_tls(struct conf_draft *d)
{
    for (unsigned side = 0; side < TLS_SIDES; side++)
        for (unsigned part = 0; part < TLS_PARTS; part++)
            texts_of(d, side)[part] = read_part(d, side, part);
    check_rules(d, rules, sizeof(rules) / sizeof(*rules));
}
