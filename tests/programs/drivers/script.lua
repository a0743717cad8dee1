-- Tables, closures, strings, metatables, coroutines, errors through pcall, collections. Output must not depend on
-- addresses, time or the order of pairs().
math.randomseed(42)

local function sieve(n)
  local composite, count = {}, 0
  for i = 2, n do
    if not composite[i] then
      count = count + 1
      for j = i * i, n, i do composite[j] = true end
    end
  end
  return count
end
print("primes", sieve(100000))

local function counter()
  local n = 0
  return function(by) n = n + (by or 1); return n end
end
local a, b = counter(), counter()
for i = 1, 20000 do a(); b(i) end
print("closures", a(), b())

local words = {}
for i = 1, 3000 do words[#words + 1] = ("w%03d"):format(i * 7919 % 613) end
local text = table.concat(words, " ")
local counts = {}
for word in text:gmatch("%a%d+") do counts[word] = (counts[word] or 0) + 1 end
local keys = {}
for key in pairs(counts) do keys[#keys + 1] = key end
table.sort(keys, function(x, y) if counts[x] ~= counts[y] then return counts[x] > counts[y] end return x < y end)
print("words", #keys, keys[1], counts[keys[1]], (text:gsub("w0+", "<")):sub(1, 40), text:find("w612", 1, true))

local Vector = {}
Vector.__index = Vector
Vector.__add = function(u, v) return setmetatable({ x = u.x + v.x, y = u.y + v.y }, Vector) end
Vector.__eq = function(u, v) return u.x == v.x and u.y == v.y end
function Vector:dot(v) return self.x * v.x + self.y * v.y end
local sum = setmetatable({ x = 0, y = 0 }, Vector)
for i = 1, 20000 do sum = sum + setmetatable({ x = i, y = -i }, Vector) end
print("vectors", sum.x, sum.y, sum:dot(sum))

local function permutations(n)
  return coroutine.wrap(function()
    local items = {}
    for i = 1, n do items[i] = i end
    local function go(k)
      if k == 0 then coroutine.yield(table.concat(items)) return end
      for i = 1, k do
        items[i], items[k] = items[k], items[i]
        go(k - 1)
        items[i], items[k] = items[k], items[i]
      end
    end
    go(n)
  end)
end
local count, last = 0, nil
for p in permutations(7) do count = count + 1; last = p end
print("permutations", count, last)

local caught = 0
local function fail(depth)
  if depth == 0 then error({ code = 7 }) end
  return (fail(depth - 1)) + 1
end
for i = 1, 2000 do
  local ok, e = pcall(fail, i % 30)
  if not ok and e.code == 7 then caught = caught + 1 end
end
print("errors", caught, select(2, pcall(function() local t = nil; return t.field end)))
local co = coroutine.create(function() local ok = pcall(coroutine.yield, 1); error("after " .. tostring(ok)) end)
print("coroutine", coroutine.resume(co), select(2, coroutine.resume(co)):match("after true"), coroutine.status(co))
print("stack", pcall(function() local function f() return 1 + f() end return f() end) == false)

local function matmul(n)
  local x, y, z = {}, {}, 0
  for i = 1, n do x[i], y[i] = {}, {} for j = 1, n do x[i][j], y[i][j] = i + j, i - j end end
  for i = 1, n do for j = 1, n do local s = 0 for k = 1, n do s = s + x[i][k] * y[k][j] end z = z + s * (i % 3) end end
  return z
end
print("matmul", matmul(60))

local random = 0
for _ = 1, 1000 do random = random + math.random(1, 100) end
print("random", random)
collectgarbage()
print("pack", string.pack("<i4z", 7, "seven"):byte(1, -1))
