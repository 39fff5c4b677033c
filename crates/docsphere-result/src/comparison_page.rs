//! The page of a comparison: how clusters flow from one result to the other. Plain HTML with a
//! diagram as inline SVG: no script, no network.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use crate::comparison::{ComparedCluster, ComparedResult, Comparison, Fate, MatchBy};
use crate::html::{escaped, grouped, plain_page};

const STYLE: &str = include_str!("comparison_page.css");

/// Clusters of each side in the diagram. The others are one bar.
const SHOWN: usize = 40;

/// Clusters in a table.
const LISTED: usize = 500;

/// Sizes of the diagram, in its own units.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 310.0;
const RIGHT: f64 = 690.0;
const BAR: f64 = 12.0;
const GAP: f64 = 6.0;
/// Height of all bars of a side, without gaps, per bar; and the least height of one.
const PER_BAR: f64 = 26.0;
const LEAST: f64 = 2.0;
/// Height of a line of text.
const LEAST_ROOM: f64 = 14.0;

/// A flow is drawn if it is at least this share of the bar at one of its ends. There are thousands
/// of smaller ones.
const DRAWN: f64 = 0.03;

/// Letters of a name beside its bar.
const NAME_CHARS: usize = 40;

/// Colours that follow each other, in degrees.
const HUE_STEP: usize = 137;

pub(crate) fn render(comparison: &Comparison) -> String {
    let mut body = String::from("<h1>Two results</h1>\n");
    put_summary(&mut body, comparison);
    put_diagram(&mut body, comparison);
    for (fate, title, hint) in [
        (
            Fate::Split,
            "Split",
            "Two or more clusters of the second result have most of their documents from it.",
        ),
        (Fate::Merged, "Merged", "Most documents of two or more clusters of the first result went to it."),
        (
            Fate::Vanished,
            "Vanished",
            "No cluster of the second result has half of it, or half of its own from it.",
        ),
        (Fate::Appeared, "Appeared", "No cluster of the first result explains half of it."),
        (Fate::Kept, "Kept", "In both results."),
    ] {
        put_table(&mut body, comparison, fate, title, hint);
    }
    plain_page("Two results", STYLE, &body)
}

fn put_summary(body: &mut String, comparison: &Comparison) {
    let Comparison { first, second, .. } = comparison;
    for (title, result) in [("First", first), ("Second", second)] {
        let _ = writeln!(
            body,
            "<p><b>{title}:</b> {}, {} documents in {} clusters</p>",
            escaped(&result.name),
            grouped(result.n_documents),
            grouped(result.clusters.len())
        );
    }
    let shared = grouped(comparison.n_shared_documents);
    let _ = match (comparison.nmi, comparison.ari) {
        (Some(nmi), Some(ari)) => writeln!(
            body,
            "<p>{shared} documents are in both. Normalised mutual information {nmi:.3}, adjusted Rand index {ari:.3}; 1 is the same clusters.</p>"
        ),
        _ => writeln!(body, "<p>{shared} documents are in both.</p>"),
    };
    let by = match comparison.by {
        MatchBy::Documents => "by the documents that they have in common",
        MatchBy::Centroids => "by the similarity of their centroids",
    };
    let _ = writeln!(body, "<p class=\"note\">Clusters are matched {by}.</p>");
}

/// A bar: a cluster, or all others of its side.
struct Bar<'a> {
    cluster: Option<&'a ComparedCluster>,
    n_others: usize,
    /// The weight of what flows through it.
    weight: f64,
    top: f64,
    height: f64,
    /// How much of it has been joined so far.
    used: f64,
}

/// The places of the shown clusters of a side, by number.
fn places(result: &ComparedResult) -> HashMap<u32, usize> {
    result.clusters.iter().take(SHOWN).enumerate().map(|(place, cluster)| (cluster.id, place)).collect()
}

