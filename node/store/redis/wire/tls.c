#include "node/store/redis/wire/tls.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/tls_context.h"

#define RECORD_ALERT    0x15
#define NAMES_CHARS_MAX 96 /* of a certificate's names in the log; more are left out */
#define NAME_CHARS_MAX  64
#define DAY_MS          INT64_C(86400000)

struct redis_tls {
    struct loop *loop;
    struct tls_context *context; /* NULL: nothing that is good has been loaded */
    bool is_of_machine;          /* the machine's authorities vouch, for store.tls names none */
    struct timer daily;
    char *server_name;
    BIO_METHOD *wire;
};

struct redis_tls_session {
    SSL *ssl;
    char *name;         /* that the certificate must have */
    bool is_of_machine; /* see struct redis_tls */
    struct buf *out;
    struct bytes arrived; /* from the wire, not yet read by the library */
    enum redis_tls_state state;
    struct buf why;
    struct buf names; /* of a certificate that has not the right one */
};

/* ---- the wire, as the library sees it ---- */

static int wire_read(BIO *bio, char *to, int room)
{
    struct redis_tls_session *s = BIO_get_data(bio);
    size_t n = s->arrived.len < (size_t)room ? s->arrived.len : (size_t)room;

    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, s->arrived.at, n);
    s->arrived = bytes_of(s->arrived.at + n, s->arrived.len - n);
    return (int)n;
}

static int wire_write(BIO *bio, const char *at, int len)
{
    struct redis_tls_session *s = BIO_get_data(bio);

    buf_add(s->out, at, (size_t)len);
    return len;
}

static long wire_control(BIO *bio, int what, long number, void *arg)
{
    return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *new_wire(void)
{
    BIO_METHOD *wire = must(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "redis"));

    if (BIO_meth_set_read(wire, wire_read) != 1 || BIO_meth_set_write(wire, wire_write) != 1 ||
        BIO_meth_set_ctrl(wire, wire_control) != 1)
        abort();
    return wire;
}

/* ---- what all begin with ---- */

static void tell_end(const struct redis_tls *tls, bool is_new)
{
    tls_context_tell_end(tls->context, "redis", "store.tls.certificate", "Redis refuses it",
                         is_new);
}

static void on_daily(struct timer *timer)
{
    struct redis_tls *tls = CONTAINER_OF(timer, struct redis_tls, daily);

    tell_end(tls, false);
    timer_arm(&tls->loop->timers, timer, DAY_MS);
}

struct redis_tls *redis_tls_new(struct loop *loop)
{
    struct redis_tls *tls = must(calloc(1, sizeof(*tls)));

    tls->loop = loop;
    tls->server_name = bytes_copy(BYTES(""));
    tls->wire = new_wire();
    timer_init(&tls->daily, on_daily);
    return tls;
}

void redis_tls_free(struct redis_tls *tls)
{
    if (!tls)
        return;
    timer_disarm(&tls->loop->timers, &tls->daily);
    tls_context_free(tls->context);
    BIO_meth_free(tls->wire);
    free(tls->server_name);
    free(tls);
}

/* False: it cannot be used, and the one before stays. */
static bool use_new(struct redis_tls *tls, const struct tls_texts *texts, bool is_new)
{
    struct buf why = BUF_INIT;
    enum tls_part blamed;
    struct tls_context *context = tls_context_new_client(texts, &blamed, &why);

    if (!context)
        LOG_ERROR("redis", "what store.tls names cannot be used: %s", buf_text(&why));
    buf_fini(&why);
    if (!context)
        return false;
    tls_context_free(tls->context);
    tls->context = context;
    tls->is_of_machine = !*texts->pem[TLS_CA];
    tell_end(tls, is_new);
    timer_arm(&tls->loop->timers, &tls->daily, DAY_MS);
    return true;
}

void redis_tls_load(struct redis_tls *tls, const struct tls_texts *texts,
                    const char *server_name)
{
    bool is_new = !tls->context || !tls_context_is_of(tls->context, texts);

    /* The machine's authorities may be others where the texts are the same. */
    if ((is_new || tls->is_of_machine) && !use_new(tls, texts, is_new))
        return;
    free(tls->server_name);
    tls->server_name = bytes_copy(bytes_of_text(server_name));
}

