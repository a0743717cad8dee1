// Source files with the chosen number beside each line.
//
// Takes the files' text where the page holds it, else only the lines that have numbers; gives a list of files, the costliest first, and the lines of the
// chosen one (state `line`: FILE:LINE). Hovering shows the depths of a line, picking one shows which functions and pairs are there.

panel({
    id: "source",
    title: "Source",
    missing: (app) => {
        if (!app.profile) return "no profile is in this page";
        return app.profile.files.length > 0 ? null : "the program was compiled without -g, so that no code has a line";
    },
    create(app) {
        let picked = 0;
        const files = h("select", { class: "files", size: 2, "aria-label": "Source files", onchange: () => app.set({ line: `${files.value}:0` }) });
        const state = h("p", { class: "file-state" });
        const table = new Table(sourceColumns(app), {
            label: "Source lines", onpick: (row) => app.set({ line: `${row.file}:${row.number}` }),
            onhover: (event, row) => (row.line < 0 ? app.tip.hide() : hoverLine(app, event, row.line)),
            isPicked: (row) => row.number > 0 && picked === row.number,
        });
        table.element.classList.add("code");
        const detail = h("div", { class: "line-detail" });
        const value = h("p", {});
        let told = null;
        const element = h("div", { class: "source" }, h("div", { class: "side" }, files, detail), h("div", { class: "main" }, state, clockWords(app.profile.clock), causesLegend(app.profile.cycles), table.element));
        let shown = -1;
        let rest = 0;
        const list = (order, file) => {
            const texts = order.map((f) => `${percent(app.fileValue[f] / app.values.total).padStart(7, "\u2007")}  ${fileName(app.profile.files[f])}`);
            const key = order.map((f, i) => `${f} ${texts[i]}`).join("\n");
            if (listed !== key) {
                listed = key;
                files.size = Math.max(2, Math.min(order.length, 14));
                files.replaceChildren(...order.map((f, i) => h("option", { value: f, title: app.profile.files[f] }, texts[i])));
            }
            files.value = String(file);
        };
        let listed = null;
        const update = (changed) => {
            const order = filesByValue(app);
            const [file, number] = placeOfState(app, order);
            picked = number;
            // While the handle moves, the list would be made again for each picture: it follows when the handle rests.
            clearTimeout(rest);
            if (isDragged(changed)) rest = setTimeout(() => list(order, file), 120);
            else list(order, file);
            if (shown !== file) {
                table.setRows(app.rowsOfFile(file));
                shown = file;
                state.replaceChildren(...fileState(app, file));
            } else {
                table.refresh();
            }
            if (changed === null || changed.has("line") || changed.has("panel")) {
                const at = Math.max(0, table.rows.findIndex((row) => row.number === number));
                [at + 8, at - 8, at].forEach((row) => table.go(row));
            }
            const row = table.rows.find((row) => row.number === number);
            if (isDragged(changed) && told === row) value.textContent = row?.line >= 0 ? lineValue(app, row.line) : "";
            else detail.replaceChildren(...lineDetail(app, row, value));
            told = row;
        };
        return { element, update };
    },
});

/** Only the capacity is another one. */
function isDragged(changed) {
    return changed?.size === 1 && changed.has("z");
}

/** Files with numbers, largest first. */
function filesByValue(app) {
    const { profile, values } = app;
    const sums = new Float64Array(profile.files.length);
    for (let line = 0; line < profile.lines; line += 1) {
        const file = profile.line.file[line];
        if (file < sums.length) sums[file] += values.own.line[line];
    }
    app.fileValue = sums;
    const all = app.profile.files.map((_, file) => file).filter((file) => app.linesOfFile.has(file));
    return all.sort((a, b) => sums[b] - sums[a] || a - b).slice(0, 500);
}

function placeOfState(app, order) {
    const [file, number] = app.state.line.split(":").map(Number);
    const known = app.state.line !== "" && app.linesOfFile.has(file);
    const shown = known ? file : order[0] ?? 0;
    return [shown, known && number > 0 ? number : costliestLine(app, shown)];
}

/** The number of the line of a file that costs most. */
function costliestLine(app, file) {
    const { profile, values } = app;
    const lines = (app.linesOfFile.get(file) ?? []).filter((line) => profile.line.line[line] > 0);
    const best = lines.reduce((best, line) => (best < 0 || values.own.line[line] > values.own.line[best] ? line : best), -1);
    return best < 0 ? 0 : profile.line.line[best];
}

