// Roofline: every function under the roof of a machine, as large as its share of the time.
//
// Takes the chosen machine and work; draws operations per second over operations per byte for one link (state `view` of this panel: the innermost at first), and
// lists times as `dmdprof roofline` does. For the function that is picked, an arrow shows how far right less traffic moves it until something else binds.

const ROOF = { height: 420, left: 84, right: 24, top: 16, bottom: 40 };

panel({
    id: "roofline",
    title: "Roofline",
    missing: (app) => {
        if (!app.profile) return "no profile is in this page";
        if (app.profile.sums.ops.total === 0) return "no operations were counted";
        return app.machines.size > 0 ? null : "no machine can be used";
    },
    create(app) {
        const machine = choice("Machine of the roofline", machineOptions(app), app.state.machine, (value) => app.set({ machine: value }));
        const title = h("span", { class: "quiet" });
        const picture = h("div", { class: "roof-box" });
        const words = h("p", { class: "roof-words" });
        const hint = h("p", { class: "quiet" });
        const table = new Table(roofColumns(app), {
            label: "Estimated times", sort: "time", height: 420, onpick: (row) => app.set({ fn: row.fn === null ? "" : String(row.fn) }),
            isPicked: (row) => row.fn !== null && app.state.fn === String(row.fn),
        });
        const element = h("div", { class: "roofline" }, h("div", { class: "tools" }, h("label", {}, "machine ", machine), title), words, picture, hint, table.element,
            h("p", { class: "quiet" }, "Bounds of an ideal machine, not forecasts: every level is a fully associative LRU memory in which what dies frees its place, and ",
                "work and traffic overlap perfectly. ~ marks what rests on a guess."));
        const update = () => {
            machine.value = app.state.machine;
            const chosen = app.machines.get(app.state.machine);
            const found = roofline(app.profile, chosen, app.state.work);
            app.roof = chosen;
            const picked = found.functions.find((line) => app.state.fn === String(line.fn)) ?? found.functions[0];
            hint.textContent = workHint(app, found);
            title.textContent = `${chosen.title}: ${chosen.kind}, ${count(chosen.peak * chosen.efficiency)}op/s`;
            words.replaceChildren(picked ? advice(chosen, picked, shortened(app.profile.functions[picked.fn].name, 80)) : "Nothing works or reads.");
            picture.replaceChildren(roofPicture(app, chosen, found, picked));
            table.setRows([{ ...found.program, share: 1 }, ...found.functions]);
        };
        return { element, update };
    },
});

/** What the picture cannot show. */
function workHint(app, found) {
    const share = found.functions.reduce((sum, line) => sum + (line.work > 0 ? line.share : 0), 0);
    const rest = found.functions.reduce((sum, line) => sum + line.share, 0) - share;
    if (rest < 0.05) return "";
    return `Functions without ${app.state.work === "flops" ? "flops" : "operations"}, ${percent(rest)} of the time, have no point in the picture.`
        + (app.state.work === "flops" ? " With “all operations” as work they have." : "");
}

function machineOptions(app) {
    return app.header.machines.map((m) => [m.name, m.unusable ? `${m.name}: ${shortened(m.unusable, 60)}` : `${m.name}: ${shortened(m.title, 60)}`, m.unusable !== null]);
}

function roofColumns(app) {
    const name = (row) => (row.fn === null ? "(program)" : app.profile.functions[row.fn].name);
    const guess = (row) => (row.total > 0 && isGuess(app.roof, row.bound) ? "~" : "");
    const traffic = (row) => (row.bound < 0 ? NaN : row.traffics[row.bound]);
    return [
        { key: "share", title: "share", number: true, width: "130px", value: (row) => row.share, cell: (row) => bar(row.share, guess(row) + percent(row.share)) },
        { key: "time", title: "time", number: true, width: "90px", value: (row) => row.total, text: (row) => guess(row) + seconds(row.total) },
        { key: "bound", title: "bound", width: "92px", value: (row) => (row.total > 0 ? boundName(app.roof, row.bound) : ""), text: (row) => (row.total > 0 ? boundName(app.roof, row.bound) : "") },
        { key: "traffic", title: "traffic there", number: true, width: "100px", value: (row) => traffic(row) || 0, text: (row) => bytes(traffic(row)) },
        { key: "target", title: "less than", hint: "with less traffic than this, something else binds", number: true, width: "92px",
            value: (row) => row.target?.traffic ?? 0, text: (row) => (row.target ? bytes(row.target.traffic) : "–") },
        { key: "next", title: "makes it", width: "92px", text: (row) => (row.target ? boundName(app.roof, row.target.next) : "–") },
        { key: "work", title: "work", hint: "operations", number: true, width: "84px", value: (row) => row.work, text: (row) => count(row.work) },
        { key: "intensity", title: "op/B there", hint: "operations per byte of the link that binds", number: true, width: "84px",
            text: (row) => (row.bound < 0 ? "–" : digits(row.work / traffic(row))) },
        { key: "name", title: "function", width: "minmax(160px, 1fr)", value: name, cell: (row) => named(name(row), 120) },
    ];
}

