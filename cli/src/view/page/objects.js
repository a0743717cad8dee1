// Data objects: a treemap by the chosen number, and a picture of a structure's bytes.
//
// Takes objects with their depths, gives areas; the object that is picked (state `object`) shows where in its blocks reads go, which functions use it, and its
// structures' fields byte by byte, in rows of a cache line, so that what is never read is seen.

panel({
    id: "objects",
    title: "Objects",
    missing: (app) => (app.header.objects ? null : "measured by: dmdprof run --objects (fields need -g)"),
    create(app) {
        const { groups } = app.header.objects;
        const note = h("p", { class: "quiet" });
        const map = h("canvas", { role: "img", "aria-label": "Treemap of data objects", onclick: (event) => pick(event), onpointermove: (event) => hover(event), onpointerleave: () => app.tip.hide() });
        const mapBox = h("div", { class: "treemap" }, map);
        const detail = h("div", { class: "object-detail" });
        const table = new Table(objectColumns(app), {
            label: "Data objects", sort: "value", height: 260, onpick: (row) => app.set({ object: String(row) }), isPicked: (row) => app.state.object === String(row),
        });
        const element = h("div", { class: "objects" }, note, h("div", { class: "columns" }, mapBox, table.element), detail);
        let areas = [];
        const at = (event) => areas.find(({ x, y, width, height }) => event.offsetX >= x && event.offsetX < x + width && event.offsetY >= y && event.offsetY < y + height);
        const pick = (event) => { const area = at(event); if (area) app.set({ object: String(area.item) }); };
        const hover = (event) => {
            const area = at(event);
            if (!area) return app.tip.hide();
            const group = groups[area.item];
            return app.tip.show(event, h("b", {}, named(objectName(group), 160)), h("div", {}, `${objectText(app, objectValue(app, group))}; ByteDMD ${grouped(group.cost)}`),
                h("div", {}, `read ${bytes(group.read)}, written ${bytes(group.written)}, at most ${bytes(group.peak)} at once`));
        };
        const update = () => {
            note.textContent = objectMetric(app) === app.state.metric ? "" : `Objects follow ByteDMD, bytes read, bytes written, traffic at Z and deeper than Z. They have no ${app.metric.title}: ByteDMD is shown.`;
            const values = groups.map((group) => objectValue(app, group));
            const order = values.map((_, i) => i).filter((i) => values[i] > 0).sort((a, b) => values[b] - values[a]);
            const picked = app.state.object === "" ? order[0] ?? 0 : Math.min(Number(app.state.object) || 0, groups.length - 1);
            const width = Math.max(300, mapBox.clientWidth || 560);
            areas = squarify(order, values, width, 260);
            drawTreemap(app, map, areas, width, 260, picked, groups, values);
            table.setRows(order);
            detail.replaceChildren(...(groups[picked] ? objectPage(app, picked) : []));
        };
        new ResizeObserver(() => { if (mapBox.isConnected) update(); }).observe(mapBox);
        return { element, update };
    },
});

/** The number that objects have: that of the state, or ByteDMD. */
function objectMetric(app) {
    return ["cost", "read", "q", "deeper", "written"].includes(app.state.metric) ? app.state.metric : "cost";
}

/** `b (heap main)`: by its variable if that is known, with the functions that allocate it. */
function objectName({ kind, name, variable }) {
    return variable ? `${variable} (${kind} ${name})` : `${kind} ${name}`;
}

function objectValue(app, numbers) {
    const metric = objectMetric(app);
    if (metric === "read") return numbers.read;
    if (metric === "written") return numbers.written;
    if (metric === "cost") return Number(numbers.cost);
    const sizes = metric === "q" ? numbers.capacities ?? numbers.depths : numbers.depths;
    return sizes.reduce((sum, [floor, reads]) => sum + (floor >= app.state.z ? reads : 0), 0);
}

function objectText(app, value) {
    return metricOf(objectMetric(app)).text(value);
}

