#include "base/encoding.h"

/* ---- UTF-8 ---- */

static size_t length_by_lead(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2)
        return 0;
    if (lead < 0xe0)
        return 2;
    if (lead < 0xf0)
        return 3;
    return lead < 0xf5 ? 4 : 0;
}

/* Overlong forms, surrogates and what lies above U+10FFFF show in the second byte. */
static bool is_second_byte(unsigned char lead, unsigned char second)
{
    switch (lead) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return true;
    }
}

size_t utf8_length(const unsigned char *at, size_t left)
{
    size_t len = length_by_lead(at[0]);

    if (len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return len < 2 || is_second_byte(at[0], at[1]) ? len : 0;
}

/* ---- base64 ---- */

void base64_add(struct buf *out, struct bytes bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)bytes.at;

    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t have = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t three = (uint32_t)at[i] << 16;
        char four[4];

        three |= have > 1 ? (uint32_t)at[i + 1] << 8 : 0;
        three |= have > 2 ? at[i + 2] : 0;
        for (unsigned k = 0; k < 4; k++)
            four[k] = k <= have ? digits[three >> (18 - 6 * k) & 63] : '=';
        buf_add(out, four, sizeof(four));
    }
}

/* The value of each digit plus one; 0: not a digit. */
static const unsigned char base64_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,
    ['H'] = 8,  ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14,
    ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21,
    ['V'] = 22, ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28,
    ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35,
    ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
    ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49,
    ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63,
    ['/'] = 64,
};

/* The 24 bits of four digits. A character that is no digit sets bits above them. */
static uint32_t read_four(const unsigned char *at)
{
    uint32_t four = 0, wrong = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t value = base64_values[at[i]] - 1U;

        four = four << 6 | (value & 63);
        wrong |= value & ~63U;
    }
    return four | (wrong ? 0xff000000 : 0);
}

static char *put_bytes(char *to, uint32_t three, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        *to++ = (char)(three >> (16 - 8 * i) & 0xff);
    return to;
}

static unsigned count_padding(struct bytes text)
{
    if (text.at[text.len - 1] != '=')
        return 0;
    return text.at[text.len - 2] == '=' ? 2 : 1;
}

/* The last four digits: padding counts as zeros, and the unused bits must be zero, too. */
static bool read_last(const unsigned char *at, unsigned padding, uint32_t *three)
{
    unsigned char last[4];

    memcpy(last, at, sizeof(last));
    memset(last + 4 - padding, 'A', padding);
    *three = read_four(last);
    return !(*three >> 24) && !(*three & ((1U << 8 * padding) - 1));
}

bool base64_decode(struct bytes text, struct bytes *out)
{
    const unsigned char *from = (const unsigned char *)text.at, *last;
    char *to = (char *)text.at;
    uint32_t three;
    unsigned padding;

    if (text.len % 4 != 0)
        return false;
    if (text.len == 0) {
        *out = text;
        return true;
    }
    padding = count_padding(text);
    for (last = from + text.len - 4; from < last; from += 4) {
        three = read_four(from);
        if (three >> 24)
            return false;
        to = put_bytes(to, three, 3);
    }
    if (!read_last(last, padding, &three))
        return false;
    to = put_bytes(to, three, 3 - padding);
    *out = bytes_of(text.at, (size_t)(to - text.at));
    return true;
}

/* ---- hexadecimal ---- */

void hex_add(struct buf *out, const void *at, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = at;
    char *to = buf_reserve(out, 2 * len);

    for (size_t i = 0; i < len; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    out->len += 2 * len;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_read(struct bytes text, void *to, size_t len)
{
    unsigned char *bytes = to;

    if (text.len != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* ---- numbers ---- */

bool digits_read(struct bytes text, int64_t *number)
{
    int64_t found = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        if (__builtin_mul_overflow(found, 10, &found) ||
            __builtin_add_overflow(found, text.at[i] - '0', &found))
            found = INT64_MAX;
    }
    *number = found;
    return text.len > 0;
}

bool number_read(struct bytes text, int64_t *number)
{
    bool is_negative = text.len && text.at[0] == '-';
    int64_t found;

    if (!digits_read(bytes_of(text.at + is_negative, text.len - is_negative), &found))
        return false;
    *number = is_negative ? -found : found;
    return true;
}
