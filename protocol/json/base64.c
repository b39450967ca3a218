#include "protocol/json/base64.h"

#include <stdint.h>

/* The value of each digit plus one; 0: not a digit. */
static const unsigned char digits[256] = {
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
        uint32_t value = digits[at[i]] - 1U;

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

bool json_base64_decode(struct bytes text, struct bytes *out)
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
