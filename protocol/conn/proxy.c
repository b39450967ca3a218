#include "protocol/conn/proxy.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/network.h"

#define TEXT_MAX 107 /* with its end of line */

#define SIGNATURE    "\r\n\r\n\0\r\nQUIT\n"
#define HEAD_BYTES   16 /* signature, version and command, family, length */
#define VERSION_2    0x20
#define LOCAL        0
#define PROXY        1
#define UNSPECIFIED  0x00 /* family and transport */
#define ADDRESS_4    4
#define ADDRESS_6    16
#define SOURCE(size) (2 * (size)) /* where its port is: behind both addresses */

/* The bytes of `whole` that are there, up to its length. */
static bool begins_as(struct bytes input, struct bytes whole)
{
    size_t len = input.len < whole.len ? input.len : whole.len;

    return memcmp(input.at, whole.at, len) == 0;
}

/* Nobody comes from `::` or 0.0.0.0; a client from there would have no limits (peer.h). */
static bool is_nowhere(const struct peer_end *client)
{
    static const struct in6_addr nowhere_4 = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

    return IN6_IS_ADDR_UNSPECIFIED(&client->address) ||
           memcmp(&client->address, &nowhere_4, sizeof(nowhere_4)) == 0;
}

/* ---- version 1: "PROXY TCP4 10.0.0.1 10.0.0.2 40712 8000\r\n" ---- */

/* No zero in front. */
static bool read_port(struct bytes text, in_port_t *port)
{
    int64_t number;

    if (text.len == 0 || text.len > 5 || (text.len > 1 && text.at[0] == '0') ||
        !bytes_take_digits(&text, &number) || text.len || number > UINT16_MAX)
        return false;
    *port = htons((uint16_t)number);
    return true;
}

static enum proxy_result read_ends(struct bytes line, bool is_v4, struct peer_end *client)
{
    struct bytes from = bytes_cut(&line, ' '), to = bytes_cut(&line, ' ');
    struct bytes from_port = bytes_cut(&line, ' ');
    struct peer_end end, own;
    bool has_colon = from.len && memchr(from.at, ':', from.len);

    if (has_colon == is_v4 || !address_read(from, &end.address) ||
        !address_read(to, &own.address) || !read_port(from_port, &end.port) ||
        !read_port(line, &own.port) || is_nowhere(&end))
        return PROXY_BAD;
    *client = end;
    return PROXY_CLIENT;
}

static enum proxy_result read_line(struct bytes line, struct peer_end *client)
{
    struct bytes family;

    (void)bytes_cut(&line, ' '); /* PROXY */
    family = bytes_cut(&line, ' ');
    if (bytes_equal(family, BYTES("UNKNOWN")))
        return PROXY_ITSELF; /* and whatever stands behind */
    if (bytes_equal(family, BYTES("TCP4")))
        return read_ends(line, true, client);
    return bytes_equal(family, BYTES("TCP6")) ? read_ends(line, false, client) : PROXY_BAD;
}

static enum proxy_result read_text(struct bytes input, struct peer_end *client, size_t *used)
{
    size_t most = input.len < TEXT_MAX ? input.len : TEXT_MAX;
    const char *end = memchr(input.at, '\n', most);
    enum proxy_result result;

    if (!end)
        return input.len < TEXT_MAX ? PROXY_MORE : PROXY_BAD;
    if (end[-1] != '\r')
        return PROXY_BAD;
    result = read_line(bytes_of(input.at, (size_t)(end - 1 - input.at)), client);
    if (result != PROXY_BAD)
        *used = (size_t)(end + 1 - input.at);
    return result;
}

/* ---- version 2 ---- */

static struct peer_end end_of(const char *block, size_t size)
{
    struct peer_end end = {.port = 0};

    if (size == ADDRESS_4)
        end.address.s6_addr[10] = end.address.s6_addr[11] = 0xff;
    memcpy(&end.address.s6_addr[ADDRESS_6 - size], block, size);
    memcpy(&end.port, block + SOURCE(size), sizeof(end.port));
    return end;
}

/* What the protocol knows and no client of ours comes by, datagrams and unix sockets, counts as
 * unspecified; what it does not know is malformed. */
static bool is_without_address(unsigned family)
{
    static const unsigned char known[] = {UNSPECIFIED, 0x12, 0x22, 0x31, 0x32};

    return memchr(known, (int)family, sizeof(known)) != NULL;
}

/* The addresses of both ends, and both ports. */
static enum proxy_result read_block(struct bytes block, unsigned family,
                                    struct peer_end *client)
{
    size_t size = family == 0x11 ? ADDRESS_4 : family == 0x21 ? ADDRESS_6 : 0;
    struct peer_end end;

    if (is_without_address(family))
        return PROXY_ITSELF;
    if (!size || block.len < SOURCE(size) + 2 * sizeof(in_port_t))
        return PROXY_BAD;
    end = end_of(block.at, size);
    if (is_nowhere(&end))
        return PROXY_BAD;
    *client = end;
    return PROXY_CLIENT;
}

static enum proxy_result read_binary(struct bytes input, struct peer_end *client, size_t *used)
{
    const unsigned char *at = (const unsigned char *)input.at;
    enum proxy_result result = PROXY_ITSELF;
    size_t len;

    if (input.len < HEAD_BYTES)
        return PROXY_MORE;
    len = HEAD_BYTES + ((size_t)at[14] << 8 | at[15]);
    if ((at[12] != (VERSION_2 | LOCAL) && at[12] != (VERSION_2 | PROXY)) ||
        len > PROXY_HEADER_MAX)
        return PROXY_BAD;
    if (input.len < len)
        return PROXY_MORE;
    if (at[12] == (VERSION_2 | PROXY))
        result = read_block(bytes_of(input.at + HEAD_BYTES, len - HEAD_BYTES), at[13], client);
    if (result != PROXY_BAD)
        *used = len;
    return result;
}

enum proxy_result proxy_read(struct bytes input, struct peer_end *client, size_t *used)
{
    if (input.len == 0)
        return PROXY_MORE;
    if (begins_as(input, BYTES("PROXY ")))
        return read_text(input, client, used);
    return begins_as(input, BYTES(SIGNATURE)) ? read_binary(input, client, used) : PROXY_BAD;
}
