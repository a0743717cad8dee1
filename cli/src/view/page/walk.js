// The LRU stack, walked: the events of a kernel of the values model, one at a time.
//
// Takes the listing of `dmdprof ir`, gives the stack at each event, as a list or as a square. In the square a byte at depth d lies in the shell
// ceil(sqrt(d)) around the corner where the processor is, so that the distance is the cost. The stack is computed here by the model's rules, and
// every depth that the listing states is compared with it; a difference is said.

/** Regions of a listing, each a list of steps: { kind, text, value | reads, op, cost, place }. */
function parseListing(text) {
    const regions = [];
    let region = null;
    for (const line of text.split("\n")) {
        const words = line.trim().split(" ");
        const place = line.includes(" at ") ? line.slice(line.lastIndexOf(" at ") + 4) : null;
        if (words[0] === "region") {
            region = { name: line.slice(7), steps: [], sizes: new Map(), total: null };
            regions.push(region);
        } else if (!region || words[0] === "stack,") {
            continue;
        } else if (words[0] === "push") {
            region.steps.push({ kind: "push", value: words[1], text: line, cost: 0, place });
        } else if (words[0] === "read") {
            const [first, last] = words[3].split("-").map(Number);
            const size = (last ?? first) - first + 1;
            region.sizes.set(words[1], size);
            region.steps.push({ kind: "read", value: words[1], first, size, cost: Number(words[5]), text: line, place });
        } else if (words[0] === "instr") {
            const reads = words.slice(3, words.indexOf("cost")).map((word) => word.split("@")[0]);
            region.steps.push({ kind: "instr", op: words[1], reads, cost: 0, text: line, place });
        } else if (words[0] === "total") {
            region.total = words[1];
        }
    }
    regions.forEach(prepareRegion);
    return regions;
}

/** When each value is read last, which reads no instruction follows (escapes), costs so far. */
function prepareRegion(region) {
    const { steps } = region;
    const lastRead = new Map();
    let waiting = [];
    let cost = 0;
    steps.forEach((step, at) => {
        cost += step.cost;
        step.sum = cost;
        if (step.kind === "read") waiting.push(at);
        if (step.kind === "instr") {
            // The reads before those of its operands were of escapes, which have no line of their own.
            waiting.slice(0, waiting.length - step.reads.length).forEach((escape) => { steps[escape].escapes = true; });
            waiting.slice(waiting.length - step.reads.length).forEach((read) => { lastRead.set(steps[read].value, at); });
            waiting = [];
        } else if (step.kind === "push") {
            waiting.forEach((escape) => { steps[escape].escapes = true; });
            waiting = [];
        }
    });
    waiting.forEach((escape) => { steps[escape].escapes = true; });
    steps.forEach((step, at) => { if (step.escapes) lastRead.set(step.value, Math.max(at, lastRead.get(step.value) ?? -1)); });
    region.lastRead = lastRead;
    region.usual = [...region.sizes.values()][0] ?? 1;
    region.kept = [[]];
    region.wrong = null;
}

const KEEP_EVERY = 64;

/** The stack before a step, top first; names of values. */
function stackBefore(region, at) {
    let from = Math.min(Math.floor(at / KEEP_EVERY), region.kept.length - 1);
    const stack = region.kept[from].slice();
    for (let step = from * KEEP_EVERY; step < at; step += 1) {
        apply(region, stack, step);
        if ((step + 1) % KEEP_EVERY === 0 && (step + 1) / KEEP_EVERY === region.kept.length) region.kept.push(stack.slice());
    }
    return stack;
}

function sizeOf(region, value) {
    return region.sizes.get(value) ?? region.usual;
}

/** Bytes above a value. */
function above(region, stack, value) {
    let sum = 0;
    for (const other of stack) {
        if (other === value) return sum;
        sum += sizeOf(region, other);
    }
    return sum;
}

