//! Tables, pictures and pages of a result.

use std::fs::File;
use std::io::Read;

use serde_json::Value;

use crate::command::Place;

const TABLE: &str = "id,text,n,day,kind,similarity\n\
    a,\"=cats, \"\"purr\"\"\",1,2024-01-01,x,7\n\
    b,\"+dogs bark\nloudly\",2,2024-01-02,y,8\n\
    c,@cats sleep _x0041_ <b>,,2024-01-03,x,9\n\
    d,-dogs run,4,,y,\n\
    e,-dogs run,4,,y,\n";

fn place(options: &str) -> Place {
    let place = Place::new();
    place.write("in.csv", TABLE);
    place.ok(&format!("cluster in.csv --keep n,day,kind,similarity -k 2 --runner-up -o out -q {options}"));
    place
}

fn rows(place: &Place, name: &str) -> Vec<Value> {
    place.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_table_has_everything_about_each_document() {
    let place = place("--duplicates drop --duplicate-similarity 1");
    place.ok("edit out rename 0 Zero");
    assert_eq!(place.ok("export out --table t.jsonl"), "5 documents written to t.jsonl\n");
    let rows = rows(&place, "t.jsonl");
    let heads: Vec<&str> = {
        let line = place.read("t.jsonl");
        let names = [
            "id",
            "text",
            "cluster",
            "name",
            "group",
            "group_name",
            "similarity",
            "runner_up",
            "runner_up_similarity",
            "n",
            "day",
            "kind",
            "input_similarity",
            "duplicate_of",
        ];
        let places: Vec<usize> = names
            .iter()
            .map(|name| line.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name}")))
            .collect();
        assert!(places.is_sorted(), "{line}");
        names.to_vec()
    };
    for row in &rows {
        assert_eq!(row.as_object().unwrap().len(), heads.len());
    }
    let clusters = place.json("out/clusters.json");
    for row in &rows {
        let entry = &clusters["clusters"][row["cluster"].as_u64().unwrap() as usize];
        assert_eq!(row["name"], entry["name"]);
    }
    assert!(rows.iter().any(|row| row["name"] == "Zero"));
    assert_eq!(rows[0]["text"], "=cats, \"purr\"");
    assert_eq!(
        (&rows[0]["n"], &rows[0]["day"], &rows[0]["input_similarity"]),
        (&1.into(), &"2024-01-01".into(), &7.into())
    );
    assert!(rows[2]["n"].is_null() && rows[3]["day"].is_null());
    assert_eq!((&rows[4]["duplicate_of"], &rows[4]["text"]), (&"d".into(), &"-dogs run".into()));
    assert!(rows[0]["duplicate_of"].is_null());
    place.ok("export out --table t.csv");
    let csv = place.read("t.csv");
    assert!(csv.starts_with("id,text,cluster,name,group,group_name,similarity,runner_up,runner_up_similarity,n,day,kind,input_similarity,duplicate_of\na,\"=cats, \"\"purr\"\"\","), "{csv}");
}

#[test]
fn every_format_of_assignments_gives_the_same_table() {
    let mut tables = Vec::new();
    for format in ["csv", "jsonl", "parquet"] {
        let place = place(&format!("--assignments {format}"));
        place.ok("export out --table t.csv");
        tables.push(place.read("t.csv"));
    }
    assert!(tables[0] == tables[1] && tables[0] == tables[2], "{tables:#?}");
}

#[cfg(feature = "parquet")]
#[test]
fn a_table_as_parquet_can_be_clustered_again() {
    let place = place("");
    place.ok("export out --table t.parquet");
    place.ok("cluster t.parquet -k 2 -o again --keep name,n,input_similarity -q");
    let ids = |out: &str| {
        let lines = place.read(&format!("{out}/assignments.csv"));
        lines.lines().map(|line| line.split(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids("again"), ids("out"));
}

#[cfg(feature = "xlsx")]
#[test]
fn a_workbook_has_texts_and_no_formulas() {
    let place = place("");
    place.ok("export out --table t.xlsx");
    let mut archive = zip::ZipArchive::new(File::open(place.path("t.xlsx")).unwrap()).unwrap();
    let mut sheet = String::new();
    archive.by_name("xl/worksheets/sheet1.xml").unwrap().read_to_string(&mut sheet).unwrap();
    assert!(
        !sheet.contains("<f") && sheet.contains("<t xml:space=\"preserve\">=cats, \"purr\"</t>"),
        "{sheet}"
    );
    assert!(sheet.contains("@cats sleep _x005F_x0041_ &lt;b&gt;"), "{sheet}");
    assert_eq!(sheet.matches("<row>").count(), 6);
    // The reader of spreadsheets agrees.
    place.ok("cluster t.xlsx -k 2 -o again --keep n,kind -q");
    assert_eq!(place.read("again/assignments.csv").lines().count(), 6);
}

#[test]
fn without_texts_the_table_has_none() {
    let place = place("--no-rows");
    let done = place.run("export out --table t.csv");
    assert_eq!(
        done.stderr,
        "docsphere: note: the result keeps no texts (it was made with --no-rows, or from a matrix), so the table has none\n"
    );
    assert!(place.read("t.csv").starts_with("id,cluster,name,"));
}

#[test]
fn the_map_is_a_picture_and_the_report_a_page() {
    let place = place("");
    assert_eq!(
        place.ok("export out --svg map.svg --html page.html"),
        "written to page.html\nwritten to map.svg\n"
    );
    let svg = place.read("map.svg");
    assert!(svg.starts_with("<svg xmlns=") && svg.matches("<circle").count() == 2, "{svg}");
    assert_eq!(place.read("page.html"), place.read("out/report.html"));
}

#[cfg(feature = "png")]
#[test]
fn the_map_in_pixels_is_the_same_everywhere_and_tells_of_letters_that_it_lacks() {
    let place = place("");
    let done = place.run("export out --png map.png --svg map.svg");
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("written to map.svg\nwritten to map.png\n", "")
    );
    let png = std::fs::read(place.path("map.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Width and height, from its head.
    assert_eq!(png[16..24], [0, 0, 9, 96, 0, 0, 7, 8]);
    place.ok("export out --png again.png");
    assert!(std::fs::read(place.path("again.png")).unwrap() == png);
    place.ok("edit out rename 0 猫");
    assert_eq!(
        place.run("export out --png map.png").stderr,
        "docsphere: note: 1 of 2 names have characters that the font lacks, which are boxes; --font FILE names one that has them, and --svg leaves the letters to the viewer\n"
    );
    for (font, message) in [
        ("in.csv", "in.csv: this is no font; give a TTF or OTF file, or a collection (TTC)"),
        ("none.ttf", "none.ttf: cannot read: "),
    ] {
        let done = place.run(&format!("export out --png map.png --font {font}"));
        assert!(done.stderr.starts_with(&format!("docsphere: error: {message}")), "{}", done.stderr);
        assert_eq!(done.code, Some(1));
    }
    place.write("font.ttf", "");
    let done = place.run("export out --png font.ttf --font font.ttf");
    assert!(done.stderr.contains("font.ttf") && done.code == Some(1), "{}", done.stderr);
}

#[cfg(not(feature = "png"))]
#[test]
fn pixels_that_are_not_built_in_are_refused() {
    let done = place("").run("export out --png map.png");
    assert_eq!(
        done.stderr,
        "docsphere: error: PNG is not in this build; build it with the feature \"png\", or use --svg\n"
    );
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let place = place("");
    for (words, message) in [
        (
            "export out",
            "say what to write: --table FILE, --html FILE, --svg FILE, --png FILE, or -o DIR for the centroids",
        ),
        (
            "export out --table t.doc",
            "t.doc: a table is written as .csv, .jsonl, .parquet or .xlsx; give such a name",
        ),
        (
            "export out/model.docsphere --table t.csv",
            "out/model.docsphere: is no folder; a table, a page and a picture are written from a whole result",
        ),
    ] {
        let done = place.run(words);
        assert_eq!(done.stderr, format!("docsphere: error: {message}\n"), "{words}");
        assert_ne!(done.code, Some(0));
    }
    let before = place.read("out/assignments.csv");
    let done = place.run("export out --table out/assignments.csv");
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert_eq!(place.read("out/assignments.csv"), before);
    assert_eq!(place.names("."), ["in.csv", "out"]);
}
