// Functions: a table with the depths of each as a picture, and a page per function.
//
// Takes the chosen number; gives a table that sorts, filters (state `q`) and leads to the page of a function (state `fn`): its depths, its curve, callers and
// callees, lines, objects, pairs, and its point under the roof of the chosen machine.

panel({
    id: "functions",
    title: "Functions",
    missing: (app) => (app.profile ? null : "no profile is in this page"),
    create(app) {
        const table = new Table(functionColumns(app), {
            label: "Functions", sort: app.state.sort || usualSort(app), onsort: (sort) => app.set({ sort }),
            onpick: (fn) => app.showFunction(fn), isPicked: (fn) => app.state.fn === String(fn),
        });
        const hint = h("p", { class: "quiet", hidden: true });
        const list = h("div", { class: "function-list" }, hint, clockWords(app.profile.clock), causesLegend(app.profile.cycles), table.element);
        const detail = h("div", { class: "function-detail", hidden: true });
        const element = h("div", { class: "functions" }, list, detail);
        let shown = null;
        const update = (changed) => {
            const fn = app.state.fn === "" ? -1 : Number(app.state.fn);
            const isOne = fn >= 0 && fn < app.profile.functions.length;
            list.hidden = isOne;
            detail.hidden = !isOne;
            if (isOne) {
                const key = `${fn} ${app.state.metric} ${app.state.z} ${app.state.machine} ${app.state.work}`;
                if (key !== shown) detail.replaceChildren(...functionPage(app, fn));
                shown = key;
                return;
            }
            shown = null;
            if (changed?.has("sort")) table.sort = app.state.sort || usualSort(app);
            const rows = functionRows(app);
            hint.hidden = rows.length === app.functionsShown.length;
            hint.textContent = `${rows.length} of ${app.functionsShown.length} functions contain “${app.state.q}”`;
            table.setRows(rows);
        };
        return { element, update };
    },
});

/** By the clock, if there is one, else by cycles, if a core followed. */
function usualSort(app) {
    if (app.profile.clock) return "clock";
    return app.profile.cycles ? "cycles" : "value";
}

function functionRows(app) {
    const query = app.state.q.toLowerCase();
    if (query === "") return app.functionsShown;
    const { functions, files } = app.profile;
    return app.functionsShown.filter((fn) => functions[fn].name.toLowerCase().includes(query)
        || (files[functions[fn].file] ?? "").toLowerCase().includes(query));
}

function functionColumns(app) {
    const { profile } = app;
    const { sums } = profile;
    const own = (fn) => app.values.own.fn[fn];
    const all = (fn) => app.values.fnAll[fn];
    const plain = (key, title, list, text, hint, width = "78px") => ({
        key, title, hint, number: true, width, fixed: true, text: (fn) => text(list[fn]), value: (fn) => list[fn],
    });
    const perByte = (fn) => (sums.read.fn[fn] > 0 ? sums.cost.fn[fn] / sums.read.fn[fn] : 0);
    const { cycles } = profile;
    const most = cycles?.fn.sums.reduce((most, n) => Math.max(most, n), 0);
    return [
        ...clockColumns(profile.clock, "fn", (fn) => fn),
        ...causesColumns(cycles, "fn", (fn) => fn, most),
        { key: "value", title: () => app.metric.title, hint: "of the function itself", number: true, width: "136px", value: own,
            bar: (fn) => ({ part: own(fn) / app.values.total, text: app.metric.text(own(fn)) }) },
        { key: "share", title: "share", number: true, width: "64px", text: (fn) => percent(own(fn) / app.values.total), value: own },
        { key: "all", title: "with callees", hint: "with all that it calls; recursion counts once", number: true, width: "96px", value: all,
            text: (fn) => app.metric.text(all(fn)) },
        { key: "depths", title: "reads by depth", hint: "from the top of the stack (left) to the deepest (right)", width: "130px",
            draw: (canvas, fn) => app.drawHistogram(canvas, fn) },
        { key: "perbyte", title: "per byte", hint: "ByteDMD per byte read", number: true, width: "74px", fixed: true, text: (fn) => digits(perByte(fn)), value: perByte },
        plain("read", "read", sums.read.fn, bytes, "bytes read"),
        plain("written", "written", sums.written.fn, bytes, "bytes written"),
        plain("flops", "flops", sums.flops.fn, count, "floating-point operations"),
        { key: "calls", title: "calls", number: true, fixed: true, width: "78px", value: (fn) => profile.calls[fn],
            text: (fn) => (profile.isLinked[fn] ? count(profile.calls[fn]) : "inlined") },
        { key: "name", title: "function", width: "minmax(160px, 1fr)", fixed: true, value: (fn) => profile.functions[fn].name,
            cell: (fn) => named(profile.functions[fn].name, 120) },
        { key: "place", title: "defined at", width: "150px", fixed: true, value: (fn) => definedAt(profile, fn), text: (fn) => shortened(definedAt(profile, fn), 36) },
    ];
}

