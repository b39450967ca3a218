/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef DUEQ_PROTOCOL_JSON_UTF8_H
#define DUEQ_PROTOCOL_JSON_UTF8_H

#include <stddef.h>

/* The length of the character at the front of the `left` bytes (1 or more) at `at`; 0 when
 * there is none. */
size_t utf8_length(const unsigned char *at, size_t left);

#endif
