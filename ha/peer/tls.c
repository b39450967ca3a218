#include "ha/peer/tls.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 32
#define ID_CHARS  32   /* with it the first packet is longer than a line: see the test */
#define RECORD    0x16 /* the first byte: a record with a handshake in it */

static const unsigned char cipher_id[] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256 */

struct peer_keys {
    SSL_CTX *context;
    unsigned count;
    struct key {
        unsigned char secret[KEY_BYTES];
        char id[ID_CHARS + 1]; /* as it is seen on the wire */
    } keys[PEER_SECRETS];
};

struct peer_tls {
    SSL *ssl;
    struct peer_keys *keys;
    const struct key *own; /* a dialer's; NULL: a listener, which takes any */
    enum peer_tls_state state;
    const char *why;
};

/* ---- keys ---- */

/* One value for each purpose, none of which tells another one or the secret. */
static void derive(const char *secret, const char *purpose, const char *cluster,
                   unsigned char out[KEY_BYTES])
{
    struct buf text = BUF_INIT;
    unsigned len = 0;

    buf_printf(&text, "dueq-peer-tls/1\n%s\n%s\n", purpose, cluster);
    if (!HMAC(EVP_sha256(), secret, (int)strlen(secret), (const unsigned char *)text.at,
              text.len, out, &len) ||
        len != KEY_BYTES)
        abort();
    buf_fini(&text);
}

static void derive_key(struct key *k, const char *secret, const char *cluster)
{
    unsigned char id[KEY_BYTES];

    derive(secret, "key", cluster, k->secret);
    derive(secret, "name", cluster, id);
    for (unsigned i = 0; i < ID_CHARS / 2; i++)
        snprintf(k->id + (size_t)2 * i, 3, "%02x", id[i]);
}

/* NULL when OpenSSL cannot make one. */
static SSL_SESSION *session_of(SSL *ssl, const struct key *k)
{
    SSL_SESSION *s = SSL_SESSION_new();

    if (s && SSL_SESSION_set1_master_key(s, k->secret, KEY_BYTES) &&
        SSL_SESSION_set_cipher(s, SSL_CIPHER_find(ssl, cipher_id)) &&
        SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION))
        return s;
    SSL_SESSION_free(s);
    return NULL;
}

static int on_use(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_len,
                  SSL_SESSION **session)
{
    const struct peer_tls *t = SSL_get_app_data(ssl);

    *id = (const unsigned char *)t->own->id;
    *id_len = ID_CHARS;
    *session = session_of(ssl, t->own);
    return *session != NULL;
}

/* Without a session the handshake fails, because there is no certificate either. */
static int on_find(SSL *ssl, const unsigned char *id, size_t id_len, SSL_SESSION **session)
{
    const struct peer_tls *t = SSL_get_app_data(ssl);

    *session = NULL;
    for (unsigned i = 0; i < t->keys->count && !*session; i++)
        if (id_len == ID_CHARS && !memcmp(t->keys->keys[i].id, id, ID_CHARS))
            *session = session_of(ssl, &t->keys->keys[i]);
    return 1;
}

/* A machine of FIPS 140 may lack the first one. */
static bool set_groups(SSL_CTX *c)
{
    return SSL_CTX_set1_groups_list(c, "X25519:P-256") || SSL_CTX_set1_groups_list(c, "P-256");
}

/* The machine's own settings of OpenSSL must not weaken or break it: all is set here. */
static SSL_CTX *context_new(void)
{
    SSL_CTX *c = SSL_CTX_new(TLS_method());

    if (c)
        SSL_CTX_set_security_level(c, 2);
    if (!c || !SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) ||
        !SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) ||
        !SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256") || !set_groups(c) ||
        !SSL_CTX_set_num_tickets(c, 0))
        abort();
    SSL_CTX_clear_options(c, SSL_OP_ALLOW_NO_DHE_KEX);
    SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_psk_use_session_callback(c, on_use);
    SSL_CTX_set_psk_find_session_callback(c, on_find);
    ERR_clear_error();
    return c;
}

struct peer_keys *peer_keys_new(const char *cluster, const char *const secrets[PEER_SECRETS])
{
    struct peer_keys *k = must(calloc(1, sizeof(*k)));

    k->context = context_new();
    for (; k->count < PEER_SECRETS && secrets[k->count]; k->count++)
        derive_key(&k->keys[k->count], secrets[k->count], cluster);
    return k;
}

