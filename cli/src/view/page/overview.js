// Overview: what costs most and why, in words, so that a newcomer finds the costliest line at once.
//
// Takes the chosen metric; gives a sentence, the costliest lines and functions, and what to know about the run. All of them lead to the other panels.

panel({
    id: "overview",
    title: "Overview",
    missing: (app) => (app.profile ? null : "no profile is in this page"),
    create(app) {
        const { profile } = app;
        const sentence = h("p", { class: "headline" });
        const why = h("p", { class: "why" });
        const lines = new Table(lineColumns(app), {
            label: "Costliest lines", height: 26 * 11 + 8, onpick: (line) => app.showLine(line), onhover: (event, line) => hoverLine(app, event, line),
        });
        const functions = new Table(shortFunctionColumns(app), {
            label: "Costliest functions", height: 26 * 11 + 8, onpick: (fn) => app.showFunction(fn),
        });
        const element = h("div", { class: "overview" }, sentence, why, facts(app),
            h("div", { class: "columns" },
                h("section", {}, h("h2", {}, "Costliest lines"), lines.element),
                h("section", {}, h("h2", {}, "Costliest functions"), functions.element)),
            notes(profile));
        const update = () => {
            const best = costliest(app.values.own.line, 10);
            sentence.replaceChildren(...headline(app, best[0]));
            why.replaceChildren(...reason(app, best[0]));
            lines.setRows(best);
            functions.setRows(costliest(app.values.own.fn, 10));
        };
        return { element, update };
    },
});

/** Indices of the largest numbers, largest first. */
function costliest(numbers, most) {
    const best = [];
    for (let i = 0; i < numbers.length; i += 1) {
        if (numbers[i] <= 0 || (best.length === most && numbers[best[most - 1]] >= numbers[i])) continue;
        best.push(i);
        best.sort((a, b) => numbers[b] - numbers[a]);
        best.length = Math.min(best.length, most);
    }
    return best;
}

function headline(app, line) {
    const { values, profile, metric } = app;
    if (line === undefined) return [`Nothing has any ${metric.title}.`];
    const value = values.own.line[line];
    const fn = lineFunction(profile, line);
    return [`The costliest line is `, jump(profile.placeOf(line), profile.fileOf(line) ?? "", () => app.showLine(line)), ` in `,
        jump(shortened(profile.functions[fn].name, 60), profile.functions[fn].name, () => app.showFunction(fn)),
        `: ${metric.text(value)}, ${percent(value / values.total)} of ${app.metricText()}.`];
}

/** The function that costs most at a line. */
function lineFunction(profile, line) {
    let best = profile.line.fn[line];
    let most = -1;
    for (const cell of profile.cellsOf("line", line)) {
        if (profile.cell.cost[cell] > most) [most, best] = [profile.cell.cost[cell], profile.cell.fn[cell]];
    }
    return best;
}

function reason(app, line) {
    if (line === undefined) return [];
    const { profile } = app;
    const cells = profile.cellsOf("line", line);
    const histogram = profile.histogram(cells);
    const read = histogram.reduce((sum, [, reads]) => sum + reads, 0);
    if (read === 0) return [`It reads nothing: its ${app.metric.title} is of what it writes or computes.`];
    const deep = halfOfCost(histogram);
    const times = profile.sums.executions.line[line];
    const words = [`It ran ${count(times)} times and read ${bytes(read)}. `,
        `Half of its ByteDMD is for bytes that lie deeper than ${bytes(deep)}: so much other data is touched before they are read again. `];
    const pair = (app.header.why?.sheets[0]?.rows ?? []).find((row) => samePlace(row.line, profile, line));
    if (pair?.touch_line) {
        words.push(`They were last ${pair.touch === "write" ? "written" : "read"} by `, placeJump(app, pair.touch_line));
        if (pair.object) words.push(` (${shortened(pair.object, 60)})`);
        words.push(pair.cures ? `. What the counts support: ${pair.cures}.` : ".");
    } else if (!app.header.why) {
        words.push("Who touched them last, and what would help: ", h("code", {}, "dmdprof run --flows --objects"), ".");
    }
    return words;
}

/** The largest depth that half of the cost of some reads lies beyond. */
function halfOfCost(histogram) {
    const prices = histogram.map(([bucket, reads]) => reads * Math.sqrt(MIDDLES[bucket]));
    let left = prices.reduce((sum, price) => sum + price, 0) / 2;
    for (let i = histogram.length - 1; i >= 0; i -= 1) {
        left -= prices[i];
        if (left <= 0) return FLOORS[histogram[i][0]];
    }
    return 0;
}

function samePlace(place, profile, line) {
    return place === `${profile.fileOf(line)}:${profile.line.line[line]}`;
}

/** The depth that a part of the reads does not exceed. */
function depthAt(histogram, total, part) {
    let seen = 0;
    for (const [bucket, reads] of histogram) {
        seen += reads;
        if (seen >= total * part) return bucketTop(bucket);
    }
    return 0;
}

