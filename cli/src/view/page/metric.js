// One number for everything: what the metric chooser chooses.
//
// Takes a profile and the state (metric, capacity, machine, work), gives `Values`: the number of every node, line and function, own and with
// callees, and how to write it. Traffic is counted as in the commands: at Z it is what a memory of Z bytes does not hold any more when it is read, in which
// what dies leaves its place free; lines move when they lie deeper than Z, and for the first and last time always.

const METRICS = [
    { id: "cost", title: "ByteDMD", long: "ByteDMD: the sum of ceil(sqrt(depth)) over all bytes read", text: count },
    { id: "read", title: "Bytes read", long: "Bytes read, from whatever depth", text: bytes },
    { id: "q", title: "Traffic at Z", long: "Bytes that a memory of Z bytes with LRU replacement has to fetch; what dies frees its place there", text: bytes },
    { id: "deeper", title: "Deeper than Z", long: "Bytes read from deeper than Z on the stack of live bytes, from which ByteDMD is made", text: bytes },
    { id: "moved", title: "Lines moved", long: "Bytes of the lines that a memory of Z bytes fetches and writes back", text: bytes },
    { id: "time", title: "Time estimate", long: "Estimated time on the chosen machine, each piece by itself (roofline)", text: seconds },
    { id: "written", title: "Bytes written", long: "Bytes written", text: bytes },
    { id: "flops", title: "Flops", long: "Floating-point operations; a fused multiply-add is two", text: count },
];

/** Kinds of hazards are metrics where a profile has them. */
function addHazards(names) {
    names.filter((id) => !METRICS.some((metric) => metric.id === id)).forEach((id) => {
        const words = id.replaceAll("_", " ");
        METRICS.push({ id, title: words[0].toUpperCase() + words.slice(1), long: `Hazards: accesses that are ${words}`, text: count, hazard: true });
    });
}

/** Metrics at a capacity. */
const AT_Z = ["q", "deeper", "moved"];

function metricOf(id) {
    return METRICS.find((metric) => metric.id === id) ?? METRICS[0];
}

/** Why the profile has no such number, if it has none. */
function whyNot(metric, profile) {
    if (metric === "moved" && !profile.line_size) return "measured by: dmdprof run --line-size 64";
    if (metric === "q" && !profile.has_traffic) return "not known in the values model, nor by an older dmdprof: see Deeper than Z";
    if (metricOf(metric).hazard && !profile.hazards.includes(metric)) return "measured by: dmdprof run --hazards";
    if (metric === "flops" && profile.sums.flops.total === 0) return "the program does none";
    if (metric === "time" && profile.sums.ops.total === 0) return "no operations were counted";
    return null;
}

/** The curve over Z that the profile has. */
function curveMetric(profile) {
    return profile.has_traffic ? "q" : "deeper";
}

/** Metrics at a capacity, of bytes: what they are counted in. */
function histogramsOf(profile, metric) {
    return metric === "deeper" ? profile.depths : profile.capacities;
}

/** Traffic at Z, or what is read deeper than Z, in bytes, by cell. */
function readBeyond(profile, metric, capacity) {
    return beyond(histogramsOf(profile, metric), profile.cells, capacity, (sum) => sum);
}

/** Bytes of lines fetched and written back, by cell. */
function linesMoved(profile, capacity) {
    const size = profile.line_size;
    const limit = Math.max(Math.floor(capacity / size), profile.smallest);
    const { always } = profile.cell;
    return beyond(profile.moved, profile.cells, limit, (sum, cell) => (sum + always[cell]) * size);
}

/** Buckets grow within a cell, so the deep ones are at its end. */
function beyond({ start, bucket, count: counts }, cells, limit, of) {
    const list = new Float64Array(cells);
    for (let cell = 0; cell < cells; cell += 1) {
        let sum = 0;
        for (let i = start[cell + 1] - 1; i >= start[cell] && FLOORS[bucket[i]] >= limit; i -= 1) sum += counts[i];
        list[cell] = of(sum, cell);
    }
    return list;
}

/**
 * Sums of traffic at a capacity that moves: a step adds or takes away only the entries of the buckets between. All entries are kept in the order
 * of their buckets. Whole numbers up to 2^53 stay exact, whatever the order; `isExact` says that none is larger.
 */
