// Threads: who reads what another wrote, and lines that change hands.
//
// Takes the sheets of `dmdprof report --sharing`; draws the bytes that one thread read and another wrote last as a square of threads, and lists lines of code
// that pass bytes on, and lines of memory that several threads write. Of the line that is picked (state `shared`), the bytes that each thread writes.

/** Threads that the square has room for; those that pass on most. */
const THREADS_DRAWN = 24;

panel({
    id: "threads",
    title: "Threads",
    missing: (app) => (app.header.sharing ? null : "measured by: dmdprof run --threads shared --sharing"),
    create(app) {
        const sheet = (name) => app.header.sharing.sheets.find((sheet) => sheet.name === name);
        const [flows, lines, written, first] = [sheet("flows").rows, sheet("lines"), sheet("written")?.rows ?? [], sheet("first_touches")];
        const parts = h("div", { class: "shared-parts" });
        const table = new Table(sharedLineColumns(lines.rows), {
            label: "Lines that change hands", sort: "changes", height: 260, onpick: (row) => app.set({ shared: row.number }), isPicked: (row) => row.number === app.state.shared,
        });
        const passed = new Table(passedColumns(app, flows), { label: "Bytes passed on", sort: "bytes", height: 300 });
        const element = h("div", { class: "threads" },
            h("div", { class: "columns" },
                h("section", {}, h("h2", {}, "Bytes that one thread read and another wrote last"), ...threadSquare(sheet("threads").rows),
                    first && [h("h3", {}, "First touches of what another thread had written before"), simpleTable(["read by", "bytes"], first.rows.map((row) => [named(row.reader, 60), bytes(row.bytes)]))]),
                h("section", {}, h("h2", {}, "By line of code and object"), passed.element)),
            h("h2", {}, lines.title), lines.rows.length > 0 ? [table.element, parts] : h("p", { class: "quiet" }, "None."),
            h("div", { class: "notes" }, app.header.sharing.notes.map((text) => h("p", { class: "quiet" }, text))));
        const update = () => {
            passed.setRows(flows);
            table.setRows(lines.rows);
            const picked = lines.rows.find((row) => row.number === app.state.shared) ?? lines.rows[0];
            if (picked) parts.replaceChildren(...sharedParts(app, picked, written.filter((row) => row.line === picked.number)));
        };
        return { element, update };
    },
});

function passedColumns(app, flows) {
    const most = flows.reduce((most, row) => Math.max(most, row.bytes), 1);
    return [
        { key: "bytes", title: "bytes", number: true, width: "110px", value: (row) => row.bytes, cell: (row) => bar(row.bytes / most, bytes(row.bytes)) },
        { key: "object", title: "object", width: "minmax(90px, 1fr)", value: (row) => row.object, cell: (row) => sharedObject(row.object, 60) },
        { key: "writer_place", title: "written at", width: "120px", value: (row) => row.writer_place, cell: (row) => placeJump(app, row.writer_place) },
        { key: "reader_place", title: "read at", width: "120px", value: (row) => row.reader_place, cell: (row) => placeJump(app, row.reader_place) },
        { key: "writer", title: "by", width: "90px", value: (row) => row.writer, cell: (row) => named(row.writer, 40) },
        { key: "reader", title: "read by", width: "90px", value: (row) => row.reader, cell: (row) => named(row.reader, 40) },
    ];
}

function sharedLineColumns(rows) {
    const most = rows.reduce((most, row) => Math.max(most, row.changes), 1);
    const counted = (key, title, hint) => ({ key, title, hint, number: true, width: "116px", value: (row) => row[key], text: (row) => count(row[key]) });
    return [
        { key: "changes", title: "owner changes", hint: "stores by another thread than the one that wrote the line last", number: true, width: "130px", value: (row) => row.changes, cell: (row) => bar(row.changes / most, count(row.changes)) },
        counted("false_changes", "for nothing", "changes in which no byte went from one to the other: false sharing"),
        counted("invalidations", "copies taken", "stores when another thread had a copy"),
        counted("transfers", "copies fetched", "loads of a line that another thread wrote last, by a thread without a copy"),
        counted("lines", "lines"),
        counted("writers", "threads"),
        { key: "object", title: "object", width: "minmax(120px, 1fr)", value: (row) => row.object, cell: (row) => sharedObject(row.object, 80) },
        { key: "cure", title: "cure", width: "minmax(120px, 1fr)", value: (row) => row.cure ?? "", cell: (row) => named(row.cure ?? "", 90) },
    ];
}

/** Writers down, readers across; the stronger the colour, the more bytes. */
function threadSquare(rows) {
    const passed = new Map();
    rows.forEach((row) => [row.writer, row.reader].forEach((name) => passed.set(name, (passed.get(name) ?? 0) + row.bytes)));
    if (passed.size === 0) return [h("p", { class: "quiet" }, "None: no thread reads what another wrote.")];
    const byNumber = (a, b) => parseInt(a, 10) - parseInt(b, 10) || a.localeCompare(b);
    const names = [...passed.keys()].sort((a, b) => passed.get(b) - passed.get(a)).slice(0, THREADS_DRAWN).sort(byNumber);
    const most = rows.reduce((most, row) => Math.max(most, row.bytes), 1);
    const of = new Map(rows.map((row) => [`${row.writer}\n${row.reader}`, row.bytes]));
    const cell = (writer, reader) => {
        const value = of.get(`${writer}\n${reader}`) ?? 0;
        const title = `${reader} read ${grouped(value)} bytes that ${writer} wrote last`;
        return h("td", { title: shortened(title, 400), "data-value": value, class: value > 0 ? "passed" : null, style: { "--part": `${Math.round(6 + 40 * Math.sqrt(value / most))}%` } }, value > 0 ? bytes(value) : "");
    };
    return [h("div", { class: "square-box" }, h("table", { class: "square" },
        h("thead", {}, h("tr", {}, h("th", {}, "written by ↓ read by →"), names.map((name) => h("th", {}, named(name, 18))))),
        h("tbody", {}, names.map((writer) => h("tr", {}, h("th", {}, named(writer, 24)), names.map((reader) => cell(writer, reader))))))),
    passed.size > names.length && h("p", { class: "quiet" }, `${passed.size - names.length} threads that pass on less are left out; dmdprof report --sharing has them.`)].filter(Boolean);
}

function sharedParts(app, line, rows) {
    const head = h("h3", {}, "Bytes that each thread writes of ", sharedObject(line.object, 100));
    if (rows.length === 0) return [head, h("p", { class: "quiet" }, "Not known: the profile is older than that.")];
    return [head, line.cure && h("p", {}, `The counts support: ${line.cure}.`), simpleTable(["bytes", "object", "field", "written by", "written at"], rows.map((row) => [
        h("code", {}, row.bytes), sharedObject(row.object, 60), named(row.field ?? "", 60), named(row.writer, 40), placeJump(app, row.place)]))].filter(Boolean);
}

/** An object with the files' names in the place of their paths. */
function sharedObject(text, most) {
    return h("bdi", { title: shortened(text, 600) }, shortened(text.replace(/\/[^\s,]*\/([^/\s]+:\d+)/g, "$1"), most));
}
