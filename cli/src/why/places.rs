//! Where the sites and objects of a profile belong: lines, loops, functions, variables.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use anyhow::bail;

use super::{
    apart::{self, LineLoop},
    loops::Loops,
};

use crate::{
    estimate::workload::{did_you_mean, short},
    motion::sources::Sources,
    objects::{
        fields::of_sites,
        groups::{Group, Groups},
    },
    profile::{
        Profile,
        model::{AccessKind, ContextId, DataObjects, FieldId, Flow, FunctionId, LinePair, LoopId, ObjectKind, SiteId},
    },
    report::{Analysis, Grouping, Inlined, Row},
    shared::names::{demangle, shorten_path},
};

/// Characters of a path that is not below the user's directory.
const PATH: usize = 40;

/// What to show.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A function, a line or an object; all if none.
    pub subject: Option<String>,
    pub top: Option<usize>,
    /// Heap blocks of different calling contexts are different objects.
    pub contexts: bool,
    /// Paths are shown relative to this directory; as they are if none.
    pub home: Option<String>,
    /// Blocks of an allocator are named by the variables that they go to, as far as the source tells: for people.
    pub variables: bool,
}

/// Where sites and objects of a profile belong, by number.
pub struct Places<'p> {
    pub(super) profile: &'p Profile,
    pub(super) flows: &'p [Flow],
    pub(super) objects: &'p DataObjects,
    pub(super) groups: Groups,
    pub(super) loops: Loops<'p>,
    pub(super) field_of: HashMap<SiteId, FieldId>,
    /// `FILE:LINE`; of code that belongs to no line, of the loop or function that it is in; else the function's name.
    pub(super) lines: Vec<String>,
    pub(super) functions: Vec<String>,
    /// By line: which of the loops of the source's line it is of, if there are several.
    pub(super) parts: Vec<LineLoop>,
    pub(super) line_of: Vec<usize>,
    pub(super) function_of: Vec<usize>,
    pub(super) home: Option<&'p str>,
    /// By group of objects: the variable that its allocation goes to, as far as the source tells; only for people.
    pub(super) variables: Vec<Option<String>>,
}

impl<'p> Places<'p> {
    pub(super) fn new(profile: &'p Profile, options: &'p Options) -> anyhow::Result<Self> {
        static NONE: LazyLock<DataObjects> = LazyLock::new(DataObjects::default);
        let (flows, objects) = match (&profile.flows, &profile.objects) {
            (Some(flows), Some(objects)) => (&flows[..], objects),
            _ if profile.stacks.is_some() => {
                bail!("who brought lines in before is not known of threads that share a stack")
            }
            _ if profile.line_sizes.is_empty() => bail!(
                "the profile does not say who touched what last; that is measured by: dmdprof run (without --no-lines), of bytes and objects by: \
                 dmdprof run --flows --objects"
            ),
            _ => (&[][..], &*NONE),
        };
        let loops = Loops::from_profile(profile);
        let (mut lines, mut line_of) = lines(profile, &loops);
        let (functions, function_of) = rows(profile, Grouping::Functions);
        let groups = Groups::from_profile(profile, options.contexts);
        let mut parts = vec![LineLoop::default(); lines.len()];
        let mut known = BTreeMap::new();
        for (site, part) in apart::parts(profile, objects, &loops, &groups) {
            let line = &mut line_of[site.index()];
            *line = *known.entry((*line, part)).or_insert_with(|| {
                lines.push(lines[*line].clone());
                parts.push(part);
                parts.len() - 1
            });
        }
        let field_of = of_sites(&profile.known);
        let home = options.home.as_deref();
        let variables = if options.variables { variables(&groups) } else { vec![None; groups.list.len()] };
        Ok(Self {
            profile,
            flows,
            objects,
            groups,
            loops,
            field_of,
            lines,
            parts,
            functions,
            line_of,
            function_of,
            home,
            variables,
        })
    }

    /// `left (heap main at a.c:12)`, or without the variable if it is not known.
    pub(super) fn title(&self, group: usize) -> String {
        let title = self.groups.list[group].title();
        match &self.variables[group] {
            Some(variable) => format!("{variable} ({title})"),
            None => title,
        }
    }

