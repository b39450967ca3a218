#include "ha/vip/address.h"

#include <string.h>
#include <arpa/inet.h>

size_t vip_address_len(const struct vip_address *a)
{
    return a->family == AF_INET ? 4 : 16;
}

static bool is_host_v4(const unsigned char *b)
{
    bool is_link_local = b[0] == 169 && b[1] == 254;

    return b[0] != 0 && b[0] != 127 && b[0] < 224 && !is_link_local;
}

static bool is_host_v6(const unsigned char *b)
{
    static const unsigned char zeros[10];
    bool is_special = !memcmp(b, zeros, sizeof(zeros)); /* ::, ::1, IPv4 in disguise */
    bool is_link_local = b[0] == 0xfe && (b[1] & 0xc0) == 0x80;

    return !is_special && !is_link_local && b[0] != 0xff;
}

static bool parse_one(struct vip_address *a, const char *at, size_t len)
{
    char text[INET6_ADDRSTRLEN];

    *a = (struct vip_address){.family = memchr(at, ':', len) ? AF_INET6 : AF_INET};
    if (len >= sizeof(text))
        return false;
    memcpy(text, at, len);
    text[len] = '\0';
    if (inet_pton(a->family, text, a->bytes) != 1)
        return false;
    inet_ntop(a->family, a->bytes, a->text, sizeof(a->text));
    return a->family == AF_INET ? is_host_v4(a->bytes) : is_host_v6(a->bytes);
}

static bool have(const struct vip_addresses *these, int family, const void *bytes)
{
    for (size_t i = 0; i < these->count; i++) {
        const struct vip_address *a = &these->at[i];

        if (a->family == family && !memcmp(a->bytes, bytes, vip_address_len(a)))
            return true;
    }
    return false;
}

enum status vip_addresses_parse(struct vip_addresses *to, const char *text)
{
    struct vip_addresses read = {.count = 0};

    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        struct vip_address *a = &read.at[read.count];

        if (read.count == VIP_ADDRESSES_MAX || !parse_one(a, at, len) ||
            have(&read, a->family, a->bytes))
            return STATUS_BAD_REQUEST;
        read.count++;
        at += len;
        if (!*at)
            break;
    }
    *to = read;
    return STATUS_OK;
}

bool vip_addresses_have(const struct vip_addresses *these, const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;

    if (address->sa_family == AF_INET)
        return have(these, AF_INET, &v4->sin_addr);
    if (address->sa_family != AF_INET6)
        return false;
    return IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)
               ? have(these, AF_INET, v6->sin6_addr.s6_addr + 12)
               : have(these, AF_INET6, &v6->sin6_addr);
}
