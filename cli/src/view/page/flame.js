// Flame graph of calling contexts: as wide as the number, from the outside in, coloured by how deep what is read lies.
//
// Takes the tree of a profile and the chosen number, draws on a canvas what is at least half a pixel wide. Zooms to a node (state `node`), marks names that
// contain what is searched (state `q`), and goes from node to node with the arrow keys. The order of siblings is that of their ByteDMD, whatever the metric,
// so that nothing jumps while the handle is dragged.

const FLAME_ROW = 20;

/** Children of each node, costliest first. */
function childrenOf(profile) {
    if (profile.children) return profile.children;
    const cost = profile.withCallees(profile.sums.cost.node);
    const { start, list } = group(profile.node.parent.subarray(1), profile.nodes);
    for (let node = 0; node < profile.nodes; node += 1) {
        const own = list.subarray(start[node], start[node + 1]);
        for (let i = 0; i < own.length; i += 1) own[i] += 1;
        if (own.length > 1) own.set(Array.from(own).sort((a, b) => cost[b] - cost[a] || a - b));
    }
    profile.children = { start, list };
    return profile.children;
}

/** Mean depth of what each node and all below it read; 0 if they read nothing. */
function meanDepths(profile) {
    if (profile.meanDepth) return profile.meanDepth;
    const { start, bucket, count: counts } = profile.depths;
    const weights = new Float64Array(profile.cells);
    const reads = new Float64Array(profile.cells);
    for (let cell = 0; cell < profile.cells; cell += 1) {
        for (let i = start[cell]; i < start[cell + 1]; i += 1) {
            weights[cell] += counts[i] * MIDDLES[bucket[i]];
            reads[cell] += counts[i];
        }
    }
    const all = (list) => profile.withCallees(profile.spread(list).node);
    const [weight, read] = [all(weights), all(reads)];
    profile.meanDepth = weight.map((sum, node) => (read[node] > 0 ? sum / read[node] : 0));
    return profile.meanDepth;
}

class Flame {
    constructor(app) {
        this.app = app;
        this.canvas = h("canvas", {
            tabindex: 0, role: "application", "aria-label": "Flame graph; arrow keys go from frame to frame, Enter zooms, Backspace zooms out",
            onclick: (event) => this.click(event), onpointermove: (event) => this.hover(event), onpointerleave: () => this.leave(),
            onkeydown: (event) => this.key(event), ondblclick: () => this.toSource(),
        });
        this.status = h("div", { class: "flame-status", "aria-live": "polite" });
        this.box = h("div", { class: "flame-box" }, this.canvas);
        this.element = h("div", {}, this.status, this.box);
        this.at = 0;
        new ResizeObserver(() => { if (this.box.clientWidth !== this.width) this.draw(); }).observe(this.box);
    }

    /** Where each node that is wide enough is. */
    layOut() {
        const { app } = this;
        const { profile, values } = app;
        const { start, list } = childrenOf(profile);
        const all = values.nodeAll;
        const zoom = app.state.node < profile.nodes ? app.state.node : 0;
        this.zoom = zoom;
        const above = [];
        for (let node = zoom; node > 0; node = profile.node.parent[node]) above.unshift(profile.node.parent[node]);
        this.width = Math.max(300, this.box.clientWidth);
        this.frames = above.map((node, depth) => ({ node, x: 0, width: this.width, depth }));
        const stack = [[zoom, 0, this.width, above.length]];
        this.deepest = above.length;
        while (stack.length > 0) {
            const [node, x, width, depth] = stack.pop();
            this.frames.push({ node, x, width, depth });
            this.deepest = Math.max(this.deepest, depth);
            let left = x;
            for (let i = start[node]; i < start[node + 1]; i += 1) {
                const part = all[node] > 0 ? (all[list[i]] / all[node]) * width : 0;
                if (part >= 0.5) stack.push([list[i], left, part, depth + 1]);
                left += part;
            }
        }
    }

