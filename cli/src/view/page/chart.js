// Pictures of depths: the traffic curve with its handle, and histograms.
//
// Takes histograms (bucket, reads) and the state; gives SVG for what stands alone and canvases for rows of tables. The handle is a slider: dragged, or moved
// with the keyboard, it sets the capacity Z of the state, and with it the metric to traffic, so that all panels follow.

const CURVE = { width: 900, height: 150, left: 64, right: 30, top: 10, bottom: 24 };

/** Capacities as people name them. */
function capacityTicks(low, high) {
    const ticks = [];
    const step = high - low > 24 ? 4 : high - low > 12 ? 2 : 1;
    for (let power = Math.ceil(low / step) * step; power <= high; power += step) ticks.push(power);
    return ticks;
}

/** What is drawn, in a line. */
function curveWords(profile) {
    const curve = profile.has_traffic ? "Q(Z), its traffic: bytes read that it has to fetch" : "bytes read that lie deeper than Z on the LRU stack";
    return `Z: size of a fast memory, where the handle is (drag it). Curve: ${curve}. Names at the top: levels of the chosen machine.`;
}

class Curve {
    constructor(app) {
        this.app = app;
        this.svg = svg("svg", { class: "curve", role: "img" });
        this.handle = h("div", {
            class: "handle", tabindex: 0, role: "slider", "aria-label": "Capacity Z of the fast memory",
            onkeydown: (event) => this.key(event),
        });
        this.label = h("div", { class: "handle-label" });
        this.box = h("div", { class: "curve-box" }, this.svg, this.handle, this.label);
        this.box.addEventListener("pointerdown", (event) => this.grab(event));
        this.element = h("section", { class: "curve-strip", "aria-label": "Traffic curve" }, this.box, h("p", { class: "curve-words" }, curveWords(app.profile)));
        new ResizeObserver(() => {
            this.room = this.box.clientWidth;
            this.draw();
        }).observe(this.box);
    }

    /** The histogram of the chosen function is drawn beside the program's. */
    histograms() {
        const { profile, state } = this.app;
        this.all ??= profile.capacityHistogram();
        const fn = state.fn === "" ? -1 : Number(state.fn);
        const own = fn >= 0 && fn < profile.functions.length ? profile.capacityHistogram(profile.cellsOf("fn", fn)) : null;
        return { all: this.all, own };
    }

    scale() {
        const top = this.all.length > 0 ? bucketTop(this.all[this.all.length - 1][0]) : 1024;
        this.low = 3;
        this.high = Math.max(this.low + 4, Math.ceil(Math.log2(top)) + 1);
        this.width = Math.max(320, this.room || CURVE.width);
        this.most = this.all.reduce((sum, [, reads]) => sum + reads, 0) || 1;
    }

    x(capacity) {
        const part = (Math.log2(Math.max(capacity, 1)) - this.low) / (this.high - this.low);
        return CURVE.left + Math.min(Math.max(part, 0), 1) * (this.width - CURVE.left - CURVE.right);
    }

    y(traffic, most) {
        return CURVE.top + (1 - traffic / most) * (CURVE.height - CURVE.top - CURVE.bottom);
    }

    /** A step at every capacity at which something is held that was not. */
    path(histogram) {
        let rest = histogram.reduce((sum, [, reads]) => sum + reads, 0);
        const points = [`M${this.x(0)} ${this.y(rest, this.most)}`];
        for (const [bucket, reads] of histogram) {
            const x = this.x(bucketTop(bucket)).toFixed(1);
            points.push(`H${x}`);
            rest -= reads;
            points.push(`V${this.y(rest, this.most).toFixed(1)}`);
        }
        points.push(`H${this.width - CURVE.right}`);
        return points.join("");
    }

    draw() {
        const { app } = this;
        const { state } = app;
        const { all, own } = this.histograms();
        const key = `${state.fn} ${state.machine} ${this.room}`;
        if (this.drawn !== key) {
            this.drawn = key;
            this.scale();
            const base = CURVE.height - CURVE.bottom;
            const path = this.path(all);
            const parts = [svg("path", { class: "area", d: `${path}V${base}H${CURVE.left}Z` }), svg("path", { class: "all", d: path })];
            if (own) parts.push(svg("path", { class: "own", d: this.path(own) }));
            this.svg.setAttribute("viewBox", `0 0 ${this.width} ${CURVE.height}`);
            this.svg.setAttribute("height", CURVE.height);
            this.svg.replaceChildren(...this.axes(base), ...parts, ...this.marks(base));
        }
        this.place(all, own);
    }

