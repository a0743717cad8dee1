//! Machines for people (tables) and for programs (JSON, `docs/machine-schema.json`).
//!
//! Takes machines, gives text. Tables round to four digits; JSON has every number in full, in SI units.

use std::collections::BTreeMap;
use std::io::{self, Write};

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::file::SCHEMA;
use super::model::{Figure, Level, Machine, OpType, Origin, Sharers, WritePolicy};
use super::text;
use crate::document::{self, Document, Sheet};
use crate::shared::quantity::{self, Kind};

/// What tables are written to.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub width: u16,
    pub color: bool,
}

/// A column: its header, and which side it is aligned to.
#[derive(Clone, Copy)]
pub enum Column {
    Number(&'static str),
    Text(&'static str),
}

/// Rows under a header. Only the last column gives way if the width does not suffice: it is wrapped.
///
/// # Errors
/// When `out` refuses.
pub fn columns(header: &[Column], rows: &[Vec<String>], look: Look, out: &mut dyn Write) -> io::Result<()> {
    const INDENT: u16 = 2;
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).force_no_tty();
    table.set_width(look.width.saturating_sub(INDENT));
    if look.color {
        table.enforce_styling();
    }
    let cell = |column: &Column, text: &str| match column {
        Column::Number(_) => Cell::new(text).set_alignment(CellAlignment::Right),
        Column::Text(_) => Cell::new(text),
    };
    let title = |column: &Column| match column {
        Column::Number(title) | Column::Text(title) => *title,
    };
    table.set_header(header.iter().map(|c| cell(c, title(c)).add_attribute(Attribute::Bold)).collect::<Vec<_>>());
    for row in rows {
        table.add_row(header.iter().zip(row).map(|(c, text)| cell(c, text)).collect::<Vec<_>>());
    }
    let last = header.len().saturating_sub(1);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i < last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for line in table.lines() {
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}

/// `12 of 21`: how many numbers are measured, fitted or the vendor's.
fn known_share(machine: &Machine) -> String {
    let figures = text::figures(machine);
    let known = figures.iter().filter(|(_, figure, _)| !figure.confidence.is_guess()).count();
    format!("{known} of {}", figures.len())
}

/// One row per machine, at most `top`; the user's own are marked.
#[must_use]
pub fn list<'m>(machines: impl Iterator<Item = &'m Machine>, top: Option<usize>) -> Document {
    let machines: Vec<&Machine> = machines.collect();
    let columns = vec![
        document::Column::new("machine", ["", "machine"], 0),
        document::Column::new("peak", ["", "peak"], 0),
        document::Column::new("type", ["", "type"], 2),
        document::Column::new("memory", ["", "memory"], 1),
        document::Column::new("levels", ["", "levels"], 4),
        document::Column::new("floor", ["", "floor"], 5),
        document::Column::new("known", ["", "known"], 3),
        document::Column::new("title", ["", "title"], 0),
    ];
    let mut sheet = Sheet::new("machines", "", columns);
    for machine in sheet.first(&machines, top) {
        sheet.row(list_row(machine));
    }
    sheet.remarks.push("known: measured, fitted or the vendor's; see `dmdprof machine show NAME`".into());
    if machines.iter().any(|machine| is_own(machine)) {
        sheet.remarks.push("* your own file".into());
    }
    Document { kind: "machines", sheets: vec![sheet], ..Document::default() }
}

fn is_own(machine: &Machine) -> bool {
    machine.origin != Origin::Shipped
}

fn list_row(machine: &Machine) -> [document::Value; 8] {
    let figure = |figure: Option<&Figure>, kind| {
        document::Value::or_empty(figure, |figure| {
            document::Value::Shown(figure.value, quantity::rounded(figure.value, kind))
        })
    };
    let level = |l: &Level| format!("{} {}", l.name, quantity::rounded(l.capacity.value, Kind::Bytes));
    let levels = machine.levels.iter().map(level).collect::<Vec<_>>().join(", ");
    [
        document::Value::Text(format!("{}{}", machine.name, if is_own(machine) { " *" } else { "" })),
        figure(machine.peak.get(&machine.default_type), Kind::OpsPerSecond),
        document::Value::Text(machine.default_type.to_string()),
        figure(machine.memory.bandwidth.as_ref(), Kind::BytesPerSecond),
        if levels.is_empty() { document::Value::Empty } else { document::Value::Text(levels) },
        figure(machine.floor.as_ref(), Kind::Seconds),
        document::Value::Text(known_share(machine)),
        document::Value::Name(machine.title.clone()),
    ]
}

/// A link that data crosses, and how many operations per byte it takes for the link not to be what limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ridge {
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// As in `L1 from L2`, or `memory`.
    pub link: String,
    /// Peak over bandwidth.
    pub ops_per_byte: f64,
    /// Peak over bandwidth, times the efficiency, if that is stated: where the roofline bends.
    pub with_efficiency: Option<f64>,
}