int64_t redis_tls_end_s(const struct redis_tls *tls)
{
    return tls && tls->context ? tls->context->end_s : 0;
}

/* ---- why it ends ---- */

/* Keeps the first reason. */
static void end(struct redis_tls_session *s, const char *why, const char *words)
{
    s->state = REDIS_TLS_ENDED;
    if (s->why.len == 0)
        buf_printf(&s->why, "%s%s", why, words);
}

#define TO_BE_CHANGED(text) REDIS_TLS_LASTING text

static const struct {
    int reason;
    const char *why;
} alerts[] = {
    {SSL_R_WRONG_VERSION_NUMBER,
     TO_BE_CHANGED("it does not speak TLS at this port; Redis does at its tls-port")},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
     TO_BE_CHANGED("it wants a certificate (tls-auth-clients); set store.tls.certificate and "
                   "store.tls.key")},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
     TO_BE_CHANGED("it refuses us; it may want a certificate (tls-auth-clients): "
                   "store.tls.certificate")},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA,
     TO_BE_CHANGED("nobody it trusts vouches for store.tls.certificate (its "
                   "tls-ca-cert-file)")},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
     TO_BE_CHANGED("store.tls.certificate has expired; renew it")},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, TO_BE_CHANGED("it refuses store.tls.certificate")},
    {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
     TO_BE_CHANGED("it refuses store.tls.certificate: one for clients?")},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
     TO_BE_CHANGED("it speaks no TLS 1.2 or 1.3 (tls-protocols)")},
    {SSL_R_UNSUPPORTED_PROTOCOL, TO_BE_CHANGED("it speaks no TLS 1.2 or 1.3 (tls-protocols)")},
};

static void explain_name(struct redis_tls_session *s)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "'%s' but for %s; mend one of them, or set store.tls.server_name",
               s->name, s->names.len ? buf_text(&s->names) : "nobody");
    end(s, TO_BE_CHANGED("its certificate is not for "), buf_text(&text));
    buf_fini(&text);
}

/* Nobody that is asked vouches for it. */
static void explain_strangeness(struct redis_tls_session *s, const char *words)
{
    end(s,
        s->is_of_machine
            ? TO_BE_CHANGED("none of this machine's authorities vouches for its certificate, "
                            "and store.tls.ca is not set: ")
            : TO_BE_CHANGED("nobody in store.tls.ca vouches for its certificate: "),
        words);
}

static void explain_certificate(struct redis_tls_session *s)
{
    long verdict = SSL_get_verify_result(s->ssl);
    const char *words = X509_verify_cert_error_string(verdict);

    switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        end(s, TO_BE_CHANGED("its certificate, or one of those behind it, has expired"), "");
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        explain_name(s);
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        explain_strangeness(s, words);
        break;
    default:
        end(s, TO_BE_CHANGED("its certificate is not good: "), words);
        break;
    }
}

static void explain(struct redis_tls_session *s)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_REASON(error);
    const char *words = ERR_reason_error_string(error);

    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        explain_certificate(s);
    for (size_t i = 0; i < sizeof(alerts) / sizeof(*alerts); i++)
        if (reason == alerts[i].reason)
            end(s, alerts[i].why, "");
    end(s, "TLS failed: ", words ? words : "it is not understood");
    ERR_clear_error();
}

/* The outcome of a call of the library that did nothing. */
static void judge(struct redis_tls_session *s, int result)
{
    int error = SSL_get_error(s->ssl, result);

    if (error == SSL_ERROR_ZERO_RETURN)
        end(s, "Server closed the connection", "");
    else if (error != SSL_ERROR_WANT_READ)
        explain(s);
}

/* ---- whom it expects ---- */

/* Only a name of these two kinds is a string. */
static void add_name(struct buf *to, const GENERAL_NAME *name)
{
    bool is_dns = name->type == GEN_DNS, is_address = name->type == GEN_IPADD;
    const ASN1_STRING *value = is_dns || is_address ? name->d.ia5 : NULL;
    const unsigned char *at = value ? ASN1_STRING_get0_data(value) : NULL;
    int len = value ? ASN1_STRING_length(value) : 0;
    char text[INET6_ADDRSTRLEN];

    if (to->len > NAMES_CHARS_MAX)
        return;
    if (is_dns)
        buf_printf(to, "%s%.*s", to->len ? ", " : "",
                   len < NAME_CHARS_MAX ? len : NAME_CHARS_MAX, (const char *)at);
    else if (is_address && (len == 4 || len == 16) &&
             inet_ntop(len == 4 ? AF_INET : AF_INET6, at, text, sizeof(text)))
        buf_printf(to, "%s%s", to->len ? ", " : "", text);
}

