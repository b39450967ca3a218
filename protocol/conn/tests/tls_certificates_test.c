/* Certificates, of clients and our own, and tickets. */
#include "protocol/conn/tests/tls_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/log.h"
#include "base/tls_tickets.h"

#define BRIEF_S 6 /* a busy machine is to shake hands meanwhile */

/* ---- certificates ---- */

static void ask_for_certificates(struct fixture *f)
{
    struct tls_texts texts = tls_peer_texts(true);

    tls_load(f->kind.tls.tls, &texts);
}

static void show(struct pair *p, const struct pem *pem)
{
    BIO *text = must(BIO_new_mem_buf(pem->certificate, -1)),
        *key_text = must(BIO_new_mem_buf(pem->key, -1));
    X509 *certificate = must(PEM_read_bio_X509(text, NULL, NULL, NULL)), *next;
    EVP_PKEY *key = must(PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL));

    assert_int_equal(SSL_use_certificate(tls_peer_library(p->peer), certificate), 1);
    assert_int_equal(SSL_use_PrivateKey(tls_peer_library(p->peer), key), 1);
    while ((next = PEM_read_bio_X509(text, NULL, NULL, NULL)))
        assert_int_equal(SSL_add0_chain_cert(tls_peer_library(p->peer), next), 1);
    ERR_clear_error();
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(text);
    BIO_free(key_text);
}

static void expect_names(struct pair *p, const char *names)
{
    struct bytes given = connection_names(&p->connection);

    if (!bytes_equal(given, bytes_of_text(names)))
        fail_msg("'%.*s' is not '%s'", BYTES_ARG(given), names);
}

static void only_names_that_an_identity_may_have_are_told(void **state)
{
    static const struct {
        const char *alternatives, *names;
    } cases[] = {
        {"DNS:Shop.Example.COM,IP:10.0.0.1,email:a@b.c,URI:spiffe://acme/Shop",
         "DNS:shop.example.com\nURI:spiffe://acme/Shop\n"},
        {"DNS:*.example.com,DNS:a b,DNS:-", "DNS:-\n"},
        {"DNS:1,DNS:2,DNS:3,DNS:4,DNS:5,DNS:6,DNS:7,DNS:8,DNS:9",
         "DNS:1\nDNS:2\nDNS:3\nDNS:4\nDNS:5\nDNS:6\nDNS:7\nDNS:8\n"},
        {"IP:10.0.0.1", ""},
    };
    struct fixture *f = *state;

    ask_for_certificates(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pem pem = pem_make(&(struct pem_wish){.name = "x",
                                                     .by = &tls_peer_certificates()->authority,
                                                     .alternatives = cases[i].alternatives});
        struct pair p;

        join(&p, f);
        expect_names(&p, "");
        show(&p, &pem);
        open_pair(&p);
        echo(&p, "x");
        expect_names(&p, cases[i].names);
        leave(&p);
        pem_free(&pem);
    }
}

static void a_client_is_known_by_its_certificate(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    ask_for_certificates(f);
    join(&p, f);
    show(&p, &tls_peer_certificates()->client);
    open_pair(&p);
    echo(&p, "x");
    expect_names(&p, "DNS:localhost\n");
    leave(&p);
    expect_names(&p, "");
}

/* An authority under another one, and a client that it vouches for: the last one shows the
 * first as well, as clients do. */
struct family {
    struct pem authority, client, chain;
};

static struct family family_make(int64_t ends_s)
{
    struct buf both = BUF_INIT;
    struct family made = {
        .authority = pem_make(&(struct pem_wish){.name = "department",
                                                 .by = &tls_peer_certificates()->authority,
                                                 .is_authority = true,
                                                 .ends_s = ends_s})};

    made.client = pem_make(&(struct pem_wish){.name = "member", .by = &made.authority});
    buf_printf(&both, "%s%s", made.client.certificate, made.authority.certificate);
    made.chain =
        (struct pem){.certificate = bytes_copy(buf_bytes(&both)), .key = made.client.key};
    buf_fini(&both);
    return made;
}

