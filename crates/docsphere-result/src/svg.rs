//! Curves over the number of clusters, on a logarithmic axis, as SVG.

use std::fmt::Write as _;

use crate::html::{escaped, grouped};

/// The size of a chart, in its own units.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 220.0;
/// The area of the curves.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 388.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 192.0;

/// The least distance between two numbers on the axis.
const TICK_ROOM: f64 = 36.0;

/// Classes of the lines, in order; their colours are in the style.
const CLASSES: [&str; 2] = ["first", "second"];

/// One chart, with one or two lines.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) lines: Vec<Line>,
}

/// One line, by ascending number of clusters.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) n_clusters: usize,
    pub(crate) value: f64,
    /// The least and the greatest value, if it is a mean.
    pub(crate) range: Option<(f64, f64)>,
}

impl Point {
    pub(crate) fn new(n_clusters: usize, value: f64) -> Self {
        Point { n_clusters, value, range: None }
    }
}

/// From values to places.
struct Scale {
    /// Logarithms of the numbers of clusters at both ends.
    across: (f64, f64),
    /// Values at both ends.
    up: (f64, f64),
    /// Distance between two lines of the grid.
    step: f64,
}

impl Scale {
    fn new(points: &[Point]) -> Self {
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let across = ends(&mut points.iter().map(|point| (point.n_clusters as f64).ln()));
        let reach = |point: &Point| {
            let (low, high) = point.range.unwrap_or((point.value, point.value));
            [low, high]
        };
        let (low, high) = ends(&mut points.iter().flat_map(reach));
        let step = nice_step((high - low).max(1e-3) / 4.0);
        Scale { across, up: ((low / step).floor() * step, (high / step).ceil() * step), step }
    }

    fn x(&self, n_clusters: usize) -> f64 {
        let (low, high) = self.across;
        if high <= low {
            return f64::midpoint(LEFT, RIGHT);
        }
        LEFT + ((n_clusters as f64).ln() - low) / (high - low) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = self.up;
        if high <= low {
            f64::midpoint(TOP, BOTTOM)
        } else {
            BOTTOM - (value - low) / (high - low) * (BOTTOM - TOP)
        }
    }
}

/// A step of 1, 2 or 5 times a power of ten, no less than this.
fn nice_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= least * 0.999);
    factor.unwrap_or(10.0) * decade
}

impl Chart<'_> {
    pub(crate) fn render(&self) -> String {
        let points: Vec<Point> = self.lines.iter().flat_map(|line| line.points.iter().copied()).collect();
        let scale = Scale::new(&points);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escaped(&self.described())
        );
        put_axes(&mut svg, &scale, &points);
        for (line, class) in self.lines.iter().zip(CLASSES) {
            put_line(&mut svg, &scale, line, class);
        }
        if self.lines.len() > 1 {
            for ((place, line), class) in self.lines.iter().enumerate().zip(CLASSES) {
                let x = LEFT + 90.0 * place as f64;
                let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"12\">● {}</text>", line.name);
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The values in words, for those who cannot see them.
    fn described(&self) -> String {
        let of = |line: &Line| {
            let all = line.points.iter().map(|point| format!("{:.3} at {}", point.value, point.n_clusters));
            format!("{}: {}", line.name, all.collect::<Vec<_>>().join(", "))
        };
        format!(
            "{} by number of clusters. {}",
            self.title,
            self.lines.iter().map(of).collect::<Vec<_>>().join("; ")
        )
    }
}

fn put_axes(svg: &mut String, scale: &Scale, points: &[Point]) {
    let (low, high) = scale.up;
    let decimals = (-scale.step.log10().floor()).max(0.0) as usize;
    for number in 0..=((high - low) / scale.step).round() as usize {
        let value = low + scale.step * number as f64;
        let y = scale.y(value);
        let _ =
            writeln!(svg, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
        // No minus before a rounded zero.
        let value = if value.abs() < scale.step / 2.0 { 0.0 } else { value };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.decimals$}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let mut numbers: Vec<usize> = points.iter().map(|point| point.n_clusters).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut last = f64::NEG_INFINITY;
    for number in numbers {
        let x = scale.x(number);
        if x - last >= TICK_ROOM {
            let y = BOTTOM + 18.0;
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
                grouped(number)
            );
            last = x;
        }
    }
}

fn put_line(svg: &mut String, scale: &Scale, line: &Line, class: &str) {
    let places: Vec<String> = line
        .points
        .iter()
        .map(|point| format!("{:.1},{:.1}", scale.x(point.n_clusters), scale.y(point.value)))
        .collect();
    let _ = writeln!(svg, "<polyline class=\"curve {class}\" points=\"{}\"/>", places.join(" "));
    for point in &line.points {
        let (x, y) = (scale.x(point.n_clusters), scale.y(point.value));
        if let Some((low, high)) = point.range.filter(|(low, high)| low < high) {
            let _ = writeln!(
                svg,
                "<line class=\"range {class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
                scale.y(low),
                scale.y(high)
            );
        }
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>{} at k = {}: {:.3}</title></circle>",
            line.name,
            grouped(point.n_clusters),
            point.value
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (least, step) in [(0.011, 0.02), (0.02, 0.02), (0.3, 0.5), (0.6, 1.0), (6.0, 10.0)] {
            assert!((nice_step(least) - step).abs() < 1e-12, "{least}: {}", nice_step(least));
        }
    }

    #[test]
    fn points_lie_within_the_chart_and_numbers_do_not_overlap() {
        let line = |values: &[f64]| Line {
            name: "line",
            points: values
                .iter()
                .enumerate()
                .map(|(place, &value)| Point::new(2 + place * place, value))
                .collect(),
        };
        for values in [&[0.5][..], &[0.1, 0.1], &[-0.5, 0.0, 1.0, 0.3, 0.2, 0.9, 0.99, 1.0, 0.0, 0.4]] {
            let svg = Chart { title: "Title", lines: vec![line(values)] }.render();
            let number = |text: &str, name: &str| -> Vec<f64> {
                let start = format!(" {name}=\"");
                let found = text.split(start.as_str()).skip(1);
                found.map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
            };
            for circle in svg.lines().filter(|line| line.starts_with("<circle")) {
                assert!((LEFT..=RIGHT).contains(&number(circle, "cx")[0]), "{circle}");
                assert!((TOP - 0.1..=BOTTOM + 0.1).contains(&number(circle, "cy")[0]), "{circle}");
            }
            let ticks: Vec<f64> = svg
                .lines()
                .filter(|line| line.contains("\"middle\""))
                .map(|line| number(line, "x")[0])
                .collect();
            assert!(!ticks.is_empty() && ticks.windows(2).all(|two| two[1] - two[0] >= TICK_ROOM - 0.2));
            assert!(svg.contains("aria-label=\"Title by number of clusters. line: "));
        }
    }
}
