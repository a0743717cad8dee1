// From the block of text in the document to typed arrays.
//
// Takes the element `data`, gives the header and one `Profile` per run: nodes of the call tree, lines, and cells (what a line did in a node) as columns
// of numbers. Sums by node, line and function are made here once. Numbers beyond 2^53 are kept exactly beside the column that rounds them.

/** The smallest depth of a bucket minus one, that is the largest capacity that it lies beyond. Mirrors `runtime/src/histogram.rs`. */
function bucketFloor(bucket) {
    if (bucket < 32) return bucket;
    const octave = Math.floor((bucket - 32) / 32);
    return (32 + (bucket - 32) % 32) * 2 ** octave;
}

/** The largest depth of a bucket. */
function bucketTop(bucket) {
    return bucket < 32 ? bucket + 1 : bucketFloor(bucket) + 2 ** Math.floor((bucket - 32) / 32);
}

const FLOORS = Float64Array.from({ length: 1920 }, (_, bucket) => bucketFloor(bucket));
const MIDDLES = Float64Array.from({ length: 1920 }, (_, bucket) => (bucketFloor(bucket) + 1 + bucketTop(bucket)) / 2);

/** The bucket of a depth. */
function bucketOf(depth) {
    const value = depth - 1;
    if (value < 32) return Math.max(value, 0);
    let octave = Math.floor(Math.log2(value)) - 5;
    if (value / 2 ** octave < 32) octave -= 1;
    if (value / 2 ** octave >= 64) octave += 1;
    return 32 + octave * 32 + (Math.floor(value / 2 ** octave) - 32);
}

async function readDocument(element) {
    const packed = unwritten(element.textContent, Number(element.dataset.bytes));
    element.remove();
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const buffer = await new Response(stream).arrayBuffer();
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const columns = new Columns(new Uint8Array(buffer, 4 + length), header.columns);
    const profile = (described) => (described ? new Profile(described, columns) : null);
    return { header, profile: profile(header.profile), before: profile(header.before) };
}

/** Bytes from printable characters, two for 13 bits: see `cli/src/view/text.rs`. */
function unwritten(text, length) {
    const bytes = new Uint8Array(length);
    const value = (code) => code - 33 - (code > 38) - (code > 60) - (code > 62);
    const values = Uint8Array.from({ length: 127 }, (_, code) => (code < 33 ? 0 : value(code)));
    let [bits, have, at] = [0, 0, 0];
    for (let i = 0; i + 1 < text.length; i += 2) {
        bits |= (values[text.charCodeAt(i)] * 91 + values[text.charCodeAt(i + 1)]) << have;
        for (have += 13; have >= 8 && at < length; have -= 8) {
            bytes[at++] = bits & 255;
            bits >>>= 8;
        }
    }
    return bytes;
}

/** Columns of numbers in groups of 7 bits: see `cli/src/view/pack.rs`. */
class Columns {
    constructor(data, places) {
        this.data = data;
        this.places = new Map(places.map((place) => [place.name, place]));
    }

    /** As they are. `exact` of the result holds those that do not fit. */
    numbers(name) {
        const { count, at: start } = this.places.get(name);
        const data = this.data;
        const list = new Float64Array(count);
        let at = start;
        for (let i = 0; i < count; i += 1) {
            const first = at;
            let byte = data[at++];
            let value = byte & 127;
            for (let scale = 128; byte > 127; scale *= 128) {
                byte = data[at++];
                value += (byte & 127) * scale;
            }
            if (value > Number.MAX_SAFE_INTEGER) {
                list.exact ??= new Map();
                list.exact.set(i, this.big(first));
            }
            list[i] = value;
        }
        return list;
    }

    big(at) {
        let value = 0n;
        for (let shift = 0n; ; shift += 7n) {
            const byte = this.data[at++];
            value |= BigInt(byte & 127) << shift;
            if (byte < 128) return value;
        }
    }