static void family_free(struct family *family)
{
    pem_free(&family->authority);
    free(family->chain.certificate);
    pem_free(&family->client);
}

static void an_authority_is_trusted_whoever_stands_behind_it(void **state)
{
    struct fixture *f = *state;
    struct tls_texts texts = tls_peer_texts(true);
    struct family family = family_make(0);
    struct pair p;

    texts.pem[TLS_CA] = family.authority.certificate;
    tls_load(f->kind.tls.tls, &texts);
    join(&p, f);
    show(&p, &family.client);
    open_pair(&p);
    echo(&p, "x"); /* the client's side is open before it is judged */
    leave(&p);
    family_free(&family);
}

static void expect_refused(struct fixture *f, const struct pem *pem)
{
    uint64_t before = f->failures;
    struct pair p;

    join(&p, f);
    if (pem)
        show(&p, pem);
    while (!p.is_closed) {
        (void)tls_peer_is_open(p.peer);
        turn(f);
    }
    assert_int_equal(f->failures, before + 1);
    assert_int_equal(f->handshakes, 0);
    expect_closed(&p);
}

static void wrong_certificates_are_refused(void **state)
{
    struct fixture *f = *state;
    const struct pem *authority = &tls_peer_certificates()->authority;
    struct pem ended = pem_make(
        &(struct pem_wish){.name = "old", .by = authority, .begins_s = -100, .ends_s = -1});
    struct pem foreign = pem_make(&(struct pem_wish){.name = "foreign"});

    ask_for_certificates(f);
    expect_refused(f, NULL);
    expect_refused(f, &ended);
    expect_refused(f, &foreign);
    pem_free(&ended);
    pem_free(&foreign);
}

/* What the log says meanwhile; the caller's. */
static char *hear_log(struct fixture *f, const struct pem *pem)
{
    struct log_options options = {.level = LEVEL_DEBUG};
    char path[] = "/tmp/tls_test.XXXXXX", *text = must(calloc(1, 65536));
    int fd = mkstemp(path);

    options.file = path;
    assert_int_equal(log_configure(&options), STATUS_OK);
    expect_refused(f, pem);
    options = (struct log_options){.level = LEVEL_INFO};
    assert_int_equal(log_configure(&options), STATUS_OK);
    assert_true(read(fd, text, 65535) > 0);
    unlink(path);
    close(fd);
    return text;
}

static void the_log_says_which_certificate_was_refused_and_why(void **state)
{
    struct fixture *f = *state;
    struct family ended = family_make(-1);
    char *log;

    ask_for_certificates(f);
    log = hear_log(f, &ended.chain);
    assert_non_null(strstr(log, "no TLS: certificate has expired: CN=department,O=dueq, issued "
                                "by CN=authority,O=dueq\n"));
    free(log);
    log = hear_log(f, &ended.client);
    assert_non_null(strstr(log, "no TLS: unable to get local issuer certificate: CN=member,"
                                "O=dueq, issued by CN=department,O=dueq\n"));
    free(log);
    log = hear_log(f, NULL);
    assert_non_null(strstr(log, "no TLS: peer did not return a certificate\n"));
    free(log);
    family_free(&ended);
}

static void without_being_asked_nobody_is_known(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    show(&p, &tls_peer_certificates()->client);
    open_pair(&p);
    expect_names(&p, "");
    leave(&p);
}

/* Shakes hands, and returns the ticket; `ticket`: tries to resume with that one. */
static SSL_SESSION *meet(struct fixture *f, SSL_SESSION *ticket, const struct pem *client,
                         bool *is_resumed)
{
    SSL_SESSION *next;
    struct pair p;

    join(&p, f);
    if (f->version)
        assert_int_equal(SSL_set_max_proto_version(tls_peer_library(p.peer), f->version), 1);
    if (client)
        show(&p, client);
    if (ticket)
        assert_int_equal(SSL_set_session(tls_peer_library(p.peer), ticket), 1);
    open_pair(&p);
    echo(&p, "x"); /* and the ticket, which comes before */
    *is_resumed = SSL_session_reused(tls_peer_library(p.peer));
    next = SSL_get1_session(tls_peer_library(p.peer));
    SSL_SESSION_free(ticket);
    leave(&p);
    return next;
}

