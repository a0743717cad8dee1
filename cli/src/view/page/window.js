// A window of a real program's accesses, and the stack of bytes that they make.
//
// Takes the listing of `dmdprof run --window`, gives a region for the walk, as `listing.js` describes it. What was touched in the window is on top of the
// stack, and its depths are computed here and compared with the engine's; below is what was touched before, of which only the depths that
// reads found there are known. Bytes that were touched together are one piece. Colours
// are those of blocks: of data objects, or of what lies near each other where no objects were measured.

/** Bytes between two accesses of one block, at most. */
const BLOCK_GAP = 16384;

class WindowRegion {
    constructor(line) {
        this.name = `window${line.slice(line.indexOf(" from "))}`;
        this.isWindow = true;
        this.steps = [];
        this.total = null;
        this.wrong = null;
        this.blocks = [];
        this.at = 0;
        this.pieces = [];
    }

    add(line) {
        const [event, place] = partedLine(line);
        const words = event.split(" ");
        const [kind, where] = words;
        if (kind === "total") {
            this.total = words[1];
            this.end = event.slice(event.indexOf(";") + 2);
        } else if (["read", "write", "dies", "moves"].includes(kind)) {
            const [addr, len] = (kind === "moves" ? words[2] : where).split(":");
            const step = { kind, addr: parseInt(addr, 16), len: Number(len), cost: 0, text: event, place, counts: !event.endsWith(" not counted"), object: null };
            if (kind === "moves") [step.addr, step.to] = [parseInt(where, 16), step.addr];
            if (kind === "read") {
                step.reads = words[3].split(",").map((row) => row.split("-").map(Number)).map(([first, last]) => [first, (last ?? first) - first + 1]);
                step.cost = step.counts ? Number(words[5]) : 0;
            }
            const of = event.indexOf(" of ");
            if (of >= 0) [step.object, step.text] = [event.slice(of + 4), event.slice(0, of)];
            this.steps.push(step);
        }
    }

    prepare() {
        let cost = 0;
        let deepest = 1;
        for (const step of this.steps) {
            cost += step.cost;
            step.sum = cost;
            for (const [first, bytes] of step.reads ?? []) deepest = Math.max(deepest, first + bytes - 1);
        }
        this.most = Math.max(deepest, this.knownBytes());
        this.findBlocks();
    }

    /** Blocks: what is near each other and of one object. Blocks of one name have numbers. */
    findBlocks() {
        const touched = this.steps.filter((step) => step.kind === "read" || step.kind === "write").sort((a, b) => a.addr - b.addr);
        const times = new Map();
        let block = null;
        for (const step of touched) {
            if (block === null || step.object !== block.object || step.addr - block.end > BLOCK_GAP) {
                const number = (times.get(step.object) ?? 0) + 1;
                times.set(step.object, number);
                block = { object: step.object, start: step.addr, end: step.addr, number, colour: this.blocks.length };
                this.blocks.push(block);
            }
            block.end = Math.max(block.end, step.addr + step.len);
            step.block = block;
        }
        this.blocks.forEach((one) => {
            const name = one.object ?? `memory at ${one.start.toString(16)}`;
            one.label = times.get(one.object) > 1 && one.object !== null ? `${name} #${one.number}` : name;
        });
    }

    /** Most bytes of the window on the stack at once. */
    knownBytes() {
        const live = new Map();
        let [now, most] = [0, 0];
        const GRAIN = 8;
        const each = (addr, len, act) => {
            for (let at = addr; at < addr + len; at = (Math.floor(at / GRAIN) + 1) * GRAIN) {
                const grain = Math.floor(at / GRAIN);
                const mask = ((1 << Math.min(GRAIN, addr + len - grain * GRAIN)) - 1) & ~((1 << (at - grain * GRAIN)) - 1);
                act(grain, mask);
            }
        };
        const set = (grain, mask) => {
            const before = live.get(grain) ?? 0;
            now += bitsOf(mask & ~before);
            live.set(grain, before | mask);
        };
        const clear = (grain, mask) => {
            const before = live.get(grain);
            if (!before) return;
            now -= bitsOf(before & mask);
            live.set(grain, before & ~mask);
        };
        for (const { kind, addr, len } of this.steps) {
            // Long ends of lives are mostly of what the window does not know.
            if (kind === "read" || kind === "write") each(addr, len, set);
            else if (kind === "dies" && len <= 1 << 20) each(addr, len, clear);
            most = Math.max(most, now);
        }
        return most;
    }