    /** Differences from the one before, with the sign in the lowest bit. */
    differences(name) {
        const steps = this.numbers(name);
        const list = new Int32Array(steps.length);
        let value = 0;
        for (let i = 0; i < steps.length; i += 1) {
            value += signed(steps[i]);
            list[i] = value;
        }
        return list;
    }
}

/** The sign is in the lowest bit. */
function signed(number) {
    return number % 2 === 1 ? -(number + 1) / 2 : number / 2;
}

/** Buckets of each cell: the first, and gaps. */
function bucketsOf(start, gaps) {
    const list = new Int32Array(gaps.length);
    for (let cell = 0; cell + 1 < start.length; cell += 1) {
        let next = 0;
        for (let i = start[cell]; i < start[cell + 1]; i += 1) {
            list[i] = next + gaps[i];
            next = list[i] + 1;
        }
    }
    return list;
}

/** What a read from the smallest depth of a bucket costs, as `cli/src/view/tree.rs` takes it. */
const LEAST_PRICES = FLOORS.map((floor) => (floor < 2 ** 52 ? Math.floor(Math.sqrt(floor)) + 1 : 0));
const ONES = FLOORS.map(() => 1);

/** Numbers of cells that are written as differences from what the depths say. */
function fromDepths(steps, { start, bucket, count }, prices) {
    const list = new Float64Array(steps.length);
    for (let cell = 0; cell < steps.length; cell += 1) {
        let sum = 0;
        for (let i = start[cell]; i < start[cell + 1]; i += 1) sum += count[i] * prices[bucket[i]];
        list[cell] = sum + signed(steps[cell]);
        if (Math.max(sum, steps[cell], list[cell]) <= Number.MAX_SAFE_INTEGER) continue;
        const step = steps.exact?.get(cell) ?? BigInt(steps[cell]);
        let exact = step % 2n === 1n ? -(step + 1n) / 2n : step / 2n;
        for (let i = start[cell]; i < start[cell + 1]; i += 1) exact += (count.exact?.get(i) ?? BigInt(count[i])) * BigInt(prices[bucket[i]]);
        list[cell] = Number(exact);
        list.exact ??= new Map();
        list.exact.set(cell, exact);
    }
    return list;
}

/** A number of a column with every digit. */
function exactly(column, i) {
    return column.exact?.get(i) ?? BigInt(column[i]);
}

function setExactly(column, i, value) {
    column[i] = Number(value);
    if (value <= Number.MAX_SAFE_INTEGER) return;
    column.exact ??= new Map();
    column.exact.set(i, value);
}

/** Counts of each cell are written without a power of two that they share. */
function rescale({ start, count }, scale) {
    for (let cell = 0; cell + 1 < start.length; cell += 1) {
        if (scale[cell] === 0) continue;
        const factor = 2 ** scale[cell];
        for (let i = start[cell]; i < start[cell + 1]; i += 1) {
            if (count[i] * factor <= Number.MAX_SAFE_INTEGER) count[i] *= factor;
            else setExactly(count, i, exactly(count, i) << BigInt(scale[cell]));
        }
    }
}

/**
 * Numbers that are mostly what others say: codes below `first` stand for that, others for themselves. `of` is the column that the expected ones come
 * from; they are given twice, as a number and with every digit.
 */
function coded(codes, first, of, near, exact) {
    const list = new Float64Array(codes.length);
    for (let cell = 0; cell < codes.length; cell += 1) {
        const code = codes[cell];
        const value = code < first ? near(cell, code) : code - first;
        if (value <= Number.MAX_SAFE_INTEGER && !of.exact?.has(cell) && !codes.exact?.has(cell)) list[cell] = value;
        else setExactly(list, cell, code < first ? exact(cell, code) : exactly(codes, cell) - BigInt(first));
    }
    return list;
}

