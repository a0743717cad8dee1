// Overview: what a report opens with, and the costliest line and why, in words.
//
// Takes the report's table and sentences, and the chosen metric; gives a sentence, the table, the costliest lines and what to know about the run. All of
// them lead to the other panels. What is costliest goes by what orders the report (clock, cycles, lines moved, ByteDMD), or by another metric once
// somebody chooses one.

panel({
    id: "overview",
    title: "Overview",
    missing: (app) => (app.profile ? null : "no profile is in this page"),
    create(app) {
        const { profile } = app;
        const sentence = h("p", { class: "headline" });
        const why = h("p", { class: "why" });
        const heading = h("h2", {});
        const lines = new Table(lineColumns(app), {
            label: "Costliest lines", height: 26 * 11 + 8, onpick: (line) => app.showLine(line), onhover: (event, line) => hoverLine(app, event, line),
        });
        const element = h("div", { class: "overview" }, warnings(profile), sentence, why, opening(app), facts(app),
            h("section", {}, heading, causesLegend(profile.cycles), lines.element), notes(profile));
        const update = () => {
            const { numbers, words } = ranking(app);
            const most = costliest(numbers, 10);
            const best = most.find((line) => profile.line.line[line] > 0) ?? most[0];
            sentence.replaceChildren(...headline(app, best));
            why.replaceChildren(...reason(app, best));
            heading.textContent = `Costliest lines, by ${words}`;
            lines.setRows(most);
        };
        return { element, update };
    },
});

/** Capacity of the memory whose lines order a report without cycles. */
const FIRST_LEVEL = 32 << 10;

/** The number that says which line is costliest: by line, its total, what it is a part of, and its name. */
function ranking(app) {
    const { profile, values, metric } = app;
    if (metric.id !== DEFAULTS.metric) return { numbers: values.own.line, total: values.total, of: app.metricText(), words: metric.title };
    // A clock's samples slip to the instruction behind the one that waits; cycles stay.
    if (profile.cycles) return { numbers: profile.cycles.line.sums, total: profile.cycles.total, of: "the cycles", words: "cycles" };
    if (profile.clock) return { numbers: profile.clock.line, total: profile.clock.samples, of: "the time, by the clock", words: "the clock" };
    if (profile.line_size) {
        const moved = movedByLines(profile);
        return { numbers: moved.line, total: moved.total, of: "what a cache of 32 KiB moves in lines", words: "what a cache of 32 KiB moves" };
    }
    return { numbers: values.own.line, total: values.total, of: "all ByteDMD", words: "ByteDMD" };
}

/** What a memory of 32 KiB moves in lines, by cell, node, line and function. */
function movedByLines(profile) {
    profile.firstLevel ??= profile.spread(linesMoved(profile, FIRST_LEVEL));
    return profile.firstLevel;
}

/** The first screen of `dmdprof report`: functions lead to their pages, hot lines to the source. */
function opening(app) {
    const { columns, rows, sentences } = app.header.opening;
    const { profile } = app;
    const cell = (column, i) => {
        const text = column.cells[i];
        const leads = rows[i];
        if (column.key === "function" && leads) {
            const fn = functionAt(profile, leads.function);
            if (fn >= 0) return jump(shortened(text, 60), shortened(text, 600), () => app.showFunction(fn));
        }
        if (column.key === "hot-line" && leads?.hot) return jump(text, leads.hot.file, () => app.showPlace(profile.files.indexOf(leads.hot.file), leads.hot.line));
        return named(text, 60);
    };
    const count = columns[0]?.cells.length ?? 0;
    const side = (column) => (column.left ? null : "number");
    const notes = [...new Set(columns.map((column) => column.note).filter(Boolean)), ...sentences, profile.clock?.runs].filter(Boolean);
    return h("section", { class: "opening" },
        h("table", { class: "plain" }, h("thead", {}, h("tr", {}, columns.map((column) => h("th", { class: side(column), title: column.note, "data-key": column.key }, column.header)))),
            h("tbody", {}, Array.from({ length: count }, (_, i) => h("tr", { class: i + 1 === count ? "total" : null },
                columns.map((column) => h("td", { class: side(column), "data-key": column.key }, cell(column, i))))))),
        notes.map((text) => h("p", { class: "quiet" }, text)));
}

