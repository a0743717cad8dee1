// Elements made of text and numbers.
//
// Takes names, properties and children, gives elements. Text of profiles only ever becomes text nodes and properties that hold text: nothing here takes
// markup. Colours come from the style sheet's variables, so that canvases follow the theme.

function h(name, properties, ...children) {
    return filled(document.createElement(name), properties, children);
}

function svg(name, properties, ...children) {
    return filled(document.createElementNS("http://www.w3.org/2000/svg", name), properties, children);
}

function filled(element, properties, children) {
    for (const [key, value] of Object.entries(properties ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (key === "class") element.setAttribute("class", value);
        else if (key === "style") Object.entries(value).forEach(([name, text]) => element.style.setProperty(name, text));
        else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

/** A button that looks like a link. */
function jump(text, title, act) {
    return h("button", { type: "button", class: "jump", title, onclick: act }, text);
}

/** The text of a name: long ones are cut, the whole is the tooltip; its direction of writing stays its own. */
function named(text, most = 80) {
    return h("bdi", { title: shortened(text, 600) }, shortened(text, most));
}

function choice(label, options, value, act) {
    const select = h("select", { "aria-label": label, onchange: () => act(select.value) },
        options.map(([id, text, disabled]) => h("option", { value: id, disabled: disabled || null }, text)));
    select.value = value;
    return select;
}

/** A canvas as sharp as the screen, and how to draw on it in units of the page. */
function sharpCanvas(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
}

function variable(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Depth from near (blue) over grey to far (yellow): cividis, which colour-blind people see as others do. */
const DEPTH_COLOURS = [[0, 61, 120], [63, 84, 126], [103, 108, 118], [140, 132, 120], [182, 160, 108], [222, 191, 80], [253, 226, 50]];

/** `part`: 0 for the top of the stack, 1 for the deepest that anything was read. */
function depthColour(part) {
    const at = Math.min(Math.max(part, 0), 1) * (DEPTH_COLOURS.length - 1);
    const low = Math.min(Math.floor(at), DEPTH_COLOURS.length - 2);
    const mixed = DEPTH_COLOURS[low].map((from, i) => Math.round(from + (DEPTH_COLOURS[low + 1][i] - from) * (at - low)));
    return { fill: `rgb(${mixed.join(",")})`, text: mixed[0] * 0.3 + mixed[1] * 0.59 + mixed[2] * 0.11 > 118 ? "#111" : "#fff" };
}

/** A hint beside the pointer. */
class Tip {
    constructor() {
        this.box = h("div", { class: "tip", role: "status", hidden: true });
        document.body.append(this.box);
    }

    show(event, ...children) {
        this.box.replaceChildren(...children);
        this.box.hidden = false;
        const { width, height } = this.box.getBoundingClientRect();
        this.box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
        const below = event.clientY + 18;
        this.box.style.top = `${below + height > innerHeight ? Math.max(4, event.clientY - height - 12) : below}px`;
    }

    hide() {
        this.box.hidden = true;
    }
}
