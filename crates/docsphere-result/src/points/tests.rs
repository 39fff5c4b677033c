use std::fs;

use docsphere::{SparseRows, SphericalKMeans, SummaryOptions, UnitRows};

use super::*;
use crate::PageLimits;

fn points() -> Points {
    Points {
        offsets: vec![[1, -2], [32_767, -32_767], [0, 0], [300, 400]],
        clusters: vec![0, 1, -1, 1],
        similarities: vec![255, 128, 0, 7],
        bins: vec![
            ColumnBins { column: 2, of_documents: vec![0, 1, NO_BIN, 59] },
            ColumnBins { column: 5, of_documents: vec![3, 3, 3, NO_BIN] },
        ],
        sample: vec![3, 0, 1],
        titles: ["three", "zero ✓", ""].map(str::to_owned).to_vec(),
    }
}

#[test]
fn points_are_read_as_they_were_written() {
    let home = tempfile::tempdir().unwrap();
    let limit = MemoryLimit::default();
    assert_eq!(Points::read(home.path(), &limit).unwrap(), None, "older results have none");
    let untitled = Points { titles: Vec::new(), ..points() };
    let none = Points {
        offsets: Vec::new(),
        clusters: Vec::new(),
        similarities: Vec::new(),
        bins: Vec::new(),
        sample: Vec::new(),
        titles: Vec::new(),
    };
    for points in [points(), untitled, none] {
        points.write(home.path()).unwrap();
        assert_eq!(Points::read(home.path(), &limit).unwrap(), Some(points));
    }
}

#[test]
fn every_damage_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    points().write(home.path()).unwrap();
    let path = home.path().join(names::POINTS);
    let whole = fs::read(&path).unwrap();
    let message = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Points::read(home.path(), &MemoryLimit::default()).unwrap_err().to_string()
    };
    for end in 0..whole.len() {
        let message = message(&whole[..end]);
        assert!(message.contains("points.docsphere: "), "{end}: {message}");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let read = Points::read(home.path(), &MemoryLimit::default());
        assert!(read.is_err(), "byte {at}");
    }
    let mut newer = whole.clone();
    newer[8] = 2;
    assert!(message(&newer).contains("version 2"), "{}", message(&newer));
    // Sound files of unsound points.
    for wrong in [
        Points { clusters: vec![0; 3], ..points() },
        Points { offsets: vec![[0, 0]], ..points() },
        Points { sample: vec![3, 0, 4], ..points() },
        Points { sample: vec![3, 0, 2], ..points() },
        Points { titles: vec![String::new()], ..points() },
        Points { bins: vec![ColumnBins { column: 0, of_documents: vec![1] }], ..points() },
    ] {
        wrong.write(home.path()).unwrap();
        assert!(Points::read(home.path(), &MemoryLimit::default()).is_err(), "{wrong:?}");
    }
    let limit = MemoryLimit::new(10, || 0);
    fs::write(&path, &whole).unwrap();
    let message = Points::read(home.path(), &limit).unwrap_err().to_string();
    assert!(message.contains("the points"), "{message}");
}

#[test]
fn points_of_another_result_are_refused() {
    let bins = |column: u32| if column == 2 { 60 } else { 4 };
    points().check(4, 2, bins).unwrap();
    assert!(points().check(5, 2, bins).is_err() && points().check(4, 1, bins).is_err());
    assert!(points().check(4, 2, |_| 4).is_err(), "bin 59 of 4");
}

#[test]
fn a_message_has_all_points_or_a_sample() {
    let points = points();
    let bytes = points.to_message(2, 10);
    assert_eq!(bytes.len() as u64, points.message_bytes(3));
    assert_eq!(&bytes[..4], b"DsPt");
    let numbers =
        |from: usize, n: usize| -> Vec<u32> { bytes[from..][..4 * n].chunks(4).map(number).collect() };
    assert_eq!(numbers(4, 5), [1, 3, 2, 2, 5], "version, points, columns, and which");
    assert_eq!(numbers(24, 3), [0, 1, 3]);
    assert_eq!(bytes[36..40], [1, 0, 0xfe, 0xff]);
    assert_eq!(numbers(48, 3), [0, 1, 1]);
    assert_eq!(bytes[60..], [255, 128, 7, 0, 1, 59, 3, 3, NO_BIN]);
    let sample = points.to_message(2, 2);
    assert_eq!(sample[8..12], [2, 0, 0, 0]);
    assert_eq!(sample.len() as u64, points.message_bytes(2));
}

#[test]
fn documents_pass_a_filter_by_all_of_its_columns() {
    let bins = points().into_bins();
    let passing = |wanted: &[(u32, Vec<u8>)]| {
        let filter = bins.filter(wanted).unwrap();
        (0..5).filter(|&document| filter.passes(document)).collect::<Vec<_>>()
    };
    assert_eq!(passing(&[(2, vec![0, 1])]), [0, 1]);
    assert_eq!(passing(&[(2, vec![1, 59]), (5, vec![3])]), [1]);
    assert_eq!(passing(&[(2, vec![0]), (2, vec![1])]), [] as [usize; 0]);
    assert_eq!(passing(&[(5, vec![NO_BIN])]), [3]);
    assert_eq!(bins.filter(&[(2, vec![0]), (3, vec![0])]).unwrap_err(), 3);
}