/** Number of the function with a name that is defined at a place; below 0 if the page has none. */
function functionAt(profile, { name, file, line }) {
    return profile.functions.findIndex((fn) => fn.name === name && fn.line === line && (profile.files[fn.file] ?? null) === file);
}

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
    const { profile, metric } = app;
    const { numbers, total, of } = ranking(app);
    if (line === undefined) return [`Nothing has any ${metric.title}.`];
    const fn = lineFunction(profile, line);
    return [`The costliest line is `, jump(profile.placeOf(line), profile.fileOf(line) ?? "", () => app.showLine(line)), ` in `,
        jump(shortened(profile.functions[fn].name, 60), profile.functions[fn].name, () => app.showFunction(fn)),
        `: ${percent(numbers[line] / total)} of ${of}.`];
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
    const times = profile.sums.executions.line[line];
    const causes = profile.cycles?.line.causes.get(line);
    const waits = causes ? `Most of its cycles: ${largestCauses(profile.cycles, causes)}. ` : "";
    if (read === 0) return [times > 0 ? "It reads nothing: it writes or computes. " : "None of its accesses are counted. ", waits];
    const deep = halfOfCost(histogram);
    const words = [`It ran ${count(times)} times and read ${bytes(read)}. `, waits,
        `Half of its ByteDMD is for bytes that lie deeper than ${bytes(deep)}: so much other data is touched before they are read again. `];
    const pair = (app.header.why?.sheets[0]?.rows ?? []).find((row) => samePlace(row.line, profile, line));
    if (pair?.touch_line) {
        words.push(`They were last ${pair.touch === "write" ? "written" : "read"} by `, placeJump(app, pair.touch_line));
        if (pair.object) words.push(`, in ${shortened(pair.object, 60)}`);
        words.push(pair.cures ? `. Try: ${pair.cures}.` : ".");
    } else if (!app.header.why) {
        const command = app.header.opening?.has_pairs ? "dmdprof why" : "dmdprof run --flows --objects";
        words.push("Who touched them last, and what would help: ", h("code", {}, command), ".");
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
        ["ByteDMD per byte", digits(Number(cost) / (sums.read.total || 1)), "ByteDMD per byte: the mean of ceil(sqrt(depth))"],
        ["first touch", bytes(sums.cold.total), "read for the first time (cold misses); not NUMA's first touch", profile.exact("cold")],
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

/** What is wrong with the run's numbers. */
function warnings(profile) {
    const lines = [...profile.incomplete.map((why) => `INCOMPLETE: ${why}`), profile.outcome].filter(Boolean);
    return lines.map((line) => h("p", { class: "warning" }, line));
}

/** When bytes leave the stack. */
const LEAVE = { none: "never", hints: "when they are freed or out of scope", exact: "after their last read" };

/** What the run's numbers are. */
function notes(profile) {
    const what = profile.model.startsWith("values") ? "values that instructions compute" : "bytes by address";
    const model = `ByteDMD is of an LRU stack of ${what} (model ${profile.model}) that leave it ${LEAVE[profile.liveness]} (liveness ${profile.liveness}); `
        + `${profile.threads} thread${profile.threads === 1 ? "" : "s"}${profile.roi ? `; only within ${profile.roi}` : ""}.`;
    const regions = profile.regions.length > 0 && h("section", {}, h("h2", {}, "Regions"),
        simpleTable(["region", "ByteDMD", "times", "reads", "instructions", "span", "peak live", "inputs"],
            profile.regions.map((r) => [r.name, grouped(r.cost), grouped(r.times), grouped(r.reads), grouped(r.instructions), grouped(r.span),
                bytes(r.peak_live), bytes(r.input_bytes)])));
    return [regions, h("p", { class: "quiet" }, model)];
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
        ...clockColumns(profile.clock, "line", (line) => line),
        ...causesColumns(profile.cycles, "line", (line) => line, profile.cycles?.most),
        ...(profile.line_size ? [{ key: "moved", title: "beyond 32 KiB", hint: "what a cache of 32 KiB fetches and writes back, in lines", number: true, width: "96px", fixed: true,
            text: (line) => bytes(movedByLines(profile).line[line]) }] : []),
        { key: "value", title: () => app.metric.title, number: true, width: "170px",
            bar: (line) => ({ part: value(line) / app.values.total, text: app.metric.text(value(line)) }) },
        { key: "share", title: "share", number: true, width: "64px", text: (line) => percent(value(line) / app.values.total) },
        { key: "place", title: "line", width: "150px", fixed: true, cell: (line) => named(profile.placeOf(line), 40) },
        { key: "text", title: "source", width: "minmax(0, 1fr)", fixed: true, cell: (line) => (profile.line.line[line] > 0 ? h("code", { class: "source-text" }, app.sourceText(line).trim())
                : h("span", { class: "quiet" }, `code of no line, ${inFunctions(profile, line)}`)) },
    ];
}

/** Functions that have code at a line. */
function inFunctions(profile, line) {
    const functions = [...new Set(Array.from(profile.cellsOf("line", line), (cell) => profile.cell.fn[cell]))];
    const names = functions.slice(0, 3).map((fn) => shortened(profile.functions[fn].name, 40));
    const more = functions.length - names.length;
    return `in ${names.join(", ") || "code that is not counted"}${more > 0 ? ` and ${more} more` : ""}`;
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