function definedAt(profile, fn) {
    const { file, line } = profile.functions[fn];
    return file === null ? "" : `${fileName(profile.files[file])}:${line}`;
}

/** Everything about one function. */
function functionPage(app, fn) {
    const { profile, values, metric } = app;
    const cells = profile.cellsOf("fn", fn);
    const histogram = profile.histogram(cells);
    const own = values.own.fn[fn];
    const facts = [
        [metric.title, metric.text(own), metric.long, own],
        ["share", percent(own / values.total), "of the program", own / values.total],
        ...(profile.clock ? [["clock", percent(profile.clock.fn[fn] / profile.clock.samples), "of the samples", profile.clock.fn[fn]]] : []),
        ["with callees", metric.text(values.fnAll[fn]), "with all that it calls", values.fnAll[fn]],
        ...(profile.cycles ? [["cycles", percent(profile.cycles.fn.sums[fn] / profile.cycles.total), "of the program's cycles", profile.cycles.fn.sums[fn]]] : []),
        ["exact ByteDMD", grouped(profile.exact("cost", cells)), "every digit of the sum of ceil(sqrt(depth)) over all bytes read", profile.exact("cost", cells)],
        ["read", bytes(profile.sums.read.fn[fn]), grouped(profile.exact("read", cells)), profile.exact("read", cells)],
        ["written", bytes(profile.sums.written.fn[fn]), grouped(profile.exact("written", cells)), profile.exact("written", cells)],
        ["flops", count(profile.sums.flops.fn[fn]), "floating-point operations", profile.exact("flops", cells)],
        ["calls", profile.isLinked[fn] ? count(profile.calls[fn]) : "inlined", "how often it was entered", profile.calls[fn]],
    ];
    return [
        h("p", {}, jump("← all functions", "Escape", () => app.set({ fn: "" }))),
        h("h2", { class: "function-name" }, named(profile.functions[fn].name, 300)),
        h("p", { class: "quiet" }, functionPlace(app, fn), " · ", jump("in the flame graph", "", () => app.set({ panel: "flame", node: widestNode(app, fn) }))),
        factList(facts),
        h("div", { class: "columns" },
            h("section", {}, h("h3", {}, "Reads by depth"), largeHistogram(histogram, app.octaveCount)),
            h("section", {}, h("h3", {}, profile.has_traffic ? "Traffic at every capacity" : "Read deeper than every size"), smallCurve(profile.capacityHistogram(cells), app.state.z), roofPoint(app, fn))),
        h("div", { class: "columns" },
            h("section", { class: "callers" }, h("h3", {}, "Called by"), relatives(app, fn, "callers")),
            h("section", { class: "callees" }, h("h3", {}, "Calls and inlines"), relatives(app, fn, "callees"))),
        h("p", { class: "quiet" }, relativesNote(app)),
        h("section", {}, h("h3", {}, "Lines"), linesOf(app, cells)),
        ...[objectsOf(app, fn), pairsOf(app, fn)].filter(Boolean),
    ];
}

