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
        { key: "traffic", title: "traffic of it", hint: "bytes over the link that binds", number: true, width: "100px", value: (row) => traffic(row) || 0, text: (row) => bytes(traffic(row)) },
        { key: "target", title: "once below", hint: "with less traffic of it than this, something else binds", number: true, width: "92px",
            value: (row) => row.target?.traffic ?? 0, text: (row) => (row.target ? bytes(row.target.traffic) : "–") },
        { key: "next", title: "bound next", hint: "what binds then", width: "92px", text: (row) => (row.target ? boundName(app.roof, row.target.next) : "–") },
        { key: "work", title: "work", hint: "operations", number: true, width: "84px", value: (row) => row.work, text: (row) => count(row.work) },
        { key: "intensity", title: "op/B of it", hint: "operations per byte of the link that binds", number: true, width: "84px",
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
    const first = Math.min(...machine.links.map((link) => rate / link.bandwidth), right);
    const roofs = machine.links.map((link) => {
        const from = Math.max(10 ** scale.low, (10 ** scale.bottom) / link.bandwidth);
        return [scale.x(from), scale.y(from * link.bandwidth), scale.x(rate / link.bandwidth), scale.y(rate)];
    });
    roofs.push([scale.x(first), scale.y(rate), width - ROOF.right, scale.y(rate)]);
    const labels = new Labels(width, roofs, points.map((point) => pointCircle(point, scale, width)));
    const chosen = points.find((point) => point.line === picked);
    // The first ones get the best places: those that somebody looks for.
    const less = picked ? lessTraffic(machine, chosen, scale, labels) : [];
    const names = [
        pointNames(app, chosen ? [chosen] : [], scale, width, labels),
        labels.place(`${count(rate)}op/s ${machine.kind}`, [{ x: width - ROOF.right, y: scale.y(rate) - 7, anchor: "end" }, { x: scale.x(first) + 8, y: scale.y(rate) - 7, anchor: "start" }], "roof-name"),
        machine.links.map((link, i) => labels.place(`${boundName(machine, i)} ${bytes(link.bandwidth)}/s`, besideRoof(roofs[i]), "roof-name")),
        pointNames(app, points.filter((point) => point !== chosen && point.line.share > 0.03).slice(0, 14), scale, width, labels),
    ];
    const lines = roofs.map(([x1, y1, x2, y2], i) => svg("line", { class: `roof roof${i}`, x1, y1, x2, y2 }));
    return svg("svg", { class: "roof-picture", viewBox: `0 0 ${width} ${ROOF.height}`, width, height: ROOF.height, role: "img", "aria-label": "Roofline" },
        roofAxes(scale, width), lines, points.slice().reverse().map((point) => roofMark(app, machine, point, scale, width, point.line === picked)),
        less, names);
}

/** Where the name of a roof may be: below its line or above it, from its lower end on. */
function besideRoof([x1, y1, x2, y2]) {
    const along = [0.1, 0.25, 0.4, 0.55, 0.7, 0.85];
    const at = (part) => ({ x: x1 + (x2 - x1) * part, y: y1 + (y2 - y1) * part });
    return [...along.map(at).map(({ x, y }) => ({ x: x + 10, y: y + 15, anchor: "start" })), ...along.map(at).map(({ x, y }) => ({ x: x - 8, y: y - 6, anchor: "end" }))];
}

/** Middle and radius of a point. Those that nothing goes over the link for stand at the right. */
function pointCircle(point, scale, width) {
    return { x: Number.isFinite(point.x) ? scale.x(point.x) : width - ROOF.right - 6, y: scale.y(point.y), r: 4 + Math.sqrt(point.line.share) * 22 };
}

/** Names of points, the largest first, each on the side where it has room. */
function pointNames(app, points, scale, width, labels) {
    return points.map((point) => {
        const { x, y, r } = pointCircle(point, scale, width);
        const text = shortened(app.profile.functions[point.line.fn].name, 40);
        const steps = [4, r + 10, -r - 2, r + 26, -r - 18, r + 42, -r - 34];
        const sides = [{ x: x + r + 4, anchor: "start" }, { x: x - r - 4, anchor: "end" }];
        return labels.place(text, steps.flatMap((step) => sides.map((side) => ({ ...side, y: y + step }))), "point-name");
    });
}

