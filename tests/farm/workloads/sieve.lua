-- Primes, a sorted list of tables, and strings.
local limit, composite, count = 30000, {}, 0
for i = 2, limit do
  if not composite[i] then
    count = count + 1
    for j = i * 2, limit, i do composite[j] = true end
  end
end
print("primes", count)
local people = {}
for k = 1, 800 do people[k] = { name = "n" .. (k * 7919 % 1000), age = k * 31 % 97 } end
table.sort(people, function(a, b) return a.age < b.age or a.age == b.age and a.name < b.name end)
print(people[1].name, people[800].name)
local names = {}
for k, person in ipairs(people) do names[k] = person.name:gsub("[0-4]", "") end
print(#table.concat(names))
