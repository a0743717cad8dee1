// Tables of any length: only the rows that are seen exist.
//
// Takes columns (title, text or picture of a row, order) and rows (any values), gives an element that sorts, scrolls, and is used with the keyboard.
// `setRows` and `refresh` change what is seen without losing the place.

const ROW_HEIGHT = 26;

class Table {
    /**
     * columns: [{ key, title, hint, number, width, text(row), draw(canvas, row), cell(row), value(row) }]; `value` is what sorts.
     * options: { label, sort, onsort(key), onpick(row), onhover(event, row), isPicked(row), height }
     */
    constructor(columns, options) {
        this.columns = columns;
        this.options = options;
        this.rows = [];
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
        new ResizeObserver(() => this.draw()).observe(this.scroller);
    }

    setRows(rows) {
        this.rows = rows.slice();
        this.order();
    }

    /** Sorts again, as numbers may have changed. */
    order() {
        const key = this.sort.replace(/^-/, "");
        const column = this.columns.find((column) => column.key === key && column.value);
        if (column) {
            const up = this.sort.startsWith("-");
            const keyed = this.rows.map((row) => [column.value(row), row]);
            keyed.sort(([a], [b]) => {
                const order = typeof a === "string" ? a.localeCompare(b) : b - a;
                return up ? -order : order;
            });
            this.rows = keyed.map(([, row]) => row);
        }
        this.refresh();
    }

    refresh() {
        this.drawHead();
        this.body.style.height = `${this.rows.length * ROW_HEIGHT}px`;
        this.draw();
    }

    drawHead() {
        this.head.style.gridTemplateColumns = this.template;
        this.head.replaceChildren(...this.columns.map((column) => {
            const sorted = this.sort.replace(/^-/, "") === column.key;
            const mark = sorted ? (this.sort.startsWith("-") ? " ▴" : " ▾") : "";
            const title = typeof column.title === "function" ? column.title() : column.title;
            return h("button", {
                type: "button", role: "columnheader", class: column.number ? "number" : null, title: column.hint ?? title,
                disabled: column.value ? null : true, "data-key": column.key,
                "aria-sort": sorted ? (this.sort.startsWith("-") ? "ascending" : "descending") : "none",
                onclick: () => this.sortBy(column.key),
            }, title + mark);
        }));
    }

    sortBy(key) {
        this.sort = this.sort === key ? `-${key}` : key;
        this.options.onsort?.(this.sort);
        this.order();
    }

    draw() {
        const { scrollTop, clientHeight } = this.scroller;
        const printing = matchMedia("print").matches;
        const first = printing ? 0 : Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - 4);
        const last = printing ? Math.min(this.rows.length, 60)
            : Math.min(this.rows.length, Math.ceil((scrollTop + (clientHeight || 800)) / ROW_HEIGHT) + 4);
        const shown = [];
        for (let at = first; at < last; at += 1) shown.push(this.row(at));
        this.body.replaceChildren(...shown);
    }

    row(at) {
        const row = this.rows[at];
        const { onpick, onhover, isPicked } = this.options;
        const cells = this.columns.map((column) => {
            if (column.draw) {
                const canvas = h("canvas", { role: "cell" });
                column.draw(canvas, row);
                return canvas;
            }
            const content = column.cell ? column.cell(row) : column.text(row);
            const value = column.value?.(row);
            return h("div", { role: "cell", class: column.number ? "number" : null, "data-key": column.key,
                "data-value": typeof value === "number" ? String(value) : null }, content);
        });
        return h("div", {
            class: `row${at === this.at ? " at" : ""}${isPicked?.(row) ? " picked" : ""}`, role: "row",
            style: { top: `${at * ROW_HEIGHT}px`, "grid-template-columns": this.template },
            onclick: onpick && ((event) => { this.at = at; if (!event.target.closest("button,a")) onpick(row); }),
            onpointermove: onhover && ((event) => onhover(event, row)),
            onpointerleave: onhover && (() => onhover(null)),
        }, cells);
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

/** A bar that fills a part of its cell, with the number on it. */
function bar(part, text) {
    return h("div", { class: "bar" },
        h("span", { class: "fill", style: { width: `${(Math.min(Math.max(part, 0), 1) * 100).toFixed(2)}%` } }), h("span", { class: "text" }, text));
}
