/* Any bytes as the file of identities: what is taken says the same again, and is found. */
#include <assert.h>
#include <stdlib.h>

#include "protocol/access/access.h"

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Each line that is an identity is printed as one that reads back alike. */
static void read_back(struct bytes line)
{
    struct buf first = BUF_INIT, second = BUF_INIT;
    const char *why = NULL;
    struct identity *identity = identity_parse(line, &why), *again;

    assert(!identity == (why != NULL));
    if (!identity)
        return;
    identity_print(&first, identity);
    again = identity_parse(buf_bytes(&first), &why);
    assert(again && again->until_ms == identity->until_ms && again->roles == identity->roles);
    identity_print(&second, again);
    assert(bytes_equal(buf_bytes(&first), buf_bytes(&second)));
    for (unsigned i = 0; i < identity->topic_count; i++) {
        struct bytes pattern = identity->topics[i];

        assert(identity_has_topic(identity, pattern));
        pattern.len -= pattern.at[pattern.len - 1] == '*';
        assert(identity_has_topic(again, pattern));
    }
    identity_drop(identity);
    identity_drop(again);
    buf_fini(&first);
    buf_fini(&second);
}

/* As Redis's it is taken whatever it says, beside a file that stays as it is: nobody of it has
 * the name, the token or the certificate's name of the file's. */
static void take_as_spare(struct bytes text)
{
    static const struct bytes file = BYTES("shop produce token=" HASH " cert=DNS:a\n");
    struct access *access = access_new();
    struct buf why = BUF_INIT, line = BUF_INIT;
    struct identity *shop;

    if (access_take_both(access, file, text, &why))
        abort();
    shop = access_of_name(access, BYTES("shop"), 0);
    identity_print(&line, shop);
    assert(bytes_equal(buf_bytes(&line), bytes_of(file.at, file.len - 1)));
    assert(access_of_certificate(access, BYTES("DNS:a\n"), 0) == shop);
    assert(!access_rival_of(access, shop));
    buf_fini(&why);
    buf_fini(&line);
    access_free(access);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct bytes text = bytes_of((const char *)data, size);
    struct access *access = access_new();
    struct buf why = BUF_INIT;

    if (access_take(access, text, &why))
        assert(why.len);
    (void)access_of_token(access, text, 0);
    (void)access_of_name(access, text, 0);
    (void)access_of_certificate(access, text, 0);
    read_back(text);
    take_as_spare(text);
    buf_fini(&why);
    access_free(access);
    return 0;
}
