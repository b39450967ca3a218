/* The sections `tls` and `store.tls`: their files are read and must fit together. */
#include "conf/tests/conf_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tests/certificates.h"

#define GIVEN  "tls: {certificate: server.pem, key: server.key}\n"
#define CALLED GIVEN "http.tls: required\n"

static struct pem authority, server;
static char *chain; /* the server's certificate, and behind it the authority's */

static int make_certificates(void **state)
{
    struct buf both = BUF_INIT;

    authority = pem_make(&(struct pem_wish){.name = "authority", .is_authority = true});
    server = pem_make(&(struct pem_wish){.name = "server", .by = &authority});
    buf_printf(&both, "%s%s", server.certificate, authority.certificate);
    chain = bytes_copy(buf_bytes(&both));
    buf_fini(&both);
    return 0;
}

static int free_certificates(void **state)
{
    pem_free(&authority);
    pem_free(&server);
    free(chain);
    return 0;
}

static void write_pair(void)
{
    fixture_write("server.pem", chain, 0644);
    fixture_write("server.key", server.key, 0600);
}

static void write_text(const char *name, char *text)
{
    fixture_write(name, text, 0600);
    free(text);
}

static void there_is_none_unless_it_is_wanted(void **state)
{
    struct conf *conf = fixture_load_well(NULL, NULL);

    assert_int_equal(conf->port_tls[PORT_HTTP], PORT_TLS_OFF);
    assert_string_equal(conf->tls.text[TLS_CERTIFICATE], "");
    assert_int_equal(conf->tls.client, TLS_CLIENT_REQUIRED);
    conf_free(conf);
}

static void the_files_are_read(void **state)
{
    struct conf *conf;

    write_pair();
    fixture_write("ca.pem", authority.certificate, 0644);
    conf = fixture_load_well(CALLED "tls.client_ca: ca.pem\ngmq.tls: optional\n", NULL);
    assert_string_equal(conf->tls.text[TLS_CERTIFICATE], chain);
    assert_string_equal(conf->tls.text[TLS_KEY], server.key);
    assert_string_equal(conf->tls.text[TLS_CA], authority.certificate);
    assert_int_equal(conf->port_tls[PORT_HTTP], PORT_TLS_REQUIRED);
    assert_int_equal(conf->port_tls[PORT_GMQ], PORT_TLS_OPTIONAL);
    conf_free(conf);
}

static void a_port_needs_a_certificate_and_that_its_key(void **state)
{
    write_pair();
    expect_errors("http.tls: required\ngmq.tls: optional\n",
                  "c.yaml:2:10: gmq.tls: needs tls.certificate and tls.key\n"
                  "c.yaml:1:11: http.tls: needs tls.certificate and tls.key\n");
    expect_errors("tls.certificate: server.pem\n",
                  "tls.key: is missing: tls.certificate needs its key\n");
    expect_errors("tls.key: server.key\n",
                  "tls.certificate: is missing: tls.key is of no use without it\n");
    expect_errors("tls.client_ca: server.pem\n",
                  "c.yaml:1:16: tls.client_ca: needs tls.certificate and tls.key: clients show "
                  "their certificates to a node that shows its own\n");
}

static void what_cannot_be_read_is_named(void **state)
{
    write_pair();
    expect_errors("tls: {certificate: nowhere.pem, key: server.key}\n",
                  "c.yaml:1:20: tls.certificate: nowhere.pem: cannot open it: No such file or "
                  "directory\n");
}

static void a_key_that_others_may_read_is_none(void **state)
{
    write_pair();
    fixture_write("open.key", server.key, 0644);
    expect_errors("tls: {certificate: server.pem, key: open.key}\n",
                  "c.yaml:1:37: tls.key: open.key: its mode is 0644: others may read it; chmod "
                  "o-r\n");
}

static void the_files_must_fit_together(void **state)
{
    write_pair();
    fixture_write("other.key", authority.key, 0600);
    write_text("locked.key", pem_lock(&server));
    fixture_write("text", "a text\n", 0600);
    expect_errors("tls: {certificate: server.pem, key: other.key}\n",
                  "c.yaml:1:37: tls.key: other.key: is not the key of the first certificate in "
                  "the certificate's file\n");
    expect_errors(
        "tls: {certificate: server.pem, key: locked.key}\n",
        "c.yaml:1:37: tls.key: locked.key: is encrypted, and a node asks nobody for a "
        "password; decrypt it with: openssl pkey\n");
    expect_errors(
        "tls: {certificate: text, key: server.key}\n",
        "c.yaml:1:20: tls.certificate: text: holds no good certificate with its chain "
        "in PEM form: no start line\n");
    expect_errors("tls: {certificate: server.pem, key: text}\n",
                  "c.yaml:1:37: tls.key: text: holds no private key in PEM form\n");
    expect_errors(GIVEN "tls.client_ca: text\n",
                  "c.yaml:2:16: tls.client_ca: text: holds no good certificates in PEM form: "
                  "no start line\n");
}