    draw() {
        this.layOut();
        const { app } = this;
        const height = (this.deepest + 1) * FLAME_ROW + 1;
        const context = sharpCanvas(this.canvas, this.width, height);
        context.font = `12px ${variable("--font")}`;
        context.textBaseline = "middle";
        const query = app.state.q.toLowerCase();
        this.found = 0;
        const meets = new Map();
        for (const frame of this.frames) {
            const hit = query === "" || this.meets(frame.node, query, meets);
            this.drawFrame(context, frame, height, hit, query !== "");
        }
        this.tellStatus(query);
    }

    meets(node, query, known) {
        const fn = this.app.profile.node.fn[node];
        if (!known.has(fn)) known.set(fn, node > 0 && this.app.profile.functions[fn].name.toLowerCase().includes(query));
        return node > 0 && known.get(fn);
    }

    top(depth, height) {
        return this.app.state.flame === "flame" ? height - (depth + 1) * FLAME_ROW : depth * FLAME_ROW;
    }

    drawFrame(context, { node, x, width, depth }, height, hit, searching) {
        const y = this.top(depth, height);
        const colour = this.colourOf(node);
        context.globalAlpha = hit ? 1 : 0.25;
        context.fillStyle = colour.fill;
        context.fillRect(x, y, Math.max(0.5, width - (width > 3 ? 1 : 0)), FLAME_ROW - 1);
        context.globalAlpha = 1;
        if (width > 28) {
            context.fillStyle = hit ? colour.text : variable("--text");
            const room = Math.floor((width - 8) / 6.4);
            let text = shortened(this.name(node), Math.max(room, 3));
            if (context.measureText(text).width > width - 6) text = shortened(text, Math.max(3, Math.floor(room * 0.8)));
            context.save();
            context.beginPath();
            context.rect(x, y, width - 2, FLAME_ROW);
            context.clip();
            context.fillText(text, x + 4, y + FLAME_ROW / 2);
            context.restore();
        }
        if (searching && hit || node === this.at) {
            context.strokeStyle = node === this.at && document.activeElement === this.canvas ? variable("--focus") : variable("--text");
            context.lineWidth = node === this.at ? 2 : 1;
            context.strokeRect(x + 1, y + 1, Math.max(1, width - 3), FLAME_ROW - 3);
        }
    }

    colourOf(node) {
        const mean = meanDepths(this.app.profile)[node];
        return mean > 0 ? depthColour(Math.log2(mean) / this.app.octaveCount) : { fill: "#8a8f98", text: "#fff" };
    }

    name(node) {
        const { profile } = this.app;
        return node === 0 ? "(program)" : profile.functions[profile.node.fn[node]].name;
    }

    /** What is searched for, with all below it; nothing counts twice. */
    foundValue(query) {
        const { profile, values } = this.app;
        const known = new Map();
        const inside = new Uint8Array(profile.nodes);
        let sum = 0;
        for (let node = 1; node < profile.nodes; node += 1) {
            const above = inside[profile.node.parent[node]];
            inside[node] = above || this.meets(node, query, known) ? 1 : 0;
            if (inside[node] && !above) sum += values.nodeAll[node];
        }
        return sum;
    }

    tellStatus(query) {
        const { app } = this;
        const { values, metric } = app;
        const node = this.pointed ?? this.at ?? this.zoom;
        const all = values.nodeAll[node];
        const parts = [h("b", {}, named(this.name(node), 90)),
            ` ${metric.text(all)}, ${percent(all / values.total)}; own ${metric.text(values.own.node[node])}`,
            node > 0 ? `; ${app.profile.node.inlined[node] ? "inlined" : `${count(app.profile.node.calls[node])} calls`}` : "",
            this.meanText(node)];
        if (query !== "") parts.push(h("span", { class: "matched" }, ` matched: ${percent(this.foundValue(query) / values.total)}`));
        if (this.zoom > 0) parts.push(" ", jump("zoom out", "Backspace", () => app.set({ node: 0 })));
        if (node > 0) parts.push(" ", jump("function", "Open the function", () => app.showFunction(app.profile.node.fn[node])));
        this.status.replaceChildren(...parts);
    }

    meanText(node) {
        const mean = meanDepths(this.app.profile)[node];
        return mean > 0 ? `; mean depth ${bytes(mean)}` : "";
    }

