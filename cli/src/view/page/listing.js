// The events of a kernel of the values model, and the stack that they make.
//
// Takes the listing of `dmdprof ir`, gives regions for the walk. The stack is computed here by the model's rules, and every depth that the listing states is
// compared with it; a difference is said.
//
// A region is { name, steps, total, usual, wrong, stackAt(at), peak() }: `stackAt` gives what is on the stack after so many steps, top first, as
// { key, size, label }. A step is { kind, text, place, cost, sum, key, reads }: `reads` are rows of depths, [first, bytes].

/** All regions of a listing. */
function parseListing(text) {
    const regions = [];
    let region = null;
    for (const line of text.split("\n")) {
        if (line.startsWith("region ")) regions.push(region = new ValuesRegion(line.slice(7)));
        else if (line.startsWith("window ")) regions.push(region = new WindowRegion(line));
        else region?.add(line);
    }
    regions.forEach((one) => one.prepare());
    return regions;
}

/** An event without its place, and the place. */
function partedLine(line) {
    const at = line.indexOf(" at ");
    return at < 0 ? [line, null] : [line.slice(0, at), line.slice(at + 4)];
}

const KEEP_EVERY = 64;

class ValuesRegion {
    constructor(name) {
        this.name = name;
        this.steps = [];
        this.sizes = new Map();
        this.total = null;
        this.wrong = null;
        this.kept = [[]];
    }

    add(line) {
        const [event, place] = partedLine(line);
        const words = event.trim().split(" ");
        if (words[0] === "push") {
            this.steps.push({ kind: "push", key: words[1], text: event, cost: 0, place });
        } else if (words[0] === "read") {
            const [first, last] = words[3].split("-").map(Number);
            const size = (last ?? first) - first + 1;
            this.sizes.set(words[1], size);
            this.steps.push({ kind: "read", key: words[1], reads: [[first, size]], cost: Number(words[5]), text: event, place });
        } else if (words[0] === "instr") {
            const operands = words.slice(3, words.indexOf("cost")).map((word) => word.split("@")[0]);
            this.steps.push({ kind: "instr", op: words[1], operands, cost: 0, text: event, place });
        } else if (words[0] === "total") {
            this.total = words[1];
        }
    }

    /** When each value is read last, which reads no instruction follows (escapes), costs so far. */
    prepare() {
        const { steps } = this;
        const lastRead = new Map();
        let waiting = [];
        let cost = 0;
        steps.forEach((step, at) => {
            cost += step.cost;
            step.sum = cost;
            if (step.kind === "read") waiting.push(at);
            if (step.kind === "instr") {
                // The reads before those of its operands were of escapes, which have no line of their own.
                waiting.slice(0, waiting.length - step.operands.length).forEach((escape) => { steps[escape].escapes = true; });
                waiting.slice(waiting.length - step.operands.length).forEach((read) => { lastRead.set(steps[read].key, at); });
                waiting = [];
            } else if (step.kind === "push") {
                waiting.forEach((escape) => { steps[escape].escapes = true; });
                waiting = [];
            }
        });
        waiting.forEach((escape) => { steps[escape].escapes = true; });
        steps.forEach((step, at) => { if (step.escapes) lastRead.set(step.key, Math.max(at, lastRead.get(step.key) ?? -1)); });
        this.lastRead = lastRead;
        this.usual = [...this.sizes.values()][0] ?? 1;
    }

    sizeOf(key) {
        return this.sizes.get(key) ?? this.usual;
    }

    stackAt(at) {
        const step = this.steps[at - 1];
        // A read shows the stack as it is priced, before anything moves.
        const keys = this.keysBefore(step?.kind === "read" ? at - 1 : at);
        if (step?.kind === "read" && !keys.includes(step.key)) keys.push(step.key);
        this.keysBefore(at);
        return keys.map((key) => ({ key, size: this.sizeOf(key), label: key, colour: valueColour(Number(key.slice(1))) }));
    }

    keysBefore(at) {
        const from = Math.min(Math.floor(at / KEEP_EVERY), this.kept.length - 1);
        const stack = this.kept[from].slice();
        for (let step = from * KEEP_EVERY; step < at; step += 1) {
            this.apply(stack, step);
            if ((step + 1) % KEEP_EVERY === 0 && (step + 1) / KEEP_EVERY === this.kept.length) this.kept.push(stack.slice());
        }
        return stack;
    }

    apply(stack, at) {
        const step = this.steps[at];
        if (step.kind === "push") {
            stack.unshift(step.key);
        } else if (step.kind === "read") {
            // Inputs of unknown order come from below when they are read first.
            if (!stack.includes(step.key)) stack.push(step.key);
            const depth = stack.slice(0, stack.indexOf(step.key)).reduce((sum, key) => sum + this.sizeOf(key), 1);
            const stated = step.reads[0][0];
            if (depth !== stated) this.wrong ??= `step ${at + 1}: the listing says depth ${stated}, the stack here ${depth}`;
            if (step.escapes) this.touch(stack, step.key, at);
        } else {
            [...new Set(step.operands)].forEach((key) => this.touch(stack, key, at));
        }
    }

    /** To the top, or away if nobody reads it again. */
    touch(stack, key, at) {
        stack.splice(stack.indexOf(key), 1);
        if (this.lastRead.get(key) > at) stack.unshift(key);
    }

    /** Most bytes on the stack at once. */
    peak() {
        if (this.most) return this.most;
        const stack = [];
        this.most = 1;
        for (let at = 0; at < this.steps.length; at += 1) {
            this.apply(stack, at);
            this.most = Math.max(this.most, stack.reduce((sum, key) => sum + this.sizeOf(key), 0));
        }
        return this.most;
    }

    words(step) {
        const words = {
            push: () => `${step.key} comes on top, for free.`,
            read: () => `${step.key} is read at depth ${depthsText(step.reads)}: cost ${step.cost}.`,
            instr: () => `${step.op} has read ${step.operands.join(" and ")}: they go to the top, or leave if nobody reads them again.`,
        };
        return words[step.kind]();
    }

    liveText(stack) {
        return `${stack.reduce((sum, value) => sum + value.size, 0)} B live`;
    }
}

/** `9 to 16`. */
function depthsText(reads) {
    const texts = reads.slice(0, 3).map(([first, bytes]) => (bytes > 1 ? `${grouped(first)} to ${grouped(first + bytes - 1)}` : grouped(first)));
    return texts.join(", ") + (reads.length > 3 ? " and more" : "");
}

/** A colour per value, told apart by hue and lightness. */
function valueColour(number) {
    const colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];
    const fill = colours[number % colours.length];
    return { fill, text: ["#e69f00", "#56b4e9", "#f0e442", "#cc79a7"].includes(fill) ? "#111" : "#fff" };
}