const LABEL_HEIGHT = 14;

/** Places for labels, so that none lies on another one, and few on points and lines. What has no room is left out: the table has it too. */
class Labels {
    constructor(width, lines, circles) {
        Object.assign(this, { width, lines, circles, taken: [] });
        this.pen = h("canvas", {}).getContext("2d");
        this.pen.font = `12px ${variable("--font")}`;
    }

    /** The text at the best of some places, { x, y, anchor }; the first of equals. */
    place(text, places, kind) {
        const wide = this.pen.measureText(text).width;
        let best = null;
        for (const { x, y, anchor } of places) {
            const left = anchor === "end" ? x - wide : x;
            const box = { left: left - 3, right: left + wide + 3, top: y - LABEL_HEIGHT + 2, bottom: y + 4 };
            const isOutside = box.left < ROOF.left || box.right > this.width || box.top < 0 || box.bottom > ROOF.height - ROOF.bottom;
            if (isOutside || this.taken.some((other) => overlap(box, other))) continue;
            const worse = this.circles.filter((circle) => isOnCircle(box, circle)).length * 3 + this.lines.filter((line) => isOnLine(box, line)).length;
            if (!best || worse < best.worse) best = { x, y, anchor, box, worse };
        }
        if (!best) return null;
        this.taken.push(best.box);
        return svg("text", { x: best.x, y: best.y, class: kind, "text-anchor": best.anchor }, text);
    }
}

function overlap(a, b) {
    return a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
}

function isOnCircle(box, { x, y, r }) {
    const [dx, dy] = [Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom)];
    return dx * dx + dy * dy < r * r;
}

/** Lines go up to the right, or level. */
function isOnLine({ left, right, top, bottom }, [x1, y1, x2, y2]) {
    const [from, to] = [Math.max(left, x1), Math.min(right, x2)];
    if (from > to) return false;
    const height = (x) => y1 + ((y2 - y1) * (x - x1)) / (x2 - x1 || 1);
    return height(to) < bottom && height(from) > top;
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
    const { x, y, r } = pointCircle(point, scale, width);
    const name = app.profile.functions[line.fn].name;
    const colour = line.bound < 0 ? "bound-compute" : `bound${line.bound % 4}`;
    const circle = svg("circle", {
        class: `point ${colour}${isPicked ? " picked" : ""}`, cx: x, cy: y, r, "data-fn": line.fn,
        onclick: () => app.set({ fn: String(line.fn) }),
        onpointermove: (event) => app.tip.show(event, h("b", {}, named(name, 120)), h("div", {}, `${seconds(line.total)}, ${percent(line.share)} of the time`),
            h("div", {}, advice(machine, line, "It"))),
        onpointerleave: () => app.tip.hide(),
    });
    return circle;
}

/** From where the function is to where less traffic on the link that binds would bring it. */
function lessTraffic(machine, point, scale, labels) {
    if (!point?.line.target || !Number.isFinite(point.x)) return [];
    const { line } = point;
    const [toX, toY] = [scale.x(line.work / line.target.traffic), scale.y(line.work / slowest(line.compute, line.links.map((t, i) => (i === line.bound ? 0 : t)))[1])];
    const [x, y] = [scale.x(point.x), scale.y(point.y)];
    return [svg("line", { class: "less", x1: x, y1: y, x2: toX, y2: toY }), svg("circle", { class: "less-end", cx: toX, cy: toY, r: 6 }),
        labels.place(`with ${bytes(line.target.traffic)}: ${boundName(machine, line.target.next)} binds`,
            [{ x: toX - 8, y: toY - 12, anchor: "end" }, { x: toX + 8, y: toY - 12, anchor: "start" }, { x: toX + 10, y: toY + 18, anchor: "start" }], "point-name")];
}
