// Primes, a sorted list of objects, and strings.
var say = typeof print === "function" ? print : console.log;
var limit = 20000, composite = [], count = 0;
for (var i = 2; i < limit; i++) {
    if (composite[i]) continue;
    count++;
    for (var j = i * 2; j < limit; j += i) composite[j] = true;
}
say("primes " + count);
var people = [];
for (var k = 0; k < 500; k++) people.push({ name: "n" + (k * 7919 % 1000), age: k * 31 % 97 });
people.sort(function (a, b) { return a.age - b.age || (a.name < b.name ? -1 : 1); });
say(people[0].name + " " + people[499].name);
say(people.map(function (p) { return p.name; }).join("").replace(/[0-4]/g, "").length);
