#include "base/tls_context.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/clock.h"
#include "base/log.h"

#define CIPHERS_OF_1_2   "ECDHE+AESGCM:ECDHE+CHACHA20"
#define SECURITY_LEVEL   2 /* 112 bits: RSA of 2048 and more, no SHA-1 */
#define DAY_S            INT64_C(86400)
#define PEER_CHAIN_BYTES 32768 /* of the other side's certificate and its chain */

const char *tls_take_reason(void)
{
    unsigned long error = ERR_peek_last_error();
    const char *reason = error ? ERR_reason_error_string(error) : NULL;

    ERR_clear_error();
    return reason ? reason : "it is not understood";
}

/* Else the library would ask for the password at the terminal. */
static int give_no_password(char *to, int room, int is_writing, void *arg)
{
    return -1;
}

/* ---- reading PEM ---- */

static BIO *open_text(const char *text)
{
    return must(BIO_new_mem_buf(text, -1));
}

/* Has a reading loop come to the end of the text, and not to a mistake in it? */
static bool is_at_end(void)
{
    return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

static bool refuse(enum tls_part part, enum tls_part *blamed, struct buf *why, const char *what)
{
    *blamed = part;
    buf_add_text(why, what);
    return false;
}

static bool refuse_for_reason(enum tls_part part, enum tls_part *blamed, struct buf *why,
                              const char *what)
{
    buf_printf(why, "%s: %s", what, tls_take_reason());
    return refuse(part, blamed, why, "");
}

static bool use_chain(SSL_CTX *ssl, BIO *from)
{
    X509 *next;

    while ((next = PEM_read_bio_X509(from, NULL, give_no_password, NULL)))
        if (SSL_CTX_add0_chain_cert(ssl, next) != 1) {
            X509_free(next);
            return false;
        }
    return is_at_end();
}

static bool use_certificate(SSL_CTX *ssl, const char *text)
{
    BIO *from = open_text(text);
    X509 *own = PEM_read_bio_X509(from, NULL, give_no_password, NULL);
    bool is_good = own && SSL_CTX_use_certificate(ssl, own) == 1 && use_chain(ssl, from);

    X509_free(own);
    BIO_free(from);
    return is_good;
}

static EVP_PKEY *read_key(const char *text)
{
    BIO *from = open_text(text);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(from, NULL, give_no_password, NULL);

    BIO_free(from);
    return key;
}

static bool use_key(SSL_CTX *ssl, const char *text, enum tls_part *blamed, struct buf *why)
{
    EVP_PKEY *key = read_key(text);
    bool is_good = true;

    if (!key && strstr(text, "ENCRYPTED"))
        is_good = refuse(TLS_KEY, blamed, why,
                         "is encrypted, and a node asks nobody for a password; decrypt it "
                         "with: openssl pkey");
    else if (!key)
        is_good = refuse(TLS_KEY, blamed, why, "holds no private key in PEM form");
    else if (X509_check_private_key(SSL_CTX_get0_certificate(ssl), key) != 1)
        is_good = refuse(TLS_KEY, blamed, why,
                         "is not the key of the first certificate in the certificate's file");
    else if (SSL_CTX_use_PrivateKey(ssl, key) != 1)
        is_good = refuse_for_reason(TLS_KEY, blamed, why, "cannot be used");
    EVP_PKEY_free(key);
    return is_good;
}

/* Adds what the text holds to those who may vouch for the other side, and to the names that a
 * server's clients are told of. */
static bool trust(SSL_CTX *ssl, const char *text)
{
    BIO *from = open_text(text);
    unsigned count = 0;
    X509 *one;

    while ((one = PEM_read_bio_X509(from, NULL, give_no_password, NULL))) {
        bool is_good = X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), one) == 1 &&
                       SSL_CTX_add_client_CA(ssl, one) == 1;

        X509_free(one);
        if (!is_good)
            break;
        count++;
    }
    BIO_free(from);
    return count && !one && is_at_end();
}

/* ---- its end ---- */

int64_t tls_end_of(const X509 *certificate)
{
    struct tm end;

    return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1 ? (int64_t)timegm(&end)
                                                                       : INT64_MAX;
}

static int64_t first_end(const SSL_CTX *ssl)
{
    int64_t first_s = tls_end_of(SSL_CTX_get0_certificate(ssl));
    STACK_OF(X509) *chain = NULL;

    SSL_CTX_get0_chain_certs((SSL_CTX *)ssl, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        int64_t end_s = tls_end_of(sk_X509_value(chain, i));

        first_s = end_s < first_s ? end_s : first_s;
    }
    return first_s;
}

static enum log_level level_of(int64_t left_s)
{
    if (left_s <= 0)
        return LEVEL_ERROR;
    return left_s < TLS_WARN_DAYS * DAY_S ? LEVEL_WARN : LEVEL_INFO;
}

void tls_context_tell_end(const struct tls_context *context, const char *module,
                          const char *what, const char *follows, bool is_new)
{
    int64_t left_s = context->end_s - clock_wall_ms() / 1000;
    enum log_level level = level_of(left_s);
    time_t end = (time_t)context->end_s;
    struct tm parts;
    char day[32] = "";

    if (!context->end_s || (level == LEVEL_INFO && !is_new) || !log_is_on(level, module))
        return;
    if (gmtime_r(&end, &parts))
        strftime(day, sizeof(day), "%Y-%m-%d %H:%M UTC", &parts);
    if (level == LEVEL_ERROR)
        log_write(level, module, "%s, or one of its chain, ended at %s: %s", what, day,
                  follows);
    else if (level == LEVEL_WARN)
        log_write(level, module, "%s, or one of its chain, ends in %lld day%s, at %s", what,
                  (long long)(left_s / DAY_S), left_s / DAY_S == 1 ? "" : "s", day);
    else
        log_write(level, module, "%s is good until %s", what, day);
}