/* What stands behind it would be cut off without a word. */
static void a_byte_of_zero_is_refused(void **state)
{
    FILE *behind;

    write_pair();
    fixture_write("ca.pem", authority.certificate, 0644);
    behind = fopen("ca.pem", "a");
    assert_non_null(behind);
    fputc('\0', behind);
    fclose(behind);
    expect_errors(GIVEN "tls.client_ca: ca.pem\n",
                  "c.yaml:2:16: tls.client_ca: ca.pem: has a byte of zero in it, so it is no "
                  "text\n");
}

static void a_chain_with_a_mistake_is_refused(void **state)
{
    struct buf text = BUF_INIT;

    write_pair();
    buf_printf(&text, "%s-----BEGIN CERTIFICATE-----\nMIIB\n", server.certificate);
    fixture_write("server.pem", buf_text(&text), 0644);
    buf_fini(&text);
    expect_errors(GIVEN, "c.yaml:1:20: tls.certificate: server.pem: holds no good certificate "
                         "with its chain in PEM form: bad end line\n");
}

static void a_short_key_is_too_weak(void **state)
{
    struct pem weak = pem_make(&(struct pem_wish){.name = "weak", .rsa_bits = 1024});

    write_text("server.pem", weak.certificate);
    write_text("server.key", weak.key);
    expect_errors(GIVEN, "c.yaml:1:20: tls.certificate: server.pem: holds no good certificate "
                         "with its chain in PEM form: ee key too small\n");
}

static void a_reload_takes_the_files_where_their_names_are_the_same(void **state)
{
    struct conf *running, *fresh;
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;

    write_pair();
    running = fixture_load_well(CALLED, NULL);
    fixture_write("server.pem", server.certificate, 0644);
    fresh = fixture_load_well(CALLED "gmq.tls: optional\n", NULL);
    conf_reload(running, fresh, &taken, &need_restart);
    assert_string_equal(buf_text(&taken), "gmq.tls, the file of tls.certificate");
    assert_string_equal(buf_text(&need_restart), "");
    assert_string_equal(running->tls.text[TLS_CERTIFICATE], server.certificate);
    assert_string_equal(running->tls.text[TLS_KEY], server.key);
    buf_fini(&taken);
    buf_fini(&need_restart);
    conf_free(running);
    conf_free(fresh);
}

/* ---- `store.tls` ---- */

#define SECURE "store: {redis: \"rediss://r:6380\", tls: {ca: ca.pem}}\n"

static void the_authorities_of_redis_are_read(void **state)
{
    struct conf *conf;

    fixture_write("ca.pem", authority.certificate, 0644);
    conf = fixture_load_well(SECURE, NULL);
    assert_string_equal(conf->store.tls.text[TLS_CA], authority.certificate);
    assert_string_equal(conf->store.tls.text[TLS_CERTIFICATE], "");
    assert_string_equal(conf->store.tls.server_name, "");
    conf_free(conf);
    conf_free(fixture_load_well("store.redis: \"rediss://r:6380\"\n", NULL));
}

static void a_certificate_for_redis_needs_its_key_and_nothing_else(void **state)
{
    struct conf *conf;

    write_pair();
    conf = fixture_load_well("store: {redis: \"rediss+cluster://r\", tls: {certificate: "
                             "server.pem, key: server.key, server_name: r.internal}}\n",
                             NULL);
    assert_string_equal(conf->store.tls.text[TLS_KEY], server.key);
    assert_string_equal(conf->store.tls.server_name, "r.internal");
    conf_free(conf);
    expect_errors("store: {redis: \"rediss://r:1\", tls: {certificate: server.pem}}\n",
                  "store.tls.key: is missing: store.tls.certificate needs its key\n");
    expect_errors("store: {redis: \"rediss://r:1\", tls: {key: server.key}}\n",
                  "store.tls.certificate: is missing: store.tls.key is of no use without it\n");
}

