#include "protocol/conn/tests/tls_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/bytes.h"

#define YEAR_S 31536000

struct tls_peer {
    int fd;
    SSL *ssl;
};

const struct tls_peer_certificates *tls_peer_certificates(void)
{
    static struct tls_peer_certificates all;

    if (all.authority.key)
        return &all;
    all.authority = pem_make(
        &(struct pem_wish){.name = "authority", .is_authority = true, .ends_s = YEAR_S});
    all.server =
        pem_make(&(struct pem_wish){.name = "server", .by = &all.authority, .ends_s = YEAR_S});
    all.client = pem_make(
        &(struct pem_wish){.name = "client, \"one\"", .by = &all.authority, .ends_s = YEAR_S});
    return &all;
}

struct tls_texts tls_peer_texts(bool asks)
{
    const struct tls_peer_certificates *all = tls_peer_certificates();

    return (struct tls_texts){.pem = {[TLS_CERTIFICATE] = all->server.certificate,
                                      [TLS_KEY] = all->server.key,
                                      [TLS_CA] = asks ? all->authority.certificate : ""},
                              .is_client_required = asks};
}

struct tls *tls_peer_server(struct loop *loop)
{
    struct tls *tls = tls_new(loop);
    struct tls_texts texts = tls_peer_texts(false);

    tls_load(tls, &texts);
    return tls;
}

static SSL_CTX *new_context(void)
{
    SSL_CTX *context = must(SSL_CTX_new(TLS_client_method()));
    BIO *text = must(BIO_new_mem_buf(tls_peer_certificates()->authority.certificate, -1));
    X509 *authority = must(PEM_read_bio_X509(text, NULL, NULL, NULL));

    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority) != 1)
        abort();
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE);
    X509_free(authority);
    BIO_free(text);
    return context;
}

struct tls_peer *tls_peer_new(int fd)
{
    struct tls_peer *peer = must(malloc(sizeof(*peer)));
    SSL_CTX *context = new_context();

    *peer = (struct tls_peer){.fd = fd, .ssl = must(SSL_new(context))};
    SSL_CTX_free(context); /* the session holds it */
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (SSL_set_fd(peer->ssl, fd) != 1)
        abort();
    SSL_set_connect_state(peer->ssl);
    return peer;
}

void tls_peer_free(struct tls_peer *peer)
{
    if (!peer)
        return;
    SSL_set_shutdown(peer->ssl, SSL_SENT_SHUTDOWN); /* else its ticket would be no good */
    SSL_free(peer->ssl);
    ERR_clear_error();
    free(peer);
}

struct ssl_st *tls_peer_library(struct tls_peer *peer)
{
    return peer->ssl;
}

bool tls_peer_is_open(struct tls_peer *peer)
{
    ERR_clear_error();
    return SSL_do_handshake(peer->ssl) == 1;
}

/* As errno says it: -1 with EAGAIN, or with EPROTO. */
static ssize_t result_of(struct tls_peer *peer, int n)
{
    int error = SSL_get_error(peer->ssl, n);

    if (n > 0)
        return n;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    ERR_clear_error();
    return -1;
}

ssize_t tls_peer_write(struct tls_peer *peer, const char *at, size_t len)
{
    ERR_clear_error();
    return result_of(peer, SSL_write(peer->ssl, at, (int)len));
}

ssize_t tls_peer_read(struct tls_peer *peer, char *to, size_t room, int flags)
{
    struct pollfd wait = {.fd = peer->fd, .events = POLLIN};
    ssize_t n;

    do {
        ERR_clear_error();
        n = result_of(peer, SSL_read(peer->ssl, to, (int)room));
    } while (n < 0 && errno == EAGAIN && !(flags & MSG_DONTWAIT) && poll(&wait, 1, 1000) > 0);
    return n;
}