/** Log scales that hold all points and the ridge. */
function roofScales(machine, points, width) {
    const rate = machine.peak * machine.efficiency;
    const ridges = machine.links.map((link) => rate / link.bandwidth);
    const xs = [...ridges, ...points.map((p) => p.x)].filter((x) => x > 0 && Number.isFinite(x));
    const low = Math.floor(Math.log10(Math.min(...xs) / 2));
    const high = Math.ceil(Math.log10(Math.max(...xs) * 2));
    const top = Math.log10(rate) + 0.35;
    const bottom = Math.min(...points.map((p) => Math.log10(p.y)).filter(Number.isFinite), Math.log10(rate) - 2) - 0.3;
    return {
        low, high, top, bottom,
        x: (value) => ROOF.left + ((Math.log10(value) - low) / (high - low)) * (width - ROOF.left - ROOF.right),
        y: (value) => ROOF.top + ((top - Math.log10(value)) / (top - bottom)) * (ROOF.height - ROOF.top - ROOF.bottom),
    };
}

/** A point per function: operations per byte of the link that binds it (of the last link, if that is the arithmetic). */
function roofPoints(machine, found) {
    return found.functions.filter((line) => line.work > 0 && line.total > 0).slice(0, 200).map((line) => {
        const busiest = line.links.reduce((best, time, i) => (time > line.links[best] ? i : best), 0);
        const link = line.bound >= 0 ? line.bound : busiest;
        const x = line.traffics[link] > 0 ? line.work / line.traffics[link] : Infinity;
        return { line, link, x, y: line.work / line.total };
    });
}

function roofPicture(app, machine, found, picked) {
    const width = Math.max(700, Math.min(1500, app.main.clientWidth - 40));
    const points = roofPoints(machine, found);
    const scale = roofScales(machine, points, width);
    const rate = machine.peak * machine.efficiency;
    const right = 10 ** scale.high;
    const names = [];
    const roofs = machine.links.map((link, i) => {
        const ridge = rate / link.bandwidth;
        const from = Math.max(10 ** scale.low, (10 ** scale.bottom) / link.bandwidth);
        const { x, y, text } = roofName(machine, i, scale, from, ridge);
        names.push({ from: x, to: x + text.length * 7.2, y });
        return [svg("line", { class: `roof roof${i}`, x1: scale.x(from), y1: scale.y(from * link.bandwidth), x2: scale.x(ridge), y2: scale.y(rate) }),
            svg("text", { x, y, class: "roof-name" }, text)];
    });
    const ridge = Math.min(...machine.links.map((link) => rate / link.bandwidth), right);
    const peak = [svg("line", { class: "roof", x1: scale.x(ridge), x2: width - ROOF.right, y1: scale.y(rate), y2: scale.y(rate) }),
        svg("text", { x: width - ROOF.right, y: scale.y(rate) - 7, "text-anchor": "end", class: "roof-name" }, `${count(rate)}op/s ${machine.kind}`)];
    return svg("svg", { class: "roof-picture", viewBox: `0 0 ${width} ${ROOF.height}`, width, height: ROOF.height, role: "img", "aria-label": "Roofline" },
        roofAxes(scale, width), roofs.flat(), peak, points.slice().reverse().map((point) => roofMark(app, machine, point, scale, width, point.line === picked)),
        pointNames(app, points, picked, scale, width, names), picked && lessTraffic(machine, points.find((point) => point.line === picked), scale));
}

