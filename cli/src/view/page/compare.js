// Two runs, or a run and its baseline: what got worse and what got better, by function and in the flame graph.
//
// Takes two profiles with the same chosen number, and the words of `dmdprof diff`; or one profile and what a baseline holds of each function
// (`baseline.js`). The flame graph is that of the run after, coloured by the change: orange is more, blue is less, grey is the same. Which function
// is which (header `matched`) and the causes are what `dmdprof diff` says.

panel({
    id: "compare",
    title: "Compare",
    missing: (app) => (app.header.diff ? null : "shows two runs; made by: dmdprof diff --html FILE, or dmdprof view --before OLD NEW"),
    create(app) {
        const diff = JSON.parse(app.header.diff);
        const sides = app.profile && app.before ? new TwoRuns(app) : app.profile && app.header.matched ? new WithBaseline(app) : new OnlyNumbers(diff);
        const table = new Table(compareColumns(app, sides), {
            label: "Changes by function", sort: "change", height: 440, onpick: (row) => { if (row.fn >= 0) app.showFunction(row.fn); },
        });
        const summary = h("p", { class: "headline" });
        const note = h("p", { class: "quiet" });
        const flame = sides.flame;
        const causes = diff.functions.filter((change) => change.why?.length > 0).slice(0, 30);
        const element = h("div", { class: "compare" }, summary, h("p", { class: "quiet" }, `${app.header.names[0]} → ${app.header.names[1]}`), note,
            diff.differences.length > 0 && h("p", { class: "warning" }, diff.differences.map((d) => `another ${d.what}: ${d.before || "none"} → ${d.after || "none"}. `)),
            flame && h("section", {}, h("h2", {}, sides.title), changeLegend(sides), flame.element),
            h("h2", {}, "Functions"), table.element,
            causes.length > 0 && h("section", {}, h("h2", {}, "Why"), causes.map((change) => h("div", { class: "cause" },
                h("b", {}, named(change.name, 120)), h("ul", {}, change.why.map((cause) => h("li", {}, cause.text)))))));
        const update = () => {
            const { before, after, rows, metric, words } = sides.compare();
            summary.replaceChildren(`${metric.title}: ${metric.text(before)} → ${metric.text(after)} `,
                h("span", { class: after > before ? "worse" : after < before ? "better" : "quiet" }, after === before ? "no change" : changeText(before, after, metric.text)));
            note.hidden = !words;
            note.textContent = words ?? "";
            table.setRows(rows.filter((row) => row.before !== row.after));
            flame?.draw();
        };
        return { element, update };
    },
});

/** What colours of the flame graph mean. */
function changeLegend(sides) {
    const key = (colour, text) => [h("span", { class: "key", style: { background: colour } }), ` ${text} `];
    return h("p", { class: "legend" }, key(changeColour(-1), "less"), key(changeColour(0), "the same"), key(changeColour(1), "more"),
        sides.unknown && key(sides.unknown.colour, sides.unknown.text), h("span", {}, ` · ${sides.hint}`));
}

/** `part`: -1 for all gone, 0 for no change, 1 for all new. */
function changeColour(part) {
    if (Math.abs(part) < 0.005) return "#9aa0a8";
    const strength = changeStrength(part);
    const from = [154, 160, 168];
    const to = part > 0 ? [213, 94, 0] : [0, 114, 178];
    return `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * strength)).join(",")})`;
}

function changeStrength(part) {
    return 0.25 + 0.75 * Math.abs(part);
}

/** Numbers of `dmdprof diff` alone: there is no profile to draw. */
class OnlyNumbers {
    constructor(diff) {
        this.diff = diff;
        this.rows = diff.functions.map((change) => ofDiff(change));
    }

    compare() {
        const [before, after] = totalsOf(this.diff);
        return { before, after, rows: this.rows, metric: metricOf("cost"), words: null };
    }
}

/** Two profiles. */
class TwoRuns {
    constructor(app) {
        this.app = app;
        this.title = "Flame graph of the run after";
        this.hint = "colours are of a calling context with all below it; what only the run before has is in the table";
        this.flame = new DiffFlame(app);
    }

    compare() {
        const { app } = this;
        return { before: app.valuesBefore().total, after: app.values.total, rows: comparedRows(app), metric: app.metric, words: null };
    }
}

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

