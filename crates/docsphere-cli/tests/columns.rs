//! Kept columns: from every format to every file of a result.

use std::io::{Cursor, Write};

use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::command::{PETS, Place};

/// Four documents with a column of each kind. Quotes and commas are as CSV has them.
const TABLE: &str = "id,text,created,price,breed,url,remark\n\
    a,cats purr softly,2024-03-01,1.50,cat,https://x.org/1,one\n\
    b,dogs bark loudly,2024-03-02,2,dog,https://www.x.org/2,\"two, too\"\n\
    c,cats sleep,2024-03-09,3,cat,http://y.org,three\n\
    d,dogs run,2024-03-10,-4,dog,,\"four \"\"4\"\"\"\n";

/// The values that the table has in assignments.
const VALUES: [&str; 4] = [
    "2024-03-01,1.5,cat,https://x.org/1,one",
    "2024-03-02,2,dog,https://www.x.org/2,\"two, too\"",
    "2024-03-09,3,cat,http://y.org,three",
    "2024-03-10,-4,dog,,\"four \"\"4\"\"\"",
];

/// The same as JSON.
fn records() -> Vec<Value> {
    vec![
        json!({"id": "a", "text": "cats purr softly", "created": "2024-03-01", "price": 1.5, "breed": "cat", "url": "https://x.org/1", "remark": "one"}),
        json!({"id": "b", "text": "dogs bark loudly", "created": "2024-03-02", "price": 2, "breed": "dog", "url": "https://www.x.org/2", "remark": "two, too"}),
        json!({"id": "c", "text": "cats sleep", "created": "2024-03-09", "price": 3, "breed": "cat", "url": "http://y.org", "remark": "three"}),
        json!({"id": "d", "text": "dogs run", "created": "2024-03-10", "price": -4, "breed": "dog", "url": null, "remark": "four \"4\""}),
    ]
}

