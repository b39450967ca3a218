/* Steps of the tests for topics as a whole: sweeps, lists, settings. All of TOPIC. */
#ifndef DUEQ_NODE_STORE_CONTRACT_WHOLE_H
#define DUEQ_NODE_STORE_CONTRACT_WHOLE_H

#include "node/store/contract/contract.h"

extern const struct contract_part contract_dead, contract_lists, contract_settings;
extern const struct contract_part contract_history, contract_quotas, contract_extras;

/* ---- sweeps; successful ---- */

struct op kick(unsigned limit);
struct op kick_of(int64_t since_ms, int64_t before_ms);
struct op purge(enum job_state state, unsigned limit);
struct op purge_dead_of(int64_t since_ms, int64_t before_ms);

/* ---- lists ---- */

struct op list(enum job_state state, struct bytes after, unsigned limit);

/* These ids, in this order, are all of that state: told on one page, and on pages of one. */
void assert_list(enum job_state state, unsigned count, const char *const *ids);
#define ASSERT_LIST(state, ...)                                                \
    assert_list(state, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
                (const char *[]){__VA_ARGS__})
#define ASSERT_NONE_LISTED(state) assert_list(state, 0, NULL)

/* ---- settings; successful ---- */

/* The settings of `mask` take the values of `settings`. */
struct op configure(struct topic_settings settings, unsigned mask);

struct op pause_op(struct bytes topic, int64_t until_ms, int64_t ms);
struct op pause_until(int64_t until_ms); /* SETTINGS_FOREVER; 0 resumes */
struct op pause_for(int64_t ms);
struct op set_dead_max(int64_t dead_max);
struct op set_dead_age(int64_t dead_age_ms);

struct topic_settings settings_of(struct bytes topic);

/* How often the settings of `topic` were said to have changed; waits for what is on its way. */
unsigned settings_heard(struct bytes topic);

/* Scans TOPIC's bucket until there is nothing due any more; what all scans did together. */
struct op scan_all(void);

/* ---- deaths ---- */

/* Dead jobs, each in a later millisecond than the one before; `died_ms` takes the times. */
void make_dead_apart(unsigned count, const char *const *ids, int64_t *died_ms);

#endif