/// Ridge points of every type and link of which both numbers are stated, links from the cores outwards.
#[must_use]
pub fn ridges(machine: &Machine) -> Vec<Ridge> {
    let outer = machine.levels.iter().skip(1);
    let inner_links = machine
        .levels
        .iter()
        .zip(outer)
        .map(|(level, next)| (format!("{} from {}", level.name, next.name), level.bandwidth.as_ref()));
    let links: Vec<(String, Option<&Figure>)> =
        inner_links.chain([("memory".to_owned(), machine.memory.bandwidth.as_ref())]).collect();
    let stated = links.iter().filter_map(|(link, bandwidth)| Some((link, bandwidth.as_ref()?.value)));
    let pairs =
        stated.flat_map(|(link, bandwidth)| machine.peak.iter().map(move |(t, p)| (t, p.value, link, bandwidth)));
    pairs
        .map(|(kind, peak, link, bandwidth)| Ridge {
            kind: kind.word(),
            link: link.clone(),
            ops_per_byte: peak / bandwidth,
            with_efficiency: machine.efficiency.as_ref().map(|eta| eta.value * peak / bandwidth),
        })
        .collect()
}

/// Everything about one machine.
///
/// # Errors
/// When `out` refuses.
pub fn show(machine: &Machine, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let heading = |text: &str| if look.color { format!("\x1b[1m{text}\x1b[0m") } else { text.into() };
    let origin = match &machine.origin {
        Origin::Shipped => "shipped with dmdprof".into(),
        Origin::File(path) => path.display().to_string(),
    };
    writeln!(out, "{}   {}   ({origin})\n", heading(&machine.name), machine.title)?;
    let header = [Column::Text("field"), Column::Number("value"), Column::Text("confidence"), Column::Text("source")];
    let rows: Vec<Vec<String>> = text::figures(machine)
        .into_iter()
        .map(|(field, figure, kind)| {
            vec![
                field,
                quantity::rounded(figure.value, kind),
                format!("{}{}", figure.confidence, if figure.confidence.is_guess() { " ?" } else { "" }),
                figure.source.clone(),
            ]
        })
        .collect();
    columns(&header, &rows, look, out)?;
    writeln!(out)?;
    remarks(machine, out)?;
    show_ridges(machine, look, &heading("Ridge points"), out)?;
    for (i, note) in machine.notes.iter().enumerate() {
        if i == 0 {
            writeln!(out, "\n{}", heading("Notes"))?;
        }
        writeln!(out, "  {note}")?;
    }
    Ok(())
}

/// What the table of numbers cannot say.
fn remarks(machine: &Machine, out: &mut dyn Write) -> io::Result<()> {
    if machine.peak.len() > 1 {
        writeln!(out, "  Operations are {} unless told otherwise.", machine.default_type)?;
    }
    let own: Vec<&str> = machine.levels.iter().filter(|l| l.per_core).map(|l| l.name.as_str()).collect();
    if !own.is_empty() {
        writeln!(out, "  Each core has its own {}; bandwidths are of all cores together.", own.join(" and "))?;
    }
    for level in machine.levels.iter().filter(|level| !level.per_core) {
        let (name, parts) = (&level.name, level.parts(machine.cores.as_ref()));
        match &level.shared_by {
            Some(Sharers::Cores(cores)) if parts > 1 => {
                writeln!(out, "  {name} is in {parts} parts, each shared by {} cores.", cores.value)?;
            }
            Some(Sharers::Cores(cores)) => writeln!(out, "  {name} is shared by {} cores.", cores.value)?,
            Some(Sharers::All) => writeln!(out, "  {name} is shared by all cores.")?,
            None => {}
        }
    }
    let through: Vec<&str> =
        machine.levels.iter().filter(|l| l.write == Some(WritePolicy::Through)).map(|l| l.name.as_str()).collect();
    if !through.is_empty() {
        writeln!(out, "  Stores go through {} to the next level.", through.join(" and "))?;
    }
    if let Some(growth) = &machine.growth {
        writeln!(out, "  Numbers are of {}; growth is the time to double (latency: to halve).", growth.year)?;
    }
    if text::figures(machine).iter().any(|(_, figure, _)| figure.confidence.is_guess()) {
        writeln!(out, "  ? neither measured nor the vendor's.")?;
    }
    Ok(())
}

fn show_ridges(machine: &Machine, look: Look, heading: &str, out: &mut dyn Write) -> io::Result<()> {
    let all = ridges(machine);
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{heading}: fewer operations per byte than this, and the link is what limits")?;
    let mut header = vec![Column::Text("type"), Column::Text("link"), Column::Number("op/B")];
    if machine.efficiency.is_some() {
        header.push(Column::Number("with efficiency"));
    }
    let number = crate::shared::human::ratio;
    let row = |r: &Ridge| {
        let mut row = vec![r.kind.to_owned(), r.link.clone(), number(r.ops_per_byte)];
        row.extend(r.with_efficiency.map(number));
        row
    };
    columns(&header, &all.iter().map(row).collect::<Vec<_>>(), look, out)
}

