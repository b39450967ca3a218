/* The section `tls`: its files are read here, at the start and at each reload, and must fit
 * together as a TLS server will need them. So a bad certificate is a mistake in the
 * configuration like any other: a starting node refuses it, and a running one keeps what it
 * has. A worker that is replaced gets the texts that were good, whatever the files hold then.
 */
#include "conf/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CERTIFICATE_BYTES_MAX 65536
#define CLIENT_CA_BYTES_MAX   (1 << 20)

static const struct {
    const char *key;
    struct file_limits limits;
} parts[TLS_PARTS] = {
    [TLS_CERTIFICATE] = {"tls.certificate", {.bytes_max = CERTIFICATE_BYTES_MAX}},
    [TLS_KEY] = {"tls.key",
                 {.bytes_max = CERTIFICATE_BYTES_MAX, .forbidden = S_IROTH | S_IWOTH}},
    [TLS_CLIENT_CA] = {"tls.client_ca", {.bytes_max = CLIENT_CA_BYTES_MAX}},
};

static bool is_given(const struct conf_draft *d, enum tls_part part)
{
    return *d->conf->tls.file[part];
}

/* The text of the part's file, or "" with a complaint; the caller's. */
static char *read_part(struct conf_draft *d, enum tls_part part)
{
    struct file_limits limits = parts[part].limits;
    struct buf text = BUF_INIT, why = BUF_INIT;
    char *copy;

    limits.is_regular = d->is_reload;
    if (is_given(d, part) && file_read(d->conf->tls.file[part], &limits, &text, &why))
        check_complain(d, parts[part].key, "%s: %s", d->conf->tls.file[part], buf_text(&why));
    copy = bytes_copy(buf_bytes(&text));
    if (text.at)
        explicit_bzero(text.at, text.room);
    buf_fini(&text);
    buf_fini(&why);
    return copy;
}

static bool has_all_texts(const struct conf_draft *d)
{
    for (unsigned part = 0; part < TLS_PARTS; part++)
        if (is_given(d, part) && !*d->conf->tls.text[part])
            return false;
    return true;
}

static void fit_together(struct conf_draft *d)
{
    struct tls_texts texts = {.is_client_required = d->conf->tls.client == TLS_CLIENT_REQUIRED};
    struct buf why = BUF_INIT;
    enum tls_part blamed;
    struct tls_context *context;

    for (unsigned part = 0; part < TLS_PARTS; part++)
        texts.pem[part] = d->conf->tls.text[part];
    context = tls_context_new(&texts, &blamed, &why);
    if (!context)
        check_complain(d, parts[blamed].key, "%s: %s", d->conf->tls.file[blamed],
                       buf_text(&why));
    tls_context_free(context);
    buf_fini(&why);
}

/* A part alone is of no use. */
static bool is_complete(struct conf_draft *d)
{
    bool has_certificate = is_given(d, TLS_CERTIFICATE), has_key = is_given(d, TLS_KEY);

    if (has_certificate && !has_key)
        check_complain(d, "tls.key", "is missing: tls.certificate needs its key");
    else if (has_key && !has_certificate)
        check_complain(d, "tls.certificate", "is missing: tls.key is of no use without it");
    else if (is_given(d, TLS_CLIENT_CA) && !has_certificate)
        check_complain(d, "tls.client_ca",
                       "needs tls.certificate and tls.key: clients show their certificates to "
                       "a node that shows its own");
    return has_certificate && has_key;
}

static void take_files(struct conf_draft *d)
{
    if (is_complete(d) && has_all_texts(d))
        fit_together(d);
}

static void want_certificate(struct conf_draft *d)
{
    for (unsigned i = 0; i < CONF_PORTS; i++)
        if (d->conf->port_tls[i] != PORT_TLS_OFF && !is_given(d, TLS_CERTIFICATE))
            check_complain(d, conf_port_tls_key(i), "needs tls.certificate and tls.key");
}

static const struct check_rule rules[] = {
    {take_files, {"tls.certificate", "tls.key", "tls.client_ca", "tls.client"}},
    {want_certificate, {"tls.certificate", CHECK_PORT_TLS_KEYS}},
};

void check_tls(struct conf_draft *d)
{
    for (unsigned part = 0; part < TLS_PARTS; part++)
        d->conf->tls.text[part] = read_part(d, part);
    check_rules(d, rules, sizeof(rules) / sizeof(*rules));
}