function objectColumns(app) {
    const { groups } = app.header.objects;
    const value = (i) => objectValue(app, groups[i]);
    const total = () => groups.reduce((sum, group) => sum + objectValue(app, group), 0) || 1;
    return [
        { key: "value", title: () => metricOf(objectMetric(app)).title, number: true, width: "140px", value, cell: (i) => bar(value(i) / total(), objectText(app, value(i))) },
        { key: "read", title: "read", number: true, width: "84px", value: (i) => groups[i].read, text: (i) => bytes(groups[i].read) },
        { key: "peak", title: "at once", hint: "most bytes at once", number: true, width: "84px", value: (i) => groups[i].peak, text: (i) => bytes(groups[i].peak) },
        { key: "kind", title: "kind", width: "84px", value: (i) => groups[i].kind, text: (i) => groups[i].kind },
        { key: "name", title: "object", width: "minmax(120px, 1fr)", value: (i) => objectName(groups[i]), cell: (i) => named(objectName(groups[i]), 100) },
    ];
}

/** Rectangles with areas as the values, as square as may be (Bruls, Huizing, van Wijk, 2000). */
function squarify(items, values, width, height) {
    const total = items.reduce((sum, i) => sum + values[i], 0);
    if (total === 0) return [];
    const scale = (width * height) / total;
    const areas = [];
    let [x, y, w, hgt, at] = [0, 0, width, height, 0];
    while (at < items.length && w > 0.5 && hgt > 0.5) {
        const side = Math.min(w, hgt);
        let sum = 0;
        let count = 0;
        let worst = Infinity;
        while (at + count < items.length) {
            const next = sum + values[items[at + count]] * scale;
            const large = values[items[at]] * scale;
            const small = values[items[at + count]] * scale;
            const ratio = Math.max((side * side * large) / (next * next), (next * next) / (side * side * small));
            if (ratio > worst) break;
            [worst, sum, count] = [ratio, next, count + 1];
        }
        const thick = sum / side;
        let along = 0;
        for (let i = at; i < at + count; i += 1) {
            const long = (values[items[i]] * scale) / thick;
            areas.push(w >= hgt ? { item: items[i], x, y: y + along, width: thick, height: long } : { item: items[i], x: x + along, y, width: long, height: thick });
            along += long;
        }
        if (w >= hgt) [x, w] = [x + thick, w - thick];
        else [y, hgt] = [y + thick, hgt - thick];
        at += count;
    }
    return areas;
}

function drawTreemap(app, canvas, areas, width, height, picked, groups, values) {
    const context = sharpCanvas(canvas, width, height);
    context.font = `12px ${variable("--font")}`;
    for (const area of areas) {
        const group = groups[area.item];
        const reads = group.depths.reduce((sum, [, n]) => sum + n, 0);
        const mean = group.depths.reduce((sum, [floor, n]) => sum + (floor + 1) * n, 0) / (reads || 1);
        const colour = depthColour(Math.log2(Math.max(mean, 1)) / app.octaveCount);
        context.fillStyle = colour.fill;
        context.fillRect(area.x + 1, area.y + 1, Math.max(0, area.width - 2), Math.max(0, area.height - 2));
        if (area.item === picked) {
            context.strokeStyle = variable("--focus");
            context.lineWidth = 3;
            context.strokeRect(area.x + 2, area.y + 2, area.width - 4, area.height - 4);
        }
        if (area.width < 60 || area.height < 22) continue;
        context.save();
        context.beginPath();
        context.rect(area.x, area.y, area.width - 4, area.height);
        context.clip();
        context.fillStyle = colour.text;
        context.fillText(shortened(group.variable ?? group.name, Math.max(6, Math.floor(area.width / 6.6))), area.x + 7, area.y + 18);
        if (area.height > 40) context.fillText(objectText(app, values[area.item]), area.x + 7, area.y + 34);
        context.restore();
    }
}

function objectPage(app, index) {
    const { groups, fields, uses } = app.header.objects;
    const group = groups[index];
    const users = uses.filter((use) => use.group === index).sort((a, b) => objectValue(app, b) - objectValue(app, a)).slice(0, 12);
    const colon = group.place?.lastIndexOf(":") ?? -1;
    return [h("h2", {}, named(objectName(group), 160)),
        h("p", { class: "quiet" }, group.place ? [colon > 0 ? placeJump(app, group.place) : group.place, "; "] : "", `${count(group.times)} ${group.times === 1 ? "time" : "times"}, at most ${bytes(group.peak)} at once; ByteDMD ${grouped(group.cost)}`),
        group.parts.length > 0 && partsPicture(group.parts),
        h("div", { class: "columns" },
            h("section", {}, h("h3", {}, "Fields"), ...structures(app, fields.filter((field) => field.group === index))),
            h("section", {}, h("h3", {}, "Used by"), simpleTable(["function", metricOf(objectMetric(app)).title, "read", "written"], users.map((use) => [
                functionJump(app, use.function), objectText(app, objectValue(app, use)), bytes(use.read), bytes(use.written)])))),
    ].filter(Boolean);
}