fn put_diagram(body: &mut String, comparison: &Comparison) {
    let Comparison { first, second, flows, .. } = comparison;
    let (in_first, in_second) = (places(first), places(second));
    let place = |places: &HashMap<u32, usize>, id: u32| places.get(&id).copied().unwrap_or(SHOWN);
    let mut weights: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for flow in flows {
        let weight = flow.n_documents.map_or(flow.similarity.unwrap_or(0.0), |n| n as f64);
        *weights.entry((place(&in_first, flow.from), place(&in_second, flow.to))).or_insert(0.0) += weight;
    }
    let mut left = bars(first, weights.iter().map(|(ends, &weight)| (ends.0, weight)));
    let mut right = bars(second, weights.iter().map(|(ends, &weight)| (ends.1, weight)));
    let order_left: Vec<usize> = (0..left.len()).collect();
    let unit = [&left, &right].map(|bars| unit_of(bars)).into_iter().fold(0.0, f64::max);
    let room = [&left, &right].map(|bars| height_of(bars, unit)).into_iter().fold(0.0, f64::max);
    set(&mut left, &order_left, unit, room);
    // The right side in the order of what it comes from, so that few flows cross.
    let mut order_right: Vec<usize> = (0..right.len()).collect();
    let middles: Vec<f64> = (0..right.len())
        .map(|to| {
            let all = weights.iter().filter(|(ends, _)| ends.1 == to);
            let (sum, weight) = all.fold((0.0, 0.0), |(sum, total), (ends, &weight)| {
                let bar = &left[ends.0];
                (sum + weight * (bar.top + bar.height / 2.0), total + weight)
            });
            if weight > 0.0 { sum / weight } else { f64::INFINITY }
        })
        .collect();
    order_right.sort_by(|&a, &b| middles[a].total_cmp(&middles[b]));
    set(&mut right, &order_right, unit, room);
    let _ = writeln!(
        body,
        "<h2>Flow</h2>\n<div class=\"wide\">\n<svg class=\"flow\" viewBox=\"0 0 {WIDTH} {room:.0}\" role=\"img\" aria-label=\"How clusters flow from the first result, left, to the second, right; the tables below say the same\">"
    );
    let mut rank = vec![0; right.len()];
    for (place, &bar) in order_right.iter().enumerate() {
        rank[bar] = place;
    }
    let mut links: Vec<((usize, usize), f64)> = weights.into_iter().collect();
    links.sort_by_key(|((from, to), _)| (*from, rank[*to]));
    let mut starts = Vec::new();
    for &((from, _), weight) in &links {
        starts.push(left[from].take(weight));
    }
    // Each bar of the right side takes them in the order of the left side.
    for (&((from, to), weight), (y, thickness)) in links.iter().zip(starts) {
        let end = right[to].take(weight);
        if weight >= DRAWN * left[from].weight.min(right[to].weight) {
            put_link(body, from, (y, thickness), end);
        }
    }
    for (bars, is_left) in [(&left, true), (&right, false)] {
        for (place, bar) in bars.iter().enumerate().filter(|(_, bar)| bar.height > 0.0) {
            put_bar(body, bar, place, is_left);
        }
    }
    body.push_str("</svg>\n</div>\n");
}

/// The bars of a side with their weights.
fn bars(result: &ComparedResult, flows: impl Iterator<Item = (usize, f64)>) -> Vec<Bar<'_>> {
    let n_others = result.clusters.len().saturating_sub(SHOWN);
    let mut bars: Vec<Bar<'_>> = (0..=SHOWN)
        .map(|place| Bar {
            cluster: if place < SHOWN { result.clusters.get(place) } else { None },
            n_others,
            weight: 0.0,
            top: 0.0,
            height: 0.0,
            used: 0.0,
        })
        .collect();
    for (place, weight) in flows {
        bars[place].weight += weight;
    }
    bars
}

