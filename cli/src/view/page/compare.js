// Two runs: what got worse and what got better, by function and in the flame graph.
//
// Takes two profiles with the same chosen number, and the words of `dmdprof diff`. The flame graph is that of the run after, coloured by the change of each node:
// orange is more, blue is less, grey is the same. Functions are matched by name and file; the causes are those that `dmdprof diff` gives.

panel({
    id: "compare",
    title: "Compare",
    missing: (app) => (app.header.diff ? null : "shows two runs; made by: dmdprof diff --html FILE, or dmdprof view --before OLD NEW"),
    create(app) {
        const diff = JSON.parse(app.header.diff);
        const both = app.profile && app.before;
        const rows = both ? [] : diff.functions.map((change) => ofDiff(change));
        const table = new Table(compareColumns(app), {
            label: "Changes by function", sort: "change", height: 440, onpick: (row) => { if (row.fn >= 0) app.showFunction(row.fn); },
        });
        const summary = h("p", { class: "headline" });
        const flame = both ? new DiffFlame(app) : null;
        const causes = diff.functions.filter((change) => change.why?.length > 0).slice(0, 30);
        const element = h("div", { class: "compare" }, summary, h("p", { class: "quiet" }, `${app.header.names[0]} → ${app.header.names[1]}`),
            diff.differences.length > 0 && h("p", { class: "warning" }, diff.differences.map((d) => `another ${d.what}: ${d.before || "none"} → ${d.after || "none"}. `)),
            flame && h("section", {}, h("h2", {}, "Flame graph of the run after: orange reads more from afar, blue less"), flame.element),
            h("h2", {}, "Functions"), table.element,
            causes.length > 0 && h("section", {}, h("h2", {}, "Why"), causes.map((change) => h("div", { class: "cause" },
                h("b", {}, named(change.name, 120)), h("ul", {}, change.why.map((cause) => h("li", {}, cause.text)))))));
        const update = () => {
            const list = both ? comparedRows(app) : rows;
            const [before, after] = both ? [app.valuesBefore().total, app.values.total] : totalsOf(diff);
            summary.replaceChildren(`${app.metric.title}: ${app.metric.text(before)} → ${app.metric.text(after)} `,
                h("span", { class: after > before ? "worse" : "better" }, changeText(before, after)));
            table.setRows(list.filter((row) => row.before !== row.after));
            flame?.draw();
        };
        return { element, update };
    },
});

function totalsOf(diff) {
    const cost = diff.total.find((number) => number.metric === "cost");
    return [cost?.before ?? 0, cost?.after ?? 0];
}

function ofDiff(change) {
    const cost = change.metrics.find((number) => number.metric === "cost") ?? {};
    return { fn: -1, name: change.name, place: `${fileName(change.file)}${change.line ? `:${change.line}` : ""}`, before: cost.before ?? 0, after: cost.after ?? 0 };
}

/** `+5.18G (+31.9 %)` */
function changeText(before, after, text = count) {
    const step = after - before;
    const part = before > 0 ? ` (${step < 0 ? "−" : "+"}${percent(Math.abs(step) / before)})` : "";
    return `${step < 0 ? "−" : "+"}${text(Math.abs(step))}${part}`;
}

/** Functions of both runs by name and file. */
function comparedRows(app) {
    const rows = new Map();
    const add = (profile, values, side) => {
        profile.functions.forEach((f, fn) => {
            const key = `${f.name}\n${f.file === null ? "" : fileName(profile.files[f.file])}`;
            const row = rows.get(key) ?? { fn: -1, name: f.name, place: definedAt(profile, fn), before: 0, after: 0 };
            row[side] += values.own.fn[fn];
            if (side === "after") row.fn = fn;
            rows.set(key, row);
        });
    };
    add(app.before, app.valuesBefore(), "before");
    add(app.profile, app.values, "after");
    return [...rows.values()];
}

function compareColumns(app) {
    const step = (row) => row.after - row.before;
    return [
        { key: "change", title: "change", number: true, width: "110px", value: (row) => Math.abs(step(row)),
            cell: (row) => h("span", { class: step(row) > 0 ? "worse" : "better" }, `${step(row) > 0 ? "▲ +" : "▼ −"}${app.metric.text(Math.abs(step(row)))}`) },
        { key: "part", title: "", number: true, width: "90px", value: (row) => (row.before > 0 ? step(row) / row.before : Infinity),
            text: (row) => (row.before > 0 ? `${step(row) > 0 ? "+" : "−"}${percent(Math.abs(step(row)) / row.before)}` : "new") },
        { key: "before", title: "before", number: true, width: "110px", value: (row) => row.before, text: (row) => app.metric.text(row.before) },
        { key: "after", title: "after", number: true, width: "110px", value: (row) => row.after, text: (row) => app.metric.text(row.after) },
        { key: "name", title: "function", width: "minmax(160px, 1fr)", value: (row) => row.name, cell: (row) => named(row.name, 120) },
        { key: "place", title: "defined at", width: "170px", value: (row) => row.place, text: (row) => shortened(row.place, 40) },
    ];
}

/** The flame graph of the run after, coloured by the change of each node. */
class DiffFlame extends Flame {
    constructor(app) {
        super(app);
        this.partner = partners(app);
    }

    colourOf(node) {
        const [before, after] = this.both(node);
        const most = Math.max(before, after);
        const part = most > 0 ? (after - before) / most : 0;
        if (Math.abs(part) < 0.005) return { fill: "#9aa0a8", text: "#111" };
        const strength = 0.25 + 0.75 * Math.abs(part);
        const from = [154, 160, 168];
        const to = part > 0 ? [213, 94, 0] : [0, 114, 178];
        return { fill: `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * strength)).join(",")})`, text: strength > 0.6 ? "#fff" : "#111" };
    }

    both(node) {
        const partner = this.partner[node];
        return [partner >= 0 ? this.app.valuesBefore().nodeAll[partner] : 0, this.app.values.nodeAll[node]];
    }

    meanText(node) {
        const [before, after] = this.both(node);
        return `; before ${this.app.metric.text(before)}, ${changeText(before, after, this.app.metric.text)}`;
    }
}

/** The node of the run before with the same functions above it, or -1. */
function partners(app) {
    const { profile, before } = app;
    const key = (p, node) => {
        const f = p.functions[p.node.fn[node]];
        return `${f.name}\n${f.file === null ? "" : fileName(p.files[f.file])}\n${p.node.inlined[node]}`;
    };
    const known = new Map();
    for (let node = 1; node < before.nodes; node += 1) known.set(`${before.node.parent[node]}\n${key(before, node)}`, node);
    const partner = new Int32Array(profile.nodes).fill(-1);
    partner[0] = 0;
    for (let node = 1; node < profile.nodes; node += 1) {
        const above = partner[profile.node.parent[node]];
        if (above >= 0) partner[node] = known.get(`${above}\n${key(profile, node)}`) ?? -1;
    }
    return partner;
}
