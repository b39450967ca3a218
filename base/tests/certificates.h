/* Certificates for tests, made anew in each run: none lies in git, and none ends there. */
#ifndef DUEQ_BASE_TESTS_CERTIFICATES_H
#define DUEQ_BASE_TESTS_CERTIFICATES_H

#include <stdbool.h>
#include <stdint.h>

/* PEM; the caller's to pem_free(). */
struct pem {
    char *certificate;
    char *key;
};

struct pem_wish {
    const char *name;     /* its common name */
    const struct pem *by; /* who vouches for it; NULL: it does itself */
    bool is_authority;
    int64_t begins_s, ends_s; /* from now on; ends_s 0: in a day */
    unsigned rsa_bits;        /* 0: a key on the curve P-256 */
    const char *alternatives; /* its subject alternative names; NULL: those of loopback */
};

struct pem pem_make(const struct pem_wish *wish);
void pem_free(struct pem *pem);

/* The key of `pem` under a password; the caller's. */
char *pem_lock(const struct pem *pem);

#endif