/* ---- the context ---- */

static SSL_CTX *new_empty(const SSL_METHOD *side)
{
    SSL_CTX *ssl = must(SSL_CTX_new(side));

    SSL_CTX_set_security_level(ssl, SECURITY_LEVEL);
    if (SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(ssl, CIPHERS_OF_1_2) != 1)
        abort();
    SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ssl, 1);
    SSL_CTX_set_max_cert_list(ssl, PEER_CHAIN_BYTES);
    return ssl;
}

static bool ask_clients(SSL_CTX *ssl, const struct tls_texts *texts)
{
    int mode = SSL_VERIFY_PEER;

    if (texts->is_client_required)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ssl, mode, NULL);
    /* An authority is trusted as it is named, whoever stands behind it: often the root is
     * another department's, which vouches for many more. */
    if (X509_STORE_set_flags(SSL_CTX_get_cert_store(ssl), X509_V_FLAG_PARTIAL_CHAIN) != 1)
        abort();
    return trust(ssl, texts->pem[TLS_CA]);
}

static bool use_pair(SSL_CTX *ssl, const struct tls_texts *texts, enum tls_part *blamed,
                     struct buf *why)
{
    if (!use_certificate(ssl, texts->pem[TLS_CERTIFICATE]))
        return refuse_for_reason(TLS_CERTIFICATE, blamed, why,
                                 "holds no good certificate with its chain in PEM form");
    return use_key(ssl, texts->pem[TLS_KEY], blamed, why);
}

static bool refuse_authorities(enum tls_part *blamed, struct buf *why)
{
    return refuse_for_reason(TLS_CA, blamed, why, "holds no good certificates in PEM form");
}

static bool fill_server(SSL_CTX *ssl, const struct tls_texts *texts, enum tls_part *blamed,
                        struct buf *why)
{
    if (!use_pair(ssl, texts, blamed, why))
        return false;
    return !*texts->pem[TLS_CA] || ask_clients(ssl, texts) || refuse_authorities(blamed, why);
}

static bool ask_servers(SSL_CTX *ssl, const struct tls_texts *texts)
{
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    return *texts->pem[TLS_CA] ? trust(ssl, texts->pem[TLS_CA])
                               : SSL_CTX_set_default_verify_paths(ssl) == 1;
}

static bool fill_client(SSL_CTX *ssl, const struct tls_texts *texts, enum tls_part *blamed,
                        struct buf *why)
{
    if (*texts->pem[TLS_CERTIFICATE] && !use_pair(ssl, texts, blamed, why))
        return false;
    return ask_servers(ssl, texts) || refuse_authorities(blamed, why);
}

/* A digest of the parts from `first` on. */
static void digest(const struct tls_texts *texts, enum tls_part first, unsigned char to[32])
{
    EVP_MD_CTX *sum = must(EVP_MD_CTX_new());
    bool is_done = EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1 &&
                   EVP_DigestUpdate(sum, &texts->is_client_required, sizeof(bool)) == 1;

    for (unsigned part = first; part < TLS_PARTS; part++) /* each with its NUL */
        is_done = is_done &&
                  EVP_DigestUpdate(sum, texts->pem[part], strlen(texts->pem[part]) + 1) == 1;
    if (!is_done || EVP_DigestFinal_ex(sum, to, NULL) != 1)
        abort();
    EVP_MD_CTX_free(sum);
}

/* Sessions are named by the clients that are taken: a client that only another rule would take
 * must not come back by a ticket. */
static void name(struct tls_context *context, const struct tls_texts *texts)
{
    unsigned char clients[32];

    digest(texts, TLS_CERTIFICATE, context->texts);
    digest(texts, TLS_CA, clients);
    if (SSL_CTX_set_session_id_context(context->ssl, clients, sizeof(clients)) != 1)
        abort();
}

static struct tls_context *context_new(const SSL_METHOD *side, const struct tls_texts *texts,
                                       bool (*fill)(SSL_CTX *ssl, const struct tls_texts *texts,
                                                    enum tls_part *blamed, struct buf *why),
                                       enum tls_part *blamed, struct buf *why)
{
    SSL_CTX *ssl = new_empty(side);
    struct tls_context *context;
    bool is_good;

    ERR_clear_error();
    is_good = fill(ssl, texts, blamed, why);
    ERR_clear_error();
    if (!is_good) {
        SSL_CTX_free(ssl);
        return NULL;
    }
    context = must(calloc(1, sizeof(*context)));
    *context = (struct tls_context){.ssl = ssl};
    if (*texts->pem[TLS_CERTIFICATE])
        context->end_s = first_end(ssl);
    name(context, texts);
    return context;
}

struct tls_context *tls_context_new(const struct tls_texts *texts, enum tls_part *blamed,
                                    struct buf *why)
{
    return context_new(TLS_server_method(), texts, fill_server, blamed, why);
}

struct tls_context *tls_context_new_client(const struct tls_texts *texts, enum tls_part *blamed,
                                           struct buf *why)
{
    return context_new(TLS_client_method(), texts, fill_client, blamed, why);
}

void tls_context_free(struct tls_context *context)
{
    if (!context)
        return;
    SSL_CTX_free(context->ssl);
    free(context);
}

bool tls_context_is_of(const struct tls_context *context, const struct tls_texts *texts)
{
    unsigned char of_texts[sizeof(context->texts)];

    digest(texts, TLS_CERTIFICATE, of_texts);
    return !memcmp(context->texts, of_texts, sizeof(of_texts));
}
