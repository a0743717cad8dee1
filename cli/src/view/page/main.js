// The page: header, traffic curve, tabs, and the panel that is open.
//
// Takes the document's data, gives `app`, which all panels get: the profile, the state, the chosen values, and ways from panel to panel. Keys: digits open
// panels, `/` searches, `m` goes through the metrics, `t` through the themes, `?` lists them.

class App {
    constructor({ header, profile, before }) {
        Object.assign(this, { header, profile, before });
        this.machines = new Map(header.machines.filter((m) => !m.unusable).map((m) => [m.name, m]));
        const machine = this.machines.has(header.machine) ? header.machine : this.machines.keys().next().value ?? "";
        const work = profile && profile.sums.flops.total > 0 && !profile.model.startsWith("values") ? "flops" : "ops";
        this.store = new State({ machine, work, z: firstCapacity(profile), panel: header.panel ?? "overview" });
        this.repair();
        this.tip = new Tip();
        if (profile) this.prepare();
    }

    /** What an address says that this page does not have. */
    repair() {
        const { now, defaults } = this.store;
        if (!this.machines.has(now.machine)) now.machine = defaults.machine;
        if (!["flops", "ops"].includes(now.work)) now.work = defaults.work;
        if (!PANELS.some((panel) => panel.id === now.panel)) now.panel = defaults.panel;
        if (!METRICS.some((metric) => metric.id === now.metric) || (this.profile && this.whyNot(now.metric))) now.metric = "cost";
        if (now.z < 1) now.z = defaults.z;
    }

    get state() {
        return this.store.now;
    }

    /** Why a number is not there, or not on both sides. */
    whyNot(metric) {
        return whyNot(metric, this.profile) ?? (this.before && whyNot(metric, this.before));
    }

    get metric() {
        return metricOf(this.state.metric);
    }

    set(patch) {
        this.store.set(patch);
    }

    prepare() {
        const { profile, header } = this;
        const last = profile.depths.bucket.reduce((most, bucket) => Math.max(most, bucket), 0);
        this.octaveCount = Math.max(1, Math.ceil(Math.log2(bucketTop(last))));
        this.sourceOf = new Map(header.sources.filter((source) => source.file !== null).map((source) => [source.file, source]));
        this.textOf = new Map();
        this.linesOfFile = new Map();
        for (let line = 0; line < profile.lines; line += 1) {
            const file = profile.line.file[line];
            if (!this.linesOfFile.has(file)) this.linesOfFile.set(file, []);
            this.linesOfFile.get(file).push(line);
        }
        const withCallees = (sums) => profile.ofFunctionsWithCallees(profile.withCallees(sums.node));
        const [executions, ops] = [withCallees(profile.sums.executions), withCallees(profile.sums.ops)];
        this.functionsShown = profile.functions.map((_, fn) => fn).filter((fn) => executions[fn] > 0 || ops[fn] > 0 || profile.calls[fn] > 0
            || profile.cycles?.fn.sums[fn] > 0 || profile.clock?.fn[fn] > profile.clock?.samples / 100);
        this.octavesOf = new Map();
    }

    /** Lines of a file's text, if the page has it. */
    fileText(file) {
        if (!this.textOf.has(file)) this.textOf.set(file, linesOfSource(this.sourceOf.get(file)));
        return this.textOf.get(file);
    }

    sourceText(line) {
        return this.fileText(this.profile.line.file[line])?.[this.profile.line.line[line] - 1] ?? "";
    }

    /** Rows of the source panel: every line of the text, or those that have numbers. */
    rowsOfFile(file) {
        const { profile } = this;
        const text = this.fileText(file);
        const known = (this.linesOfFile.get(file) ?? []).slice().sort((a, b) => profile.line.line[a] - profile.line.line[b]);
        const without = known.filter((line) => text?.[profile.line.line[line] - 1] === undefined);
        const byNumber = new Map(known.map((line) => [profile.line.line[line], line]));
        const rows = [];
        // Lines that the page does not have are left out.
        text?.forEach((source, i) => { rows.push({ file, number: i + 1, line: byNumber.get(i + 1) ?? -1, text: source }); });
        return [...rows, ...without.map((line) => ({ file, number: profile.line.line[line], line, text: null }))];
    }