void peer_keys_free(struct peer_keys *k)
{
    if (!k)
        return;
    SSL_CTX_free(k->context);
    OPENSSL_cleanse(k, sizeof(*k));
    free(k);
}

/* ---- a side ---- */

static struct peer_tls *tls_new(struct peer_keys *k)
{
    struct peer_tls *t = must(calloc(1, sizeof(*t)));

    t->keys = k;
    t->ssl = must(SSL_new(k->context));
    SSL_set_bio(t->ssl, must(BIO_new(BIO_s_mem())), must(BIO_new(BIO_s_mem())));
    SSL_set_app_data(t->ssl, t);
    return t;
}

struct peer_tls *peer_tls_dial(struct peer_keys *k, unsigned secret)
{
    struct peer_tls *t = tls_new(k);

    t->own = &k->keys[secret];
    SSL_set_connect_state(t->ssl);
    SSL_set_verify(t->ssl, SSL_VERIFY_PEER, NULL); /* a certificate: none is trusted */
    return t;
}

struct peer_tls *peer_tls_accept(struct peer_keys *k)
{
    struct peer_tls *t = tls_new(k);

    SSL_set_accept_state(t->ssl);
    return t;
}

void peer_tls_free(struct peer_tls *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    free(t);
}

bool peer_tls_begins(unsigned char first)
{
    return first == RECORD;
}

enum peer_tls_state peer_tls_state(const struct peer_tls *t)
{
    return t->state;
}

const char *peer_tls_why(const struct peer_tls *t)
{
    return t->why ? t->why : "TLS failed";
}

/* ---- bytes ---- */

/* A key that the other side does not know looks to OpenSSL like a missing certificate. */
static bool is_strange(int reason)
{
    return reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE ||
           reason == SSL_R_TLSV1_ALERT_DECRYPT_ERROR || reason == SSL_R_NO_SHARED_CIPHER ||
           reason == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM ||
           reason == SSL_R_BINDER_DOES_NOT_VERIFY;
}

static void fail(struct peer_tls *t)
{
    unsigned long error = ERR_peek_error();
    bool is_first = t->state == PEER_TLS_SHAKING;

    t->why = ERR_reason_error_string(error);
    t->state =
        is_first && is_strange(ERR_GET_REASON(error)) ? PEER_TLS_STRANGER : PEER_TLS_BROKEN;
    ERR_clear_error();
}

/* The outcome of a call of OpenSSL that did nothing. */
static void judge(struct peer_tls *t, int result)
{
    if (SSL_get_error(t->ssl, result) != SSL_ERROR_WANT_READ)
        fail(t);
}

static void shake(struct peer_tls *t)
{
    int result;

    ERR_clear_error();
    result = SSL_do_handshake(t->ssl);
    if (result != 1)
        judge(t, result);
    else if (SSL_session_reused(t->ssl)) /* that is, by the key */
        t->state = PEER_TLS_UP;
    else
        fail(t);
}

/* Adds what OpenSSL wants to send. */
static void drain(struct peer_tls *t, struct buf *to)
{
    BIO *out = SSL_get_wbio(t->ssl);
    size_t len = BIO_ctrl_pending(out), done = 0;

    if (!len)
        return;
    if (len > INT_MAX || !BIO_read_ex(out, buf_reserve(to, len), len, &done) || done != len)
        abort();
    to->len += done;
}

enum peer_tls_state peer_tls_take(struct peer_tls *t, struct bytes bytes, struct buf *to)
{
    size_t done = 0;

    if (bytes.len &&
        (!BIO_write_ex(SSL_get_rbio(t->ssl), bytes.at, bytes.len, &done) || done != bytes.len))
        abort();
    if (t->state == PEER_TLS_SHAKING)
        shake(t);
    drain(t, to);
    return t->state;
}

size_t peer_tls_read(struct peer_tls *t, char *at, size_t room)
{
    size_t done = 0;

    ERR_clear_error();
    if (SSL_read_ex(t->ssl, at, room, &done))
        return done;
    judge(t, 0);
    return 0;
}

void peer_tls_write(struct peer_tls *t, struct bytes said, struct buf *to)
{
    size_t done = 0;

    ERR_clear_error();
    if (!SSL_write_ex(t->ssl, said.at, said.len, &done))
        judge(t, 0);
    drain(t, to);
}