function fileState(app, file) {
    const source = app.sourceOf.get(file);
    const path = app.profile.files[file];
    const words = {
        changed: "This file changed since the run: lines may have moved.",
        missing: "This file was not found when the page was made: only lines with numbers are listed. --source-dir DIR says where sources are.",
        outside: "This file is outside of the directory where the page was made and the repository around that: only lines with numbers are listed. --source-dir DIR shows files below DIR.",
        unverified: "Nobody knows whether this file is what was compiled: it could not be read when the profile was made.",
        large: "The sources are too large to be all in the page: of this file only lines with numbers are listed.",
    };
    const parts = source?.parts?.length > 0 ? "Of this large file, the page has the lines with numbers and some around them." : null;
    const link = source?.path ? h("a", { href: `file://${source.path.split("/").map(encodeURIComponent).join("/")}`, rel: "noreferrer" }, source.path) : null;
    const without = app.header.sources_mode === "none" ? "The page was made without sources: --sources embed puts them in." : null;
    return [h("span", { class: "path" }, named(path, 120)), " ", h("span", { class: "warning" }, [words[source?.state] ?? without, parts].filter(Boolean).join(" ")), link ?? ""];
}

function sourceColumns(app) {
    const { profile } = app;
    const value = (row) => (row.line < 0 ? 0 : app.values.own.line[row.line]);
    const { cycles } = profile;
    return [
        ...clockColumns(profile.clock, "line", (row) => row.line),
        ...causesColumns(cycles, "line", (row) => row.line, cycles?.most),
        { key: "value", title: () => app.metric.title, number: true, width: "150px",
            bar: (row) => (row.line < 0 || value(row) === 0 ? { part: 0, text: "" } : { part: value(row) / app.mostOfLine(), text: app.metric.text(value(row)) }) },
        { key: "share", title: "share", number: true, width: "60px", text: (row) => (value(row) > 0 ? percent(value(row) / app.values.total) : "") },
        { key: "depth", title: "median depth", hint: "half of the bytes that the line reads lie deeper than this on the LRU stack (stack distance in bytes)", number: true, width: "110px", fixed: true,
            text: (row) => medianText(app, row) },
        { key: "line", title: "line", number: true, width: "66px", fixed: true, text: (row) => (row.number > 0 ? String(row.number) : "?") },
        { key: "text", title: "source", width: "minmax(0, 1fr)", fixed: true, cell: (row) => h("code", { class: "source-text" }, row.text
            ?? (row.number > 0 ? "" : `code of no line, ${inFunctions(profile, row.line)}`)) },
    ];
}

function medianText(app, row) {
    if (row.line < 0 || app.profile.sums.read.line[row.line] === 0) return "";
    const histogram = app.profile.histogram(app.profile.cellsOf("line", row.line));
    return bytes(depthAt(histogram, app.profile.sums.read.line[row.line], 0.5));
}

function lineValue({ profile, metric, values }, line) {
    const cost = `ByteDMD ${grouped(profile.exact("cost", profile.cellsOf("line", line)))}`;
    return metric.id === "cost" ? cost : `${metric.title} ${metric.text(values.own.line[line])}, ${cost}`;
}

/** Functions and pairs of a line; `value` is the element of its number. */
function lineDetail(app, row, value) {
    if (!row || row.line < 0) return [h("p", { class: "quiet" }, "Pick a line with a number: its functions, depths and reuse pairs are shown here.")];
    const { profile } = app;
    const cells = profile.cellsOf("line", row.line);
    value.textContent = lineValue(app, row.line);
    const functions = [...new Set(Array.from(cells, (cell) => profile.cell.fn[cell]))];
    const causes = profile.cycles?.line.causes.get(row.line);
    const pairs = (app.header.why?.sheets[0].rows ?? []).filter((pair) => samePlace(pair.line, profile, row.line)).slice(0, 6);
    return [h("h3", {}, profile.placeOf(row.line)),
        value,
        profile.clock ? h("p", {}, `${percent(profile.clock.line[row.line] / profile.clock.samples)} of the time by the clock.`) : "",
        causes ? h("p", {}, `${allCauses(profile.cycles, causes)}.`) : "",
        h("p", {}, "in ", functions.slice(0, 6).map((fn) => [jump(shortened(profile.functions[fn].name, 50), shortened(profile.functions[fn].name, 400), () => app.showFunction(fn)), " "])),
        largeHistogram(profile.histogram(cells), app.octaveCount),
        ...pairs.map((pair) => h("p", {}, `${pair.touch === "write" ? "written" : "read"} last at `,
            pair.touch_line ? placeJump(app, pair.touch_line) : "no place", `: ${count(pair.cost)} of ByteDMD`, pair.cures ? `; ${pair.cures}` : ""))];
}
