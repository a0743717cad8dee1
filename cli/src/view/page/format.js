// Numbers as people read them.
//
// Takes numbers, gives text: four significant digits with a unit; `grouped` gives every digit. Refuses nothing: what
// is not a number is a dash.

const KIB = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const SI = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];

/** Four significant digits, without a point where there is nothing behind it. */
function digits(value) {
    if (Number.isInteger(value)) return String(value);
    return value >= 1000 ? value.toFixed(0) : value.toFixed(value >= 100 ? 1 : value >= 10 ? 2 : 3);
}

function scaled(value, step, units, gap) {
    let unit = 0;
    while (value >= step && unit < units.length - 1) {
        value /= step;
        unit += 1;
    }
    return digits(value) + (units[unit] ? gap + units[unit] : "");
}

/** `16.26G` */
function count(value) {
    if (!Number.isFinite(value)) return "–";
    if (value < 0) return "−" + count(-value);
    return value < 10000 && Number.isInteger(value) ? grouped(value) : scaled(value, 1000, SI, "");
}

/** `97.5 MiB` */
function bytes(value) {
    if (!Number.isFinite(value)) return "–";
    return value < 0 ? "−" + bytes(-value) : scaled(value, 1024, KIB, " ");
}

/** `154 µs` */
function seconds(value) {
    if (!Number.isFinite(value)) return "–";
    if (value < 0) return "−" + seconds(-value);
    if (value === 0) return "0 s";
    const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
    const [size, name] = units.find(([size]) => value >= size) ?? [1e-12, "ps"];
    return `${digits(Number((value / size).toPrecision(4)))} ${name}`;
}

/** `43.7 %` */
function percent(part) {
    if (!Number.isFinite(part)) return "–";
    if (part > 0 && part < 0.0005) return "<0.1 %";
    return `${(part * 100).toFixed(1)} %`;
}

/** `16,258,537,892`, of numbers and big integers. */
function grouped(value) {
    return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** The end of a path. */
function fileName(path) {
    return path.slice(path.lastIndexOf("/") + 1);
}

/** Names of functions can have ten thousand characters: the middle goes. */
function shortened(text, most) {
    if (text.length <= most) return text;
    const head = Math.floor(most / 3);
    return `${text.slice(0, head)}…${text.slice(text.length - (most - head - 1))}`;
}

/** Steps of an axis: 1, 2, 5 times a power of ten. */
function niceStep(range, most) {
    const rough = range / Math.max(most, 1);
    const power = 10 ** Math.floor(Math.log10(rough || 1));
    return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) ?? rough;
}
