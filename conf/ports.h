/* The ports for clients: a row for each dialect that listens.
 *
 *   X(NAME, "word")   the word is in logs, metrics and the status; its key is "word.listen"
 *
 * A row here gives the dialect its listener in the warden and in the worker, and the checks of
 * its address. The key itself is in table.c, beside the dialect's others; how it begins to
 * serve is a row in node/ports.c.
 */
#ifndef DUEQ_CONF_PORTS_H
#define DUEQ_CONF_PORTS_H

#define CONF_PORT_LIST(X) \
    X(GMQ, "gmq")         \
    X(HTTP, "http")

enum conf_port {
#define X(name, word) PORT_##name,
    CONF_PORT_LIST(X)
#undef X
        CONF_PORTS
};

/* "gmq"; and "gmq.listen". */
const char *conf_port_word(enum conf_port port);
const char *conf_port_key(enum conf_port port);

#endif