static void a_client_that_comes_back_need_not_begin_anew(void **state)
{
    struct fixture *f = *state;
    const struct pem *client = &tls_peer_certificates()->client;
    bool is_resumed;
    SSL_SESSION *ticket;

    ask_for_certificates(f);
    ticket = meet(f, NULL, client, &is_resumed);
    assert_false(is_resumed);
    ticket = meet(f, ticket, client, &is_resumed);
    assert_true(is_resumed);
    SSL_SESSION_free(ticket);
}

/* Another certificate of the server. */
static void load_another(struct fixture *f, struct tls_texts texts)
{
    struct pem other = pem_make(
        &(struct pem_wish){.name = "other", .by = &tls_peer_certificates()->authority});

    texts.pem[TLS_CERTIFICATE] = other.certificate;
    texts.pem[TLS_KEY] = other.key;
    tls_load(f->kind.tls.tls, &texts);
    pem_free(&other);
}

static void tickets_outlive_a_certificate(void **state)
{
    struct fixture *f = *state;
    bool is_resumed;
    SSL_SESSION *ticket = meet(f, NULL, NULL, &is_resumed);

    load_another(f, tls_peer_texts(false));
    ticket = meet(f, ticket, NULL, &is_resumed);
    assert_true(is_resumed);
    SSL_SESSION_free(ticket);
}

static void tickets_end_when_other_clients_are_asked_for(void **state)
{
    struct fixture *f = *state;
    const struct tls_peer_certificates *all = tls_peer_certificates();
    struct tls_texts texts = tls_peer_texts(true);
    struct buf both = BUF_INIT;
    bool is_resumed;
    SSL_SESSION *ticket = meet(f, NULL, NULL, &is_resumed);

    load_another(f, texts);
    ticket = meet(f, ticket, &all->client, &is_resumed);
    assert_false(is_resumed);
    buf_printf(&both, "%s%s", all->authority.certificate, all->server.certificate);
    texts.pem[TLS_CA] = buf_text(&both);
    load_another(f, texts);
    ticket = meet(f, ticket, &all->client, &is_resumed);
    assert_false(is_resumed);
    texts.is_client_required = false;
    load_another(f, texts);
    ticket = meet(f, ticket, &all->client, &is_resumed);
    assert_false(is_resumed);
    SSL_SESSION_free(ticket);
    buf_fini(&both);
}

static void a_ticket_does_not_outlive_its_clients_certificate(void **state)
{
    struct fixture *f = *state;
    struct pem brief = pem_make(&(struct pem_wish){
        .name = "brief", .by = &tls_peer_certificates()->authority, .ends_s = BRIEF_S});
    int64_t end_ms = clock_wall_ms() + BRIEF_S * 1000;
    struct pair p;
    bool is_resumed;
    SSL_SESSION *ticket;

    ask_for_certificates(f);
    ticket = meet(f, NULL, &brief, &is_resumed);
    while (clock_wall_ms() <= end_ms + 1000)
        usleep(10000);
    join(&p, f);
    assert_int_equal(SSL_set_session(tls_peer_library(p.peer), ticket), 1);
    while (!p.is_closed) {
        (void)tls_peer_is_open(p.peer);
        turn(f);
    }
    assert_int_equal(f->failures, 1);
    SSL_SESSION_free(ticket);
    pem_free(&brief);
    expect_closed(&p);
}

/* Nor a ticket that was got by a ticket; and who has another certificate by then may come in.
 */