    /// A place as people read it.
    pub(super) fn show(&self, place: &str) -> String {
        relative(place, self.home)
    }

    /// A line as people read it, with the column of its loop where another loop has the same line.
    pub(super) fn show_line(&self, line: usize) -> String {
        self.with_column(self.show(&self.lines[line]), line)
    }

    pub(super) fn with_column(&self, name: String, line: usize) -> String {
        match self.parts[line].column {
            0 => name,
            column => format!("{name}:{column}"),
        }
    }

    pub(super) fn line(&self, site: SiteId) -> usize {
        self.line_of[site.index()]
    }

    pub(super) fn function(&self, site: SiteId) -> usize {
        self.function_of[site.index()]
    }

    /// `FILE:LINE` of a loop, or the function that it is in.
    pub(super) fn loop_name(&self, at: LoopId) -> String {
        let place = self.loops.place(at).map(|place| self.show(&place));
        place.unwrap_or_else(|| format!("a loop of {}", demangle(self.profile.symbol(self.loops.function(at)))))
    }

    /// `main > solve > step`.
    pub(super) fn context_name(&self, context: ContextId) -> String {
        crate::report::context_functions(self.profile, context).join(" > ")
    }

    pub(super) fn object(&self, flow: &Flow) -> Option<usize> {
        flow.object.map(|object| self.groups.of_object(object))
    }

    /// Whether it is known who touched which bytes; else it may be known of lines.
    pub(super) fn has_flows(&self) -> bool {
        self.profile.flows.is_some() && self.profile.objects.is_some()
    }

    /// Whether an access writes.
    pub(super) fn writes(&self, site: SiteId) -> bool {
        !matches!(self.profile.sites[site.index()].kind, AccessKind::Load)
    }

    /// The flows that somebody asked about.
    pub(super) fn chosen_flows(&self, subject: Option<&str>) -> anyhow::Result<Vec<&'p Flow>> {
        self.chosen(self.flows, subject, |flow| (flow.reader, self.object(flow)))
    }

    /// The pairs of lines that somebody asked about.
    pub(super) fn chosen_pairs(&self, subject: Option<&str>) -> anyhow::Result<Vec<&'p LinePair>> {
        let chosen = self.chosen(&self.profile.pairs, subject, |pair| (pair.site, None));
        // What has no pairs may be there all the same.
        chosen.or_else(
            |error| if subject.is_some_and(|wanted| self.is_code(wanted)) { Ok(Vec::new()) } else { Err(error) },
        )
    }

    /// Whether a line or a function is called so.
    fn is_code(&self, wanted: &str) -> bool {
        self.lines.iter().any(|line| is_line(line, wanted))
            || self.functions.iter().any(|name| name == wanted || short(name) == wanted)
    }

    fn chosen<T>(
        &self,
        all: &'p [T],
        subject: Option<&str>,
        of: impl Fn(&T) -> (SiteId, Option<usize>),
    ) -> anyhow::Result<Vec<&'p T>> {
        let Some(wanted) = subject else { return Ok(all.iter().collect()) };
        let at_line = |one: &T| is_line(&self.lines[self.line(of(one).0)], wanted);
        let is_function = |one: &T| {
            let name = &self.functions[self.function(of(one).0)];
            name == wanted || short(name) == wanted
        };
        let is_object = |one: &T| {
            let group = of(one).1.map(|group| &self.groups.list[group]);
            group.is_some_and(|group| {
                group.name == wanted
                    || group.name.split(" of ").next() == Some(wanted)
                    || group.name.split(" < ").next() == Some(wanted)
                    || group.place.as_deref().is_some_and(|place| self::is_line(place, wanted))
            })
        };
        let those = |is: &dyn Fn(&T) -> bool| all.iter().filter(|one| is(one)).collect::<Vec<&T>>();
        let found =
            [those(&at_line), those(&is_function), those(&is_object)].into_iter().find(|found| !found.is_empty());
        found.ok_or_else(|| {
            let readers = all.iter().map(|one| of(one).0);
            let names = readers.flat_map(|site| [&self.functions[self.function(site)], &self.lines[self.line(site)]]);
            let objects = self.groups.list.iter().map(|group| &group.name);
            let near = did_you_mean(wanted, names.chain(objects).map(String::as_str));
            anyhow::anyhow!("nothing that reads is called {wanted}{near}")
        })
    }
}

