// One number for everything: what the metric chooser chooses.
//
// Takes a profile and the state (metric, capacity, machine, work), gives `Values`: the number of every node, line and function, own and with
// callees, and how to write it. Traffic is counted as in the commands: Q(Z) is what was read from deeper than Z; lines move when they lie deeper than
// Z, and for the first and last time always.

const METRICS = [
    { id: "cost", title: "ByteDMD", long: "ByteDMD: the sum of ceil(sqrt(depth)) over all bytes read", text: count },
    { id: "read", title: "Bytes read", long: "Bytes read, from whatever depth", text: bytes },
    { id: "q", title: "Traffic Q(Z)", long: "Bytes read from deeper than Z: what a fast memory of Z bytes has to fetch", text: bytes },
    { id: "moved", title: "Lines moved", long: "Bytes of the lines that a memory of Z bytes fetches and writes back", text: bytes },
    { id: "time", title: "Time estimate", long: "Estimated time on the chosen machine, each piece by itself (roofline)", text: seconds },
    { id: "written", title: "Bytes written", long: "Bytes written", text: bytes },
    { id: "flops", title: "Flops", long: "Floating-point operations; a fused multiply-add is two", text: count },
];

function metricOf(id) {
    return METRICS.find((metric) => metric.id === id) ?? METRICS[0];
}

/** Why the profile has no such number, if it has none. */
function whyNot(metric, profile) {
    if (metric === "moved" && !profile.line_size) return "measured by: dmdprof run --line-size 64";
    if (metric === "moved" && profile.unit > 1) return "not with a stack of lines";
    if (metric === "flops" && profile.sums.flops.total === 0) return "the program does none";
    if (metric === "time" && profile.sums.ops.total === 0) return "no operations were counted";
    return null;
}

/** Q(Z) in bytes, by cell. */
function readBeyond(profile, capacity) {
    const limit = Math.floor(capacity / profile.unit);
    return beyond(profile.depths, profile.cells, limit, (sum) => sum * profile.unit);
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

/** What goes over the link to a memory of so many bytes, by cell: as `dmdprof roofline` takes it. */
function traffic(profile, capacity) {
    return profile.line_size && profile.unit === 1 ? linesMoved(profile, capacity) : readBeyond(profile, capacity);
}

/** Reads of a histogram beyond a capacity, in bytes. */
function histogramBeyond(histogram, capacity, unit) {
    const limit = Math.floor(capacity / unit);
    return histogram.reduce((sum, [bucket, reads]) => sum + (FLOORS[bucket] >= limit ? reads : 0), 0) * unit;
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
    const key = [state.metric, state.metric === "q" || state.metric === "moved" ? state.z : "",
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
    if (metric === "q") return profile.spread(readBeyond(profile, z));
    if (metric === "moved") return profile.spread(linesMoved(profile, z));
    if (metric === "time") return timesOf(profile, machines.get(state.machine), state.work);
    return profile.sums[metric];
}