    mostOfLine() {
        if (this.mostFor !== this.values) {
            this.mostFor = this.values;
            let most = 0;
            for (const value of this.values.own.line) if (value > most) most = value;
            this.most = most || 1;
        }
        return this.most;
    }

    drawHistogram(canvas, fn) {
        if (!this.octavesOf.has(fn)) this.octavesOf.set(fn, octaves(this.profile.histogram(this.profile.cellsOf("fn", fn))));
        smallHistogram(canvas, this.octavesOf.get(fn), this.octaveCount);
    }

    /** The chosen number of the run before. */
    valuesBefore() {
        return valuesOf(this.before, this.state, this.machines);
    }

    metricText() {
        const { metric, state } = this;
        if (AT_Z.includes(metric.id)) return `${metric.title.replace("Z", bytes(state.z))}`;
        return metric.id === "time" ? `the estimated time on ${state.machine}` : `all ${metric.title}`;
    }

    showFunction(fn) {
        this.set({ panel: "functions", fn: String(fn) });
    }

    showLine(line) {
        this.showPlace(this.profile.line.file[line], this.profile.line.line[line]);
    }

    showPlace(file, number) {
        this.set({ panel: "source", line: `${file}:${number}` });
    }

    start() {
        this.bar = new Header(this);
        this.tabs = h("nav", { class: "tabs", role: "tablist", "aria-label": "Panels" });
        this.main = h("main", {});
        if (this.profile) this.curve = new Curve(this);
        document.body.append(h("div", { class: "page" }, this.bar.element, this.curve?.element ?? "", this.tabs, this.main));
        this.created = new Map();
        this.store.listeners.push((_, changed) => this.show(changed));
        addEventListener("keydown", (event) => this.key(event));
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show(null));
        this.show(null);
    }

    show(changed) {
        document.documentElement.dataset.theme = this.state.theme;
        if (changed === null || changed.has("theme")) Table.look += 1;
        if (this.profile) this.values = valuesOf(this.profile, this.state, this.machines);
        this.bar.update();
        if (changed === null || changed.has("panel")) this.drawTabs();
        this.tip.hide();
        const definition = PANELS.find((panel) => panel.id === this.state.panel);
        const missing = definition.missing(this);
        if (missing && !this.created.has(definition.id)) {
            this.created.set(definition.id, { element: h("p", { class: "missing" }, `${definition.title}: ${missing}`), update() {} });
        }
        const isNew = !this.created.has(definition.id);
        if (isNew) this.created.set(definition.id, definition.create(this));
        const shown = this.created.get(definition.id);
        if (this.main.firstElementChild !== shown.element) this.main.replaceChildren(shown.element);
        this.curve?.draw();
        shown.update(isNew ? null : changed);
    }

    drawTabs() {
        this.tabs.replaceChildren(...PANELS.map((panel, i) => {
            const missing = panel.missing(this);
            return h("button", {
                type: "button", role: "tab", "aria-selected": String(panel.id === this.state.panel), "data-panel": panel.id,
                class: missing ? "without" : null, title: missing ?? (i < 10 ? `Key ${(i + 1) % 10}` : null), onclick: () => this.set({ panel: panel.id }),
            }, panel.title);
        }));
    }

    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input,select")) return;
        const digit = "1234567890".indexOf(event.key);
        if (digit >= 0 && digit < PANELS.length) this.set({ panel: PANELS[digit].id });
        else if (event.key === "/") this.bar.search.focus();
        else if (event.key === "m") this.bar.nextMetric();
        else if (event.key === "t") this.bar.nextTheme();
        else if (event.key === "?") this.bar.toggleHelp();
        else if (event.key === "Escape" && this.state.fn !== "" && this.state.panel === "functions") this.set({ fn: "" });
        else return;
        event.preventDefault();
    }
}

/** Lines of a source by number less one, with holes where the page has only parts of it; null if it has nothing. */
function linesOfSource(source) {
    if (source?.text !== null && source?.text !== undefined) return source.text.split("\n");
    if (!source?.parts?.length) return null;
    const lines = [];
    for (const [first, text] of source.parts) text.split("\n").forEach((line, i) => { lines[first - 1 + i] = line; });
    return lines;
}