#[test]
fn titles_are_single_lines_cut_after_a_word() {
    assert_eq!(title("  two\n\twords \u{0} "), "two words");
    assert_eq!(title(&"word ".repeat(100)), format!("{}…", "word ".repeat(16).trim()));
    assert_eq!(title(&"字".repeat(200)), format!("{}…", "字".repeat(80)));
    assert_eq!(shortened("one two three", 9), "one two…");
    assert_eq!(shortened("one two three", 7), "one two…");
    assert_eq!(shortened("one twothree", 9), "one twoth…");
    assert_eq!(shortened("one two", 7), "one two");
    assert_eq!(shortened("one", 0), "…");
}

/// Twelve documents in two clusters; those of odd numbers share a term, and the last has none.
fn described() -> (Points, Description) {
    let terms: Vec<u32> = (0..11).flat_map(|doc| [doc % 2, 2 + doc % 3]).collect();
    let mut offsets: Vec<u64> = (0..=11).map(|doc| 2 * doc).collect();
    offsets.push(22);
    let rows = UnitRows::new(SparseRows::from_parts(5, offsets, terms, vec![1.0; 22]).unwrap());
    let fit = SphericalKMeans::params(2).fit(&rows).unwrap();
    let ids: Ids = (0..12).map(|number| format!("d{number}")).collect();
    let clustering = Clustering {
        rows: &rows,
        ids: &ids,
        labels: &fit.labels,
        similarities: &fit.similarities,
        model: &fit.model,
        n_copies: None,
        objective: fit.objective,
    };
    let texts = |numbers: &[u64]| {
        assert!(numbers.is_sorted());
        numbers.iter().filter(|&&n| n != 3).map(|&n| (n, format!("text of {n}"))).collect()
    };
    let description = Description::new(&clustering, SummaryOptions::default(), true, texts).unwrap();
    let points = Points::new(&clustering, &description, None, Vec::new()).unwrap().unwrap();
    let none = Description { map: None, ..description.clone() };
    assert_eq!(Points::new(&clustering, &none, None, Vec::new()).unwrap(), None);
    // A copy of each document.
    let rows: Vec<u32> = (0..24).map(|line| line / 2).collect();
    let copied = Points::new(&clustering, &description, Some(&rows), Vec::new()).unwrap().unwrap();
    assert_eq!((copied.len(), copied.n_labelled()), (24, 22));
    assert!(rows.iter().zip(&copied.offsets).all(|(&row, offset)| *offset == points.offsets[row as usize]));
    (points.with_titles(&ids, texts), description)
}

#[test]
fn a_page_shows_as_many_points_as_it_has_room_for() {
    let (points, description) = described();
    assert_eq!((points.len(), points.n_labelled(), points.sample_len()), (12, 11, 11));
    let place = points.sample.iter().position(|&doc| doc == 3).unwrap();
    assert_eq!(points.titles[place], "d3", "its text is not known");
    assert!(points.titles.iter().all(|title| title == "d3" || title.starts_with("text of ")));
    let page = crate::Page {
        clusters: &description.clusters,
        groups: Some(&description.groups),
        map: description.map.as_ref().unwrap(),
        version: "1.2.3",
        settings: &[],
        trace: crate::Curve::default(),
        columns: None,
        editable: false,
        points: Some(&points),
    };
    let limits = PageLimits::default();
    let shown = page.points(limits).unwrap();
    assert_eq!((shown.total, shown.n, shown.titles.len()), (11, 11, 11));
    let empty = page.render(PageLimits { max_chars: 0, ..limits }, true).html.len() as u64;
    let few = page.points(PageLimits { max_bytes: empty + 300, ..limits }).unwrap();
    assert!(few.n > 0 && few.n < 11, "{}", few.n);
    assert_eq!(few.titles, shown.titles[..few.n]);
    assert!(shown.number.starts_with(&few.number[..4 * few.n / 3]), "the beginning of the same sample");
    let silent = page.points(PageLimits { max_chars: 0, ..limits }).unwrap();
    assert!(silent.n == 11 && silent.titles.is_empty(), "no texts are wanted");
    assert_eq!(page.points(PageLimits { max_chars: 6, ..limits }).unwrap().titles[place], "d3");
    let rendered = page.render(limits, false);
    assert_eq!((rendered.n_points, rendered.has_fewer_points, rendered.is_within), (11, false, true));
    assert!(rendered.html.contains("\"points\":{\"total\":11,"));
    let served = page.render(limits, true);
    assert_eq!((served.n_points, served.has_fewer_points), (0, false));
    assert!(served.html.contains("\"points\":null"));
    // Too small for any text: neither points nor texts.
    let least = page.render(PageLimits { max_bytes: 1, ..limits }, false);
    assert_eq!((least.n_points, least.n_chars, least.has_fewer_points, least.is_within), (0, 0, true, false));
    assert!(least.html.contains("\"points\":null"));
}
