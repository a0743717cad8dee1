// The LRU stack, walked: the events of a kernel, or of a window of a program, one at a time.
//
// Takes regions (`listing.js`, `window.js`), gives the stack at each event, as a list or as a square, with the source line beside it. In the square a
// byte at depth d lies in the shell ceil(sqrt(d)) around the corner where the processor is, so that the distance is the cost.

class Walk {
    constructor(app) {
        this.app = app;
        this.regions = parseListing(app.header.listing);
        this.region = choice("Region", this.regions.map((region, i) => [String(i), `${shortened(region.name, 44)} (${grouped(region.steps.length)} events)`]), "0",
            (value) => { this.stop(); app.set({ region: Number(value), step: 0 }); });
        this.play = h("button", { type: "button", class: "play", onclick: () => this.toggle() }, "▶ play");
        this.scrub = h("input", { type: "range", min: 0, max: 1, step: 1, "aria-label": "Event", oninput: () => { this.stop(); this.go(Number(this.scrub.value)); } });
        this.speed = choice("Speed", [1, 2, 4, 8, 16, 60].map((n) => [String(n), `${n} events a second`]), String(app.state.speed),
            (value) => { app.set({ speed: Number(value) }); if (this.timer) { this.stop(); this.toggle(); } });
        this.kind = choice("Layout", [["square", "square: distance is cost"], ["list", "list"]], "square", (value) => app.set({ view: value }));
        const button = (text, title, act) => h("button", { type: "button", title, onclick: () => { this.stop(); act(); } }, text);
        this.status = h("p", { class: "headline walk-status", "aria-live": "polite" });
        this.wrong = h("p", { class: "warning", hidden: true });
        this.canvas = h("canvas", { role: "img", "aria-label": "The stack" });
        this.events = h("div", { class: "walk-events" });
        this.source = new WalkSource(app);
        this.legend = h("p", { class: "legend" });
        this.element = h("div", {
            class: "walk", tabindex: 0, onkeydown: (event) => this.key(event),
        }, h("div", { class: "tools" }, this.region, button("|◀", "first event (Home)", () => this.go(0)), button("◀", "one back (←)", () => this.go(app.state.step - 1)),
            this.play, button("▶", "one on (→)", () => this.go(app.state.step + 1)), button("▶|", "last event (End)", () => this.go(Infinity)),
            this.scrub, this.speed, this.kind), this.status, this.wrong,
        h("div", { class: "walk-parts" }, h("div", { class: "walk-picture" }, this.canvas, this.legend), h("div", { class: "walk-side" }, this.source.element, this.events)));
    }

    get current() {
        return this.regions[Math.min(this.app.state.region, this.regions.length - 1)];
    }

    /** The state after so many events. */
    go(step) {
        this.app.set({ step: Math.min(Math.max(step, 0), this.current.steps.length) });
    }

    toggle() {
        if (this.timer) return this.stop();
        if (this.app.state.step >= this.current.steps.length) this.go(0);
        this.play.textContent = "⏸ pause";
        this.timer = setInterval(() => {
            if (this.app.state.panel !== "walk" || this.app.state.step >= this.current.steps.length) this.stop();
            else this.go(this.app.state.step + 1);
        }, 1000 / this.app.state.speed);
        return undefined;
    }

    stop() {
        clearInterval(this.timer);
        this.timer = null;
        this.play.textContent = "▶ play";
    }