    frameAt(event) {
        const box = this.canvas.getBoundingClientRect();
        const [x, y] = [event.clientX - box.left, event.clientY - box.top];
        const row = this.app.state.flame === "flame" ? this.deepest - Math.floor(y / FLAME_ROW) : Math.floor(y / FLAME_ROW);
        return this.frames.find((frame) => frame.depth === row && x >= frame.x && x < frame.x + frame.width);
    }

    click(event) {
        const frame = this.frameAt(event);
        if (!frame) return;
        this.at = frame.node;
        if (frame.node === this.zoom) this.draw();
        else this.app.set({ node: frame.node });
    }

    toSource() {
        if (this.at > 0) this.app.showFunction(this.app.profile.node.fn[this.at]);
    }

    hover(event) {
        const frame = this.frameAt(event);
        if (!frame) return this.leave();
        this.pointed = frame.node;
        const { app } = this;
        const { profile, values, metric } = app;
        const fn = profile.functions[profile.node.fn[frame.node]];
        return app.tip.show(event, h("b", {}, named(this.name(frame.node), 200)),
            frame.node > 0 && fn.file !== null && h("div", {}, `${fileName(profile.files[fn.file])}:${fn.line}`),
            h("div", {}, `${metric.title} ${metric.text(values.nodeAll[frame.node])}, ${percent(values.nodeAll[frame.node] / values.total)}`),
            h("div", {}, `own ${metric.text(values.own.node[frame.node])}${this.meanText(frame.node)}`));
    }

    leave() {
        this.pointed = undefined;
        this.app.tip.hide();
    }

    key(event) {
        const { profile } = this.app;
        const { start, list } = childrenOf(profile);
        const { parent } = profile.node;
        const siblings = this.at > 0 ? Array.from(list.subarray(start[parent[this.at]], start[parent[this.at] + 1])) : [0];
        const beside = siblings.indexOf(this.at);
        const [inwards, outwards] = this.app.state.flame === "flame" ? ["ArrowUp", "ArrowDown"] : ["ArrowDown", "ArrowUp"];
        const to = {
            [inwards]: start[this.at] < start[this.at + 1] ? list[start[this.at]] : this.at,
            [outwards]: this.at > 0 ? parent[this.at] : 0,
            ArrowRight: siblings[Math.min(beside + 1, siblings.length - 1)],
            ArrowLeft: siblings[Math.max(beside - 1, 0)],
        }[event.key];
        if (to !== undefined) {
            this.at = to;
            this.draw();
        } else if (event.key === "Enter") {
            this.app.set({ node: this.at });
        } else if (event.key === "Backspace" || event.key === "Escape") {
            this.app.set({ node: parent[this.zoom] ?? 0 });
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}

/** What colours mean. */
function depthLegend(app) {
    const canvas = h("canvas", { role: "img", "aria-label": "Colours by mean depth" });
    const context = sharpCanvas(canvas, 160, 12);
    for (let x = 0; x < 160; x += 2) {
        context.fillStyle = depthColour(x / 160).fill;
        context.fillRect(x, 0, 2, 12);
    }
    return h("span", { class: "legend" }, "mean depth of reads: 1 ", canvas, ` ${bytes(2 ** app.octaveCount)}`);
}

panel({
    id: "flame",
    title: "Flame graph",
    missing: (app) => {
        if (!app.profile) return "no profile is in this page";
        return app.profile.nodes > 1 ? null : "the profile has no calling contexts";
    },
    create(app) {
        const flame = new Flame(app);
        const kind = choice("Direction", [["icicle", "Icicle: callers above"], ["flame", "Flame: callers below"]], app.state.flame,
            (value) => app.set({ flame: value }));
        const element = h("div", { class: "flame" }, h("div", { class: "tools" }, kind, depthLegend(app),
            h("span", { class: "quiet" }, "click zooms, double click opens the function, arrow keys move")), flame.element);
        const update = (changed) => {
            kind.value = app.state.flame;
            if (changed?.has("node")) flame.at = app.state.node;
            flame.draw();
        };
        return { element, update };
    },
});