    axes(base) {
        const ticks = capacityTicks(this.low, this.high).map((power) => {
            const x = this.x(2 ** power);
            return [svg("line", { class: "grid", x1: x, x2: x, y1: CURVE.top, y2: base }),
                svg("text", { x, y: base + 15, "text-anchor": "middle" }, bytes(2 ** power))];
        });
        const levels = [0, 0.5, 1].map((part) => {
            const y = this.y(part * this.most, this.most);
            return [svg("line", { class: "grid", x1: CURVE.left, x2: this.width - CURVE.right, y1: y, y2: y }),
                svg("text", { x: CURVE.left - 6, y: y + 4, "text-anchor": "end" }, bytes(part * this.most))];
        });
        return [...ticks, ...levels].flat();
    }

    /** Capacities of the chosen machine. */
    marks(base) {
        const machine = this.app.machines.get(this.app.state.machine);
        return (machine?.links ?? []).filter((link) => Math.log2(link.capacity) < this.high).flatMap((link) => {
            const x = this.x(link.capacity);
            return [svg("line", { class: "mark", x1: x, x2: x, y1: CURVE.top, y2: base }),
                svg("text", { class: "mark-text", x: x + 3, y: CURVE.top + 10 }, link.level)];
        });
    }

    place(all, own) {
        const { state, profile } = this.app;
        const x = this.x(state.z);
        const q = histogramBeyond(all, state.z);
        const mine = own ? `; ${shortened(profile.functions[Number(state.fn)].name, 30)} ${bytes(histogramBeyond(own, state.z))}` : "";
        const name = profile.has_traffic ? "traffic" : "read deeper";
        const text = `Z = ${bytes(state.z)}: ${name} ${bytes(q)} (${percent(q / this.most)} of reads)${mine}`;
        this.handle.style.left = `${x}px`;
        this.handle.setAttribute("aria-valuenow", String(state.z));
        this.handle.setAttribute("aria-valuemin", "1");
        this.handle.setAttribute("aria-valuemax", String(2 ** this.high));
        this.handle.setAttribute("aria-valuetext", text);
        this.label.textContent = text;
        const right = x > this.width / 2;
        this.label.style.left = right ? "" : `${x + 10}px`;
        this.label.style.right = right ? `${this.width - x + 10}px` : "";
        this.box.classList.toggle("active", AT_Z.includes(state.metric));
        this.svg.setAttribute("aria-label", text);
    }

    grab(event) {
        if (event.button !== 0) return;
        this.handle.focus({ preventScroll: true });
        const move = (at) => {
            const { left } = this.box.getBoundingClientRect();
            const part = (at.clientX - left - CURVE.left) / (this.width - CURVE.left - CURVE.right);
            this.choose(2 ** (this.low + Math.min(Math.max(part, 0), 1) * (this.high - this.low)));
        };
        const end = () => {
            removeEventListener("pointermove", move);
            removeEventListener("pointerup", end);
            removeEventListener("pointercancel", end);
        };
        addEventListener("pointermove", move);
        addEventListener("pointerup", end);
        addEventListener("pointercancel", end);
        move(event);
        event.preventDefault();
    }

    key(event) {
        const bucket = bucketOf(this.app.state.z);
        const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 32, PageDown: -32 };
        if (event.key in steps) this.choose(bucketTop(Math.min(Math.max(bucket + steps[event.key], 0), 1600)));
        else if (event.key === "Home") this.choose(2 ** this.low);
        else if (event.key === "End") this.choose(2 ** this.high);
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** Capacities at which Q is exact are ends of buckets. */
    choose(capacity) {
        const { app } = this;
        const z = Math.min(bucketTop(bucketOf(Math.max(1, Math.round(capacity)))), 2 ** this.high);
        app.set({ z, metric: AT_Z.includes(app.state.metric) ? app.state.metric : curveMetric(app.profile) });
    }
}