/** Functions of both runs. */
function comparedRows(app) {
    const { entries, entry_of: entryOf, entry_of_before: entryOfBefore } = app.header.matched;
    const rows = entries.map(({ name, place, was }) => ({ fn: -1, name, place, was, before: 0, after: 0 }));
    const add = (profile, values, of, side) => {
        profile.functions.forEach((f, fn) => {
            const row = rows[of[fn] ?? rows.push({ fn: -1, name: f.name, place: definedAt(profile, fn), before: 0, after: 0 }) - 1];
            row[side] += values.own.fn[fn];
            if (side === "after" && (row.fn < 0 || values.own.fn[fn] > values.own.fn[row.fn])) row.fn = fn;
        });
    };
    add(app.before, app.valuesBefore(), entryOfBefore, "before");
    add(app.profile, app.values, entryOf, "after");
    return rows;
}

function compareColumns(app, sides) {
    const step = (row) => row.after - row.before;
    const text = (n) => (sides.metric ?? app.metric).text(n);
    const isNew = (row) => !(row.before > 0);
    return [
        { key: "change", title: "change", number: true, width: "128px", value: (row) => Math.abs(step(row)),
            cell: (row) => h("span", { class: step(row) > 0 ? "worse" : "better" }, `${step(row) > 0 ? "▲ +" : "▼ −"}${text(Math.abs(step(row)))}`) },
        { key: "part", title: "in percent", number: true, width: "90px", value: (row) => (isNew(row) ? Infinity : step(row) / row.before),
            text: (row) => (isNew(row) ? "new" : `${step(row) > 0 ? "+" : "−"}${percent(Math.abs(step(row)) / row.before)}`) },
        { key: "before", title: "before", number: true, width: "110px", value: (row) => row.before, text: (row) => (row.unknown ? "not there" : text(row.before)) },
        { key: "after", title: "after", number: true, width: "110px", value: (row) => row.after, text: (row) => (row.gone ? "gone" : text(row.after)) },
        { key: "name", title: "function", width: "minmax(160px, 1fr)", value: (row) => row.name,
            cell: (row) => h("span", {}, named(row.name, 120), row.was ? h("span", { class: "quiet" }, " ", named(row.was, 80)) : "") },
        { key: "place", title: "defined at", width: "170px", value: (row) => row.place, text: (row) => shortened(row.place, 40) },
    ];
}

/** The flame graph of the run after, coloured by the change of each node. */
class DiffFlame extends Flame {
    colourOf(node) {
        const [before, after] = this.both(node);
        const most = Math.max(before, after);
        const part = most > 0 ? (after - before) / most : 0;
        return { fill: changeColour(part), text: Math.abs(part) >= 0.005 && changeStrength(part) > 0.6 ? "#fff" : "#111" };
    }

    both(node) {
        this.partner ??= partners(this.app);
        const partner = this.partner[node];
        return [partner >= 0 ? this.app.valuesBefore().nodeAll[partner] : 0, this.app.values.nodeAll[node]];
    }

    meanText(node) {
        const [before, after] = this.both(node);
        return `; before ${this.app.metric.text(before)}, ${changeText(before, after, this.app.metric.text)}`;
    }
}

/** The node of the run before with the same functions above it, or -1. Of functions that count as one, that of the same name. */
function partners(app) {
    const { profile, before } = app;
    const { entry_of: entryOf, entry_of_before: entryOfBefore } = app.header.matched;
    const keys = (p, of, node, above) => {
        const fn = p.node.fn[node];
        const { name, file } = p.functions[fn];
        // Functions that only call are in no comparison.
        const key = `${above}\n${p.node.inlined[node]}\n${of[fn] ?? `${name}\n${file === null ? "" : fileName(p.files[file])}`}`;
        return [`${key}\n${name}`, key];
    };
    const known = new Map();
    for (let node = 1; node < before.nodes; node += 1) {
        for (const key of keys(before, entryOfBefore, node, before.node.parent[node])) known.set(key, node);
    }
    const partner = new Int32Array(profile.nodes).fill(-1);
    partner[0] = 0;
    for (let node = 1; node < profile.nodes; node += 1) {
        const above = partner[profile.node.parent[node]];
        const [same, like] = above >= 0 ? keys(profile, entryOf, node, above) : [];
        partner[node] = known.get(same) ?? known.get(like) ?? -1;
    }
    return partner;
}
