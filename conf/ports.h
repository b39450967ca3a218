/* The ports for clients: a row for each dialect that listens.
 *
 *   X(NAME, "word", default, help, KEYS)
 *
 * The word is in logs, metrics and the status. The key "word.listen" has this default ("": the
 * port is off) and this line of help. KEYS is the macro in table.c with the dialect's other
 * keys, empty where it has none.
 *
 * A row here gives the dialect its key, the checks of its address, and a listener in the warden
 * and in the worker; a row in node/ports.c starts the dialect.
 */
#ifndef DUEQ_CONF_PORTS_H
#define DUEQ_CONF_PORTS_H

/* clang-format off */
#define CONF_PORT_LIST(X)                                                                      \
    X(GMQ, "gmq", "127.0.0.1:9503", "where clients in the manner of gmq connect", GMQ_KEYS)    \
    X(HTTP, "http", "127.0.0.1:8000", "where the HTTP API, health and metrics are", HTTP_KEYS)
/* clang-format on */

enum conf_port {
#define X(name, ...) PORT_##name,
    CONF_PORT_LIST(X)
#undef X
        CONF_PORTS
};

/* "gmq"; and "gmq.listen". */
const char *conf_port_word(enum conf_port port);
const char *conf_port_key(enum conf_port port);

#endif