/** Totals of the run. */
function facts(app) {
    const { profile } = app;
    const { sums } = profile;
    const cost = BigInt(profile.cost);
    const list = [
        ["ByteDMD", count(Number(cost)), "the sum of ceil(sqrt(depth)) over all bytes read", cost],
        ["read", bytes(sums.read.total), "read, from whatever depth", profile.exact("read")],
        ["written", bytes(sums.written.total), "written", profile.exact("written")],
        ["per byte read", digits(Number(cost) / (sums.read.total || 1)), "ByteDMD per byte: the mean of ceil(sqrt(depth))"],
        ["first touch", bytes(sums.cold.total), "read before anything wrote it", profile.exact("cold")],
        ["peak live", bytes(profile.peak_live), "most live at once", profile.peak_live],
        ["flops", count(sums.flops.total), "floating-point operations", profile.exact("flops")],
        ["functions", count(app.functionsShown.length), `${profile.nodes - 1} calling contexts, ${profile.lines} lines`],
    ];
    return factList(list);
}

/** Facts: [name, text, explanation, the number itself]. */
function factList(list) {
    return h("dl", { class: "facts" }, list.map(([name, text, title, value]) => h("div", { title: value === undefined ? title : `${title}: ${grouped(value)}` },
        h("dt", {}, name), h("dd", { "data-fact": name, "data-value": value === undefined ? null : String(value) }, text))));
}

/** What the run's numbers are, and what is wrong with them. */
function notes(profile) {
    const lines = [];
    for (const why of profile.incomplete) lines.push(`INCOMPLETE: ${why}`);
    if (profile.outcome) lines.push(profile.outcome);
    const model = `Model: ${profile.model}, liveness ${profile.liveness}, ${profile.threads} thread${profile.threads === 1 ? "" : "s"}, unit bytes`
        + `${profile.roi ? `, only within ${profile.roi}` : ""}.`;
    const regions = profile.regions.length > 0 && h("section", {}, h("h2", {}, "Regions"),
        simpleTable(["region", "ByteDMD", "times", "reads", "instructions", "span", "peak live", "inputs"],
            profile.regions.map((r) => [r.name, grouped(r.cost), grouped(r.times), grouped(r.reads), grouped(r.instructions), grouped(r.span),
                bytes(r.peak_live), bytes(r.input_bytes)])));
    return [regions, h("div", { class: "notes" }, lines.map((line) => h("p", { class: "warning" }, line)), h("p", { class: "quiet" }, model))];
}

function simpleTable(heads, rows) {
    return h("table", { class: "plain" }, h("thead", {}, h("tr", {}, heads.map((text) => h("th", {}, text)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", { class: isAmount(cell) ? "number" : null }, cell))))));
}

/** Amounts stand right, words left. */
function isAmount(cell) {
    return typeof cell === "string" && /^[<~−+]?\d/.test(cell);
}

function lineColumns(app) {
    const { profile } = app;
    const value = (line) => app.values.own.line[line];
    return [
        { key: "value", title: () => app.metric.title, number: true, width: "170px",
            bar: (line) => ({ part: value(line) / app.values.total, text: app.metric.text(value(line)) }) },
        { key: "share", title: "share", number: true, width: "64px", text: (line) => percent(value(line) / app.values.total) },
        { key: "place", title: "line", width: "150px", fixed: true, cell: (line) => named(profile.placeOf(line), 40) },
        { key: "text", title: "source", width: "minmax(0, 1fr)", fixed: true, cell: (line) => (profile.line.line[line] > 0 ? h("code", { class: "source-text" }, app.sourceText(line).trim())
                : h("span", { class: "quiet" }, `of no line, in ${shortened(profile.functions[profile.line.fn[line]].name, 50)}`)) },
    ];
}

function shortFunctionColumns(app) {
    const { profile } = app;
    const value = (fn) => app.values.own.fn[fn];
    return [
        { key: "value", title: () => app.metric.title, number: true, width: "170px",
            bar: (fn) => ({ part: value(fn) / app.values.total, text: app.metric.text(value(fn)) }) },
        { key: "share", title: "share", number: true, width: "64px", text: (fn) => percent(value(fn) / app.values.total) },
        { key: "depths", title: "reads by depth", width: "130px", draw: (canvas, fn) => app.drawHistogram(canvas, fn) },
        { key: "name", title: "function", width: "minmax(0, 1fr)", fixed: true, cell: (fn) => named(profile.functions[fn].name) },
    ];
}

function hoverLine(app, event, line) {
    if (!event) return app.tip.hide();
    const { profile } = app;
    const cells = profile.cellsOf("line", line);
    return app.tip.show(event, h("b", {}, profile.placeOf(line)),
        h("div", {}, `${app.metric.title} ${app.metric.text(app.values.own.line[line])}, ${percent(app.values.own.line[line] / app.values.total)}`),
        h("div", {}, `ByteDMD ${grouped(profile.exact("cost", cells))}; read ${bytes(profile.sums.read.line[line])}; ran ${count(profile.sums.executions.line[line])} times`),
        largeHistogram(profile.histogram(cells), app.octaveCount));
}
