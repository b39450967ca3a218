#include "node/queue/lease_checks.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

#include "node/store/packed.h"

/* ---- the check itself ---- */

static void must_work(bool works)
{
    if (!works)
        abort(); /* out of memory, or a libcrypto without HMAC-SHA256 */
}

static EVP_MAC_CTX *mac_new(void)
{
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};

    must_work(ctx && EVP_MAC_CTX_set_params(ctx, params));
    EVP_MAC_free(hmac);
    return ctx;
}

void lease_mac_set_key(struct lease_mac *m, const unsigned char key[STORE_LEASE_KEY_BYTES])
{
    if (m->keyed && !memcmp(m->key, key, sizeof(m->key)))
        return;
    if (!m->keyed)
        m->keyed = mac_new();
    memcpy(m->key, key, sizeof(m->key));
    must_work(EVP_MAC_init(m->keyed, key, sizeof(m->key), NULL));
}

void lease_mac_fini(struct lease_mac *m)
{
    EVP_MAC_CTX_free(m->keyed);
    buf_fini(&m->message);
    OPENSSL_cleanse(m, sizeof(*m));
}

static void add_number(struct buf *to, unsigned bytes, int64_t number)
{
    char packed[8];

    packed_put(packed, bytes, number);
    buf_add(to, packed, bytes);
}

static void add_text(struct buf *to, struct bytes text)
{
    add_number(to, 4, (int64_t)text.len);
    buf_add_bytes(to, text);
}

uint64_t lease_mac_check(struct lease_mac *m, struct bytes topic, struct bytes id,
                         int64_t stamp)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    uint64_t check = 0;
    size_t len;

    buf_clear(&m->message);
    add_number(&m->message, 8, stamp);
    add_text(&m->message, topic);
    add_text(&m->message, id);
    /* Without a key EVP_MAC_init() begins anew with the one before, and computes nothing. */
    must_work(EVP_MAC_init(m->keyed, NULL, 0, NULL) &&
              EVP_MAC_update(m->keyed, (const unsigned char *)m->message.at, m->message.len) &&
              EVP_MAC_final(m->keyed, mac, &len, sizeof(mac)));
    for (unsigned i = 0; i < sizeof(check); i++)
        check = check << 8 | mac[i];
    return check;
}

/* ---- the rules ---- */

static enum lease_readers readers(const struct lease_checks *c)
{
    return c->read_readers ? c->read_readers(c->readers_arg) : LEASE_READERS_ALL;
}

static const struct store_lease_key *key_of(const struct lease_checks *c)
{
    return &c->core->store->lease_key;
}

static bool hands_out_checks(const struct lease_checks *c)
{
    enum lease_readers can = LEASE_READERS_ALL;

    if (c->core->options.lease_check == QUEUE_LEASE_CHECK_OFF)
        return false;
    if (c->core->options.lease_check == QUEUE_LEASE_CHECK_AUTO)
        can = readers(c);
    return can == LEASE_READERS_ALL || (can == LEASE_READERS_UNKNOWN && !key_of(c)->has_bare);
}

bool lease_checks_takes_bare(const struct lease_checks *c)
{
    enum queue_lease_check rule = c->core->options.lease_check;

    return rule == QUEUE_LEASE_CHECK_OFF ||
           (rule == QUEUE_LEASE_CHECK_AUTO &&
            (key_of(c)->has_bare || readers(c) == LEASE_READERS_SOME));
}

/* What counts now has to count later, too; the next look of the store tells the other nodes. */
static void keep_has_bare(struct lease_checks *c)
{
    if (lease_checks_takes_bare(c))
        c->core->store->lease_key.has_bare = true;
}

bool lease_checks_make(struct lease_checks *c, const struct pop *pop, uint64_t *checks)
{
    if (!hands_out_checks(c)) {
        keep_has_bare(c);
        return false;
    }
    lease_mac_set_key(&c->mac, key_of(c)->bytes);
    for (unsigned i = 0; i < pop->job_count; i++)
        checks[i] = lease_mac_check(&c->mac, pop->topic, pop->jobs[i].id, pop->jobs[i].stamp);
    return true;
}

static bool is_right(struct lease_checks *c, const struct op *op)
{
    uint64_t check;

    if (!op->in.lease.has_check) {
        keep_has_bare(c);
        return lease_checks_takes_bare(c);
    }
    lease_mac_set_key(&c->mac, key_of(c)->bytes);
    check = lease_mac_check(&c->mac, op->topic, op->id, op->in.lease.stamp);
    return !CRYPTO_memcmp(&check, &op->in.lease.check, sizeof(check));
}

static void judge_and_send(void *arg, struct op *op)
{
    struct lease_checks *c = arg;

    if (!is_right(c, op))
        op->in.lease.stamp = 0;
    core_send(c->core, op);
}

void lease_checks_send(struct lease_checks *c, struct op *op)
{
    if (op->in.lease.is_nodes)
        core_send(c->core, op);
    else if (key_of(c)->is_known)
        judge_and_send(c, op);
    else
        core_send_after_read(c->core, op, judge_and_send, c);
}

void lease_checks_init(struct lease_checks *c, struct core *core)
{
    *c = (struct lease_checks){.core = core};
}

void lease_checks_fini(struct lease_checks *c)
{
    lease_mac_fini(&c->mac);
}
