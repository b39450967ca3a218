#include "ha/peer/auth.h"

#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

void peer_auth_prove(const char *secret, enum peer_side side, const struct peer_hellos *hellos,
                     unsigned char mac[PEER_MAC_BYTES])
{
    struct buf said = BUF_INIT;
    unsigned len = 0;

    /* A name has no line feed, so the text can be read in one way only. */
    buf_add_text(&said, side == PEER_DIALER ? "dialer\n" : "listener\n");
    peer_wire_print(&hellos->of[PEER_DIALER], &said);
    peer_wire_print(&hellos->of[PEER_LISTENER], &said);
    if (!HMAC(EVP_sha256(), secret, (int)strlen(secret), (const unsigned char *)said.at,
              said.len, mac, &len) ||
        len != PEER_MAC_BYTES)
        abort();
    buf_fini(&said);
}

bool peer_auth_is_proven(const char *secret, enum peer_side side,
                         const struct peer_hellos *hellos,
                         const unsigned char mac[PEER_MAC_BYTES])
{
    unsigned char right[PEER_MAC_BYTES];

    peer_auth_prove(secret, side, hellos, right);
    return CRYPTO_memcmp(right, mac, sizeof(right)) == 0;
}

void peer_auth_random(void *at, size_t len)
{
    if (RAND_bytes(at, (int)len) != 1)
        abort();
}
