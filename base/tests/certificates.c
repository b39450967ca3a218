#include "base/tests/certificates.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/bytes.h"

#define DAY_S 86400

static void want(bool is_done)
{
    if (!is_done)
        abort();
}

static char *text_of(BIO *from)
{
    char *at;
    long len = BIO_get_mem_data(from, &at);
    char *copy = bytes_copy(bytes_of(at, (size_t)len));

    BIO_free(from);
    return copy;
}

static EVP_PKEY *read_key(const struct pem *pem)
{
    BIO *from = must(BIO_new_mem_buf(pem->key, -1));
    EVP_PKEY *key = must(PEM_read_bio_PrivateKey(from, NULL, NULL, NULL));

    BIO_free(from);
    return key;
}

static void name_issuer(X509 *certificate, const struct pem *by)
{
    BIO *from = must(BIO_new_mem_buf(by->certificate, -1));
    X509 *issuer = must(PEM_read_bio_X509(from, NULL, NULL, NULL));

    want(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1);
    X509_free(issuer);
    BIO_free(from);
}

static void extend(X509 *certificate, int nid, const char *value)
{
    X509_EXTENSION *extension = must(X509V3_EXT_conf_nid(NULL, NULL, nid, value));

    want(X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static X509 *describe(const struct pem_wish *wish, EVP_PKEY *key)
{
    X509 *x = must(X509_new());
    X509_NAME *name = X509_get_subject_name(x);
    uint64_t serial;

    want(RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1);
    want(X509_set_version(x, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(x), wish->begins_s) &&
         X509_gmtime_adj(X509_getm_notAfter(x), wish->ends_s ? wish->ends_s : DAY_S) &&
         X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)"dueq", -1,
                                    -1, 0) == 1 &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    (const unsigned char *)wish->name, -1, -1, 0) == 1 &&
         X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key) == 1);
    extend(x, NID_basic_constraints, wish->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (!wish->is_authority)
        extend(x, NID_subject_alt_name,
               wish->alternatives ? wish->alternatives : "DNS:localhost,IP:127.0.0.1");
    return x;
}

struct pem pem_make(const struct pem_wish *wish)
{
    EVP_PKEY *key = must(wish->rsa_bits ? EVP_RSA_gen(wish->rsa_bits) : EVP_EC_gen("P-256"));
    EVP_PKEY *signer = wish->by ? read_key(wish->by) : key;
    BIO *as_text = must(BIO_new(BIO_s_mem())), *key_text = must(BIO_new(BIO_s_mem()));
    X509 *x = describe(wish, key);

    if (wish->by)
        name_issuer(x, wish->by);
    want(X509_sign(x, signer, EVP_sha256()) > 0 && PEM_write_bio_X509(as_text, x) == 1 &&
         PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL) == 1);
    X509_free(x);
    if (signer != key)
        EVP_PKEY_free(signer);
    EVP_PKEY_free(key);
    return (struct pem){.certificate = text_of(as_text), .key = text_of(key_text)};
}

void pem_free(struct pem *pem)
{
    free(pem->certificate);
    free(pem->key);
}

char *pem_lock(const struct pem *pem)
{
    EVP_PKEY *key = read_key(pem);
    BIO *to = must(BIO_new(BIO_s_mem()));

    want(PEM_write_bio_PKCS8PrivateKey(to, key, EVP_aes_128_cbc(), "word", 4, NULL, NULL) == 1);
    EVP_PKEY_free(key);
    return text_of(to);
}
