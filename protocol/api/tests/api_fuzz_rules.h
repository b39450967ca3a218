/* The rules of the API's requests a second time, in the plainest way: what api_fuzz.c judges
 * the decoders by. On jansson's trees, which have each member once. */
#ifndef DUEQ_PROTOCOL_API_TESTS_API_FUZZ_RULES_H
#define DUEQ_PROTOCOL_API_TESTS_API_FUZZ_RULES_H

#include <jansson.h>

#include "base/bytes.h"
#include "node/store/op.h"

struct bytes fuzz_text_of(const json_t *string);

/* Of a member, or what stands for it where it is not given. */
int64_t fuzz_number_of(const json_t *object, const char *name, int64_t fallback);

bool fuzz_is_good_push(json_t *job);
bool fuzz_is_good_backoff(const json_t *backoff);
bool fuzz_is_good_lease(json_t *object, const char *number, int64_t max);
bool fuzz_is_good_sweep(json_t *object, enum op_verb verb);
bool fuzz_are_good_settings(json_t *object);

/* Two numbers, one of which may be given, or with `members` 1 must be. */
bool fuzz_is_good_time(json_t *object, const char *of_now, const char *fixed, int64_t min,
                       int64_t fixed_min, int64_t fixed_max, size_t members);

/* 1 << enum job_state of each; 0: the list is wrong. */
unsigned fuzz_states_of(const json_t *list);

#endif