/** Names of roofs stand beside them, each further along than the one before, so that they keep apart. */
function roofName(machine, i, scale, from, ridge) {
    const { bandwidth } = machine.links[i];
    const along = Math.min(0.12 + 0.2 * i, 0.75);
    const at = 10 ** (Math.log10(from) + (Math.log10(ridge) - Math.log10(from)) * along);
    return { x: scale.x(at) + 10, y: scale.y(at * bandwidth) + 14, text: `${boundName(machine, i)} ${bytes(bandwidth)}/s` };
}

/** Names of points, the largest first, each moved down until it has room; `taken`: where other names are. */
function pointNames(app, points, picked, scale, width, taken) {
    return points.filter((point) => point.line.share > 0.03 || point.line === picked).slice(0, 14).map((point) => {
        const radius = 4 + Math.sqrt(point.line.share) * 22;
        const px = Number.isFinite(point.x) ? scale.x(point.x) : width - ROOF.right - 6;
        const name = shortened(app.profile.functions[point.line.fn].name, 40);
        const left = px > width - 300;
        const x = left ? px - radius - 4 : px + radius + 4;
        let y = scale.y(point.y) + radius + 10;
        const room = name.length * 7.2;
        const [from, to] = left ? [x - room, x] : [x, x + room];
        while (taken.some((box) => from < box.to && to > box.from && Math.abs(y - box.y) < 15)) y += 15;
        taken.push({ from, to, y });
        return svg("text", { x, y, class: "point-name", "text-anchor": left ? "end" : "start" }, name);
    });
}

function roofAxes(scale, width) {
    const base = ROOF.height - ROOF.bottom;
    const parts = [];
    for (let power = scale.low; power <= scale.high; power += 1) {
        const x = scale.x(10 ** power);
        parts.push(svg("line", { class: "grid", x1: x, x2: x, y1: ROOF.top, y2: base }), svg("text", { x, y: base + 16, "text-anchor": "middle" }, powerText(power)));
    }
    for (let power = Math.ceil(scale.bottom); power <= scale.top; power += 1) {
        const y = scale.y(10 ** power);
        parts.push(svg("line", { class: "grid", x1: ROOF.left, x2: width - ROOF.right, y1: y, y2: y }),
            svg("text", { x: ROOF.left - 8, y: y + 4, "text-anchor": "end" }, `${count(10 ** power)}op/s`));
    }
    parts.push(svg("text", { x: (ROOF.left + width) / 2, y: ROOF.height - 4, "text-anchor": "middle" }, "operations per byte of the link that binds"));
    return parts;
}

function powerText(power) {
    return power >= 0 && power <= 4 ? String(10 ** power) : power < 0 && power >= -3 ? String(Number((10 ** power).toFixed(3))) : `1e${power}`;
}

function roofMark(app, machine, point, scale, width, isPicked) {
    const { line } = point;
    const x = Number.isFinite(point.x) ? scale.x(point.x) : width - ROOF.right - 6;
    const y = scale.y(point.y);
    const name = app.profile.functions[line.fn].name;
    const colour = line.bound < 0 ? "bound-compute" : `bound${line.bound % 4}`;
    const circle = svg("circle", {
        class: `point ${colour}${isPicked ? " picked" : ""}`, cx: x, cy: y, r: 4 + Math.sqrt(line.share) * 22, "data-fn": line.fn,
        onclick: () => app.set({ fn: String(line.fn) }),
        onpointermove: (event) => app.tip.show(event, h("b", {}, named(name, 120)), h("div", {}, `${seconds(line.total)}, ${percent(line.share)} of the time`),
            h("div", {}, advice(machine, line, "It"))),
        onpointerleave: () => app.tip.hide(),
    });
    return circle;
}

/** From where the function is to where less traffic on the link that binds would bring it. */
function lessTraffic(machine, point, scale) {
    if (!point?.line.target || !Number.isFinite(point.x)) return [];
    const { line } = point;
    const [toX, toY] = [scale.x(line.work / line.target.traffic), scale.y(line.work / slowest(line.compute, line.links.map((t, i) => (i === line.bound ? 0 : t)))[1])];
    const [x, y] = [scale.x(point.x), scale.y(point.y)];
    return [svg("line", { class: "less", x1: x, y1: y, x2: toX, y2: toY }), svg("circle", { class: "less-end", cx: toX, cy: toY, r: 6 }),
        svg("text", { x: toX - 8, y: toY - 12, "text-anchor": "end", class: "point-name" }, `with ${bytes(line.target.traffic)}: ${boundName(machine, line.target.next)} binds`)];
}