/** 32 KiB, as many first caches have; less, if nothing lies as deep. */
function firstCapacity(profile) {
    if (!profile) return DEFAULTS.z;
    const deepest = profile.capacities.bucket.reduce((most, bucket) => Math.max(most, bucket), 0);
    const half = 2 ** Math.floor(Math.log2(Math.max(2, bucketTop(deepest))) - 1);
    return Math.min(DEFAULTS.z, half);
}

/** The line on top. */
class Header {
    constructor(app) {
        this.app = app;
        const { profile, state } = app;
        const command = profile ? profile.command.map((word) => (word.startsWith("/") ? fileName(word) : word)).join(" ") : app.header.names[1];
        document.title = `dmdprof: ${shortened(command, 80)}`;
        const metrics = METRICS.map((metric) => {
            const missing = profile ? app.whyNot(metric.id) : "no profile";
            return [metric.id, missing ? `${metric.title} (${missing})` : metric.title, missing !== null];
        });
        this.metrics = metrics.filter(([, , disabled]) => !disabled).map(([id]) => id);
        this.metric = choice("Metric", metrics, state.metric, (value) => app.set({ metric: value }));
        this.machine = choice("Machine", app.header.machines.map((m) => [m.name, m.name, m.unusable !== null]), state.machine, (value) => app.set({ machine: value }));
        this.work = choice("Work", [["flops", "flops"], ["ops", "all operations"]], state.work, (value) => app.set({ work: value }));
        this.search = h("input", {
            type: "search", placeholder: "search functions  /", "aria-label": "Search", maxlength: 200,
            oninput: () => app.set({ q: this.search.value }), onkeydown: (event) => { if (event.key === "Escape") this.search.blur(); },
        });
        this.theme = h("button", { type: "button", title: "Theme (t)", onclick: () => this.nextTheme() }, "◐");
        this.help = h("dialog", { class: "help" }, helpText(), h("form", { method: "dialog" }, h("button", {}, "Close")));
        this.element = h("header", {}, h("h1", { title: shortened(command, 600) }, "dmdprof ", named(command, 60)),
            profile && h("label", {}, "metric ", this.metric), profile && h("label", {}, "machine ", this.machine), profile && h("label", {}, "work ", this.work),
            this.search, this.theme, h("button", { type: "button", title: "Keys (?)", onclick: () => this.toggleHelp() }, "?"), this.help);
    }

    update() {
        const { state } = this.app;
        this.metric.value = state.metric;
        this.machine.value = state.machine;
        this.work.value = state.work;
        if (document.activeElement !== this.search) this.search.value = state.q;
    }

    nextMetric() {
        const at = this.metrics.indexOf(this.app.state.metric);
        if (this.metrics.length > 0) this.app.set({ metric: this.metrics[(at + 1) % this.metrics.length] });
    }

    nextTheme() {
        const isDark = this.app.state.theme === "dark" || (this.app.state.theme === "" && matchMedia("(prefers-color-scheme: dark)").matches);
        this.app.set({ theme: isDark ? "light" : "dark" });
    }

    toggleHelp() {
        if (this.help.open) this.help.close();
        else this.help.showModal();
    }
}

function helpText() {
    const keys = [["1 … 9, 0", "open a panel"], ["/", "search"], ["m", "next metric"], ["t", "dark or light"], ["Tab", "next control"],
        ["← → on the curve", "capacity Z by one step"], ["PgUp PgDn there", "by a power of two"], ["↑ ↓ in tables", "rows; Enter opens"],
        ["arrows in the flame graph", "frames; Enter zooms, Backspace zooms out"], ["space, ← → in the stack walk", "play, step"]];
    return [h("h2", {}, "Keys"), h("dl", {}, keys.map(([key, text]) => h("div", {}, h("dt", {}, key), h("dd", {}, text))))];
}

readDocument(document.getElementById("data")).then((data) => {
    const app = new App(data);
    app.start();
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
}).catch((error) => {
    document.body.append(h("p", { class: "missing" }, `This page cannot be shown: ${error.message}. It needs Chromium 103 or Firefox 113, or newer.`));
    throw error;
});
