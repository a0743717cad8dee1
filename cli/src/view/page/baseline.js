// A run and its baseline: what a baseline knows is a few numbers per function.
//
// Takes the profile and, of each function, what the baseline holds (header `matched`); gives the sides that the comparison shows. A baseline has no
// calling contexts, so a frame of the flame graph has the colour of its function's change, wherever it is called. It knows traffic at powers of two only,
// and nothing of times: what is compared instead is said.

/** Numbers that a baseline has. */
const OF_BASELINE = ["cost", "read", "written", "flops", "q", "deeper"];

class WithBaseline {
    constructor(app) {
        this.app = app;
        this.title = "Flame graph of this run";
        this.hint = "a frame has the colour of its function's own change: the baseline has no calling contexts";
        this.unknown = { colour: UNKNOWN_COLOUR, text: "not in the baseline" };
        this.flame = new BaselineFlame(app, this);
    }

    /** The number that is compared, and at which capacity. */
    chosen() {
        const { metric, z } = this.app.state;
        if (!OF_BASELINE.includes(metric)) return { id: "cost", words: `The baseline has no ${metricOf(metric).title}: ByteDMD is compared.` };
        if (metric === "q" && !this.knowsTraffic()) {
            return { id: "cost", words: "The baseline is of an older dmdprof, which had another number under the name of traffic: ByteDMD is compared." };
        }
        if (metric !== "q" && metric !== "deeper") return { id: metric, words: null };
        const power = 2 ** Math.floor(Math.log2(z));
        const words = `The baseline knows powers of two: ${metricOf(metric).title.replace("Z", bytes(power))} is compared.`;
        return { id: metric, z: power, words: power === z ? null : words };
    }

    knowsTraffic() {
        return this.app.header.matched.entries.every(({ before }) => before === null || before.capacities !== null);
    }

    /** The chosen number of the baseline. */
    before(entry, { id, z }) {
        const { before } = entry;
        if (before === null) return 0;
        if (z === undefined) return Number(before[id]);
        const sizes = id === "q" ? before.capacities : before.depths;
        return sizes.reduce((sum, [size, reads]) => sum + (size > z ? Number(reads) : 0), 0);
    }

    /** The same of the run. */
    after({ id, z }) {
        const { profile } = this.app;
        return (z === undefined ? profile.sums[id] : profile.spread(readBeyond(profile, id, z))).fn;
    }

    compare() {
        const { app } = this;
        const { entries, entry_of: entryOf } = app.header.matched;
        const chosen = this.chosen();
        const metric = metricOf(chosen.id);
        this.metric = chosen.z === undefined ? metric : { ...metric, title: metric.title.replace("Z", bytes(chosen.z)) };
        const key = `${chosen.id} ${chosen.z}`;
        if (this.key !== key) {
            this.key = key;
            const after = this.after(chosen);
            this.rows = entries.map((entry) => ({ fn: -1, name: entry.name, place: entry.place, was: entry.was, unknown: entry.before === null, gone: true,
                before: this.before(entry, chosen), after: 0 }));
            entryOf.forEach((entry, fn) => {
                if (entry === null) return;
                const row = this.rows[entry];
                if (row.fn < 0 || after[fn] > after[row.fn]) row.fn = fn;
                row.gone = false;
                row.after += after[fn];
            });
            this.sums = ["before", "after"].map((side) => this.rows.reduce((sum, row) => sum + row[side], 0));
        }
        const [before, after] = this.sums;
        return { before, after, rows: this.rows, metric: this.metric, words: chosen.words };
    }

    /** The row of a node's function. */
    rowOf(node) {
        return this.rows[this.app.header.matched.entry_of[this.app.profile.node.fn[node]] ?? -1];
    }
}

const UNKNOWN_COLOUR = "#cc79a7";

/** The flame graph of the run, coloured by the change of each frame's function. */
class BaselineFlame extends DiffFlame {
    constructor(app, sides) {
        super(app);
        this.sides = sides;
    }

    colourOf(node) {
        const row = node > 0 ? this.sides.rowOf(node) : null;
        return row?.unknown ? { fill: UNKNOWN_COLOUR, text: "#111" } : super.colourOf(node);
    }

    both(node) {
        const row = node > 0 ? this.sides.rowOf(node) : null;
        return node === 0 ? this.sides.sums : row ? [row.before, row.after] : [0, 0];
    }

    meanText(node) {
        const [before, after] = this.both(node);
        const { metric } = this.sides;
        const whose = node > 0 ? "the function's own" : "of the program";
        if (node > 0 && (!this.sides.rowOf(node) || this.sides.rowOf(node).unknown)) return "; not in the baseline";
        return `; ${whose} ${metric.title}: ${metric.text(before)} in the baseline, ${before === after ? "no change" : changeText(before, after, metric.text)}`;
    }
}