/** Reads by capacity: cells without entries of their own have those of the depths. */
function raised(depths, own) {
    if (own.bucket.length === 0) return depths;
    const cells = depths.start.length - 1;
    const of = (cell) => (own.start[cell + 1] > own.start[cell] ? own : depths);
    const start = starts(Int32Array.from({ length: cells }, (_, cell) => of(cell).start[cell + 1] - of(cell).start[cell]));
    const bucket = new Int32Array(start[cells]);
    const count = new Float64Array(start[cells]);
    for (let cell = 0; cell < cells; cell += 1) {
        const from = of(cell);
        bucket.set(from.bucket.subarray(from.start[cell], from.start[cell + 1]), start[cell]);
        count.set(from.count.subarray(from.start[cell], from.start[cell + 1]), start[cell]);
    }
    return { start, bucket, count };
}

/** Where the entries of each cell begin. */
function starts(lengths) {
    const list = new Int32Array(lengths.length + 1);
    for (let i = 0; i < lengths.length; i += 1) list[i + 1] = list[i] + lengths[i];
    return list;
}

/** Numbers that cells have and that add. */
const SUMMED = ["executions", "read", "written", "cold", "cost", "flops", "ops"];

/** One run. */
class Profile {
    constructor(described, columns) {
        Object.assign(this, described);
        const numbers = (name) => columns.numbers(`${described.prefix}.${name}`);
        const differences = (name) => columns.differences(`${described.prefix}.${name}`);
        this.node = {
            parent: differences("node.parent"),
            fn: differences("node.function"),
            inlined: numbers("node.inlined"),
            calls: numbers("node.calls"),
        };
        this.line = { file: differences("line.file"), line: differences("line.line"), fn: differences("line.function") };
        this.cell = { node: differences("cell.node"), always: numbers("cell.always") };
        this.summed = [...SUMMED, ...this.hazards];
        this.summed.forEach((name) => { this.cell[name] = numbers(`cell.${name}`); });
        addHazards(this.hazards);
        const scale = numbers("cell.scale");
        const histograms = (kind) => {
            const start = starts(numbers(`${kind}.len`));
            return { start, bucket: bucketsOf(start, numbers(`${kind}.bucket`)), count: numbers(`${kind}.count`) };
        };
        this.depths = histograms("depth");
        this.moved = histograms("moved");
        rescale(this.depths, scale);
        this.capacities = raised(this.depths, histograms("raised"));
        this.cell.read = fromDepths(this.cell.read, this.depths, ONES);
        this.cell.cost = fromDepths(this.cell.cost, this.depths, LEAST_PRICES);
        const { read } = this.cell;
        const executions = this.cell.executions = coded(this.cell.executions, 1, read,
            (cell) => read[cell] / 2 ** scale[cell], (cell) => exactly(read, cell) >> BigInt(scale[cell]));
        this.cell.written = coded(this.cell.written, 2, executions,
            (cell, code) => code * executions[cell] * 2 ** scale[cell], (cell, code) => BigInt(code) * (exactly(executions, cell) << BigInt(scale[cell])));
        this.nodes = this.node.parent.length;
        this.cells = this.cell.node.length;
        this.lines = this.line.file.length;
        this.cell.fn = this.cell.node.map((node) => this.node.fn[node]);
        // Lines are sorted by function; those of a cell are counted from the first of its function.
        const first = new Int32Array(this.functions.length);
        for (let line = this.lines - 1; line >= 0; line -= 1) first[this.line.fn[line]] = line;
        this.cell.line = Int32Array.from(numbers("cell.line"), (step, cell) => (first[this.cell.fn[cell]] ?? 0) + signed(step));
        this.cycles = cyclesOf(described.cycles, this.functions.length, this.lines);
        this.clock = clockOf(described.clock, this.functions.length, this.lines);
        this.addUp();
    }

    addUp() {
        this.sums = {};
        this.summed.forEach((name) => { this.sums[name] = this.spread(this.cell[name]); });
        this.outermost = this.findOutermost();
        this.calls = new Float64Array(this.functions.length);
        this.isLinked = new Uint8Array(this.functions.length);
        for (let node = 1; node < this.nodes; node += 1) {
            if (this.node.inlined[node]) continue;
            this.calls[this.node.fn[node]] += this.node.calls[node];
            this.isLinked[this.node.fn[node]] = 1;
        }
        this.cellsOfFunction = group(this.cell.fn, this.functions.length);
        this.cellsOfLine = group(this.cell.line, this.lines);
    }

