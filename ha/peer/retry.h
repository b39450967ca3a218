/* When and where to try again. */
#ifndef DUEQ_HA_PEER_RETRY_H
#define DUEQ_HA_PEER_RETRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The wait after so many attempts in vain: 20 ms, doubled each time, 1 s at most; of that by
 * chance between a half and all, so that nodes that lost one another do not meet in step. */
int64_t peer_retry_ms(unsigned attempts);

/* A name may have several addresses ("address:port,[address]:port"): each attempt takes the
 * next one. False when there is none. */
bool peer_retry_address(const char *servers, unsigned attempts, struct sockaddr_storage *at,
                        int *at_len);

#endif