static void a_ticket_does_not_outlive_an_authority(void **state)
{
    struct fixture *f = *state;
    struct family brief = family_make(BRIEF_S);
    int64_t end_ms = clock_wall_ms() + BRIEF_S * 1000;
    bool is_resumed;
    SSL_SESSION *ticket;
    struct pair p;

    ask_for_certificates(f);
    ticket = meet(f, NULL, &brief.chain, &is_resumed);
    ticket = meet(f, ticket, &brief.chain, &is_resumed);
    assert_true(is_resumed);
    while (clock_wall_ms() <= end_ms + 1000)
        usleep(10000);
    join(&p, f);
    show(&p, &brief.chain);
    SSL_SESSION_up_ref(ticket);
    assert_int_equal(SSL_set_session(tls_peer_library(p.peer), ticket), 1);
    while (!p.is_closed) {
        (void)tls_peer_is_open(p.peer);
        turn(f);
    }
    expect_closed(&p);
    SSL_SESSION_free(ticket);
    assert_int_equal(f->failures, 1);
    ticket = meet(f, ticket, &tls_peer_certificates()->client, &is_resumed);
    assert_false(is_resumed);
    SSL_SESSION_free(ticket);
    family_free(&brief);
}

/* Each ticket is good for its life at least, and for two at most. */
static void a_ticket_dies_with_its_key(void **state)
{
    struct fixture *f = *state;
    bool is_resumed;
    SSL_SESSION *old, *newer;

    for (unsigned version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        f->version = (int)version;
        old = meet(f, NULL, NULL, &is_resumed);
        pass(f, 1000 * TLS_TICKET_S);
        SSL_SESSION_up_ref(old);
        newer = meet(f, old, NULL, &is_resumed);
        assert_true(is_resumed);
        pass(f, 1000 * TLS_TICKET_S);
        SSL_SESSION_free(meet(f, old, NULL, &is_resumed));
        assert_false(is_resumed);
        SSL_SESSION_free(meet(f, newer, NULL, &is_resumed));
        assert_true(is_resumed);
    }
}

static char *name_of_server(struct pair *p)
{
    X509 *certificate = SSL_get1_peer_certificate(tls_peer_library(p->peer));
    static char name[32];

    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                              sizeof(name));
    X509_free(certificate);
    return name;
}

static void a_new_certificate_is_for_new_connections(void **state)
{
    struct fixture *f = *state;
    struct pair old, new;

    join(&old, f);
    open_pair(&old);
    load_another(f, tls_peer_texts(false));
    join(&new, f);
    open_pair(&new);
    assert_string_equal(name_of_server(&new), "other");
    echo(&old, "still here");
    leave(&old);
    leave(&new);
}

static void bad_texts_leave_the_old_ones(void **state)
{
    struct fixture *f = *state;
    struct tls_texts texts = tls_peer_texts(false);
    struct pair p;

    texts.pem[TLS_KEY] = tls_peer_certificates()->client.key;
    tls_load(f->kind.tls.tls, &texts);
    join(&p, f);
    open_pair(&p);
    assert_string_equal(name_of_server(&p), "server");
    leave(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tls_test(a_client_is_known_by_its_certificate),
        tls_test(an_authority_is_trusted_whoever_stands_behind_it),
        tls_test(only_names_that_an_identity_may_have_are_told),
        tls_test(wrong_certificates_are_refused),
        tls_test(the_log_says_which_certificate_was_refused_and_why),
        tls_test(without_being_asked_nobody_is_known),
        tls_test(a_client_that_comes_back_need_not_begin_anew),
        tls_test(tickets_outlive_a_certificate),
        tls_test(tickets_end_when_other_clients_are_asked_for),
        tls_test(a_ticket_does_not_outlive_its_clients_certificate),
        tls_test(a_ticket_does_not_outlive_an_authority),
        tls_test(a_ticket_dies_with_its_key),
        tls_test(a_new_certificate_is_for_new_connections),
        tls_test(bad_texts_leave_the_old_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
