/* cmocka, with the headers that it wants before it. */
#ifndef DUEQ_BASE_TESTS_UNIT_H
#define DUEQ_BASE_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
