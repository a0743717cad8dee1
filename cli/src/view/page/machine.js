// Estimated times: the hierarchical roofline of `models/src/roofline.rs`, in the same arithmetic.
//
// Takes a machine (rate, links with capacity and bandwidth), work and traffic per link; gives the time of each, the one that binds, and the traffic
// below which another one binds. A time of the whole is that of the slowest part; times of nodes and lines are of each by itself, and are added up.

/** Times of one piece of work. `traffics`: bytes on each link. */
function estimate(machine, work, traffics) {
    const compute = work / (machine.efficiency * machine.peak);
    const links = traffics.map((bytes, i) => bytes / machine.links[i].bandwidth);
    const [bound, total] = slowest(compute, links);
    return { compute, links, bound, total, target: target(machine, compute, links, bound) };
}

/** The first of the longest times: -1 is the arithmetic. */
function slowest(compute, links) {
    let bound = -1;
    let longest = compute;
    links.forEach((time, i) => {
        if (time > longest) [bound, longest] = [i, time];
    });
    return [bound, longest];
}

function target(machine, compute, links, bound) {
    if (bound < 0) return null;
    const [next, time] = slowest(compute, links.map((time, i) => (i === bound ? 0 : time)));
    return time > 0 ? { traffic: time * machine.links[bound].bandwidth, next } : null;
}

/** `L2->L1`, or `compute`. */
function boundName(machine, bound) {
    if (bound < 0) return "compute";
    return `${machine.links[bound + 1]?.level ?? "mem"}->${machine.links[bound].level}`;
}

/** Whether a guess is behind what binds. */
function isGuess(machine, bound) {
    return bound < 0 ? machine.compute_guess : machine.links[bound].guess;
}

/** Sums of times by node, line and function, each by itself. */
function timesOf(profile, machine, work) {
    const ops = profile.sums[work];
    const links = machine.links.map((link) => trafficSums(profile, link.capacity));
    const rate = machine.efficiency * machine.peak;
    const times = (kind) => {
        const list = ops[kind].map((n) => n / rate);
        links.forEach((sums, i) => {
            const { bandwidth } = machine.links[i];
            for (let at = 0; at < list.length; at += 1) list[at] = Math.max(list[at], sums[kind][at] / bandwidth);
        });
        return list;
    };
    const sums = { node: times("node"), line: times("line"), fn: times("fn") };
    sums.total = sums.fn.reduce((sum, time) => sum + time, 0);
    return sums;
}

const TRAFFIC = new WeakMap();

/** Traffic at a capacity, by node, line and function; capacities of machines are asked for often. */
function trafficSums(profile, capacity) {
    let kept = TRAFFIC.get(profile);
    if (!kept) TRAFFIC.set(profile, kept = new Map());
    if (!kept.has(capacity)) kept.set(capacity, profile.spread(traffic(profile, capacity)));
    return kept.get(capacity);
}

/** The program, and each function that works or reads, the longest times first: as `dmdprof roofline` has them. */
function roofline(profile, machine, work) {
    const links = machine.links.map((link) => trafficSums(profile, link.capacity));
    const line = (fn) => {
        const value = (sums) => (fn === null ? sums.total : sums.fn[fn]);
        const amount = value(profile.sums[work]);
        const traffics = links.map(value);
        return { fn, work: amount, traffics, ...estimate(machine, amount, traffics) };
    };
    const functions = profile.functions.map((_, fn) => fn)
        .filter((fn) => profile.sums[work].fn[fn] > 0 || profile.sums.read.fn[fn] > 0).map(line);
    functions.sort((a, b) => b.total - a.total);
    const all = functions.reduce((sum, f) => sum + f.total, 0);
    functions.forEach((f) => { f.share = all > 0 ? f.total / all : 0; });
    return { program: line(null), functions };
}

/** What would help, in words. */
function advice(machine, found, name) {
    if (found.bound < 0) return `${name} is bound by compute: less traffic does not make it faster.`;
    const link = boundName(machine, found.bound);
    const now = found.traffics[found.bound];
    if (!found.target) return `${name} is bound by ${link} (${bytes(now)}), and nothing else takes time: half the traffic is half the time.`;
    const times = (now / found.target.traffic).toFixed(1);
    return `${name} is bound by ${link} (${bytes(now)} now); with less than ${bytes(found.target.traffic)} there it is bound by `
        + `${boundName(machine, found.target.next)}, and up to ${times} times as fast.`;
}
