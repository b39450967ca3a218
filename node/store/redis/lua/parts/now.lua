-- The clock this script runs by, floored to the millisecond.
local time = call('TIME')
local micros = tonumber(time[2])
local now = time[1] * 1000 + (micros - micros % 1000) / 1000