/// Everything about one machine; what it does not state is null.
#[must_use]
pub fn to_json(machine: &Machine) -> Value {
    let fields = |fields: &[text::Field<'_>]| -> Map<String, Value> {
        fields.iter().map(|(key, figure, _)| ((*key).to_owned(), json_figure(*figure))).collect()
    };
    let by_type = |map: &BTreeMap<OpType, Figure>| -> Map<String, Value> {
        map.iter().map(|(t, f)| (t.word().to_owned(), json_figure(Some(f)))).collect()
    };
    let levels = machine.levels.iter().map(|level| {
        json!({
            "name": level.name,
            "per_core": level.per_core,
            "shared_by": match &level.shared_by {
                Some(Sharers::All) => json!("all"),
                Some(Sharers::Cores(cores)) => json_figure(Some(cores)),
                None => Value::Null,
            },
            "capacity": json_figure(Some(&level.capacity)),
            "bandwidth": json_figure(level.bandwidth.as_ref()),
            "energy": json_figure(level.energy.as_ref()),
            "line": json_figure(level.line.as_ref()),
            "ways": json_figure(level.ways.as_ref()),
            "write": level.write.map(WritePolicy::word),
        })
    });
    let growth = machine.growth.as_ref().map(|growth| {
        let mut map = fields(&text::growth_fields(growth));
        map.insert("year".into(), json!(growth.year));
        map
    });
    let mut map = Map::from_iter([
        ("schema".to_owned(), json!(SCHEMA)),
        ("name".to_owned(), json!(machine.name)),
        ("title".to_owned(), json!(machine.title)),
        (
            "file".to_owned(),
            match &machine.origin {
                Origin::Shipped => Value::Null,
                Origin::File(path) => json!(path.display().to_string()),
            },
        ),
        ("sha256".to_owned(), json!(hex(&machine.content_hash()))),
        ("notes".to_owned(), json!(machine.notes)),
        ("default_type".to_owned(), json!(machine.default_type.word())),
        ("peak".to_owned(), Value::Object(by_type(&machine.peak))),
        ("levels".to_owned(), Value::Array(levels.collect())),
        ("energy".to_owned(), Value::Object(by_type(&machine.op_energy))),
        ("addition_energy".to_owned(), Value::Object(by_type(&machine.addition_energy))),
        ("growth".to_owned(), json!(growth)),
        ("ridges".to_owned(), json!(ridges(machine))),
    ]);
    map.extend(fields(&text::top_fields(machine)));
    map.extend(text::tables(machine).map(|(name, table)| (name.to_owned(), Value::Object(fields(&table)))));
    Value::Object(map)
}

fn json_figure(figure: Option<&Figure>) -> Value {
    figure.map_or(Value::Null, |f| json!({ "value": f.value, "confidence": f.confidence.word(), "source": f.source }))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::zoo;

    const LOOK: Look = Look { width: 160, color: false };

    fn shown_as_text(name: &str, look: Look) -> String {
        let mut out = Vec::new();
        show(&zoo::machine(name).expect("shipped"), look, &mut out).expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn all_machines_in_a_list() {
        let mut machines: Vec<Machine> = zoo::names().filter_map(zoo::machine).collect();
        machines[0].origin = Origin::File("own.toml".into());
        let text = |format, width, top| {
            let mut out = Vec::new();
            let look = document::Look { format, width: Some(width), color: false };
            list(machines.iter(), top).write(look, &mut out).expect("memory");
            String::from_utf8(out).expect("text")
        };
        insta::assert_snapshot!(text(document::Format::Table, 160, None));
        let narrow = text(document::Format::Table, 60, Some(2));
        assert!(narrow.lines().all(|line| line.chars().count() <= 60) && narrow.contains("see --top"), "{narrow}");
        let rows = text(document::Format::Csv, 160, None).lines().count();
        assert_eq!(rows, machines.len() + 1);
        assert_eq!(document::schema::errors(&list(machines.iter(), None)), Vec::<String>::new());
    }

    #[test]
    fn one_machine_in_full() {
        insta::assert_snapshot!(shown_as_text("h100-sxm", LOOK));
    }

    #[test]
    fn narrow_terminals_wrap_sources_only() {
        let text = shown_as_text("zen1-7451", Look { width: 100, color: false });
        assert!(text.lines().filter(|l| l.starts_with("  level.")).count() == 15, "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn json_is_what_the_schema_says() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/machine-schema.json");
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON");
        let schema = jsonschema::draft202012::new(&schema).expect("a schema");
        for name in zoo::names() {
            let value = to_json(&zoo::machine(name).expect("shipped"));
            let complaints: Vec<String> = schema.iter_errors(&value).map(|e| e.to_string()).collect();
            assert!(complaints.is_empty(), "{name}: {complaints:?}");
        }
        let toy = to_json(&zoo::machine("toy3").expect("shipped"));
        assert_eq!(toy["levels"][1]["capacity"]["value"], json!(512.0));
        assert_eq!(toy["memory"]["latency"], Value::Null);
        assert_eq!(
            toy["ridges"][0],
            json!({"type": "any", "link": "level0 from level1", "ops_per_byte": 0.125, "with_efficiency": 0.125})
        );
        let mut wrong = toy;
        wrong["colour"] = json!("red");
        assert!(!schema.is_valid(&wrong));
    }
}
