// Tables of any length: only the rows that are seen exist.
//
// Takes columns (title, text or picture of a row, order) and rows (any values), gives an element that sorts, scrolls, and is used with the keyboard.
// `setRows` and `refresh` change what is seen without losing the place.

const ROW_HEIGHT = 26;

class Table {
    /**
     * columns: [{ key, title, hint, number, width, text(row), draw(canvas, row), bar(row), cell(row), value(row), fixed }]; `value` is what
     * sorts; what is `fixed`, and pictures, depend on the row only.
     * options: { label, sort, onsort(key), onpick(row), onhover(event, row), isPicked(row), height }
     */
    constructor(columns, options) {
        this.columns = columns;
        this.options = options;
        this.rows = this.given = [];
        this.places = new Uint32Array();
        this.at = 0;
        this.sort = options.sort || "";
        this.head = h("div", { class: "head", role: "row" });
        this.body = h("div", { class: "rows", role: "rowgroup" });
        this.scroller = h("div", {
            class: "scroller", tabindex: 0, role: "table", "aria-label": options.label,
            onscroll: () => this.draw(), onkeydown: (event) => this.key(event),
        }, this.head, this.body);
        if (options.height) this.scroller.style.maxHeight = `${options.height}px`;
        this.element = h("div", { class: "table" }, this.scroller);
        this.template = columns.map((column) => column.width ?? "max-content").join(" ");
        this.drawn = new Map();
        new ResizeObserver(() => {
            this.height = this.scroller.clientHeight;
            this.draw();
        }).observe(this.scroller);
        PRINT.addEventListener("change", () => this.refresh());
    }

    /** `rows` are not changed; the same list again keeps its order as far as it still holds. */
    setRows(rows) {
        if (rows !== this.given) {
            this.given = rows;
            this.places = Uint32Array.from(rows, (_, place) => place);
        }
        this.order();
    }

    /** Sorts again, as numbers may have changed. Equal rows stay in the order in which they were given. */
    order() {
        const key = this.sort.replace(/^-/, "");
        const column = this.columns.find((column) => column.key === key && column.value);
        const sign = this.sort.startsWith("-") ? -1 : 1;
        if (column) {
            const keys = this.given.map(column.value);
            this.places.sort(typeof keys[0] === "string" ? (a, b) => sign * keys[a].localeCompare(keys[b]) || a - b
                : (a, b) => sign * (keys[b] - keys[a]) || a - b);
        }
        this.rows = Array.from(this.places, (place) => this.given[place]);
        this.refresh();
    }

    refresh() {
        this.drawHead();
        const shown = PRINT.matches ? Math.min(this.rows.length, MOST_PRINTED) : this.rows.length;
        this.body.style.height = `${shown * ROW_HEIGHT}px`;
        this.draw();
    }

    drawHead() {
        const titles = this.columns.map((column) => (typeof column.title === "function" ? column.title() : column.title));
        const shown = [this.sort, ...titles].join("\n");
        if (this.headShown === shown) return;
        this.headShown = shown;
        this.head.style.gridTemplateColumns = this.template;
        this.head.replaceChildren(...this.columns.map((column, i) => {
            const sorted = this.sort.replace(/^-/, "") === column.key;
            const mark = sorted ? (this.sort.startsWith("-") ? " ▴" : " ▾") : "";
            return h("button", {
                type: "button", role: "columnheader", class: column.number ? "number" : null, title: column.hint ?? titles[i],
                disabled: column.value ? null : true, "data-key": column.key,
                "aria-sort": sorted ? (this.sort.startsWith("-") ? "ascending" : "descending") : "none",
                onclick: () => this.sortBy(column.key),
            }, titles[i] + mark);
        }));
    }

    sortBy(key) {
        this.sort = this.sort === key ? `-${key}` : key;
        this.options.onsort?.(this.sort);
        this.order();
    }