static void what_is_wrong_with_a_file_for_redis_is_told(void **state)
{
    fixture_write("ca.pem", "a text\n", 0644);
    expect_errors(SECURE,
                  "c.yaml:1:45: store.tls.ca: ca.pem: holds no good certificates in PEM "
                  "form: no start line\n");
    expect_errors("store: {redis: \"rediss://r:1\", tls: {ca: nowhere.pem}}\n",
                  "c.yaml:1:42: store.tls.ca: nowhere.pem: cannot open it: No such file or "
                  "directory\n");
}

#define OF_NO_USE                                                              \
    "is of no use: TLS is spoken where store.redis begins with rediss:// (or " \
    "rediss+sentinel://, rediss+cluster://)\n"

static void without_tls_nobody_asks_for_them(void **state)
{
    fixture_write("ca.pem", authority.certificate, 0644);
    expect_errors("store: {redis: \"r:1\", tls: {ca: ca.pem, server_name: r}}\n",
                  "c.yaml:1:33: store.tls.ca: " OF_NO_USE
                  "c.yaml:1:54: store.tls.server_name: " OF_NO_USE);
}

/* Else a node would ask its old Redis for what is meant for the new one. */
static void another_redis_has_what_is_for_it_wait_for_a_restart(void **state)
{
    const char *other = "store: {redis: \"r:6379\"}\nstore.hold: 7s\n";
    struct conf *running, *fresh;
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;

    fixture_write("ca.pem", authority.certificate, 0644);
    running = fixture_load_well(SECURE "store.tls.server_name: r\n", NULL);
    fresh = fixture_load_well(other, NULL);
    conf_reload(running, fresh, &taken, &need_restart);
    assert_string_equal(buf_text(&taken), "store.hold");
    assert_string_equal(
        buf_text(&need_restart),
        "store.redis, store.tls.ca, store.tls.server_name, the file of store.tls.ca");
    assert_true(running->store.redis.is_tls);
    assert_string_equal(running->store.tls.text[TLS_CA], authority.certificate);
    assert_string_equal(running->store.tls.server_name, "r");
    buf_fini(&taken);
    buf_fini(&need_restart);
    conf_free(running);
    conf_free(fresh);
}

static void a_reload_takes_the_files_for_redis(void **state)
{
    struct conf *running, *fresh;
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;

    fixture_write("ca.pem", authority.certificate, 0644);
    running = fixture_load_well(SECURE, NULL);
    fixture_write("ca.pem", chain, 0644);
    fresh = fixture_load_well(SECURE "store.tls.server_name: r\n", NULL);
    conf_reload(running, fresh, &taken, &need_restart);
    assert_string_equal(buf_text(&taken), "store.tls.server_name, the file of store.tls.ca");
    assert_string_equal(buf_text(&need_restart), "");
    assert_string_equal(running->store.tls.text[TLS_CA], chain);
    assert_string_equal(running->store.tls.server_name, "r");
    buf_fini(&taken);
    buf_fini(&need_restart);
    conf_free(running);
    conf_free(fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(there_is_none_unless_it_is_wanted),
        IN_DIRECTORY(the_files_are_read),
        IN_DIRECTORY(a_port_needs_a_certificate_and_that_its_key),
        IN_DIRECTORY(what_cannot_be_read_is_named),
        IN_DIRECTORY(a_key_that_others_may_read_is_none),
        IN_DIRECTORY(the_files_must_fit_together),
        IN_DIRECTORY(a_byte_of_zero_is_refused),
        IN_DIRECTORY(a_chain_with_a_mistake_is_refused),
        IN_DIRECTORY(a_short_key_is_too_weak),
        IN_DIRECTORY(a_reload_takes_the_files_where_their_names_are_the_same),
        IN_DIRECTORY(the_authorities_of_redis_are_read),
        IN_DIRECTORY(a_certificate_for_redis_needs_its_key_and_nothing_else),
        IN_DIRECTORY(what_is_wrong_with_a_file_for_redis_is_told),
        IN_DIRECTORY(without_tls_nobody_asks_for_them),
        IN_DIRECTORY(another_redis_has_what_is_for_it_wait_for_a_restart),
        IN_DIRECTORY(a_reload_takes_the_files_for_redis),
    };

    return cmocka_run_group_tests(tests, make_certificates, free_certificates);
}