/// The height of a weight of one, so that bars are well visible.
fn unit_of(bars: &[Bar<'_>]) -> f64 {
    let total: f64 = bars.iter().map(|bar| bar.weight).sum();
    let n_bars = bars.iter().filter(|bar| bar.weight > 0.0).count();
    n_bars as f64 * PER_BAR / total.max(f64::MIN_POSITIVE)
}

/// The height of bars below each other. Bars without any flow take no room.
fn height_of(bars: &[Bar<'_>], unit: f64) -> f64 {
    let room = |bar: &Bar<'_>| (bar.weight * unit).max(LEAST_ROOM) + GAP;
    GAP + bars.iter().filter(|bar| bar.weight > 0.0).map(room).sum::<f64>()
}

/// Sets bars below each other, over the whole height.
fn set(bars: &mut [Bar<'_>], order: &[usize], unit: f64, height: f64) {
    let n_bars = bars.iter().filter(|bar| bar.weight > 0.0).count();
    let gap = GAP + (height - height_of(bars, unit)) / n_bars.max(1) as f64;
    let mut top = GAP;
    for &place in order {
        let bar = &mut bars[place];
        if bar.weight > 0.0 {
            bar.height = (bar.weight * unit).max(LEAST);
            bar.top = top;
            top += bar.height.max(LEAST_ROOM) + gap;
        }
    }
}

impl Bar<'_> {
    /// The next part of the bar, for a flow of this weight: where it begins, and how high it is.
    fn take(&mut self, weight: f64) -> (f64, f64) {
        let height = self.height * weight / self.weight.max(f64::MIN_POSITIVE);
        let start = self.top + self.used;
        self.used += height;
        (start, height)
    }

    fn title(&self) -> String {
        match self.cluster {
            Some(cluster) => cluster.name.clone(),
            None => format!("{} smaller clusters", grouped(self.n_others)),
        }
    }
}

fn put_link(svg: &mut String, from: usize, start: (f64, f64), end: (f64, f64)) {
    let (x0, x1) = (LEFT + BAR, RIGHT);
    let middle = f64::midpoint(x0, x1);
    let ((y0, h0), (y1, h1)) = (start, end);
    let _ = writeln!(
        svg,
        "<path class=\"link\" style=\"--h:{}\" d=\"M{x0} {y0:.1}C{middle} {y0:.1} {middle} {y1:.1} {x1} {y1:.1}V{:.1}C{middle} {:.1} {middle} {:.1} {x0} {:.1}Z\"/>",
        from * HUE_STEP % 360,
        y1 + h1,
        y1 + h1,
        y0 + h0,
        y0 + h0
    );
}

fn put_bar(svg: &mut String, bar: &Bar<'_>, place: usize, is_left: bool) {
    let (x, text_x, anchor) =
        if is_left { (LEFT, LEFT - 6.0, "end") } else { (RIGHT, RIGHT + BAR + 6.0, "start") };
    let title = bar.title();
    let mut name: String = title.chars().take(NAME_CHARS).collect();
    if name.len() < title.len() {
        name.push('…');
    }
    let _ = writeln!(
        svg,
        "<rect class=\"{}\" style=\"--h:{}\" x=\"{x}\" y=\"{:.1}\" width=\"{BAR}\" height=\"{:.1}\"><title>{}</title></rect>\
         <text x=\"{text_x}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
        if is_left { "bar" } else { "bar end" },
        place * HUE_STEP % 360,
        bar.top,
        bar.height,
        escaped(&title),
        bar.top + bar.height.max(LEAST_ROOM) / 2.0 + 4.0,
        escaped(&name)
    );
}

fn put_table(body: &mut String, comparison: &Comparison, fate: Fate, title: &str, hint: &str) {
    let all: Vec<&ComparedCluster> = comparison.of_fate(fate).collect();
    let _ = writeln!(body, "<h2>{title}: {}</h2>\n<p class=\"note\">{hint}</p>", grouped(all.len()));
    if all.is_empty() {
        return;
    }
    let is_of_second = matches!(fate, Fate::Merged | Fate::Appeared);
    let other = if is_of_second { &comparison.first } else { &comparison.second };
    let names: HashMap<u32, &ComparedCluster> =
        other.clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
    let _ = writeln!(
        body,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">\n<table>\n<thead><tr><th scope=\"col\">cluster</th><th scope=\"col\">documents</th><th scope=\"col\" class=\"name\">name</th><th scope=\"col\" class=\"name\">{}</th></tr></thead>\n<tbody>",
        if is_of_second { "from the first result" } else { "in the second result" }
    );
    for cluster in all.iter().take(LISTED) {
        let others: Vec<String> = cluster
            .others
            .iter()
            .filter_map(|id| names.get(id))
            .map(|other| format!("{} {} ({})", other.id, escaped(&other.name), grouped(other.size)))
            .collect();
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td class=\"name\">{}</td><td class=\"name\">{}</td></tr>",
            cluster.id,
            grouped(cluster.size),
            escaped(&cluster.name),
            others.join("<br>")
        );
    }
    body.push_str("</tbody>\n</table>\n</div>\n");
    if all.len() > LISTED {
        let _ = writeln!(body, "<p class=\"note\">and {} more</p>", grouped(all.len() - LISTED));
    }
}
