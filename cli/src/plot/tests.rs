//! Charts as a user sees them, and that none can break the drawing.

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const INF: f64 = f64::INFINITY;
const LINKS: [(&str, f64); 3] = [("L1", 400e9), ("L2", 150e9), ("DRAM", 15e9)];

fn axis(label: &str, unit: Unit, min: f64, max: f64) -> Axis {
    Axis { label: label.into(), unit, min, max }
}

fn empty() -> Chart {
    Chart {
        title: String::new(),
        x: axis("x", Unit::Plain, 1.0, 1e4),
        y: axis("y", Unit::Plain, 1.0, 1e4),
        lines: Vec::new(),
        dots: Vec::new(),
        marks: Vec::new(),
        groups: Vec::new(),
    }
}

fn dot(name: &str, marker: char, share: f64, (x, y): (f64, f64), group: usize) -> Dot {
    Dot { name: name.into(), x, y, share, group, marker }
}

/// Name, share, rate, intensity on each link.
type Function = (&'static str, f64, f64, [f64; 3]);

fn roofline(functions: &[Function]) -> Chart {
    const PEAK: f64 = 76.8e9;
    let slope = |&(name, rate): &(&str, f64)| Line::slope(format!("{name} {:.0} GB/s", rate / 1e9), rate, PEAK);
    let mut chart = Chart {
        title: "roofline of sample on skx-6148-core".into(),
        x: axis("intensity", Unit::OpsPerByte, 0.0, 0.0),
        y: axis("performance", Unit::PerSecond, 0.0, 0.0),
        lines: [Line::ceiling("peak 76.8 Gop/s", PEAK)].into_iter().chain(LINKS.iter().map(slope)).collect(),
        groups: LINKS.map(|(name, _)| name.into()).into(),
        ..empty()
    };
    for (marker, (name, share, rate, intensities)) in ('a'..).zip(functions) {
        let places = intensities.iter().enumerate();
        chart.dots.extend(places.map(|(group, &x)| dot(name, marker, *share, (x, *rate), group)));
    }
    chart.fit_axes();
    chart
}

const SMALL: [Function; 3] = [
    ("matmul", 0.45, 60e9, [0.25, 2.0, 60.0]),
    ("dot(double const*, double const*)", 0.1, 1.9e9, [0.125, 0.125, 0.125]),
    ("reduce<long>", 0.05, 1.9e9, [0.125, 0.125, INF]),
];

fn curves() -> Chart {
    let curve =
        |name: &str, points: &[(f64, f64)]| Line { name: name.into(), points: points.into(), kind: LineKind::Curve };
    let mark = |label: &str, x: f64| Mark { x, label: label.into() };
    let mut chart = Chart {
        title: "traffic over capacity".into(),
        x: axis("capacity", Unit::BinaryBytes, 0.0, 0.0),
        y: axis("traffic", Unit::Bytes, 0.0, 0.0),
        lines: vec![
            curve(
                "naive",
                &[(0.0, 8e9), (128.0, 8e9), (128.0, 4e9), (16384.0, 4e9), (16384.0, 6e6), (6e6, 6e6), (6e6, 0.0)],
            ),
            curve("blocked", &[(64.0, 2e9), (1024.0, 4e8), (65536.0, 5e7), (2e6, 6e6), (6e6, 6e6), (6e6, 0.0)]),
        ],
        marks: vec![
            mark("L1 skx", 32768.0),
            mark("L2 skx", 1048576.0),
            mark("L1 zen2", 32768.0),
            mark("L2 zen2", 524288.0),
            mark("L3 zen2", 16777216.0),
        ],
        ..empty()
    };
    chart.fit_axes();
    chart
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn a_roofline_in_the_terminal() {
    insta::assert_snapshot!(roofline(&SMALL).terminal(80, false));
}

#[test]
fn curves_in_the_terminal() {
    insta::assert_snapshot!(curves().terminal(100, false));
}

#[test]
fn a_roofline_as_svg() {
    insta::assert_snapshot!(roofline(&SMALL).svg());
}

#[test]
fn curves_as_svg() {
    insta::assert_snapshot!(curves().svg());
}

#[test]
fn axes_are_fitted_to_powers_around_the_data() {
    let chart = curves();
    assert_eq!((chart.x.min, chart.x.max), (64.0, 16_777_216.0));
    assert_eq!((chart.y.min, chart.y.max), (1e6, 1e10));
    let chart = roofline(&SMALL);
    assert_eq!((chart.x.min, chart.x.max), (0.1, 100.0), "the left ends of the slopes do not count");
    assert_eq!((chart.y.min, chart.y.max), (1e9, 1e11));
    let mut on_bound = Chart { dots: vec![dot("f", 'f', 1.0, (100.0, 1000.0), 0)], ..empty() };
    on_bound.fit_axes();
    assert_eq!((on_bound.x.min, on_bound.x.max, on_bound.y.max), (10.0, 1000.0, 10_000.0), "room around a dot");
    let mut nothing = Chart { dots: vec![dot("f", 'f', 0.0, (-1.0, f64::NAN), 0)], ..empty() };
    nothing.fit_axes();
    assert_eq!((nothing.x.min, nothing.x.max), (1.0, 10.0));
}

#[test]
fn what_is_not_at_its_value_is_said() {
    let mut chart = Chart { groups: vec!["L1".into(), "L2".into()], ..empty() };
    chart.dots = vec![
        dot("edge", 'e', 0.5, (INF, 10.0), 1),
        dot("far", 'f', 0.5, (1e9, 10.0), 0),
        dot("flat", 'g', 0.5, (10.0, 0.0), 0),
        dot("nothing", 'n', 0.0, (10.0, 10.0), 0),
        dot("unknown", 'u', f64::NAN, (10.0, 10.0), 0),
        dot("nowhere", 'w', 0.5, (f64::NAN, 10.0), 0),
    ];
    chart.marks = vec![Mark { x: 1e9, label: "L4".into() }];
    chart.lines = vec![Line::ceiling("peak", 1e9)];
    let text = chart.terminal(80, false);
    assert!(text.contains("at the right edge, as there is no traffic: e₂\n"), "{text}");
    assert!(text.contains("outside the axes: f₁, g₁, peak, L4\n"), "{text}");
    assert!(text.contains("e₂→"), "{text}");
    let svg = chart.svg();
    assert!(svg.contains(">at the right edge, as there is no traffic: e (L2)<"), "{svg}");
    assert!(svg.contains(">outside the axes: f (L1), g (L1), peak, L4<"), "{svg}");
    for gone in ["nothing", "unknown", "nowhere"] {
        assert!(!text.contains(gone) && !svg.contains(gone), "{gone}");
    }
}

#[test]
fn dots_in_one_place_show_the_largest_and_list_all() {
    let mut chart = Chart { groups: vec!["L1".into(), "L2".into()], ..empty() };
    chart.dots = vec![
        dot("small", 's', 0.1, (100.0, 100.0), 0),
        dot("big", 'b', 0.6, (100.0, 100.0), 0),
        dot("big", 'b', 0.6, (100.0, 100.0), 1),
    ];
    let text = chart.terminal(80, false);
    assert!(text.contains("│") && text.contains("b₁₂"), "{text}");
    assert!(text.contains("in one place, the largest shown: b₁₂ s₁\n"), "{text}");
    assert!(text.contains("b = big (60.0%)     s = small (10.0%)\n"), "{text}");
    let svg = chart.svg();
    assert_eq!(svg.matches(r#"class="dot""#).count(), 3);
    for name in ["big (L1): 100, 100, 60.0%", "big (L2): 100, 100, 60.0%", "small (L1): 100, 100, 10.0%"] {
        assert!(svg.contains(name), "{name}");
    }
}

#[test]
fn colours_follow_the_groups_and_carry_nothing_else() {
    let chart = roofline(&SMALL);
    let colored = chart.terminal(80, true);
    assert_eq!(without_escapes(&colored), chart.terminal(80, false));
    assert!(colored.contains("\x1b[35mDRAM 15 GB/s"), "the roof has the colour of its group");
    assert!(colored.contains("\x1b[1;35m●₃ DRAM"));
}

#[test]
fn names_cannot_break_out() {
    let name = "a\x1b[31m<script>\"&\u{0}\u{ffff}";
    let mut chart = Chart { title: name.into(), groups: vec![name.into()], ..empty() };
    chart.x.label = name.into();
    chart.lines = vec![Line::ceiling(name, 10.0)];
    chart.marks = vec![Mark { x: 10.0, label: name.into() }];
    chart.dots = vec![dot(name, '\n', 0.5, (10.0, 100.0), 0)];
    assert!(chart.terminal(80, false).chars().all(|c| c == '\n' || !c.is_control()));
    let svg = chart.svg();
    assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script>"));
    roxmltree::Document::parse(&svg).expect("valid XML");
}

/// All kinds of numbers, often the same ones.
fn number() -> impl Strategy<Value = f64> {
    let special = [0.0, -1.0, 1.0, INF, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 5e-324];
    prop_oneof![any::<f64>(), proptest::sample::select(special.to_vec()), 1e-3..1e6f64]
}

fn any_axis() -> impl Strategy<Value = Axis> {
    let units = [Unit::BinaryBytes, Unit::Bytes, Unit::PerSecond, Unit::OpsPerByte, Unit::Plain];
    let one = (number(), proptest::sample::select(units.to_vec()), number(), any::<bool>(), ".{0,20}");
    one.prop_map(|(min, unit, max, same, label)| Axis { label, unit, min, max: if same { min } else { max } })
}

fn any_chart() -> impl Strategy<Value = Chart> {
    let kind = proptest::sample::select(vec![LineKind::Roof, LineKind::Curve]);
    let line = (".{0,60}", vec((number(), number()), 0..6), kind);
    let line = line.prop_map(|(name, points, kind)| Line { name, points, kind });
    let dot = (".{0,60}", number(), number(), -0.1..1.5f64, 0..12usize, any::<char>());
    let dot = dot.prop_map(|(name, x, y, share, group, marker)| Dot { name, x, y, share, group, marker });
    let mark = (number(), ".{0,60}").prop_map(|(x, label)| Mark { x, label });
    let parts = (vec(line, 0..5), vec(dot, 0..12), vec(mark, 0..6), vec(".{0,20}", 0..11));
    let chart = (".{0,100}", any_axis(), any_axis(), parts, any::<bool>());
    chart.prop_map(|(title, x, y, (lines, dots, marks, groups), fit)| {
        let mut chart = Chart { title, x, y, lines, dots, marks, groups };
        if fit {
            chart.fit_axes();
        }
        chart
    })
}

/// Left and right, top and bottom of the frame of an SVG, and a point of each dot: centre or tip.
fn places(svg: &str) -> (RangeInclusive<f64>, RangeInclusive<f64>, Vec<(f64, f64)>) {
    let document = roxmltree::Document::parse(svg).expect("valid XML");
    let of_class = |class: &'static str| document.descendants().filter(move |n| n.attribute("class") == Some(class));
    let number = |node: roxmltree::Node, name: &str| node.attribute(name).and_then(|v| v.parse::<f64>().ok());
    let frame = of_class("frame").next().expect("a frame");
    let [left, top, width, height] = ["x", "y", "width", "height"].map(|name| number(frame, name).expect(name));
    let point = |node: roxmltree::Node| match node.attribute("d") {
        Some(path) => {
            let (x, y) = path[1..].split_once(' ')?.0.split_once(',')?;
            Some((x.parse().ok()?, y.parse().ok()?))
        }
        None => Some((number(node, "cx")?, number(node, "cy")?)),
    };
    let dots = of_class("dot").map(|n| n.last_element_child().and_then(point).expect("a shape")).collect();
    (left..=left + width, top..=top + height, dots)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chart_is_drawn(chart in any_chart(), width in 0..250usize) {
        let plain = chart.terminal(width, false);
        prop_assert_eq!(&plain, &chart.terminal(width, false));
        prop_assert_eq!(without_escapes(&chart.terminal(width, true)), &plain[..]);
        let widest = plain.lines().map(|l| l.chars().count()).max().unwrap_or(0);
        prop_assert!(widest <= width.max(40), "{} columns", widest);
        let svg = chart.svg();
        prop_assert_eq!(&svg, &chart.svg());
        let (across, down, dots) = places(&svg);
        prop_assert!(dots.iter().all(|(x, y)| across.contains(x) && down.contains(y)), "{:?}", dots);
    }

    #[test]
    fn dots_on_the_axes_are_inside_and_no_others(x in -1.0..5.0f64, y in -1.0..5.0f64, width in 40..200usize) {
        let chart = Chart { dots: vec![dot("f", 'Z', 0.1, (10f64.powf(x), 10f64.powf(y)), 0)], ..empty() };
        let seen = (0.0..=4.0).contains(&x) && (0.0..=4.0).contains(&y);
        prop_assert_eq!(places(&chart.svg()).2.len(), usize::from(seen));
        let text = chart.terminal(width, false);
        let row = text.lines().find(|line| line.contains(['│', '┤']) && line.contains('Z'));
        prop_assert_eq!(row.is_some(), seen);
        if let Some(row) = row {
            prop_assert!(row.find('Z') > row.find(['│', '┤']), "{}", row);
        }
    }
}