static void keep_names(struct redis_tls_session *s, const X509 *certificate)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);

    buf_clear(&s->names);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
        add_name(&s->names, sk_GENERAL_NAME_value(names, i));
    GENERAL_NAMES_free(names);
}

/* A certificate that is refused is forgotten by the library at once. */
static int on_verdict(int is_good, X509_STORE_CTX *verifying)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(verifying, SSL_get_ex_data_X509_STORE_CTX_idx());

    if (!is_good)
        keep_names(SSL_get_app_data(ssl), X509_STORE_CTX_get0_cert(verifying));
    return is_good;
}

static bool is_address(const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

/* Names are alternative ones: a common name is no name. A wildcard stands for a whole label. */
static bool expect(SSL *ssl, const char *name)
{
    if (is_address(name))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

/* ---- a session ---- */

static void shake(struct redis_tls_session *s)
{
    int result;

    ERR_clear_error();
    result = SSL_do_handshake(s->ssl);
    if (result == 1)
        s->state = REDIS_TLS_OPEN;
    else
        judge(s, result);
}

static void begin(struct redis_tls_session *s, struct redis_tls *tls)
{
    BIO *wire = must(BIO_new(tls->wire));

    BIO_set_data(wire, s);
    BIO_set_init(wire, 1);
    s->ssl = must(SSL_new(tls->context->ssl));
    SSL_set_bio(s->ssl, wire, wire);
    SSL_set_app_data(s->ssl, s);
    SSL_set_verify(s->ssl, SSL_get_verify_mode(s->ssl), on_verdict);
    SSL_set_connect_state(s->ssl);
    if (expect(s->ssl, s->name))
        shake(s);
    else
        end(s, TO_BE_CHANGED("no certificate can be for "), s->name);
}

struct redis_tls_session *redis_tls_session_new(struct redis_tls *tls, const char *host,
                                                struct buf *out)
{
    struct redis_tls_session *s = must(calloc(1, sizeof(*s)));
    const char *name = *tls->server_name ? tls->server_name : host;

    *s = (struct redis_tls_session){.out = out,
                                    .name = bytes_copy(bytes_of_text(name)),
                                    .is_of_machine = tls->is_of_machine,
                                    .why = BUF_INIT,
                                    .names = BUF_INIT};
    if (tls->context)
        begin(s, tls);
    else
        end(s, TO_BE_CHANGED("what store.tls names cannot be used"), "");
    return s;
}

void redis_tls_session_free(struct redis_tls_session *s)
{
    if (!s)
        return;
    SSL_free(s->ssl);
    free(s->name);
    buf_fini(&s->why);
    buf_fini(&s->names);
    free(s);
}

enum redis_tls_state redis_tls_state(const struct redis_tls_session *s)
{
    return s->state;
}

enum redis_tls_state redis_tls_take(struct redis_tls_session *s, struct bytes wire)
{
    s->arrived = wire;
    if (s->state == REDIS_TLS_SHAKING)
        shake(s);
    return s->state;
}

size_t redis_tls_read(struct redis_tls_session *s, char *to, size_t room)
{
    size_t n = 0;

    if (s->state != REDIS_TLS_OPEN)
        return 0;
    ERR_clear_error();
    if (SSL_read_ex(s->ssl, to, room, &n) == 1)
        return n;
    judge(s, 0);
    return 0;
}

/* The library takes a record a call. */
void redis_tls_write(struct redis_tls_session *s, struct bytes said)
{
    size_t n = 0;

    assert(s->state == REDIS_TLS_OPEN);
    ERR_clear_error();
    for (; said.len > 0; said = bytes_of(said.at + n, said.len - n))
        if (SSL_write_ex(s->ssl, said.at, said.len, &n) != 1) {
            explain(s);
            return;
        }
}

const char *redis_tls_why(struct redis_tls_session *s)
{
    return buf_text(&s->why);
}

bool redis_tls_is_alert(struct bytes heard)
{
    return heard.len > 0 && heard.at[0] == RECORD_ALERT;
}
