// Why cycles pass: a bar with a part per cause, a legend, and the same in words.
//
// Takes the cycles of functions and lines by cause, where a core followed the program; gives columns and elements. Each bar says its numbers in its title
// and to screen readers, and beside it stand the largest causes in words, so that nothing is in colours only.

/** Cycles of a profile by function and line: sums, and lists by cause. Nothing if no core followed. */
function cyclesOf(described, functions, lines) {
    if (!described) return null;
    const spread = (list, length) => {
        const of = { sums: new Float64Array(length), causes: new Map(list) };
        list.forEach(([at, causes]) => { of.sums[at] = causes.reduce((sum, n) => sum + n, 0); });
        return of;
    };
    const [fn, line] = [spread(described.functions, functions), spread(described.lines, lines)];
    return { ...described, fn, line, total: fn.sums.reduce((sum, n) => sum + n, 0), most: line.sums.reduce((most, n) => Math.max(most, n), 0) };
}

/** Causes of at least a twentieth, the largest first, two at most. */
function largestCauses(cycles, causes) {
    const all = causes.reduce((sum, n) => sum + n, 0);
    const parts = causes.map((n, cause) => [n / all, cause]).filter(([part]) => part >= 0.05);
    return parts.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 2).map(([part, cause]) => `${cycles.causes[cause].word} ${Math.round(part * 100)} %`).join(", ");
}

/** Every cause with its number. */
function allCauses(cycles, causes) {
    const all = causes.reduce((sum, n) => sum + n, 0);
    const told = causes.map((n, cause) => [n, cause]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]);
    const words = told.map(([n, cause]) => `${percent(n / all)} ${cycles.causes[cause].clause} (${count(n)})`);
    return `${count(all)} cycles: ${words.join("; ")}`;
}

/** A bar as long as `part` of its cell. */
function causesBar(cycles, causes, part) {
    const text = causes ? allCauses(cycles, causes) : "";
    const all = causes?.reduce((sum, n) => sum + n, 0) ?? 0;
    // Smaller pieces would be edges only; the title has them.
    const pieces = (causes ?? []).map((n, cause) => (n >= all / 100 ? h("span", { class: `cause cause-${cause}`, style: { width: `${(n / all) * 100}%` } }) : null));
    const stack = h("span", { class: "causes", style: { width: `${part * 100}%` } }, pieces.filter(Boolean));
    return h("span", { class: "causes-bar", role: "img", "aria-label": text, title: text }, stack);
}

/** Two columns: the bar, and what most of it passes for. `of` is `fn` or `line`, `at` the number of a row, below 0 for none. */
function causesColumns(cycles, of, at, whole) {
    if (!cycles) return [];
    const { sums, causes } = cycles[of];
    const value = (row) => (at(row) < 0 ? 0 : sums[at(row)]);
    return [
        { key: "cycles", title: "cycles", hint: `on ${cycles.core}, as a part of the program's`, number: true, width: "72px", fixed: true, value: of === "fn" ? value : undefined,
            text: (row) => (value(row) > 0 ? percent(value(row) / cycles.total) : "") },
        { key: "causes", title: "why", hint: "why they pass: a part per cause, see the legend", width: "100px", fixed: true,
            cell: (row) => causesBar(cycles, causes.get(at(row)), value(row) / whole) },
        { key: "waits", title: "most of it for", hint: "the largest causes", width: "150px", fixed: true,
            text: (row) => (causes.has(at(row)) ? largestCauses(cycles, causes.get(at(row))) : "") },
    ];
}

/** What the colours mean. */
function causesLegend(cycles) {
    if (!cycles) return null;
    const seen = cycles.causes.map((named, cause) => [named, cause]).filter(([, cause]) => cycles.functions.some(([, causes]) => causes[cause] > 0));
    return h("p", { class: "legend causes-legend" }, `Cycles on ${cycles.core} pass because code `,
        seen.map(([named, cause]) => h("span", { class: "causes-key" }, h("span", { class: `cause cause-${cause}` }), `${named.word}: ${named.clause}`)));
}