    /** Rows that stay in sight keep their elements, so that only what changed is drawn; elements of others are used again. */
    draw() {
        const printing = PRINT.matches;
        const { scrollTop } = this.scroller;
        const height = this.height || 800;
        const first = printing ? 0 : Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - 4);
        const last = printing ? Math.min(this.rows.length, MOST_PRINTED) : Math.min(this.rows.length, Math.ceil((scrollTop + height) / ROW_HEIGHT) + 4);
        const wanted = this.rows.slice(first, last);
        const inSight = new Set(wanted);
        const free = [];
        for (const [row, line] of this.drawn) {
            if (inSight.has(row)) continue;
            this.drawn.delete(row);
            free.push(line);
        }
        let next = this.body.firstChild;
        wanted.forEach((row, i) => {
            let line = this.drawn.get(row);
            if (!line) {
                line = free.pop() ?? this.line();
                this.drawn.set(row, line);
            }
            this.fill(line, row, first + i);
            if (line.element === next) next = next.nextSibling;
            else this.body.insertBefore(line.element, next);
        });
        while (next) {
            const after = next.nextSibling;
            next.remove();
            next = after;
        }
    }

    /** An element for any row. */
    line() {
        const { onpick, onhover } = this.options;
        const cells = this.columns.map((column) => (column.draw ? h("canvas", { role: "cell" })
            : h("div", { role: "cell", class: column.number ? "number" : null, "data-key": column.key }, column.bar && bar(0, ""))));
        const line = { cells, texts: [], row: undefined, look: -1 };
        line.element = h("div", {
            class: "row", role: "row", style: { "grid-template-columns": this.template },
            onclick: onpick && ((event) => { this.at = line.at; if (!event.target.closest("button,a")) onpick(line.row); }),
            onpointermove: onhover && ((event) => onhover(event, line.row)),
            onpointerleave: onhover && (() => onhover(null)),
        }, cells);
        return line;
    }

    fill(line, row, at) {
        const isNew = line.row !== row || line.look !== Table.look;
        const style = `row${at === this.at ? " at" : ""}${this.options.isPicked?.(row) ? " picked" : ""}`;
        if (line.style !== style) line.element.className = line.style = style;
        if (line.at !== at) line.element.style.top = `${at * ROW_HEIGHT}px`;
        Object.assign(line, { row, at, look: Table.look });
        this.columns.forEach((column, i) => {
            if (isNew || !(column.fixed || column.draw)) this.fillCell(line, column, i);
        });
    }

    fillCell(line, column, i) {
        const { row, texts } = line;
        const cell = line.cells[i];
        if (column.draw) {
            column.draw(cell, row);
            return;
        }
        const value = column.value?.(row);
        if (typeof value === "number") cell.dataset.value = String(value);
        if (column.bar) {
            const { part, text } = column.bar(row);
            setBar(cell.firstChild, part, text);
        } else if (column.cell) {
            cell.replaceChildren(column.cell(row));
        } else {
            const text = column.text(row);
            if (texts[i] !== text) cell.textContent = texts[i] = text;
        }
    }

    key(event) {
        const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
        const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
        if (event.key in steps) {
            this.go(this.at + steps[event.key]);
        } else if (event.key === "Enter" && event.target === this.scroller && this.rows.length > 0) {
            this.options.onpick?.(this.rows[this.at]);
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    /** Makes a row the current one and scrolls to it. */
    go(at) {
        this.at = Math.min(Math.max(at, 0), Math.max(0, this.rows.length - 1));
        const top = this.at * ROW_HEIGHT;
        const room = this.scroller.clientHeight - 2 * ROW_HEIGHT;
        if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
        else if (top > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room;
        this.draw();
    }
}

/** Counts up when colours change: then pictures are drawn again. */
Table.look = 0;

const PRINT = matchMedia("print");
/** Rows on paper. */
const MOST_PRINTED = 60;

/** A bar that fills a part of its cell, with the number on it. */
function bar(part, text) {
    const element = h("div", { class: "bar" }, h("span", { class: "fill" }), h("span", { class: "text" }));
    setBar(element, part, text);
    return element;
}

function setBar(element, part, text) {
    const [fill, label] = element.children;
    const width = `${(Math.min(Math.max(part, 0), 1) * 100).toFixed(2)}%`;
    if (fill.style.width !== width) fill.style.width = width;
    if (label.textContent !== text) label.textContent = text;
}
