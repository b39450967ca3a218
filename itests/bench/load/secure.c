#include "itests/bench/load/secure.h"

#include <errno.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "itests/bench/load/die.h"

struct secure {
    SSL *ssl;
    bool has_ticket;
};

static SSL_SESSION *ticket;

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
    struct secure *s = SSL_get_app_data(ssl);

    s->has_ticket = true;
    SSL_SESSION_free(ticket);
    ticket = session;
    return 1; /* it is ours */
}

static SSL_CTX *context(void)
{
    static SSL_CTX *the_one;

    if (the_one)
        return the_one;
    the_one = SSL_CTX_new(TLS_client_method());
    if (!the_one)
        die("no TLS");
    SSL_CTX_set_mode(the_one,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(the_one, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(the_one, on_ticket);
    return the_one;
}

struct secure *secure_new(int fd, bool resumes)
{
    struct secure *s = must_calloc(1, sizeof(*s));

    s->ssl = SSL_new(context());
    if (!s->ssl || SSL_set_fd(s->ssl, fd) != 1)
        die("no TLS");
    if (resumes && ticket)
        SSL_set_session(s->ssl, ticket);
    SSL_set_app_data(s->ssl, s);
    SSL_set_connect_state(s->ssl);
    return s;
}

void secure_free(struct secure *s)
{
    SSL_set_quiet_shutdown(s->ssl, 1);
    SSL_shutdown(s->ssl); /* else its ticket would be no good */
    SSL_free(s->ssl);
    free(s);
}

/* -1 with EAGAIN; 0 is the end. */
static ssize_t result_of(struct secure *s, int n)
{
    int error = SSL_get_error(s->ssl, n);

    if (n > 0)
        return n;
    if (error == SSL_ERROR_ZERO_RETURN || (error == SSL_ERROR_SYSCALL && errno == 0))
        return 0;
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        die("TLS: %s", ERR_reason_error_string(ERR_get_error()));
    errno = EAGAIN;
    return -1;
}

bool secure_shake(struct secure *s)
{
    return result_of(s, SSL_do_handshake(s->ssl)) > 0;
}

bool secure_has_ticket(const struct secure *s)
{
    return s->has_ticket;
}

bool secure_is_full(const struct secure *s)
{
    return !SSL_session_reused(s->ssl);
}

ssize_t secure_read(struct secure *s, void *to, size_t room)
{
    return result_of(s, SSL_read(s->ssl, to, (int)room));
}

ssize_t secure_write(struct secure *s, const void *at, size_t len)
{
    return result_of(s, SSL_write(s->ssl, at, (int)len));
}
