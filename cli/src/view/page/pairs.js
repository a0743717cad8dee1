// Reuse pairs: who touched bytes last, who reads them, and what lay between.
//
// Takes the rows of `dmdprof why`; draws the lines of the costliest pairs below each other, with an arc from the line that touched to the line that
// reads, as thick as its cost. The pair that is picked (state `pair`) is told in the words of `dmdprof why`, with the cures that its counts support.

const PAIRS_DRAWN = 24;

panel({
    id: "pairs",
    title: "Reuse pairs",
    missing: (app) => (app.header.why ? null : "measured by: dmdprof run --flows --objects"),
    create(app) {
        const rows = app.header.why.sheets[0].rows;
        const picture = h("div", { class: "pairs-picture" });
        const words = h("div", { class: "pairs-words" });
        const table = new Table(pairColumns(app), {
            label: "Reuse pairs", sort: "cost", height: 340, onpick: (row) => app.set({ pair: row.number - 1 }), isPicked: (row) => row.number - 1 === app.state.pair,
        });
        const element = h("div", { class: "pairs" }, h("div", { class: "columns" }, picture, words), h("h2", {}, "All pairs"), table.element);
        const update = () => {
            const picked = Math.min(app.state.pair, rows.length - 1);
            picture.replaceChildren(...(rows.length > 0 ? [pairLegend(rows.length), pairPicture(app, rows.slice(0, PAIRS_DRAWN), picked)]
                : [h("p", { class: "quiet" }, "Nothing is read again.")]));
            words.replaceChildren(...(rows[picked] ? pairWords(app, rows[picked]) : []));
            table.setRows(rows);
        };
        return { element, update };
    },
});

function pairLegend(count) {
    const drawn = Math.min(count, PAIRS_DRAWN);
    return h("p", { class: "quiet" }, `The ${drawn} costliest pairs. An arc goes from the line that touched last to the line that reads: `,
        h("span", { class: "key read" }), " it had read, ", h("span", { class: "key write" }), " it had written; as thick as its ByteDMD.");
}

function pairColumns(app) {
    return [
        { key: "cost", title: "ByteDMD", number: true, width: "130px", value: (row) => row.cost, cell: (row) => bar(row.share ?? 0, count(row.cost)) },
        { key: "share", title: "share", number: true, width: "64px", value: (row) => row.share ?? 0, text: (row) => percent(row.share ?? 0) },
        { key: "read", title: "read", number: true, width: "86px", value: (row) => row.read, text: (row) => bytes(row.read) },
        { key: "p50", title: "median depth", number: true, width: "90px", value: (row) => row.depth_p50, text: (row) => bytes(row.depth_p50) },
        { key: "line", title: "reads", width: "150px", value: (row) => row.line, cell: (row) => placeJump(app, row.line) },
        { key: "touch", title: "last touched", width: "170px", value: (row) => row.touch_line ?? "", cell: (row) => (row.touch_line
            ? h("span", {}, `${row.touch} `, placeJump(app, row.touch_line)) : "by nobody") },
        { key: "cures", title: "try", width: "110px", value: (row) => row.cures, text: (row) => row.cures },
        { key: "use", title: "line use", hint: "part of the cache lines fetched that is used", number: true, width: "80px", value: (row) => row.line_use ?? -1,
            text: (row) => (row.line_use === null ? "" : percent(row.line_use)) },
        { key: "object", title: "data object", width: "minmax(120px, 1fr)", value: (row) => row.object ?? "", cell: (row) => named(row.object ?? "", 90) },
    ];
}

function pairWords(app, row) {
    const told = (app.header.why_words[row.number - 1] ?? "").split("\n");
    return [h("h3", {}, `Pair ${row.number}: ${count(row.cost)} of ByteDMD, ${percent(row.share ?? 0)}`),
        h("p", {}, placeJump(app, row.line), row.touch_line ? [` reads what ${row.touch === "write" ? "was written" : "was read"} last at `, placeJump(app, row.touch_line)] : " reads what nobody touched before", "."),
        h("div", { class: "told" }, told.map((line) => h("p", {}, line.replace(/\/\S*\/([^/\s]+:\d+)/g, "$1"))))];
}

/** `kernel.c:12` of `/home/me/kernel.c:12`. */
function shortPlace(place) {
    return place.slice(place.lastIndexOf("/") + 1);
}

function pairPicture(app, rows, picked) {
    const places = [...new Set(rows.flatMap((row) => [row.line, row.touch_line].filter(Boolean)))].sort(byPlace);
    const [step, left, width] = [24, Math.min(190, 60 + rows.length * 6), 620];
    const height = places.length * step + 24;
    const y = (place) => 18 + places.indexOf(place) * step;
    const most = Math.max(...rows.map((row) => row.cost), 1);
    const arcs = rows.map((row, i) => {
        if (!row.touch_line) return null;
        const [from, to] = [y(row.touch_line), y(row.line)];
        const wide = 1.5 + 7 * Math.sqrt(row.cost / most);
        const out = from === to ? 26 : Math.min(left - 30, 28 + Math.abs(from - to) * 0.55);
        const path = from === to ? `M${left} ${from - 5}C${left - out * 2} ${from - 16} ${left - out * 2} ${from + 16} ${left} ${from + 5}`
            : `M${left} ${from}C${left - out} ${from} ${left - out} ${to} ${left} ${to}`;
        return svg("path", {
            class: `arc ${row.touch}${i === picked ? " picked" : ""}`, d: path, "stroke-width": wide, "data-pair": i, onclick: () => app.set({ pair: i }),
            onpointermove: (event) => app.tip.show(event, h("b", {}, `${shortPlace(row.touch_line)} → ${shortPlace(row.line)}`), h("div", {}, `${count(row.cost)} of ByteDMD, ${bytes(row.read)} read, half deeper than ${bytes(row.depth_p50)}`),
                row.between && h("div", {}, `between: ${row.between.split(", ").map(shortPlace).join(", ")}`), row.cures && h("div", {}, `try: ${row.cures}`)),
            onpointerleave: () => app.tip.hide(),
        });
    });
    const labels = places.map((place) => svg("text", { x: left + 8, y: y(place) + 4 }, `${shortened(shortPlace(place), 26)}   ${shortened(sourceAt(app, place), 52)}`));
    const dots = places.map((place) => svg("circle", { cx: left, cy: y(place), r: 3 }));
    return svg("svg", { class: "pair-arcs", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Reuse pairs between lines" },
        arcs.filter(Boolean), dots, labels);
}

function byPlace(a, b) {
    const [fileA, fileB] = [a, b].map((place) => place.slice(0, place.lastIndexOf(":")));
    const [lineA, lineB] = [a, b].map((place) => Number(place.slice(place.lastIndexOf(":") + 1)));
    return fileA === fileB ? lineA - lineB : fileA.localeCompare(fileB);
}

function sourceAt(app, place) {
    const colon = place.lastIndexOf(":");
    const file = app.profile.files.indexOf(place.slice(0, colon));
    return (file >= 0 ? app.fileText(file)?.[Number(place.slice(colon + 1)) - 1] ?? "" : "").trim();
}
