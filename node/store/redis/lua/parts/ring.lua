local ENTRY_BYTES = 20 -- of the ledger's ring, as in push_ledger.h