/** Reads by powers of two of depth: [exponent, reads]. */
function octaves(histogram) {
    const sums = new Map();
    for (const [bucket, reads] of histogram) {
        const octave = Math.ceil(Math.log2(bucketTop(bucket)));
        sums.set(octave, (sums.get(octave) ?? 0) + reads);
    }
    return [...sums].sort((a, b) => a[0] - b[0]);
}

/** Asked for once per theme, as each question makes the browser compute styles. */
function lineColour() {
    if (lineColour.look !== Table.look) [lineColour.look, lineColour.kept] = [Table.look, variable("--line")];
    return lineColour.kept;
}

/** A histogram as small as a word. All rows have the same scale of depths. */
function smallHistogram(canvas, octaveList, octaveCount) {
    const width = 120;
    const height = 20;
    const context = sharpCanvas(canvas, width, height);
    const most = octaveList.reduce((most, [, reads]) => Math.max(most, reads), 0);
    const step = width / (octaveCount + 1);
    context.fillStyle = lineColour();
    context.fillRect(0, height - 1, width, 1);
    for (const [octave, reads] of octaveList) {
        context.fillStyle = depthColour(octave / octaveCount).fill;
        const tall = Math.max(1, (reads / most) * (height - 2));
        context.fillRect(octave * step, height - 1 - tall, Math.max(2, step - 1), tall);
    }
    canvas.setAttribute("aria-label", octaveList.map(([octave, reads]) => `up to ${bytes(2 ** octave)}: ${bytes(reads)}`).join(", "));
}

/** A histogram to be read: bars by octave with their numbers. */
function largeHistogram(histogram, maximum) {
    const list = octaves(histogram);
    if (list.length === 0) return h("p", { class: "quiet" }, "It reads nothing.");
    const total = list.reduce((sum, [, reads]) => sum + reads, 0);
    const most = Math.max(...list.map(([, reads]) => reads));
    let sofar = 0;
    const rows = list.map(([octave, reads]) => {
        sofar += reads;
        const colour = depthColour(octave / maximum);
        return h("tr", {},
            h("td", { class: "number" }, bytes(2 ** octave)),
            h("td", { class: "number" }, bytes(reads)),
            h("td", { class: "number" }, percent(reads / total)),
            h("td", { class: "number" }, bytes(total - sofar)),
            h("td", { class: "wide" }, h("span", { class: "block", style: { width: `${(reads / most) * 100}%`, background: colour.fill } })));
    });
    return h("table", { class: "histogram" },
        h("thead", {}, h("tr", {}, ["depth up to", "read", "share", "deeper than", ""].map((text) => h("th", {}, text)))),
        h("tbody", {}, rows));
}

/** The traffic curve of some cells, to look at only. */
function smallCurve(histogram, z) {
    const [width, height, left, bottom] = [420, 150, 62, 20];
    const total = histogram.reduce((sum, [, reads]) => sum + reads, 0);
    if (total === 0) return h("p", { class: "quiet" }, "It reads nothing.");
    const high = Math.max(8, Math.ceil(Math.log2(bucketTop(histogram[histogram.length - 1][0]))) + 1);
    const x = (capacity) => left + (Math.log2(Math.max(capacity, 1)) / high) * (width - left - 8);
    const y = (traffic) => 8 + (1 - traffic / total) * (height - bottom - 8);
    let rest = total;
    let path = `M${left} ${y(total)}`;
    for (const [bucket, reads] of histogram) {
        rest -= reads;
        path += `H${x(bucketTop(bucket)).toFixed(1)}V${y(rest).toFixed(1)}`;
    }
    path += `H${width - 8}`;
    const ticks = capacityTicks(0, high).filter((power) => power % 4 === 0);
    return svg("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Traffic at every capacity" },
        ticks.map((power) => [svg("line", { class: "grid", x1: x(2 ** power), x2: x(2 ** power), y1: 8, y2: height - bottom }),
            svg("text", { x: x(2 ** power), y: height - 5, "text-anchor": "middle" }, bytes(2 ** power))]).flat(),
        svg("text", { x: left - 6, y: 16, "text-anchor": "end" }, bytes(total)),
        svg("path", { class: "area", d: `${path}V${height - bottom}H${left}Z` }), svg("path", { class: "all", d: path }),
        svg("line", { class: "mark", x1: x(z), x2: x(z), y1: 8, y2: height - bottom }));
}