function functionJump(app, name) {
    const fn = app.functionsShown.find((fn) => app.profile.functions[fn].name === name);
    return fn === undefined ? named(name, 60) : jump(shortened(name, 60), shortened(name, 400), () => app.showFunction(fn));
}

/** Where in large blocks reads go: from the first byte to the last. */
function partsPicture(parts) {
    const most = Math.max(...parts, 1);
    return h("section", {}, h("h3", {}, "Where in its large blocks reads go, first byte to last"),
        svg("svg", { width: 642, height: 44, role: "img", "aria-label": "Reads by 64th of the block" }, parts.map((n, i) => svg("rect", {
            class: "part", x: i * 10, width: 9, y: 40 - 38 * (n / most), height: Math.max(1, 38 * (n / most)) }, svg("title", {}, `${i + 1} of 64: ${bytes(n)}`)))));
}

/** Each structure as its bytes; scalars as a list. */
function structures(app, fields) {
    const known = fields.filter((field) => field.of && field.of.name !== "");
    const others = fields.filter((field) => !field.of || field.of.name === "");
    const types = new Map();
    known.forEach((field) => {
        const key = `${field.of.type_name}\n${field.of.type_size}`;
        types.set(key, [...types.get(key) ?? [], field]);
    });
    const parts = [...types.values()].sort((a, b) => sumOf(app, b) - sumOf(app, a)).slice(0, 6).map((list) => structure(app, list));
    if (others.length > 0) {
        parts.push(simpleTable(["", metricOf(objectMetric(app)).title, "read", "written"], others.sort((a, b) => objectValue(app, b) - objectValue(app, a)).slice(0, 10).map((field) => [
            field.of ? named(`${field.of.type_name} (a scalar)`, 60) : "(field not known)", objectText(app, objectValue(app, field)), bytes(field.read), bytes(field.written)])));
    }
    return parts;
}

function sumOf(app, list) {
    return list.reduce((sum, field) => sum + objectValue(app, field), 0);
}

/** Bytes of a structure in rows of 64; the stronger the colour, the more is used; hatched: never accessed. */
function structure(app, list) {
    const { type_name: name, type_size: size } = list[0].of;
    const width = 8;
    const shown = Math.min(size, 1024);
    const perByte = new Float64Array(shown);
    const nameAt = new Array(shown).fill(null);
    list.forEach((field) => {
        for (let byte = field.of.offset; byte < Math.min(field.of.offset + field.of.size, shown); byte += 1) {
            perByte[byte] += objectValue(app, field) / field.of.size;
            nameAt[byte] = nameAt[byte] ? `${nameAt[byte]}, ${field.of.name}` : field.of.name;
        }
    });
    const most = Math.max(...perByte, 1e-9);
    const cells = Array.from(perByte, (value, byte) => svg("rect", {
        class: nameAt[byte] === null ? "byte unused" : "byte", x: (byte % 64) * width, y: Math.floor(byte / 64) * 22, width: width - 1, height: 19,
        "fill-opacity": nameAt[byte] === null ? null : (0.15 + 0.85 * (value / most)).toFixed(3),
    }, svg("title", {}, `byte ${byte}: ${nameAt[byte] ?? "never accessed by its name"}`)));
    const rows = Math.ceil(shown / 64);
    const used = nameAt.filter((name) => name !== null).length;
    return h("div", { class: "structure" }, h("p", {}, h("b", {}, named(name, 80)), ` ${size} bytes, ${used} of them accessed${size > shown ? `; the first ${shown} are drawn` : ""}`),
        svg("svg", { width: 64 * width, height: rows * 22, role: "img", "aria-label": `Bytes of ${shortened(name, 80)}` }, cells),
        simpleTable(["field", "bytes", metricOf(objectMetric(app)).title, "read", "written"], list.slice().sort((a, b) => a.of.offset - b.of.offset).slice(0, 60).map((field) => [
            named(field.of.name, 60), `${field.of.offset}–${field.of.offset + field.of.size - 1}`, objectText(app, objectValue(app, field)), bytes(field.read), bytes(field.written)])));
}
