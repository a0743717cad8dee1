// The one state that all panels show, and its copy in the address.
//
// Takes patches, gives the new state to whoever listens, once per picture. What is not at its default is written behind the `#` of the address, so that
// a link shows what was seen. What the address holds is checked: values that mean nothing are dropped.

const DEFAULTS = {
    panel: "overview", metric: "cost", z: 32768, machine: "", work: "", fn: "", line: "", node: 0, q: "", sort: "",
    flame: "icicle", theme: "", own: "", step: 0, speed: 4, region: 0, view: "square", pair: 0, object: "", all: "", shared: 1,
};

class State {
    constructor(defaults) {
        this.defaults = { ...DEFAULTS, ...defaults };
        this.now = { ...this.defaults, ...this.fromAddress() };
        this.listeners = [];
        this.changed = new Set();
        addEventListener("hashchange", () => {
            if (location.hash.slice(1) !== this.written) this.set({ ...this.defaults, ...this.fromAddress() });
        });
    }

    fromAddress() {
        const found = {};
        for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
            if (!(key in this.defaults)) continue;
            if (typeof this.defaults[key] !== "number") found[key] = value;
            else if (/^\d{1,15}$/.test(value)) found[key] = Number(value);
        }
        return found;
    }

    set(patch) {
        for (const [key, value] of Object.entries(patch)) {
            if (this.now[key] === value) continue;
            this.now[key] = value;
            this.changed.add(key);
        }
        if (this.changed.size > 0 && !this.waiting) {
            this.waiting = true;
            requestAnimationFrame(() => this.tell());
        }
    }

    tell() {
        this.waiting = false;
        const changed = this.changed;
        this.changed = new Set();
        this.listeners.forEach((listener) => listener(this.now, changed));
        clearTimeout(this.timer);
        // Browsers refuse addresses that change all the time.
        this.timer = setTimeout(() => this.toAddress(), 200);
    }

    toAddress() {
        const words = new URLSearchParams();
        for (const [key, value] of Object.entries(this.now)) {
            if (value !== this.defaults[key]) words.set(key, value);
        }
        this.written = words.toString();
        history.replaceState(null, "", `#${this.written}`);
    }
}

/**
 * All panels, in the order of their tabs.
 *
 * A panel is { id, title, missing(app), create(app) }: `missing` says what the page lacks for it and which option brings that, or null;
 * `create` is called once and gives { element, update(changed) }, where `update` shows the state that `app` has now. `changed` are the names of what
 * changed in the state, or null at first. A panel sets the state with `app.set`, and never touches another panel.
 */
const PANELS = [];

function panel(definition) {
    PANELS.push(definition);
}
