/* Shared by the checks between keys: check*.c. */
#ifndef DUEQ_CONF_CHECK_H
#define DUEQ_CONF_CHECK_H

#include "conf/load.h"

#define CHECK_KEYS_MAX (3 + CONF_PORTS)
#define CHECK_WHY_MAX  1024 /* bytes of a complaint; a longer one is cut */

/* The keys of all ports for clients. */
#define CHECK_PORT_KEYS                 CONF_PORT_LIST(CHECK_PORT_KEY)
#define CHECK_PORT_KEY(name, word, ...) word ".listen",

/* The keys that say whether the ports speak TLS. */
#define CHECK_PORT_TLS_KEYS                 CONF_PORT_LIST(CHECK_PORT_TLS_KEY)
#define CHECK_PORT_TLS_KEY(name, word, ...) word ".tls",

/* A rule is judged only when none of its keys is bad. */
struct check_rule {
    void (*judge)(struct conf_draft *d);
    const char *keys[CHECK_KEYS_MAX];
};

void check_rules(struct conf_draft *d, const struct check_rule *these, size_t count);

/* Complains about the key `path`, at the place of its value. */
void check_complain(struct conf_draft *d, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Complains about the key `path` unless `program` is the absolute path of a program that can be
 * run. */
void check_program(struct conf_draft *d, const char *path, const char *program);

/* Is the address 0.0.0.0 (AF_INET) or :: (AF_INET6), in any spelling? */
bool check_is_everywhere(const struct conf_address *address, int family);

/* The key of the port that listens at the address, or NULL. For the address of a port itself,
 * only the ports before that port are looked at. */
const char *check_port_at(const struct conf_draft *d, const struct conf_address *address);

/* Of the section `ha`; in check_ha.c. */
void check_ha(struct conf_draft *d);

/* Of the section `vip`; in check_vip.c. */
void check_vip(struct conf_draft *d);

/* Reads the files of the section `tls` and judges them; in check_tls.c. */
void check_tls(struct conf_draft *d);

/* The number of rows of `topics`, and each row; in topics.c. */
void check_topics(struct conf_draft *d);

#endif