    key(event) {
        if (event.target.closest("input,select")) return;
        const { step } = this.app.state;
        const to = { ArrowRight: step + 1, ArrowLeft: step - 1, Home: 0, End: Infinity, PageDown: step + 20, PageUp: step - 20 }[event.key];
        if (to !== undefined) {
            this.stop();
            this.go(to);
        } else if (event.key === " " && !event.target.closest("button")) {
            this.toggle();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    draw() {
        const { state } = this.app;
        const region = this.current;
        const at = Math.min(state.step, region.steps.length);
        this.region.value = String(this.regions.indexOf(region));
        this.kind.value = state.view === "list" ? "list" : "square";
        this.scrub.max = String(region.steps.length);
        this.scrub.value = String(at);
        const last = at > 0 ? region.steps[at - 1] : null;
        const stack = region.stackAt(at);
        this.status.replaceChildren(this.sentence(region, at, last, stack));
        this.wrong.hidden = region.wrong === null;
        this.wrong.textContent = region.wrong ?? "";
        if (state.view === "list") this.drawList(stack, last);
        else this.drawSquare(region, stack, last);
        this.drawLegend(region, stack);
        this.source.show(last?.place ?? null, region.steps[at]?.place ?? null);
        this.drawEvents(region, at);
    }

    sentence(region, at, last, stack) {
        const ending = at === region.steps.length && region.end ? `; ${region.end}` : "";
        const done = `${at} of ${region.steps.length} events, cost so far ${grouped(last?.sum ?? 0)}${region.total ? ` of ${grouped(region.total)}` : ""}, ${region.liveText(stack)}${ending}`;
        return h("span", {}, h("b", {}, last ? region.words(last) : "Nothing has happened yet."), h("span", { class: "quiet" }, ` ${done}`));
    }

    /** What the colours of a window are. */
    drawLegend(region, stack) {
        if (!region.isWindow) return;
        const known = new Map();
        for (const piece of stack) {
            if (known.size >= 8) break;
            if (!known.has(piece.label)) known.set(piece.label, piece.colour.fill);
        }
        const keys = [...known].map(([label, fill]) => [h("span", { class: "key", style: { background: fill } }), " ", named(label, 40), "  "]);
        this.legend.replaceChildren(...(keys.length > 0 ? [...keys.flat(), h("br"), "Empty places: what was touched before the window."] : ["Nothing was touched yet."]));
    }

    drawSquare(region, stack, last) {
        const most = Math.max(4, Math.ceil(Math.sqrt(region.peak())));
        const room = Math.min(560, Math.max(260, innerHeight - 430)) - 40;
        const cell = room / most >= 3 ? Math.floor(room / most) : room / most;
        const context = sharpCanvas(this.canvas, Math.ceil(most * cell) + 60, Math.ceil(most * cell) + 44);
        context.font = `${Math.min(13, Math.max(11, cell * 0.36))}px ${variable("--font")}`;
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.translate(40, 34);
        context.fillStyle = variable("--text");
        context.fillText("CPU", -18, -14);
        this.drawShells(context, most, cell);
        const isRead = last?.kind === "read";
        let depth = 0;
        for (const value of stack) {
            for (let i = 0; i < value.size; i += 1) drawByte(context, value, shellPlace(depth += 1), cell, { faint: isRead, first: i === 0 && !region.isWindow });
        }
        const reads = (isRead ? last.reads : []).flatMap(([first, bytes]) => Array.from({ length: bytes }, (_, i) => first + i));
        reads.forEach((depth) => drawRead(context, shellPlace(depth), cell));
        if (isRead) this.drawWay(context, last.reads[0][0], cell);
    }

    drawShells(context, most, cell) {
        context.strokeStyle = variable("--line");
        context.fillStyle = variable("--quiet");
        const every = cell >= 16 ? 1 : [5, 10, 50, 100, 500, 1000].find((n) => n * cell >= 28) ?? 5000;
        for (let shell = cell < 3 ? every : 1; shell <= most; shell += cell < 3 ? every : 1) {
            context.strokeRect(0.5, 0.5, shell * cell, shell * cell);
            if (shell % every === 0) context.fillText(String(shell), (shell - 0.5) * cell, -12);
        }
    }

    /** From the processor to the byte that was read, as far as its shell. */
    drawWay(context, depth, cell) {
        const [column, row] = shellPlace(depth);
        context.strokeStyle = variable("--focus");
        context.lineWidth = 2;
        context.setLineDash([5, 4]);
        context.beginPath();
        context.moveTo(-8, -6);
        context.lineTo((column + 0.5) * cell, (row + 0.5) * cell);
        context.stroke();
        context.setLineDash([]);
        context.lineWidth = 1;
    }

    drawList(stack, last) {
        const row = 24;
        const shown = stack.slice(0, 200);
        const context = sharpCanvas(this.canvas, 460, Math.max(3, shown.length) * row + 26);
        context.font = `12px ${variable("--font")}`;
        context.textBaseline = "middle";
        context.fillStyle = variable("--quiet");
        context.fillText("value", 8, 10);
        context.fillText("depth", 180, 10);
        context.fillText("cost of a read", 320, 10);
        let depth = 0;
        shown.forEach(({ size, label, colour }, i) => {
            const y = 22 + i * row;
            const isRead = last?.kind === "read" && last.reads.some(([first, bytes]) => first <= depth + size && first + bytes > depth + 1);
            context.fillStyle = colour.fill;
            context.fillRect(0, y, 160, row - 3);
            context.fillStyle = colour.text;
            context.fillText(shortened(label, 22), 8, y + row / 2 - 1);
            let cost = 0;
            for (let byte = 1; byte <= size; byte += 1) cost += Math.ceil(Math.sqrt(depth + byte));
            context.fillStyle = isRead ? variable("--focus") : variable("--text");
            context.fillText(size > 1 ? `${depth + 1} to ${depth + size}` : String(depth + 1), 180, y + row / 2 - 1);
            context.fillText(`${cost}${isRead ? "  ← read" : ""}`, 320, y + row / 2 - 1);
            depth += size;
        });
    }

    drawEvents(region, at) {
        const from = Math.max(0, at - 8);
        const rows = region.steps.slice(from, at + 8).map((step, i) => {
            const number = from + i;
            return h("button", { type: "button", class: `event ${number === at - 1 ? "now" : number >= at ? "later" : ""}`, onclick: () => { this.stop(); this.go(number + 1); } },
                `${step.kind === "instr" || region.isWindow ? "" : "    "}${shortened(step.text, 90)}`);
        });
        this.events.replaceChildren(h("h3", {}, "Events"), ...rows);
    }
}

/** Column and row of a depth: shell k holds the depths above (k-1)^2 up to k^2, down its column and then along its row. */
function shellPlace(depth) {
    const shell = Math.ceil(Math.sqrt(depth));
    const along = depth - (shell - 1) ** 2 - 1;
    return along < shell ? [shell - 1, along] : [2 * shell - 2 - along, shell - 1];
}

function drawByte(context, { label, colour }, [column, row], cell, { faint, first }) {
    context.globalAlpha = faint ? 0.55 : 1;
    context.fillStyle = colour.fill;
    const gap = cell >= 5 ? 1.5 : 0;
    context.fillRect(column * cell + gap, row * cell + gap, Math.max(cell - (gap ? 2 : 0), 0.6), Math.max(cell - (gap ? 2 : 0), 0.6));
    context.globalAlpha = 1;
    if (!first || cell < 20) return;
    context.fillStyle = colour.text;
    context.fillText(label, (column + 0.5) * cell, (row + 0.5) * cell + 1);
}

/** A byte that is read. */
function drawRead(context, [column, row], cell) {
    context.strokeStyle = context.fillStyle = variable("--focus");
    if (cell < 6) {
        const size = Math.max(cell, 3);
        context.fillRect(column * cell, row * cell, size, size);
        return;
    }
    context.lineWidth = 3;
    context.strokeRect(column * cell + 2, row * cell + 2, cell - 3, cell - 3);
    context.lineWidth = 1;
}

/** The source around the line of the event. */
class WalkSource {
    constructor(app) {
        this.app = app;
        this.texts = new Map();
        this.element = h("div", { class: "walk-source" });
    }

    /** Lines of a file, if the page has it. */
    text(file) {
        if (!this.texts.has(file)) {
            const { header, profile } = this.app;
            const known = profile ? profile.files.indexOf(file) : -1;
            const source = header.sources.find((one) => (known >= 0 ? one.file === known : one.name === file));
            this.texts.set(file, linesOfSource(source));
        }
        return this.texts.get(file);
    }

    /** `next`: where the walk goes from here, shown before the first event. */
    show(place, next) {
        const at = place ?? this.last ?? next;
        if (place) this.last = place;
        const key = `${at} ${place}`;
        if (this.shown === key) return;
        this.shown = key;
        const colon = at?.lastIndexOf(":") ?? -1;
        const [file, number] = colon < 0 ? [null, 0] : [at.slice(0, colon), Number(at.slice(colon + 1))];
        const lines = file === null ? null : this.text(file);
        const title = h("h3", {}, file === null ? "Source" : named(`${fileName(file)}:${number}`, 60));
        if (lines === null) {
            const why = file === null ? "The listing has no source lines: dmdprof ir --places adds them." : "The page does not have this file's text.";
            this.element.replaceChildren(title, h("p", { class: "quiet" }, why));
            return;
        }
        const from = Math.min(Math.max(0, number - 7), Math.max(0, lines.length - 13));
        const rows = Array.from(lines.slice(from, from + 13), (text, i) => text !== undefined && h("div", { class: from + i + 1 === number && place ? "walk-line now" : "walk-line" },
            h("span", { class: "quiet" }, String(from + i + 1).padStart(5, "\u2007")), h("code", {}, ` ${text}`)));
        this.element.replaceChildren(title, h("div", { class: "walk-lines" }, rows));
    }
}

panel({
    id: "walk",
    title: "Stack walk",
    missing: (app) => (app.header.listing ? null
        : "plays what a kernel, or a part of a run, does on the stack: dmdprof ir --html walk.html kernel.c; or dmdprof run --window 2000 --roi FUNCTION ./app, then dmdprof view --events dmdprof.data.window"),
    create(app) {
        const walk = new Walk(app);
        return { element: walk.element, update: () => walk.draw() };
    },
});
