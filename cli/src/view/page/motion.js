// Loops: the nest of `dmdprof motion`, with what each array brings in and brings in again.
//
// Takes the sheets of `dmdprof motion`; draws each loop as a box inside the one around it, with a bar per array: what is brought in for the first time, and what
// is brought in again (refills), on one scale for all. The buffers that would end the refills are told below, the most useful first.

panel({
    id: "motion",
    title: "Loops",
    missing: (app) => (app.header.motion ? null : "measured by: dmdprof motion PROGRAM; then dmdprof view --motion dmdprof.motion, or dmdprof motion --html FILE"),
    create(app) {
        const sheet = (name) => app.header.motion.sheets.find((sheet) => sheet.name === name);
        const loops = sheet("loops").rows;
        const arrays = sheet("arrays").rows;
        const buffers = sheet("buffers");
        const most = Math.max(...arrays.map((row) => row.fill_bytes), 1);
        const ofLoop = new Map();
        arrays.forEach((row) => {
            const number = Number(/^#(\d+)/.exec(row.loop)?.[1]);
            ofLoop.set(number, [...ofLoop.get(number) ?? [], row]);
        });
        const children = new Map();
        loops.forEach((loop) => {
            const parent = loop.parent === null ? 0 : Number(loop.parent.slice(1));
            children.set(parent, [...children.get(parent) ?? [], loop]);
        });
        const box = (loop) => h("div", { class: "loop" }, loopHead(app, loop), ...loopBars(ofLoop.get(loop.number) ?? [], most), ...(children.get(loop.number) ?? []).map(box));
        const element = h("div", { class: "motion" },
            h("p", { class: "quiet" }, h("span", { class: "key first" }), " brought in for the first time ", h("span", { class: "key again" }), " brought in again; all bars have one scale"),
            ...(children.get(0) ?? [h("p", { class: "quiet" }, "No loop accesses memory.")]).map((loop) => (loop instanceof Node ? loop : box(loop))),
            h("h2", {}, "Buffers that would end refills"), ...buffers.remarks.map((text) => h("p", {}, text)),
            buffers.rows.length > 0 && simpleTable(["array", "buffer", "bytes saved", "refilled by loop", "kept across loop"], buffers.rows.slice(0, 40).map((row) => [
                named(row.array, 60), bytes(row.buffer_bytes), bytes(row.saved_bytes), named(row.refilled_by, 60), named(row.kept_across, 60)])),
            h("div", { class: "notes" }, app.header.motion.notes.map((text) => h("p", { class: "quiet" }, text))));
        return { element, update() {} };
    },
});

function loopHead(app, loop) {
    const file = app.profile && loop.file !== null ? app.profile.files.indexOf(loop.file) : -1;
    const label = loop.loop.replaceAll("| ", "");
    return h("div", { class: "loop-head" }, h("b", {}, file >= 0 ? jump(`#${loop.number} ${label}`, loop.file, () => app.showPlace(file, loop.line)) : named(`#${loop.number} ${label}`, 80)),
        h("span", { class: "quiet" }, ` ${count(loop.iterations)} iterations, entered ${count(loop.entries)} times; an iteration touches at most ${bytes(loop.capacity_bytes)}; fills ${bytes(loop.fill_bytes)}, refills ${bytes(loop.refill_bytes)}`));
}

/** Arrays that bring in most, at most 8. */
function loopBars(rows, most) {
    const sorted = rows.slice().sort((a, b) => b.fill_bytes - a.fill_bytes).filter((row) => row.fill_bytes > 0);
    const bars = sorted.slice(0, 8).map((row) => {
        const first = row.fill_bytes - row.refill_bytes;
        const title = `${row.array}: ${bytes(row.fill_bytes)} brought in, ${bytes(row.refill_bytes)} of it again; touches ${bytes(row.footprint_bytes)}`;
        return h("div", { class: "loop-bar", title: shortened(title, 500) }, h("span", { class: "array" }, named(row.array, 34)),
            h("span", { class: "track" }, h("span", { class: "first", style: { width: `${(first / most) * 100}%` } }), h("span", { class: "again", style: { width: `${(row.refill_bytes / most) * 100}%` } })),
            h("span", { class: "number" }, `${bytes(row.fill_bytes)}${row.refill_bytes > 0 ? `, ${bytes(row.refill_bytes)} again` : ""}`));
    });
    if (sorted.length > 8) bars.push(h("p", { class: "quiet" }, `${sorted.length - 8} more arrays bring in less`));
    return bars;
}