function functionPlace(app, fn) {
    const { profile } = app;
    const { file, line } = profile.functions[fn];
    return file === null ? "its place is not known" : jump(`${profile.files[file]}:${line}`, "Open the source", () => app.showPlace(file, line));
}

/** The node of a function where most of the number is. */
function widestNode(app, fn) {
    const { profile, values } = app;
    let best = 0;
    for (let node = 1; node < profile.nodes; node += 1) {
        if (profile.node.fn[node] === fn && (best === 0 || values.nodeAll[node] > values.nodeAll[best])) best = node;
    }
    return best;
}

/** Nodes of the calls from one function to another, outermost first: those below another call of the same two are in its numbers. */
function edgesOf(profile, fn, kind) {
    const { parent, fn: functions } = profile.node;
    const caller = (node) => (parent[node] === 0 ? -1 : functions[parent[node]]);
    const isInside = (node) => {
        for (let above = parent[node]; above > 0; above = parent[above]) if (functions[above] === functions[node] && caller(above) === caller(node)) return true;
        return false;
    };
    const edges = new Map();
    for (let node = 1; node < profile.nodes; node += 1) {
        if ((kind === "callers" ? functions[node] : caller(node)) !== fn) continue;
        const other = kind === "callers" ? caller(node) : functions[node];
        const edge = edges.get(other) ?? { other, outermost: [], calls: 0, inlined: false };
        if (!isInside(node)) edge.outermost.push(node);
        edge.calls += profile.node.calls[node];
        edge.inlined ||= profile.node.inlined[node] === 1;
        edges.set(other, edge);
    }
    return [...edges.values()];
}

/** Numbers of calls that contexts know: the chosen one, and those of the report's first screen. */
function edgeNumbers(app) {
    const { profile, values, metric } = app;
    const numbers = [{ title: metric.title, text: metric.text, nodes: values.nodeAll, all: values.fnAll }];
    const add = (title, text, sums) => {
        const nodes = profile.withCallees(sums.node);
        numbers.push({ title, text, nodes, all: profile.ofFunctionsWithCallees(nodes) });
    };
    if (profile.line_size && !(metric.id === "moved" && app.state.z === FIRST_LEVEL)) add("beyond 32 KiB", bytes, movedByLines(profile));
    if (metric.id !== "cost") add("ByteDMD", count, profile.sums.cost);
    return numbers;
}

/** Callers, with what the function does when they call it; callees, with what they do when it calls them. Each with all that is called further on. */
function relatives(app, fn, kind) {
    const { profile } = app;
    const numbers = edgeNumbers(app);
    const sum = ({ nodes }, edge) => edge.outermost.reduce((sum, node) => sum + nodes[node], 0);
    const rows = edgesOf(profile, fn, kind).map((edge) => ({ edge, sums: numbers.map((number) => sum(number, edge)) }));
    rows.sort((a, b) => b.sums[0] - a.sums[0] || b.edge.calls - a.edge.calls || a.edge.other - b.edge.other);
    if (rows.length === 0) return h("p", { class: "quiet" }, kind === "callers" ? "Nobody." : "Nothing that is seen.");
    const name = (other) => (other < 0 ? "(start of a thread)"
        : jump(shortened(profile.functions[other].name, 60), shortened(profile.functions[other].name, 400), () => app.showFunction(other)));
    return [simpleTable([kind === "callers" ? "caller" : "callee", ...numbers.flatMap(({ title }) => [title, "share"]), "calls"], rows.slice(0, 20).map(({ edge, sums }) => [
        name(edge.other), ...sums.flatMap((sum, i) => [numbers[i].text(sum), percent(numbers[i].all[fn] > 0 ? sum / numbers[i].all[fn] : 0)]),
        edge.calls > 0 ? count(edge.calls) : edge.inlined ? "inlined" : "",
    ])), rows.length > 20 ? h("p", { class: "quiet" }, `${rows.length - 20} more`) : null];
}

