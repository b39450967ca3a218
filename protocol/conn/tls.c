#include "protocol/conn/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/log.h"
#include "base/tls_context.h"
#include "base/tls_tickets.h"
#include "protocol/access/identity.h"
#include "protocol/conn/private.h"
#include "protocol/conn/tls_session.h"

/* What an open session is told beside input, an alert or new keys, costs more than its bytes:
 * so much of it a minute is more than anybody needs. */
#define ASIDES_MAX 16
#define ASIDES_MS  60000

#define MARKS_LOOK 64 /* so many records unacknowledged: the kernel is asked which are not */

#define NAME_CHARS_MAX 200 /* of a certificate's, in the log */

#define DAY_MS INT64_C(86400000)
#define KEY_MS (INT64_C(1000) * TLS_TICKET_S)

/* The end of a record, in both counts. */
struct mark {
    uint64_t plain_bytes;
    uint64_t wire_bytes;
};

/* ---- the wire, as the library sees it ---- */

static int wire_read(BIO *bio, char *to, int room)
{
    struct tls_session *s = BIO_get_data(bio);
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

/* How much the kernel takes; -1, and errno. */
static ssize_t send_some(struct tls_session *s, struct bytes bytes)
{
    ssize_t n;

    do {
        n = send(s->connection->fd, bytes.at, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n > 0)
        s->wire_bytes += (uint64_t)n;
    return n;
}

/* False, and errno: some is left. */
static bool send_unsent(struct tls_session *s)
{
    while (s->unsent.len) {
        ssize_t n = send_some(s, buf_bytes(&s->unsent));

        if (n < 0)
            return false;
        buf_drop(&s->unsent, (size_t)n);
    }
    buf_fini(&s->unsent);
    return true;
}

/* The library never has to wait: while it does, it can read nothing that it would have to
 * answer, as a wish for new keys. At most a record waits here, or a part of the handshake. */
static int wire_write(BIO *bio, const char *at, int len)
{
    struct tls_session *s = BIO_get_data(bio);
    ssize_t n = 0;

    BIO_clear_retry_flags(bio);
    if (s->unsent.len == 0)
        n = send_some(s, bytes_of(at, (size_t)len));
    if (n < 0 && errno != EAGAIN)
        return -1;
    n = n < 0 ? 0 : n;
    buf_add_bytes(&s->unsent, bytes_of(at + n, (size_t)(len - n)));
    return len;
}

static long wire_control(BIO *bio, int what, long number, void *arg)
{
    return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *new_wire(void)
{
    BIO_METHOD *wire = must(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire"));

    if (BIO_meth_set_read(wire, wire_read) != 1 || BIO_meth_set_write(wire, wire_write) != 1 ||
        BIO_meth_set_ctrl(wire, wire_control) != 1)
        abort();
    return wire;
}

/* ---- the node's ---- */

static void on_daily(struct timer *timer);
static void on_key_time(struct timer *timer);

struct tls *tls_new(struct loop *loop)
{
    struct tls *tls = must(calloc(1, sizeof(*tls)));

    tls->loop = loop;
    tls->wire = new_wire();
    tls->tickets = tls_tickets_new();
    tls_init_handshakes(tls);
    timer_init(&tls->daily, on_daily);
    timer_init(&tls->key, on_key_time);
    return tls;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    tls_fini_handshakes(tls);
    timer_disarm(&tls->loop->timers, &tls->daily);
    timer_disarm(&tls->loop->timers, &tls->key);
    tls_context_free(tls->context);
    tls_tickets_free(tls->tickets);
    BIO_meth_free(tls->wire);
    free(tls);
}

int64_t tls_end_s(const struct tls *tls)
{
    return tls->context ? tls->context->end_s : 0;
}

static void tell_end(const struct tls *tls, bool is_new)
{
    tls_context_tell_end(tls->context, "tls", "the certificate", "clients refuse it", is_new);
}

static void on_daily(struct timer *timer)
{
    struct tls *tls = CONTAINER_OF(timer, struct tls, daily);

    tell_end(tls, false);
    timer_arm(&tls->loop->timers, timer, DAY_MS);
}

static void on_key_time(struct timer *timer)
{
    struct tls *tls = CONTAINER_OF(timer, struct tls, key);

    tls_tickets_change_key(tls->tickets);
    timer_arm(&tls->loop->timers, timer, KEY_MS);
}

static int choose_application(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_len,
                              const unsigned char *offered, unsigned offered_len, void *arg)
{
    const struct tls_session *s = SSL_get_app_data(ssl);
    const char *ours = s->connection->kind->tls.application;

    for (unsigned i = 0; ours && i < offered_len; i += 1u + offered[i])
        if (offered[i] == strlen(ours) && !memcmp(offered + i + 1, ours, offered[i])) {
            *chosen = offered + i + 1;
            *chosen_len = offered[i];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_NOACK;
}

static bool is_pestered(const struct tls_session *s)
{
    return s->asides > ASIDES_MAX;
}

/* The library would take all that has come; it finds nothing more. */
static void note_message(int is_ours, int version, int type, const void *at, size_t len,
                         SSL *ssl, void *arg)
{
    struct tls_session *s = SSL_get_app_data(ssl);
    int64_t now_mono_ms;

    if (!s->is_open || (type != SSL3_RT_HANDSHAKE && type != SSL3_RT_ALERT))
        return;
    now_mono_ms = connection_now(s->connection);
    if (now_mono_ms >= s->asides_mono_ms + ASIDES_MS) {
        s->asides = 0;
        s->asides_mono_ms = now_mono_ms;
    }
    s->asides++;
    if (is_pestered(s))
        s->arrived = BYTES("");
}

static void use(struct tls *tls, struct tls_context *context)
{
    if (context) {
        SSL_CTX_set_msg_callback(context->ssl, note_message);
        SSL_CTX_set_alpn_select_cb(context->ssl, choose_application, NULL);
        tls_tickets_serve(tls->tickets, context);
    }
    tls_context_free(tls->context);
    tls->context = context;
    timer_disarm(&tls->loop->timers, &tls->daily);
    if (!context)
        return;
    tell_end(tls, true);
    timer_arm(&tls->loop->timers, &tls->daily, DAY_MS);
    if (!timer_is_armed(&tls->key))
        timer_arm(&tls->loop->timers, &tls->key, KEY_MS);
}

void tls_load(struct tls *tls, const struct tls_texts *texts)
{
    struct buf why = BUF_INIT;
    struct tls_context *context = NULL;
    enum tls_part blamed;
    bool is_wanted = *texts->pem[TLS_CERTIFICATE];

    if (is_wanted && tls->context && tls_context_is_of(tls->context, texts))
        return;
    if (is_wanted)
        context = tls_context_new(texts, &blamed, &why);
    if (is_wanted && !context)
        LOG_ERROR("tls", "the certificate cannot be used, %s: %s",
                  tls->context ? "so the one before stays"
                               : "and where TLS is required everybody is refused",
                  buf_text(&why));
    else
        use(tls, context);
    buf_fini(&why);
}

/* ---- names in certificates ---- */

/* The caller's; NULL: it has none that could be printed. */
static char *print_name(const X509_NAME *name)
{
    BIO *text = must(BIO_new(BIO_s_mem()));
    char *at, *copy = NULL;
    long len;

    if (X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253) > 0) {
        len = BIO_get_mem_data(text, &at);
        copy = bytes_copy(bytes_of(at, (size_t)len));
    }
    BIO_free(text);
    return copy;
}

static void add_name(struct buf *to, const X509_NAME *name)
{
    char *text = print_name(name);

    buf_printf(to, "%.*s", NAME_CHARS_MAX, text ? text : "?");
    free(text);
}

static void blame(struct tls_session *s, int error, const X509 *one)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s: ", X509_verify_cert_error_string(error));
    add_name(&text, X509_get_subject_name(one));
    buf_add_text(&text, ", issued by ");
    add_name(&text, X509_get_issuer_name(one));
    s->blamed = bytes_copy(buf_bytes(&text));
    buf_fini(&text);
}

static int note_certificate(int is_good, X509_STORE_CTX *chain)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_session *s = SSL_get_app_data(ssl);
    const X509 *one = X509_STORE_CTX_get_current_cert(chain);

    if (!is_good && one && !s->blamed)
        blame(s, X509_STORE_CTX_get_error(chain), one);
    return is_good;
}

/* ---- a session's beginning and end ---- */

struct tls_session *tls_session_new(struct connection *c)
{
    struct tls_session *s = must(calloc(1, sizeof(*s)));

    *s = (struct tls_session){
        .connection = c, .tls = c->kind->tls.tls, .since_mono_ms = connection_now(c)};
    list_init(&s->waiting);
    return s;
}

bool tls_session_begin(struct tls_session *s)
{
    BIO *wire;

    if (!s->tls->context)
        return false;
    wire = must(BIO_new(s->tls->wire));
    BIO_set_data(wire, s);
    BIO_set_init(wire, 1);
    s->ssl = must(SSL_new(s->tls->context->ssl));
    SSL_set_bio(s->ssl, wire, wire);
    SSL_set_app_data(s->ssl, s);
    SSL_set_accept_state(s->ssl);
    SSL_set_verify(s->ssl, SSL_get_verify_mode(s->ssl), note_certificate);
    return true;
}

static bool is_mute(const struct tls_session *s)
{
    return !s->is_open || s->connection->is_lost;
}

bool connection_end_tls(struct connection *c)
{
    struct tls_session *s = c->tls;

    if (!s || is_mute(s))
        return true;
    ERR_clear_error();
    if (!(SSL_get_shutdown(s->ssl) & SSL_SENT_SHUTDOWN))
        (void)SSL_shutdown(s->ssl);
    ERR_clear_error();
    return send_unsent(s) || errno != EAGAIN;
}

void connection_fini_tls(struct connection *c)
{
    struct tls_session *s = c->tls;

    if (!s)
        return;
    (void)connection_end_tls(c);
    c->tls = NULL;
    list_remove(&s->waiting);
    SSL_free(s->ssl);
    buf_fini(&s->unsent);
    stream_fini(&s->marks);
    buf_fini(&s->names);
    free(s->blamed);
    free(s);
}

/* ---- input ---- */

static bool is_within_record(const struct tls_session *s)
{
    return SSL_has_pending(s->ssl) || !strcmp(SSL_rstate_string(s->ssl), "RB");
}

bool connection_is_within_record(const struct connection *c)
{
    return c->tls && c->tls->ssl && is_within_record(c->tls);
}

/* A record has its time from when it begins. */
static void watch_record(struct tls_session *s, bool is_new)
{
    if (!is_within_record(s)) {
        s->since_mono_ms = 0;
    } else if (is_new || !s->since_mono_ms) {
        s->since_mono_ms = connection_now(s->connection);
        connection_watch_tls_time(s->connection);
    }
}

/* Takes what the library has against it, also where nobody wants to read that: the library
 * keeps errors in one queue for all sessions. */
static enum tls_progress break_off(const struct tls_session *s)
{
    const char *why = tls_take_reason();

    LOG_DEBUG(s->connection->kind->name, "connection %llu: TLS broke: %s",
              (unsigned long long)s->connection->number,
              is_pestered(s) ? "it asks for new keys all the time" : why);
    return TLS_BROKEN;
}

/* One record after the other. The library takes of the wire no more than a record, so where
 * nothing is left behind one, nothing is in the library. */
static enum tls_progress decrypt(struct tls_session *s, char *to, size_t room, size_t *len)
{
    size_t n;
    int error;

    ERR_clear_error(); /* SSL_get_error() looks at the queue, too */
    while (SSL_read_ex(s->ssl, to + *len, room - *len, &n) == 1) {
        *len += n;
        if (s->arrived.len == 0) {
            s->since_mono_ms = 0;
            return TLS_MORE;
        }
    }
    error = SSL_get_error(s->ssl, 0);
    if (error == SSL_ERROR_WANT_READ && !is_pestered(s)) {
        watch_record(s, *len > 0);
        return TLS_MORE;
    }
    if (error == SSL_ERROR_ZERO_RETURN)
        return TLS_ENDED;
    return break_off(s);
}

enum tls_progress connection_take_tls(struct connection *c, struct bytes wire, char *to,
                                      size_t room, size_t *len)
{
    struct tls_session *s = c->tls;
    enum tls_progress progress = TLS_MORE;

    *len = 0;
    s->arrived = wire;
    if (!s->is_open)
        progress = tls_session_shake(s);
    if (progress == TLS_CLOSED)
        return progress; /* and the session is gone */
    if (s->is_open)
        progress = decrypt(s, to, room, len);
    s->arrived = BYTES("");
    if (s->unsent.len)
        connection_await_writable(c);
    return progress;
}

bool connection_has_heard_goodbye(const struct connection *c)
{
    return c->tls && SSL_get_shutdown(c->tls->ssl) & SSL_RECEIVED_SHUTDOWN;
}

/* ---- the client's certificate ---- */

/* Adds a name, or nothing where it is none that an identity can have. */
static bool add_san(const GENERAL_NAME *name, struct buf *to)
{
    const ASN1_IA5STRING *value = name->type == GEN_DNS   ? name->d.dNSName
                                  : name->type == GEN_URI ? name->d.uniformResourceIdentifier
                                                          : NULL;
    size_t begin = to->len;

    if (!value)
        return false;
    buf_add_text(to, name->type == GEN_DNS ? "DNS:" : "URI:");
    buf_add_bytes(to, bytes_of((const char *)ASN1_STRING_get0_data(value),
                               (size_t)ASN1_STRING_length(value)));
    if (!identity_cert_normalize(bytes_of(to->at + begin, to->len - begin))) {
        to->len = begin;
        return false;
    }
    buf_add_char(to, '\n');
    return true;
}

static void add_sans(X509 *certificate, struct buf *to)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    unsigned added = 0;

    for (int i = 0; added < CONNECTION_NAMES_MAX && i < sk_GENERAL_NAME_num(names); i++)
        added += add_san(sk_GENERAL_NAME_value(names, i), to);
    GENERAL_NAMES_free(names);
    ERR_clear_error(); /* of an extension that is malformed */
}

struct bytes connection_names(struct connection *c)
{
    struct tls_session *s = c->tls;

    if (!s || !s->is_open)
        return BYTES("");
    if (!s->has_names && SSL_get_verify_result(s->ssl) == X509_V_OK) {
        X509 *peer = SSL_get0_peer_certificate(s->ssl);

        s->has_names = true;
        if (peer)
            add_sans(peer, &s->names);
    }
    return buf_bytes(&s->names);
}

/* ---- output ---- */

static void forget_acknowledged(struct tls_session *s, uint64_t acked_wire_bytes)
{
    struct mark mark;

    while (stream_len(&s->marks)) {
        memcpy(&mark, stream_bytes(&s->marks).at, sizeof(mark));
        if (mark.wire_bytes > acked_wire_bytes)
            return;
        s->acked_bytes = mark.plain_bytes;
        stream_take(&s->marks, sizeof(mark));
    }
}

uint64_t connection_acked_by_tls(struct connection *c, uint64_t waiting_bytes)
{
    struct tls_session *s = c->tls;

    forget_acknowledged(s, waiting_bytes < s->wire_bytes ? s->wire_bytes - waiting_bytes : 0);
    return s->acked_bytes;
}

static void mark_end(struct tls_session *s, size_t plain_bytes)
{
    struct mark mark;
    int waiting = 0;

    s->plain_bytes += plain_bytes;
    mark = (struct mark){.plain_bytes = s->plain_bytes,
                         .wire_bytes = s->wire_bytes + s->unsent.len};
    stream_add(&s->marks, bytes_of((const char *)&mark, sizeof(mark)));
    if (stream_len(&s->marks) % (MARKS_LOOK * sizeof(mark)) == 0 &&
        ioctl(s->connection->fd, SIOCOUTQ, &waiting) == 0)
        (void)connection_acked_by_tls(s->connection, (uint64_t)waiting);
}

bool connection_flush_tls(struct connection *c)
{
    if (!c->tls || send_unsent(c->tls))
        return true;
    if (errno == EAGAIN) {
        connection_await_writable(c);
        return false;
    }
    c->is_lost = true;
    if (connection_is_shaking(c))
        connection_fail_tls(c, "the connection was lost");
    connection_close(c, "the connection was lost");
    return false;
}

/* A record that the kernel takes only a part of stays in the session: the bytes of that record
 * count as not written, and come again with the next call. */
ssize_t connection_write_tls(struct connection *c, struct bytes bytes)
{
    struct tls_session *s = c->tls;
    size_t done, n;
    bool is_good = true;

    if (!send_unsent(s))
        return -1;
    done = s->owed_bytes;
    s->owed_bytes = 0;
    ERR_clear_error();
    while (is_good && done < bytes.len && s->unsent.len == 0) {
        size_t len = bytes.len - done;

        is_good = SSL_write_ex(s->ssl, bytes.at + done,
                               len < RECORD_MAX_BYTES ? len : RECORD_MAX_BYTES, &n) == 1;
        if (is_good)
            mark_end(s, n);
        if (is_good && s->unsent.len)
            s->owed_bytes = n;
        else if (is_good)
            done += n;
    }
    ERR_clear_error();
    errno = is_good ? EAGAIN : EPROTO;
    return done || bytes.len == 0 ? (ssize_t)done : -1;
}
