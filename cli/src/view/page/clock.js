// The clock beside the counts: a share of the time per function and line.
//
// Takes the samples of functions and lines, where the program was sampled as it ran natively; gives columns and words.

/** Samples of a profile by function and line; nothing if there is no clock. */
function clockOf(described, functions, lines) {
    if (!described) return null;
    const spread = (list, length) => {
        const sums = new Float64Array(length);
        list.forEach(([at, samples]) => { sums[at] = samples; });
        return sums;
    };
    return { ...described, fn: spread(described.functions, functions), line: spread(described.lines, lines) };
}

/** The column; `of` is `fn` or `line`, `at` the number of a row, below 0 for none. */
function clockColumns(clock, of, at) {
    if (!clock) return [];
    const value = (row) => (at(row) < 0 ? 0 : clock[of][at(row)]);
    return [{ key: "clock", title: "clock", hint: "share of the time in which the program was there, by samples", number: true, width: "64px", fixed: true,
        value: of === "fn" ? value : undefined, text: (row) => (value(row) > 0 ? percent(value(row) / clock.samples) : "") }];
}

/** What ran, and how often it was looked at. */
function clockWords(clock) {
    return clock?.runs ? h("p", { class: "quiet clock-runs" }, clock.runs) : null;
}
