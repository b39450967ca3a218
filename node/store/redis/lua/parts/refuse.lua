-- A push that is refused when it is said again is noted, too, with its code for an id: the first
-- saying may still come, and would find that nothing is in its way any more.   (of push.lua)
if u and note % THERE >= AGAIN then
    call('SETRANGE', u, ARGV[5], pack('>I6I7I6B', number, code, 0, REFUSED))
end