/// A spreadsheet of the table, as Excel writes it: dates are days in cells of a date's format.
fn sheet() -> Vec<u8> {
    let days = [45352, 45353, 45360, 45361];
    let mut rows = String::new();
    let text = |text: &str| format!("<c t=\"inlineStr\"><is><t>{}</t></is></c>", text.replace('&', "&amp;"));
    let names = ["id", "text", "created", "price", "breed", "url", "remark"];
    rows.push_str(&format!("<row>{}</row>", names.map(text).concat()));
    for (record, days) in records().iter().zip(days) {
        let field = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let cells = [
            text(&field("id")),
            text(&field("text")),
            format!("<c s=\"1\"><v>{days}</v></c>"),
            format!("<c><v>{}</v></c>", record["price"]),
            text(&field("breed")),
            text(&field("url")),
            text(&field("remark")),
        ];
        rows.push_str(&format!("<row>{}</row>", cells.concat()));
    }
    let parts = [
        ("xl/workbook.xml", "<workbook xmlns:r=\"r\"><sheets><sheet name=\"S\" r:id=\"r1\"/></sheets></workbook>".to_owned()),
        ("xl/_rels/workbook.xml.rels", "<R><Relationship Id=\"r1\" Target=\"worksheets/sheet1.xml\"/></R>".to_owned()),
        ("xl/styles.xml", "<styleSheet><cellStyleXfs><xf numFmtId=\"0\"/></cellStyleXfs><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>".to_owned()),
        ("xl/worksheets/sheet1.xml", format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")),
    ];
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The kept values of a result, one line per document.
fn kept(place: &Place, out: &str) -> Vec<String> {
    let text = place.read(&format!("{out}/assignments.csv"));
    assert!(text.starts_with("id,cluster,similarity,created,price,breed,url,remark\n"), "{text}");
    text.lines().skip(1).map(|line| line.splitn(4, ',').nth(3).unwrap().to_owned()).collect()
}

#[test]
fn every_format_gives_the_same_columns_and_the_clusters_do_not_depend_on_them() {
    let place = Place::new();
    let lines: String = records().iter().map(|record| format!("{record}\n")).collect();
    place.write("t.csv", TABLE);
    place.write("t.jsonl", &lines);
    place.write("list.json", json!({"data": records()}).to_string());
    place.write("t.tsv", TABLE.replace(", too", "\u{1}").replace(',', "\t").replace('\u{1}', ", too"));
    place.write("t.xlsx", sheet());
    place.ok("cluster t.csv -k 2 -o plain");
    let plain = place.read("plain/assignments.csv");
    for name in ["t.csv", "t.jsonl", "list.json", "t.tsv", "t.xlsx"] {
        let shown =
            place.ok(&format!("cluster {name} -k 2 -o out-{name} --keep created,price,breed,url,remark"));
        assert!(
            shown.contains(
                "note: kept columns: created (date), price (number), breed (category), url (address), remark (text)\n"
            ),
            "{name}: {shown}"
        );
        assert_eq!(kept(&place, &format!("out-{name}")), VALUES, "{name}");
        place.ok(&format!("cluster {name} -k 2 -o all-{name} --keep all"));
        let all = place.read(&format!("all-{name}/assignments.csv"));
        // JSON has its fields in the order of the alphabet, since that is how it was written.
        if !name.contains("json") {
            assert_eq!(all, place.read(&format!("out-{name}/assignments.csv")), "{name}");
        }
        for (with, without) in all.lines().zip(plain.lines()) {
            assert!(with.starts_with(&format!("{without},")), "{name}: {with}, {without}");
        }
        for file in ["clusters.json", "groups.json", "map.json"] {
            let [with, without] =
                [format!("all-{name}"), "plain".to_owned()].map(|out| place.read(&format!("{out}/{file}")));
            assert_eq!(with, without, "{name}: {file}");
        }
        assert_eq!(
            place.names(&format!("all-{name}")),
            [
                "assignments.csv",
                "clusters.json",
                "columns.docsphere",
                "columns.json",
                "groups.json",
                "map.json",
                "model.docsphere",
                "points.docsphere",
                "report.html",
                "rows.docsphere",
                "run.toml",
                "texts.docsphere",
                "trace.json"
            ]
        );
    }
}

#[test]
fn columns_are_described_by_cluster_for_the_report() {
    let place = Place::new();
    place.write("t.csv", TABLE);
    place.ok("cluster t.csv -k 2 -o out --keep all");
    let file = place.json("out/columns.json");
    let columns = file["columns"].as_array().unwrap();
    let kinds: Vec<&str> = columns.iter().map(|column| column["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["date", "number", "category", "address", "text"]);
    assert_eq!(columns[0]["bins"]["step"], "day");
    assert_eq!(columns[0]["bins"]["counts"], json!([1, 1, 0, 0, 0, 0, 0, 0, 1, 1]));
    assert_eq!(columns[2]["bins"]["labels"], json!(["cat", "dog"]));
    let mut clusters = columns[2]["bins"]["clusters"].as_array().unwrap().clone();
    clusters.sort_by_key(Value::to_string);
    assert_eq!(clusters, [json!([[0, 2]]), json!([[1, 2]])]);
    assert_eq!(columns[3]["bins"]["labels"], json!(["x.org", "y.org"]));
    assert!(columns[4].get("bins").is_none());
    // The page has the same, and can be written again.
    let page = place.read("out/report.html");
    assert!(
        page.contains(
            "\"columns\":[{\"name\":\"created\",\"kind\":\"date\",\"values\":4,\"bad\":0,\"bins\":"
        )
    );
    std::fs::remove_file(place.path("out/report.html")).unwrap();
    place.ok("report out");
    assert!(place.read("out/report.html") == page);
}

#[test]
fn assignments_of_every_format_have_typed_values() {
    let place = Place::new();
    place.write("t.csv", TABLE.replace("2024-03-02", "2024-03-02T10:30:00+01:00"));
    place.ok("cluster t.csv -k 2 -o out --keep all --assignments jsonl");
    let lines: Vec<Value> =
        place.read("out/assignments.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[1]["created"], "2024-03-02T09:30:00Z");
    assert_eq!((&lines[0]["created"], &lines[0]["price"]), (&json!("2024-03-01T00:00:00Z"), &json!(1.5)));
    assert_eq!((&lines[3]["url"], &lines[3]["remark"]), (&Value::Null, &json!("four \"4\"")));
    place.ok("cluster t.csv -k 2 -o out.csv --keep all");
    if cfg!(feature = "parquet") {
        // Read back with its types, and kept once more.
        place.ok("cluster t.csv -k 2 -o pq --keep all --assignments parquet");
        place.write("text.csv", "");
        std::fs::copy(place.path("pq/assignments.parquet"), place.path("a.parquet")).unwrap();
        place.ok("cluster a.parquet --text-field remark --text-field breed -k 2 -o again --keep created,price,breed,url,remark");
        let text = |out: &str| kept(&place, out);
        assert_eq!(text("again"), text("out.csv"));
    }
}

#[test]
fn bad_values_are_counted_and_told_with_the_first_one_and_its_line() {
    let place = Place::new();
    let mut table = "text,when,n\n".to_owned();
    for (number, line) in PETS.repeat(20).lines().enumerate() {
        table.push_str(&format!("{line},{:02}/{:02}/2024,{number}\n", number % 28 + 1, number % 12 + 1));
    }
    table.push_str("cats nap,soon,1\n\"cats\nrest\",never,x\ncats eat,,\n");
    place.write("t.csv", table);
    let shown = place.ok("cluster t.csv -k 2 -o out --keep when,n");
    for note in [
        "note: kept columns: when (date), n (number)\n",
        "note: column when: dates were read as day first, as in 25/12/2024\n",
        "note: 2 values of column when are not a date and were left out; the first is \"soon\" (t.csv:82)\n",
        "note: 1 value of column n is not a number and was left out: \"x\" (t.csv:83)\n",
    ] {
        assert!(shown.contains(note), "{shown}");
    }
    let column = &place.json("out/columns.json")["columns"][0];
    assert_eq!(
        (&column["n_values"], &column["n_bad"], &column["date_form"]),
        (&json!(82), &json!(2), &json!("day-first"))
    );
    assert_eq!(column["first_bad"], json!({"id": "81", "place": "t.csv:82", "value": "soon"}));
    let assignments = place.read("out/assignments.csv");
    assert!(assignments.lines().nth(2).unwrap().ends_with(",2024-02-02,1"), "{assignments}");
    assert!(assignments.lines().nth(81).unwrap().ends_with(",,1"), "{assignments}");
    // Nothing decides: the reading that was taken is told.
    place.write("both.csv", "text,when\ncats purr,03/04/2024\ndogs bark,05/06/2024\ncats nap,\n");
    let shown = place.ok("cluster both.csv -k 2 -o both --keep all");
    assert!(
        shown.contains(
            "note: column when: dates were read as month first, as in 12/25/2024; they would also fit day first, and none of them decides\n"
        ),
        "{shown}"
    );
}

#[test]
fn the_date_field_is_kept_and_must_hold_dates() {
    let place = Place::new();
    place.write("t.jsonl", "{\"text\": \"cats purr\", \"meta\": {\"Created\": 1709546400}}\n{\"text\": \"dogs bark\", \"meta\": {\"created\": 1709546401}}\n");
    let shown = place.ok("cluster t.jsonl -k 2 -o out --date-field meta.created");
    assert!(shown.contains("note: column meta.created: dates were read as seconds since 1970\n"), "{shown}");
    let assignments = place.read("out/assignments.csv");
    assert!(assignments.starts_with("id,cluster,similarity,meta.created\n1,"), "{assignments}");
    assert!(assignments.lines().nth(1).unwrap().ends_with(",2024-03-04T10:00:00Z"), "{assignments}");
    place.write("t.csv", TABLE);
    let error = |words: &str| {
        let done = place.run(words);
        assert!(!place.path("never").exists(), "{words}");
        (done.code, done.stderr)
    };
    assert_eq!(
        error("cluster t.csv -k 2 -o never --date-field breed"),
        (Some(1), "docsphere: error: --date-field must be a column of dates, got \"breed\", whose first value is \"cat\"\n".to_owned())
    );
}

#[test]
fn columns_that_do_not_exist_are_refused_with_those_that_do() {
    let place = Place::with_pets();
    let lines: String = records().iter().map(|record| format!("{record}\n")).collect();
    place.write("t.csv", TABLE);
    place.write("t.jsonl", lines);
    place.write("notes/a.txt", "cats purr");
    place.write("notes/b.txt", "dogs bark");
    place.write("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n");
    for (words, code, message) in [
        (
            "t.csv --keep breed,author",
            1,
            "t.csv:1: there is no field \"author\"; the fields are id, text, created, price, breed, url, remark; --keep names the field to take",
        ),
        (
            "t.jsonl --keep author",
            1,
            "there is no field \"author\"; the fields are breed, created, id, price, remark, text, url; --keep names the field to take",
        ),
        (
            "notes --keep author",
            1,
            "notes: there is no field \"author\"; the fields are path, title, date, from, to, subject; --keep names the field to take",
        ),
        (
            "pets.txt --keep all",
            1,
            "pets.txt: keeping columns of plain lines is not supported; --keep needs records with fields, such as CSV or JSON",
        ),
        ("m.mtx --keep all", 2, "--keep and --date-field: a matrix has no fields beside its terms"),
        ("t.csv --keep breed,breed", 2, "--keep must be names that differ, got \"breed\" twice"),
    ] {
        let done = place.run(&format!("cluster {words} -k 2 -o never"));
        assert_eq!(
            (done.code, done.stderr),
            (Some(code), format!("docsphere: error: {message}\n")),
            "{words}"
        );
        assert!(!place.path("never").exists(), "{words}");
    }
}

#[test]
fn names_that_our_files_use_get_a_prefix() {
    let place = Place::new();
    place.write("t.csv", "id,text,Cluster,similarity\na,cats purr,x,1\nb,dogs bark,x,2\nc,cats nap,x,3\n");
    place.ok("cluster t.csv -k 2 -o out --keep all");
    let assignments = place.read("out/assignments.csv");
    assert!(
        assignments.starts_with("id,cluster,similarity,input_Cluster,input_similarity\na,"),
        "{assignments}"
    );
    // Other commands read the assignments as ever.
    place.ok("merge out --groups 1");
}

#[test]
fn folders_and_mail_have_columns_of_their_own() {
    let place = Place::new();
    place.write(
        "docs/a.html",
        "<html><head><title>All &amp; cats</title></head><body><p>cats purr softly</p></body></html>",
    );
    place.write("docs/sub/b.txt", "dogs bark loudly");
    let message = |subject: &str, day: u32, body: &str| {
        format!(
            "From ann@x.org Mon Mar  4 10:00:00 2024\nFrom: Ann <ann@x.org>\nTo: bob@x.org\nSubject: {subject}\nDate: Mon, {day} Mar 2024 10:00:00 +0100\n\n{body}\n\n"
        )
    };
    let mails = [message("cats", 4, "cats sleep"), message("dogs", 5, "dogs run")].concat();
    let mail = cfg!(feature = "mail");
    if mail {
        place.write("docs/mails.mbox", &mails);
    }
    place.ok("cluster docs -k 2 -o out --keep path,title,date");
    let assignments = place.read("out/assignments.csv");
    assert!(assignments.starts_with("id,cluster,similarity,path,title,date\n"), "{assignments}");
    assert!(assignments.lines().nth(1).unwrap().ends_with(",a.html,All & cats,"), "{assignments}");
    if mail {
        assert!(assignments.contains(",mails.mbox,,2024-03-04T09:00:00Z\n"), "{assignments}");
        place.write("box.mbox", &mails);
        place.ok("cluster box.mbox -k 2 -o mail --keep all --date-field Date");
        let assignments = place.read("mail/assignments.csv");
        assert!(assignments.starts_with("id,cluster,similarity,date,from,to,subject\n1,"), "{assignments}");
        assert!(
            assignments
                .lines()
                .nth(2)
                .unwrap()
                .ends_with(",2024-03-05T09:00:00Z,Ann <ann@x.org>,bob@x.org,dogs"),
            "{assignments}"
        );
    }
}

#[test]
fn a_sweep_and_an_assignment_keep_columns_too() {
    let place = Place::new();
    place.write("t.csv", TABLE);
    place.ok("sweep t.csv -k 2,3 -o sweep --keep created,price,breed,url,remark --stability off");
    assert_eq!(kept(&place, "sweep/k-2"), VALUES);
    assert_eq!(place.names("sweep"), ["k-2", "k-3", "run.toml", "sweep.html", "sweep.json"]);
    place.ok("cluster t.csv -k 2 -o out");
    place.ok("assign out t.csv --keep price,breed -o new.csv --quiet");
    let assigned = place.read("new.csv");
    assert!(assigned.starts_with("id,cluster,similarity,unknown_share,price,breed\na,"), "{assigned}");
    assert!(assigned.lines().nth(4).unwrap().ends_with(",0.000,-4,dog"), "{assigned}");
    place.ok("assign out t.csv --date-field created -o new.jsonl --as jsonl --quiet");
    let first: Value = serde_json::from_str(place.read("new.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(first["created"], "2024-03-01");
}

#[cfg(feature = "serve")]
#[test]
fn the_search_index_holds_the_columns_whenever_it_is_built() {
    let place = Place::new();
    place.write("t.csv", TABLE);
    place.ok("cluster t.csv -k 2 -o out --keep all --index");
    let during = std::fs::read(place.path("out/documents.sqlite")).unwrap();
    place.ok("index out t.csv --quiet");
    assert!(std::fs::read(place.path("out/documents.sqlite")).unwrap() == during);
    let connection = rusqlite::Connection::open(place.path("out/documents.sqlite")).unwrap();
    let of_columns = |query: &str| -> String { connection.query_row(query, [], |row| row.get(0)).unwrap() };
    assert_eq!(
        of_columns("SELECT group_concat(name || ' ' || kind, ', ') FROM columns"),
        "created date, price number, breed category, url address, remark text"
    );
    let found =
        of_columns("SELECT group_concat(id, ' ') FROM documents WHERE c0 >= '2024-03-02' AND c1 > 1.5");
    assert_eq!(found, "b c");
    assert_eq!(
        of_columns("SELECT typeof(c3) || typeof(c1) || c4 FROM documents WHERE id = 'd'"),
        "nullrealfour \"4\""
    );
}

#[test]
fn a_record_of_json_may_lack_one_of_several_text_fields() {
    let place = Place::new();
    place.write(
        "t.jsonl",
        "{\"title\": \"cats\", \"body\": \"purr softly\"}\n{\"title\": \"dogs bark loudly\"}\n{\"body\": \"cats sleep\"}\n{\"title\": \"dogs\", \"body\": null}\n",
    );
    place.ok("cluster t.jsonl --text-field title --text-field body -k 2 -o out");
    place.assert_pets("out", ["1", "2", "3", "4"]);
    // A field that no record has is a mistake, and so is a record without any.
    let done =
        place.run("cluster t.jsonl --text-field title --text-field boddy --text-field body -k 2 -o never");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            Some(1),
            "docsphere: error: --text-field must be fields that some record has, got \"boddy\", which none has\n"
        )
    );
    let done = place.run("cluster t.jsonl --text-field title --text-field boddy -k 2 -o never");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            Some(1),
            "docsphere: error: t.jsonl:3: there is no field \"title\"; the fields are body; --text-field names the field to take\n"
        )
    );
    assert!(!place.path("never").exists());
}