/** What the shares of callers and callees are of, and what has none. */
function relativesNote(app) {
    const without = [app.profile.cycles && "cycles", app.profile.clock && "the clock"].filter(Boolean).join(" and ");
    return `Shares are of what the function does with all that it calls.${without ? ` Who called is not known of ${without}.` : ""}`;
}

function linesOf(app, cells) {
    const { profile, values, metric } = app;
    const sums = new Map();
    for (const cell of cells) sums.set(profile.cell.line[cell], (sums.get(profile.cell.line[cell]) ?? 0) + (values.own.cells?.[cell] ?? 0));
    const ofLine = (line) => (values.own.cells ? sums.get(line) : values.own.line[line]);
    if (sums.size === 0) return h("p", { class: "quiet" }, "It reads, writes and computes nothing itself.");
    const lines = [...sums.keys()].sort((a, b) => ofLine(b) - ofLine(a)).slice(0, 30);
    return simpleTable(["line", metric.title, "share", "source"], lines.map((line) => [
        jump(profile.placeOf(line), profile.fileOf(line) ?? "", () => app.showLine(line)), metric.text(ofLine(line)), percent(ofLine(line) / values.total),
        h("code", { class: "source-text" }, shortened(app.sourceText(line).trim(), 100)),
    ]));
}

/** What binds it on the chosen machine. */
function roofPoint(app, fn) {
    const { profile, state } = app;
    const machine = app.machines.get(state.machine);
    if (!machine || whyNot("time", profile)) return null;
    const found = roofline(profile, machine, state.work).functions.find((line) => line.fn === fn);
    if (!found) return null;
    return h("p", { class: "roof-words" }, `On ${machine.name}: ${seconds(found.total)}, bound by ${boundName(machine, found.bound)}. `,
        found.share >= 0.05 ? advice(machine, found, "It") : "", " ", jump("its point in the roofline", "Open the roofline with this function picked", () => app.set({ panel: "roofline", fn: String(fn) })));
}

function objectsOf(app, fn) {
    const data = app.header.objects;
    const rows = data?.uses.filter((use) => use.function === app.profile.functions[fn].name).sort((a, b) => Number(b.cost) - Number(a.cost));
    if (!rows?.length) return null;
    return h("section", {}, h("h3", {}, "Data objects"), simpleTable(["object", "ByteDMD", "read", "written"], rows.slice(0, 20).map((use) => [
        jump(shortened(objectName(data.groups[use.group]), 100), "Open the object", () => app.set({ panel: "objects", object: String(use.group) })),
        count(Number(use.cost)), bytes(use.read), bytes(use.written)])));
}

function pairsOf(app, fn) {
    const rows = app.header.why?.sheets[0].rows.filter((row) => row.function === app.profile.functions[fn].name);
    if (!rows?.length) return null;
    return h("section", {}, h("h3", {}, "Who touched its bytes last"), simpleTable(["reader", "toucher", "ByteDMD", "read", "try"],
        rows.slice(0, 12).map((row) => [placeJump(app, row.line), row.touch_line ? h("span", {}, `${row.touch} at `, placeJump(app, row.touch_line)) : "nobody",
            count(row.cost), bytes(row.read), row.cures])));
}

/** A jump to `FILE:LINE`. */
function placeJump(app, place) {
    const colon = place.lastIndexOf(":");
    const file = app.profile.files.indexOf(place.slice(0, colon));
    if (colon < 0 || file < 0) return named(place, 50);
    return jump(`${fileName(place.slice(0, colon))}${place.slice(colon)}`, place, () => app.showPlace(file, Number(place.slice(colon + 1))));
}
