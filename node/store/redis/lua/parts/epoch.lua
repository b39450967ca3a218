-- The counter follows the clock: so many numbers for each millisecond since 2026 began.
local EPOCH_MS, NUMBERS_PER_MS = 1767225600000, 32
