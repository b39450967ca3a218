#include "base/tls_tickets.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "base/clock.h"
#include "base/tls_context.h"

#define NAME_BYTES 16 /* as the library wants it */

struct ticket_key {
    unsigned char name[NAME_BYTES]; /* stands in front of the tickets that it locks */
    unsigned char cipher[32];
    unsigned char mac[32];
};

struct tls_tickets {
    struct ticket_key now;
    struct ticket_key before; /* random at first, like the other, and locks nothing */
};

/* ---- keys ---- */

static void draw(struct ticket_key *key)
{
    if (RAND_bytes(key->name, sizeof(key->name)) != 1 ||
        RAND_priv_bytes(key->cipher, sizeof(key->cipher)) != 1 ||
        RAND_priv_bytes(key->mac, sizeof(key->mac)) != 1)
        abort();
}

struct tls_tickets *tls_tickets_new(void)
{
    struct tls_tickets *tickets = must(calloc(1, sizeof(*tickets)));

    draw(&tickets->now);
    draw(&tickets->before);
    return tickets;
}

void tls_tickets_free(struct tls_tickets *tickets)
{
    if (!tickets)
        return;
    OPENSSL_cleanse(tickets, sizeof(*tickets));
    free(tickets);
}

void tls_tickets_change_key(struct tls_tickets *tickets)
{
    tickets->before = tickets->now;
    draw(&tickets->now);
}

static const struct ticket_key *find(const struct tls_tickets *tickets,
                                     const unsigned char *name)
{
    if (!memcmp(tickets->now.name, name, NAME_BYTES))
        return &tickets->now;
    return memcmp(tickets->before.name, name, NAME_BYTES) ? NULL : &tickets->before;
}

static bool set_mac(EVP_MAC_CTX *mac, const struct ticket_key *key)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key->mac,
                                          sizeof(key->mac)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };

    return EVP_MAC_CTX_set_params(mac, params) == 1;
}

/* 1: done; 2: and the client is to get another ticket; 0: no ticket of these; -1: it
 * failed. */
static int on_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                  EVP_MAC_CTX *mac, int is_giving)
{
    const struct tls_tickets *tickets = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const struct ticket_key *key = is_giving ? &tickets->now : find(tickets, name);

    if (!key)
        return 0;
    if (is_giving) {
        memcpy(name, key->name, NAME_BYTES);
        if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1)
            return -1;
    }
    if (EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv, is_giving) != 1 ||
        !set_mac(mac, key))
        return -1;
    /* Clients of 1.3 use a ticket once. */
    return key == &tickets->now && SSL_version(ssl) < TLS1_3_VERSION ? 1 : 2;
}

/* ---- how long ---- */

/* In seconds since 1970; of no chain: never. */
static int64_t first_end_s(const STACK_OF(X509) * chain)
{
    int64_t first_s = INT64_MAX;

    for (int i = 0; i < sk_X509_num(chain); i++) {
        int64_t end_s = tls_end_of(sk_X509_value(chain, i));

        first_s = end_s < first_s ? end_s : first_s;
    }
    return first_s;
}

/* A session that was resumed has it from its ticket. */
static int on_give(SSL *ssl, void *arg)
{
    int64_t end_s;

    if (SSL_session_reused(ssl))
        return 1;
    end_s = first_end_s(SSL_get0_verified_chain(ssl));
    return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), &end_s, sizeof(end_s));
}

static bool is_over(SSL_SESSION *session)
{
    void *at;
    size_t len;
    int64_t end_s;

    if (SSL_SESSION_get0_ticket_appdata(session, &at, &len) != 1 || len != sizeof(end_s))
        return true;
    memcpy(&end_s, at, sizeof(end_s));
    return end_s <= clock_wall_ms() / 1000;
}

static SSL_TICKET_RETURN on_take(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                 size_t name_len, SSL_TICKET_STATUS status, void *arg)
{
    bool is_readable = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;

    if (!is_readable || is_over(session))
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

void tls_tickets_serve(struct tls_tickets *tickets, struct tls_context *context)
{
    SSL_CTX_set_app_data(context->ssl, tickets);
    SSL_CTX_set_timeout(context->ssl, TLS_TICKET_S);
    if (SSL_CTX_set_tlsext_ticket_key_evp_cb(context->ssl, on_key) != 1 ||
        SSL_CTX_set_session_ticket_cb(context->ssl, on_give, on_take, NULL) != 1)
        abort();
}