class Sweep {
    constructor(profile, { start, bucket, count: counts }, scale, always) {
        const own = always ? always.map((lines) => lines * scale) : new Float64Array(profile.cells);
        this.cell = profile.cell;
        this.sums = profile.spread(own);
        const { start: first, list } = group(bucket, FLOORS.length);
        const cellOf = new Int32Array(bucket.length);
        for (let cell = 0; cell < profile.cells; cell += 1) cellOf.fill(cell, start[cell], start[cell + 1]);
        this.first = first;
        this.cells = list.map((entry) => cellOf[entry]);
        this.amounts = Float64Array.from(list, (entry) => counts[entry] * scale);
        this.at = FLOORS.length;
        this.isExact = this.sums.total + this.amounts.reduce((sum, amount) => sum + amount, 0) <= Number.MAX_SAFE_INTEGER;
    }

    /** Sums of what lies at `limit` or deeper. They are valid until the next call. */
    beyond(limit) {
        const found = FLOORS.findIndex((floor) => floor >= limit);
        const bucket = found < 0 ? FLOORS.length : found;
        const [low, high, sign] = bucket < this.at ? [bucket, this.at, 1] : [this.at, bucket, -1];
        const { node, line, fn } = this.cell;
        const { sums } = this;
        for (let i = this.first[low]; i < this.first[high]; i += 1) {
            const cell = this.cells[i];
            const amount = sign * this.amounts[i];
            sums.cells[cell] += amount;
            sums.node[node[cell]] += amount;
            sums.line[line[cell]] += amount;
            sums.fn[fn[cell]] += amount;
            sums.total += amount;
        }
        this.at = bucket;
        return { ...sums };
    }
}

/** The sums for `metric` at a capacity. */
function sweptSums(profile, metric, capacity) {
    const isLines = metric === "moved";
    const scale = isLines ? profile.line_size : 1;
    profile.sweeps ??= {};
    const sweep = profile.sweeps[metric] ??= isLines ? new Sweep(profile, profile.moved, scale, profile.cell.always) : new Sweep(profile, histogramsOf(profile, metric), scale, null);
    if (!sweep.isExact) return profile.spread(isLines ? linesMoved(profile, capacity) : readBeyond(profile, metric, capacity));
    const limit = Math.floor(capacity / scale);
    return sweep.beyond(isLines ? Math.max(limit, profile.smallest) : limit);
}

/** What goes over the link to a memory of so many bytes, by cell: as `dmdprof roofline` takes it. */
function traffic(profile, capacity) {
    return profile.line_size ? linesMoved(profile, capacity) : readBeyond(profile, "q", capacity);
}

/** Reads of a histogram beyond a capacity, in bytes. */
function histogramBeyond(histogram, capacity) {
    return histogram.reduce((sum, [bucket, reads]) => sum + (FLOORS[bucket] >= capacity ? reads : 0), 0);
}

class Values {
    constructor(profile, sums) {
        this.profile = profile;
        this.own = sums;
        this.total = sums.total;
        this.nodeAll = profile.withCallees(sums.node);
    }

    /** Of functions with callees; made when it is asked for. */
    get fnAll() {
        this.all ??= this.profile.ofFunctionsWithCallees(this.nodeAll);
        return this.all;
    }
}

const KEPT = new WeakMap();

/** The chosen number of a profile. The last answers are kept. */
function valuesOf(profile, state, machines) {
    const key = [state.metric, AT_Z.includes(state.metric) ? state.z : "",
        state.metric === "time" ? `${state.machine} ${state.work}` : ""].join(" ");
    const kept = KEPT.get(profile);
    if (kept?.key === key) return kept.values;
    const values = new Values(profile, sumsOf(profile, state, machines));
    KEPT.set(profile, { key, values });
    return values;
}

function sumsOf(profile, state, machines) {
    const { metric, z } = state;
    if (whyNot(metric, profile)) return profile.sums.cost;
    if (AT_Z.includes(metric)) return sweptSums(profile, metric, z);
    if (metric === "time") return timesOf(profile, machines.get(state.machine), state.work);
    return profile.sums[metric];
}