    peak() {
        return this.most;
    }

    stackAt(at) {
        const step = this.steps[at - 1];
        if (step?.kind === "read") {
            this.goTo(at - 1);
            this.check(step, at);
        } else {
            this.goTo(at);
        }
        return this.pieces.map(({ addr, len, block }) => ({ key: addr, size: len, label: block.label, colour: valueColour(block.colour) }));
    }

    /** The pieces on the stack after so many steps: on from where they are, or from the start of the window. */
    goTo(at) {
        if (at < this.at) [this.pieces, this.at] = [[], 0];
        if (at - this.at > 2000) [this.pieces, this.at] = [this.lookBack(at), at];
        for (; this.at < at; this.at += 1) this.apply(this.steps[this.at]);
    }

    apply(step) {
        const { kind, addr, len } = step;
        if (kind === "moves") {
            if (this.has(addr, len) || this.has(step.to, len)) this.pieces = this.relocated(step);
            return;
        }
        this.remove(addr, len);
        if (kind !== "dies") this.pieces.unshift(this.piece(step, addr, len));
    }

    piece({ block }, addr, len) {
        return { addr, len, block };
    }

    has(addr, len) {
        return this.pieces.some((piece) => piece.addr < addr + len && piece.addr + piece.len > addr);
    }

    /** All pieces, cut at the ends of a range; `inside`: they are in it. */
    taken(addr, len) {
        return this.pieces.flatMap((piece) => {
            const end = piece.addr + piece.len;
            if (end <= addr || piece.addr >= addr + len) return [piece];
            // On the stack the highest address is on top.
            return [[addr + len, end, false], [Math.max(piece.addr, addr), Math.min(end, addr + len), true], [piece.addr, addr, false]]
                .filter(([from, to]) => from < to).map(([from, to, inside]) => ({ ...piece, addr: from, len: to - from, inside }));
        });
    }

    /** Takes the bytes of a range off; most are near the top. */
    remove(addr, len) {
        let left = len;
        for (let i = 0; i < this.pieces.length && left > 0; i += 1) {
            const piece = this.pieces[i];
            const [from, to] = [Math.max(piece.addr, addr), Math.min(piece.addr + piece.len, addr + len)];
            if (from >= to) continue;
            left -= to - from;
            const rest = [{ ...piece, addr: to, len: piece.addr + piece.len - to }, { ...piece, len: from - piece.addr }].filter((part) => part.len > 0);
            this.pieces.splice(i, 1, ...rest);
            i += rest.length - 1;
        }
    }

    relocated({ addr, to, len }) {
        const moved = this.taken(addr, len);
        const kept = moved.flatMap((piece) => {
            if (piece.inside) return [piece];
            const part = [[Math.max(piece.addr, to + len), piece.addr + piece.len], [piece.addr, Math.min(piece.addr + piece.len, to)]];
            return part.filter(([from, end]) => from < end).map(([from, end]) => ({ ...piece, addr: from, len: end - from }));
        });
        return kept.map(({ inside, ...piece }) => (inside ? { ...piece, addr: piece.addr - addr + to } : piece));
    }