    /** Sums of a column of cells by node, line and function. */
    spread(cells) {
        const sums = {
            cells,
            node: new Float64Array(this.nodes),
            line: new Float64Array(this.lines),
            fn: new Float64Array(this.functions.length),
            total: 0,
        };
        const { node, line, fn } = this.cell;
        for (let i = 0; i < cells.length; i += 1) {
            const value = cells[i];
            if (value === 0) continue;
            sums.node[node[i]] += value;
            sums.line[line[i]] += value;
            sums.fn[fn[i]] += value;
            sums.total += value;
        }
        return sums;
    }

    /** Of nodes with all below them. Parents come before children. */
    withCallees(own) {
        const all = own.slice();
        for (let node = all.length - 1; node > 0; node -= 1) all[this.node.parent[node]] += all[node];
        return all;
    }

    /** Of functions with all that they call; recursion counts once. */
    ofFunctionsWithCallees(nodes) {
        const all = new Float64Array(this.functions.length);
        for (let node = 1; node < this.nodes; node += 1) {
            if (this.outermost[node]) all[this.node.fn[node]] += nodes[node];
        }
        return all;
    }

    /** Nodes that no node of the same function is above of. */
    findOutermost() {
        const outermost = new Uint8Array(this.nodes);
        for (let node = 1; node < this.nodes; node += 1) {
            const fn = this.node.fn[node];
            let above = this.node.parent[node];
            while (above > 0 && this.node.fn[above] !== fn) above = this.node.parent[above];
            outermost[node] = above === 0 ? 1 : 0;
        }
        return outermost;
    }

    /** Reads by bucket of some cells; all without a list. */
    histogram(cells) {
        return this.merged(this.depths, cells);
    }

    /** The same by capacity: what a memory must have to still hold what is read. */
    capacityHistogram(cells) {
        return this.merged(this.capacities, cells);
    }

    merged({ start, bucket, count }, cells) {
        const sums = new Map();
        const add = (cell) => {
            for (let i = start[cell]; i < start[cell + 1]; i += 1) {
                sums.set(bucket[i], (sums.get(bucket[i]) ?? 0) + count[i]);
            }
        };
        if (cells) cells.forEach(add);
        else for (let cell = 0; cell < this.cells; cell += 1) add(cell);
        return [...sums].sort((a, b) => a[0] - b[0]);
    }

    /** The cells' sum with every digit. */
    exact(name, cells) {
        const column = this.cell[name];
        let sum = 0n;
        const add = (cell) => { sum += column.exact?.get(cell) ?? BigInt(column[cell]); };
        if (cells) cells.forEach(add);
        else for (let cell = 0; cell < this.cells; cell += 1) add(cell);
        return sum;
    }

    fileOf(line) {
        return this.files[this.line.file[line]] ?? null;
    }

    /** `kernel.c:12`. */
    placeOf(line) {
        const file = this.fileOf(line);
        if (file === null) return "(no line)";
        return `${fileName(file)}:${this.line.line[line] || "?"}`;
    }

    cellsOf(kind, index) {
        const { start, list } = kind === "fn" ? this.cellsOfFunction : this.cellsOfLine;
        return list.subarray(start[index], start[index + 1]);
    }
}

/** Indices by group, each group's together. */
function group(of, groups) {
    const start = new Int32Array(groups + 1);
    for (let i = 0; i < of.length; i += 1) start[of[i] + 1] += 1;
    for (let i = 0; i < groups; i += 1) start[i + 1] += start[i];
    const at = start.slice();
    const list = new Int32Array(of.length);
    for (let i = 0; i < of.length; i += 1) list[at[of[i]]++] = i;
    return { start, list };
}
