//! The map of the clusters as a picture that does not move: SVG or PNG, for slides and papers.
//!
//! A disc is a cluster, its area the number of its documents, its colour its group. Names are
//! written beside the largest clusters, as long as none covers another.

#[cfg(feature = "png")]
#[path = "map_picture/pixels_enabled.rs"]
mod pixels;
#[cfg(not(feature = "png"))]
#[path = "map_picture/pixels_disabled.rs"]
mod pixels;

use std::fmt::Write as _;

use crate::clusters::{ClusterEntry, ClustersFile};
use crate::groups::GroupsFile;
use crate::html::escaped;
use crate::map::MapFile;

/// The size of the picture, in its own units.
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 900.0;
const MARGIN: f64 = 70.0;

/// The radius of the largest and of the smallest cluster.
const LARGEST: f64 = 34.0;
const SMALLEST: f64 = 3.0;

/// The size of letters, the height of a name, and the width of one of its characters.
const LETTERS: f64 = 13.0;
const NAME_HEIGHT: f64 = 15.0;
const CHARACTER: f64 = 7.2;

/// How much of what is behind a disc it hides.
const OPACITY: f64 = 0.75;

/// The line around letters, half of it outside.
const HALO: f64 = 3.0;

/// Characters of a name that are written.
const MAX_CHARS: usize = 40;

/// Hues between two groups that follow each other: a golden angle, so that near numbers differ.
const HUE_STEP: f64 = 137.508;

/// A rectangle that holds a name.
#[derive(Clone, Copy)]
struct Place {
    left: f64,
    top: f64,
    right: f64,
}

impl Place {
    fn covers(&self, other: &Place) -> bool {
        self.left < other.right && other.left < self.right && (self.top - other.top).abs() < NAME_HEIGHT
    }
}

/// A cluster in the picture.
struct Disc {
    x: f64,
    y: f64,
    radius: f64,
    /// Degrees.
    hue: f64,
    title: String,
    size: usize,
}

/// A name that is written, around its middle.
struct Name {
    x: f64,
    y: f64,
    text: String,
}

/// What is drawn, the largest clusters first.
pub(crate) struct Picture {
    discs: Vec<Disc>,
    names: Vec<Name>,
}

impl Picture {
    /// Empty and hidden clusters are left out.
    pub(crate) fn new(clusters: &ClustersFile, groups: Option<&GroupsFile>, map: &MapFile) -> Self {
        let mut shown: Vec<&ClusterEntry> =
            clusters.clusters.iter().filter(|entry| entry.size > 0 && !entry.hidden).collect();
        shown.sort_by_key(|entry| (std::cmp::Reverse(entry.size), entry.id));
        let places: Vec<[f64; 2]> =
            shown.iter().map(|entry| map.places[entry.id as usize].map(f64::from)).collect();
        let at = scale(&places);
        let most = shown.first().map_or(1, |entry| entry.size) as f64;
        let discs: Vec<Disc> = shown
            .iter()
            .zip(&places)
            .map(|(entry, place)| {
                let [x, y] = at(place);
                let group = groups.map_or(0, |groups| groups.group_of_cluster[entry.id as usize].max(0));
                Disc {
                    x,
                    y,
                    radius: SMALLEST.max(LARGEST * (entry.size as f64 / most).sqrt()),
                    hue: (f64::from(group) * HUE_STEP) % 360.0,
                    title: entry.title(),
                    size: entry.size,
                }
            })
            .collect();
        let names = placed_names(&discs);
        Picture { discs, names }
    }

    /// The picture as SVG.
    pub(crate) fn svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"{LETTERS}\">\n\
             <title>Map of {} clusters</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            self.discs.len()
        );
        for Disc { x, y, radius, hue, title, size } in &self.discs {
            let _ = writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"hsl({hue:.0} 60% 55%)\" fill-opacity=\"{OPACITY}\" \
                 stroke=\"#fff\"><title>{}: {size}</title></circle>",
                escaped(title)
            );
        }
        for Name { x, y, text } in &self.names {
            let (base, text) = (y + NAME_HEIGHT / 3.0, escaped(text));
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{base:.1}\" text-anchor=\"middle\" fill=\"#111\" stroke=\"#fff\" \
                 stroke-width=\"{HALO}\" paint-order=\"stroke\">{text}</text>"
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// The names that have room, the largest clusters first.
fn placed_names(discs: &[Disc]) -> Vec<Name> {
    let mut taken: Vec<Place> = Vec::new();
    let mut names = Vec::new();
    for disc in discs {
        let mut text: String = disc.title.chars().take(MAX_CHARS).collect();
        if text.len() < disc.title.len() {
            text.push('…');
        }
        let half = text.chars().map(width_of).sum::<f64>() / 2.0;
        let x = disc.x.clamp(half.min(WIDTH / 2.0), (WIDTH - half).max(WIDTH / 2.0));
        let own = Place { left: x - half, top: disc.y, right: x + half };
        if taken.iter().any(|other| other.covers(&own)) {
            continue;
        }
        taken.push(own);
        names.push(Name { x, y: disc.y, text });
    }
    names
}

/// Chinese, Japanese and Korean characters are as wide as letters are high.
fn width_of(character: char) -> f64 {
    if matches!(character, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{ff60}' | '\u{20000}'..)
    {
        LETTERS
    } else {
        CHARACTER
    }
}

/// From places on the map to those in the picture, with the same scale on both axes.
fn scale(places: &[[f64; 2]]) -> impl Fn(&[f64; 2]) -> [f64; 2] {
    let ends = |axis: usize| {
        let values = places.iter().map(move |place| place[axis]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)))
    };
    let (across, up) = (ends(0), ends(1));
    let room = |(lo, hi): (f64, f64), size: f64| (size - 2.0 * MARGIN) / (hi - lo).max(1e-6);
    let factor = room(across, WIDTH).min(room(up, HEIGHT));
    let middle = |(lo, hi): (f64, f64)| f64::midpoint(lo, hi);
    let (x, y) = (middle(across), middle(up));
    // Up is down in a picture.
    move |place| [WIDTH / 2.0 + factor * (place[0] - x), HEIGHT / 2.0 - factor * (place[1] - y)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clusters_are_discs_with_names_and_what_is_hidden_is_left_out() {
        let entry = |id: u32, name: &str, size: usize, hidden: bool| {
            json!({
                "id": id, "name": name, "size": size, "cohesion": 0.5, "keywords": [], "hidden": hidden,
                "representatives": [], "neighbours": [],
            })
        };
        let clusters: ClustersFile = serde_json::from_value(json!({
            "n_documents": 9, "n_terms": 4, "n_clusters": 4, "objective": 1.0, "iterations": 2,
            "converged": true, "seed": 0, "n_without_terms": 0, "n_empty_clusters": 1,
            "clusters": [
                entry(0, "cats <&> dogs", 5, false), entry(1, "cows", 4, false), entry(2, "", 0, false),
                entry(3, "secret", 1, true),
            ],
        }))
        .unwrap();
        let map = MapFile { seed: 0, places: vec![[-1.0, 0.5], [1.0, -0.5], [0.0, 0.0], [0.0, 0.1]] };
        let svg = Picture::new(&clusters, None, &map).svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert_eq!(svg.matches("<text").count(), 2);
        assert!(svg.contains("cats &lt;&amp;&gt; dogs: 5") && !svg.contains("secret"), "{svg}");
        // The first is above the second.
        assert!(svg.contains("<circle cx=\"70.0\" cy=\"185.0\" r=\"34.0\""), "{svg}");
    }
}