function apply(region, stack, at) {
    const step = region.steps[at];
    if (step.kind === "push") {
        stack.unshift(step.value);
    } else if (step.kind === "read") {
        // Inputs of unknown order come from below when they are read first.
        if (!stack.includes(step.value)) stack.push(step.value);
        const depth = above(region, stack, step.value) + 1;
        if (depth !== step.first) region.wrong ??= `step ${at + 1}: the listing says depth ${step.first}, the stack here ${depth}`;
        if (step.escapes) touch(region, stack, step.value, at);
    } else {
        [...new Set(step.reads)].forEach((value) => touch(region, stack, value, at));
    }
}

/** To the top, or away if nobody reads it again. */
function touch(region, stack, value, at) {
    stack.splice(stack.indexOf(value), 1);
    if (region.lastRead.get(value) > at) stack.unshift(value);
}

/** A colour per value, told apart by hue and lightness. */
function valueColour(value) {
    const number = Number(value.slice(1));
    const colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];
    const fill = colours[number % colours.length];
    return { fill, text: ["#e69f00", "#56b4e9", "#f0e442", "#cc79a7"].includes(fill) ? "#111" : "#fff" };
}

class Walk {
    constructor(app) {
        this.app = app;
        this.regions = parseListing(app.header.listing);
        this.region = choice("Region", this.regions.map((region, i) => [String(i), `${region.name} (${grouped(region.steps.length)} events)`]), "0",
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
        this.element = h("div", {
            class: "walk", tabindex: 0, onkeydown: (event) => this.key(event),
        }, h("div", { class: "tools" }, this.region, button("|◀", "first event (Home)", () => this.go(0)), button("◀", "one back (←)", () => this.go(app.state.step - 1)),
            this.play, button("▶", "one on (→)", () => this.go(app.state.step + 1)), button("▶|", "last event (End)", () => this.go(Infinity)),
            this.scrub, this.speed, this.kind), this.status, this.wrong,
        h("div", { class: "walk-parts" }, h("div", { class: "walk-picture" }, this.canvas), this.events));
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
        // A read shows the stack as it is priced, before anything moves.
        const stack = stackBefore(region, last?.kind === "read" ? at - 1 : at);
        if (last?.kind === "read" && !stack.includes(last.value)) stack.push(last.value);
        stackBefore(region, at);
        this.status.replaceChildren(this.sentence(region, at, last, stack));
        this.wrong.hidden = region.wrong === null;
        this.wrong.textContent = region.wrong ?? "";
        if (state.view === "list") this.drawList(region, stack, last);
        else this.drawSquare(region, stack, last);
        this.drawEvents(region, at);
    }

    sentence(region, at, last, stack) {
        const live = stack.reduce((sum, value) => sum + sizeOf(region, value), 0);
        const done = `${at} of ${region.steps.length} events, cost so far ${grouped(last?.sum ?? 0)}${region.total ? ` of ${grouped(region.total)}` : ""}, ${live} B live`;
        const words = {
            push: () => `${last.value} comes on top, for free.`,
            read: () => `${last.value} is read at depth ${last.first}${last.size > 1 ? ` to ${last.first + last.size - 1}` : ""}: cost ${last.cost}.`,
            instr: () => `${last.op} has read ${last.reads.join(" and ")}: they go to the top, or leave if nobody reads them again.`,
        };
        return h("span", {}, h("b", {}, last ? words[last.kind]() : "Nothing has happened yet."), h("span", { class: "quiet" }, ` ${done}`));
    }

    drawSquare(region, stack, last) {
        const bytes = stack.flatMap((value) => Array.from({ length: sizeOf(region, value) }, (_, i) => ({ value, first: i === 0 })));
        const most = Math.max(4, Math.ceil(Math.sqrt(region.peak ??= peakOf(region))));
        const room = Math.min(560, Math.max(260, innerHeight - 430));
        const cell = Math.max(3, Math.floor((room - 40) / most));
        const context = sharpCanvas(this.canvas, most * cell + 60, most * cell + 44);
        context.font = `${Math.min(13, Math.max(11, cell * 0.36))}px ${variable("--font")}`;
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.translate(40, 34);
        context.fillStyle = variable("--text");
        context.fillText("CPU", -18, -14);
        this.drawShells(context, most, cell);
        bytes.forEach((byte, i) => this.drawByte(context, byte, shellPlace(i + 1), cell, last));
        if (last?.kind === "read") this.drawWay(context, last, cell);
    }

    drawShells(context, most, cell) {
        context.strokeStyle = variable("--line");
        context.fillStyle = variable("--quiet");
        for (let shell = 1; shell <= most; shell += 1) {
            context.strokeRect(0.5, 0.5, shell * cell, shell * cell);
            if (cell >= 16 || shell % 5 === 0) context.fillText(String(shell), (shell - 0.5) * cell, -12);
        }
    }

    drawByte(context, { value, first }, [column, row], cell, last) {
        const isRead = last?.kind === "read" && last.value === value;
        const colour = valueColour(value);
        context.globalAlpha = last?.kind === "read" && !isRead ? 0.55 : 1;
        context.fillStyle = colour.fill;
        context.fillRect(column * cell + 1.5, row * cell + 1.5, cell - 2, cell - 2);
        context.globalAlpha = 1;
        if (first && cell >= 20) {
            context.fillStyle = colour.text;
            context.fillText(value, (column + 0.5) * cell, (row + 0.5) * cell + 1);
        }
        if (isRead) {
            context.strokeStyle = variable("--focus");
            context.lineWidth = 3;
            context.strokeRect(column * cell + 2, row * cell + 2, cell - 3, cell - 3);
            context.lineWidth = 1;
        }
    }

    /** From the processor to the byte that was read, as far as its shell. */
    drawWay(context, last, cell) {
        const [column, row] = shellPlace(last.first);
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

    drawList(region, stack, last) {
        const row = 24;
        const shown = stack.slice(0, 200);
        const context = sharpCanvas(this.canvas, 460, Math.max(3, shown.length) * row + 26);
        context.font = `12px ${variable("--font")}`;
        context.textBaseline = "middle";
        context.fillStyle = variable("--quiet");
        context.fillText("value", 8, 10);
        context.fillText("depth", 120, 10);
        context.fillText("cost of a read", 260, 10);
        let depth = 0;
        shown.forEach((value, i) => {
            const y = 22 + i * row;
            const size = sizeOf(region, value);
            const isRead = last?.kind === "read" && last.value === value;
            const colour = valueColour(value);
            context.fillStyle = colour.fill;
            context.fillRect(0, y, 100, row - 3);
            context.fillStyle = colour.text;
            context.fillText(value, 8, y + row / 2 - 1);
            const cost = Array.from({ length: size }, (_, b) => Math.ceil(Math.sqrt(depth + b + 1))).reduce((a, b) => a + b, 0);
            context.fillStyle = isRead ? variable("--focus") : variable("--text");
            context.fillText(size > 1 ? `${depth + 1} to ${depth + size}` : String(depth + 1), 120, y + row / 2 - 1);
            context.fillText(`${cost}${isRead ? "  ← read" : ""}`, 260, y + row / 2 - 1);
            depth += size;
        });
    }

    drawEvents(region, at) {
        const from = Math.max(0, at - 8);
        const rows = region.steps.slice(from, at + 8).map((step, i) => {
            const number = from + i;
            return h("button", { type: "button", class: `event ${number === at - 1 ? "now" : number >= at ? "later" : ""}`, onclick: () => { this.stop(); this.go(number + 1); } },
                `${step.kind === "instr" ? "" : "    "}${step.text}`);
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

/** Most bytes on the stack at once. */
function peakOf(region) {
    const stack = [];
    let most = 0;
    for (let at = 0; at < region.steps.length; at += 1) {
        apply(region, stack, at);
        most = Math.max(most, stack.reduce((sum, value) => sum + sizeOf(region, value), 0));
    }
    return most;
}

panel({
    id: "walk",
    title: "Stack walk",
    missing: (app) => (app.header.listing ? null
        : "plays the events of a small kernel of the values model: dmdprof ir --html walk.html kernel.c; or dmdprof ir -o kernel.events kernel.c, then dmdprof view --events kernel.events"),
    create(app) {
        const walk = new Walk(app);
        return { element: walk.element, update: () => walk.draw() };
    },
});
