-- Strings, tables and a sort step, in a few million accesses.
local words, n = {}, 0
for i = 1, 4000 do words[i] = ('%d-%s'):format(i * 7919 % 1000, ('ab'):rep(i % 9)) end
for i = 2, 4000 do if words[i - 1] < words[i] then words[i - 1], words[i] = words[i], words[i - 1] end end
for i, w in ipairs(words) do n = n + #w:gsub('a', 'xy') + i % 3 end
print(n)