    /** The same as all steps from the start, without doing each: from the last step back, what was not met yet. */
    lookBack(at) {
        const kept = this.pieces;
        const moves = this.steps.slice(0, at).flatMap((step, i) => (step.kind === "moves" ? [i] : []));
        this.pieces = [];
        [...moves, at].reduce((from, to) => {
            this.pieces = this.layer(from, to);
            if (to < at) this.apply(this.steps[to]);
            return to + 1;
        }, 0);
        const found = this.pieces;
        this.pieces = kept;
        return found;
    }

    /** The pieces after the steps `from` to `to`, of which none moves bytes, on top of those before. */
    layer(from, to) {
        const met = new Met();
        const pieces = [];
        for (let i = to - 1; i >= from; i -= 1) {
            const step = this.steps[i];
            const fresh = met.add(step.addr, step.len);
            if (step.kind !== "dies") fresh.forEach(([start, end]) => pieces.push(this.piece(step, start, end - start)));
        }
        for (const piece of this.pieces) {
            met.add(piece.addr, piece.len).forEach(([start, end]) => pieces.push({ ...piece, addr: start, len: end - start }));
        }
        return pieces;
    }

    /** Compares the depths that the engine found with those of the pieces. */
    check(step, at) {
        const stated = new Set(step.reads.flatMap(([first, bytes]) => Array.from({ length: bytes }, (_, i) => first + i)));
        let [above, known] = [0, 0];
        for (const piece of this.pieces) {
            const [from, to] = [Math.max(piece.addr, step.addr), Math.min(piece.addr + piece.len, step.addr + step.len)];
            for (let byte = from; byte < to; byte += 1) {
                const depth = above + piece.addr + piece.len - byte;
                if (!stated.has(depth)) this.wrong ??= `step ${at}: byte ${byte.toString(16)} lies at depth ${depth} here, which the engine did not find`;
                known += 1;
            }
            above += piece.len;
        }
        step.known = known;
    }

    words(step) {
        const what = step.block ? ` of ${shortened(step.block.label, 60)}` : "";
        const size = `${step.len} B${what}`;
        const words = {
            read: () => `${size} ${step.len === 1 ? "is" : "are"} read at depth ${depthsText(step.reads)}: cost ${grouped(step.cost)}${step.counts ? "" : " (not counted)"}.`
                + (step.known < step.len ? " Touched before the window." : ""),
            write: () => `${size} ${step.len === 1 ? "is" : "are"} written: on top, for free.`,
            dies: () => `${bytes(step.len)} end their life and leave.`,
            moves: () => `${bytes(step.len)} move to another address and keep their places.`,
        };
        return words[step.kind]();
    }

    liveText(stack) {
        return `${bytes(stack.reduce((sum, piece) => sum + piece.size, 0))} of the window on the stack`;
    }
}

/** Bytes that were met: by grains of 32, and what is long as ranges. */
class Met {
    constructor() {
        this.grains = new Map();
        this.long = [];
    }

    /** Adds a range; gives the parts of it that are new, the highest first. Of a long one, nothing: only ends of lives are as long. */
    add(addr, len) {
        const fresh = [];
        if (len > 1 << 16) {
            this.long.push([addr, addr + len]);
            return fresh;
        }
        for (let byte = addr + len - 1; byte >= addr; byte -= 1) {
            if (!this.meet(byte) || this.long.some(([from, to]) => byte >= from && byte < to)) continue;
            const last = fresh[fresh.length - 1];
            if (last && last[0] === byte + 1) last[0] = byte;
            else fresh.push([byte, byte + 1]);
        }
        return fresh;
    }

    /** Whether a byte is new. */
    meet(byte) {
        const grain = Math.floor(byte / 32);
        const before = this.grains.get(grain) ?? 0;
        const bit = 1 << (byte - grain * 32);
        if (before & bit) return false;
        this.grains.set(grain, before | bit);
        return true;
    }
}

function bitsOf(mask) {
    let bits = 0;
    for (let rest = mask; rest > 0; rest &= rest - 1) bits += 1;
    return bits;
}