/// Of each group, the variable that its blocks go to, as far as the source tells.
#[must_use]
pub fn variables(groups: &Groups) -> Vec<Option<String>> {
    let mut sources = Sources::default();
    groups.list.iter().map(|group| variable(&mut sources, group)).collect()
}

/// The variable that the blocks of a group go to.
fn variable(sources: &mut Sources, group: &Group) -> Option<String> {
    let place = group.place.as_ref().filter(|_| group.kind == ObjectKind::Heap)?;
    let (file, line) = place.rsplit_once(':')?;
    // Of several allocations on a line the place has the column too.
    let (file, line) = match file.rsplit_once(':') {
        Some((path, number)) if number.parse::<u32>().is_ok() => (path, number),
        _ => (file, line),
    };
    sources.assigned(file, line.parse().ok()?, group.column)
}

/// `FILE:LINE`; without one the function's name.
pub(super) fn place(row: &Row) -> String {
    match &row.file {
        Some(file) if row.line > 0 => format!("{file}:{}", row.line),
        _ => row.name().to_owned(),
    }
}

/// Names of all rows, and the row of each site.
fn rows(profile: &Profile, grouping: Grouping) -> (Vec<String>, Vec<usize>) {
    let analysis = Analysis::new(profile, grouping);
    let by_line = matches!(grouping, Grouping::Lines(_));
    let name = |row: &Row| if by_line { place(row) } else { row.name().to_owned() };
    let names: Vec<String> = analysis.rows.iter().map(name).collect();
    let mut of = vec![names.len(); profile.sites.len()];
    for (number, row) in analysis.rows.iter().enumerate() {
        row.sites.iter().for_each(|site| of[site.index()] = number);
    }
    let names = names.into_iter().chain([crate::shared::names::UNKNOWN.to_owned()]).collect();
    (names, of)
}

/// Names of all lines, and the line of each site. Code that compilers put together from several lines has none of its
/// own: it counts for the line of the innermost loop around it, else for that of its function.
fn lines(profile: &Profile, loops: &Loops) -> (Vec<String>, Vec<usize>) {
    let (mut names, mut of) = rows(profile, Grouping::Lines(Inlined::Own));
    let mut known: HashMap<String, usize> =
        names.iter().enumerate().map(|(number, name)| (name.clone(), number)).collect();
    for (number, site) in profile.sites.iter().enumerate() {
        let line = site.position.map(|position| profile.positions[position.index()].line);
        if line != Some(0) {
            continue;
        }
        let around = loops.around(SiteId(number as u32)).first().and_then(|at| loops.place(*at));
        if let Some(place) = around.or_else(|| declared(profile, site.function)) {
            of[number] = *known.entry(place).or_insert_with_key(|place| {
                names.push(place.clone());
                names.len() - 1
            });
        }
    }
    (names, of)
}

/// `FILE:LINE` of a function.
fn declared(profile: &Profile, function: FunctionId) -> Option<String> {
    let function = &profile.functions[function.index()];
    let file = profile.strings[function.file?.index()].as_str();
    (function.line > 0).then(|| format!("{file}:{}", function.line))
}

/// Whether `FILE:LINE` is meant by itself, its end, or the line's number alone. What has no line goes by its function's
/// name, which means the whole function.
pub(super) fn is_line(place: &str, wanted: &str) -> bool {
    let has_number = |(_, line): (&str, &str)| !line.is_empty() && line.bytes().all(|c| c.is_ascii_digit());
    if !place.rsplit_once(':').is_some_and(has_number) {
        return false;
    }
    if wanted.bytes().all(|c| c.is_ascii_digit()) {
        return place.rsplit_once(':').is_some_and(|(_, line)| line == wanted);
    }
    place == wanted || (wanted.contains(':') && place.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('/')))
}

/// Below `home` relative to it, else the path's end.
pub fn relative(place: &str, home: Option<&str>) -> String {
    let below = home.and_then(|home| place.strip_prefix(home)?.strip_prefix('/'));
    match (below, home) {
        (Some(below), _) => below.to_owned(),
        (None, Some(_)) if place.starts_with('/') => shorten_path(place, PATH),
        _ => place.to_owned(),
    }
}
