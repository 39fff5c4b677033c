//! Tables, encodings and pages as other programs write them.

use crate::command::{Place, repository};

/// What Excel saves as CSV on a German system, in its code page.
const EXCEL: &[u8] = b"sep=;\r\nNr;Beschreibung;Preis\r\n\
    1;\"Gr\xfc\xdfe; die Katze schnurrt sch\xf6n\";1,50\r\n\
    2;\"Der Hund bellt\nf\xfcr K\xf6ln\";2,00\r\n\
    3;Katze schl\xe4ft;3,00\r\n4;Hund l\xe4uft \x80;4,00\r\n";

#[test]
fn stray_quotes_lose_no_rows() {
    let place = Place::new();
    place.write("t.tsv", "id\ttext\n1\t\"cats purr\n2\tdogs bark\n3\tcats sleep on 5\"\n4\t\"dogs\" run\n");
    let shown = place.ok("cluster t.tsv -k 2 -o out --stop-words english --min-df 1");
    let note = "note: 2 fields begin with a quote that does not enclose them; they were read as they stand (if that is wrong, give --quote double)\n";
    assert!(shown.contains(note), "{shown}");
    place.assert_pets("out", ["1", "2", "3", "4"]);
    place.ok("cluster t.tsv -k 2 -o plain -q --quote none");
    assert_eq!(place.read("plain/assignments.csv"), place.read("out/assignments.csv"));
    place.write("open.csv", "id,text\na,cats\nb,\"dogs\nc,cows\n");
    let done = place.run("cluster open.csv -k 2 -o open");
    assert_eq!(
        done.stderr,
        "docsphere: error: open.csv:3: not valid CSV: expected a closing quote for the field that begins with a quote on this line, found the end of the file; if quotes are plain characters there, give --quote none\n"
    );
    place.ok("cluster open.csv -k 2 -o open -q --quote none");
    let done = place.run("cluster open.csv -k 2 -o open --force --quote x");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("give double, single or none"), "{}", done.stderr);
}

#[test]
fn a_table_of_a_european_spreadsheet_is_read_as_it_is() {
    let place = Place::new();
    place.write("excel.csv", EXCEL);
    let shown = place.ok("cluster excel.csv --text-field beschreibung -k 2 -o out --stop-words german");
    assert!(
        shown.contains(
            "note: 1 file is not UTF-8 and was read as windows-1252 (if words look wrong, name its encoding with --encoding)\n"
        ),
        "{shown}"
    );
    place.assert_pets("out", ["1", "2", "3", "4"]);
    let clusters = place.read("out/clusters.json");
    assert!(clusters.contains("Gr\u{fc}\u{df}e; die Katze schnurrt sch\u{f6}n"), "{clusters}");
    // The same from standard input, and with everything named.
    let words = "cluster - --format csv --text-field Beschreibung -k 2 -o named --stop-words german --delimiter ; --encoding cp1252";
    let done = place.run_with_input(words, EXCEL);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert!(!done.stdout.contains("note: 1 file"), "{}", done.stdout);
    assert_eq!(place.read("named/assignments.csv"), place.read("out/assignments.csv"));
    // In UTF-16, as Excel's "Unicode text", with tabs.
    let text: String = encoding_of_excel().replace("sep=;\r\n", "");
    let text =
        text.replace("\"Gr\u{fc}\u{df}e; die", "\"Gr\u{fc}\u{df}e| die").replace(';', "\t").replace('|', ";");
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write("unicode.csv", utf16);
    place.ok("cluster unicode.csv --text-field Beschreibung -k 2 -o unicode --stop-words german");
    assert_eq!(place.read("unicode/assignments.csv"), place.read("out/assignments.csv"));
    // The ids lead back to the records for the other commands, too.
    assert_eq!(
        place.ok("verify out excel.csv --text-field Beschreibung"),
        "checked 4 documents against 2 centroids: 0 mismatches\n"
    );
}

/// The same as text.
fn encoding_of_excel() -> String {
    EXCEL.iter().map(|&byte| if byte == 0x80 { '\u{20ac}' } else { char::from(byte) }).collect()
}

#[test]
fn input_that_is_mostly_damaged_is_refused_with_the_option_that_helps() {
    let place = Place::new();
    let mut lines = "\u{e9}\u{e8}".repeat(100).into_bytes();
    (0..40).for_each(|_| lines.extend(b"\ncaf\xe9"));
    place.write("mixed.txt", &lines);
    let done = place.run("cluster mixed.txt -k 1 -o out");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            Some(1),
            "docsphere: error: 40 of 41 documents have bytes that are not text in the encoding that was found; --encoding names another one, such as windows-1252, or utf-8 to replace such bytes\n"
        )
    );
    assert_eq!(place.names("."), ["mixed.txt"]);
    let done = place.run("cluster mixed.txt -k 1 -o out --encoding nonsense");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            Some(2),
            "docsphere: error: --encoding must be an encoding of the web, such as utf-8, windows-1252, shift_jis or utf-16le (for others: iconv), got \"nonsense\"\n"
        )
    );
    place.ok("cluster mixed.txt -k 2 -o out --encoding latin1");
}

#[test]
fn pages_and_marked_up_fields_become_the_text_that_people_read() {
    let place = Place::new();
    let page = |words: &str| {
        format!(
            "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Site</title><style>body {{ margin: 0 }}</style>\
             <script src=\"x.js\"></script></head><body><nav><a href=\"/\">Home</a></nav><p class=\"c\">{words} \
             &amp; more</p><footer>Imprint</footer></body></html>\n"
        )
    };
    for (name, words) in [
        ("a.html", "cats purr softly"),
        ("b.html", "dogs bark loudly"),
        ("c.htm", "cats sleep"),
        ("d.html", "dogs run"),
    ] {
        place.write(&format!("site/{name}"), page(words));
    }
    place.ok("cluster site -k 2 -o out");
    place.assert_pets("out", ["a.html", "b.html", "c.htm", "d.html"]);
    let clusters = place.json("out/clusters.json");
    // The words of the sentences: "site" and "more" are in all of them.
    assert_eq!(clusters["n_terms"], 8, "{clusters}");
    assert!(place.read("out/clusters.json").contains("Site\\ncats purr softly & more"));
    assert!(!place.read("out/report.html").contains("Imprint"));

    let fields = "{\"text\": \"<p>cats &quot;purr&quot; <a href='x'>softly</a></p>\"}\n{\"text\": \"dogs &amp;quot;bark&amp;quot; loudly\"}\n{\"text\": \"cats sleep\"}\n{\"text\": \"dogs run\"}\n";
    place.write("fields.jsonl", fields);
    place.ok("cluster fields.jsonl -k 2 -o fields");
    place.assert_pets("fields", ["1", "2", "3", "4"]);
    place.ok("vectorize fields.jsonl -o terms -q");
    assert_eq!(place.read("terms/vocabulary.txt"), "bark\ncats\ndogs\nloudly\npurr\nrun\nsleep\nsoftly\n");
    place.ok("vectorize fields.jsonl -o kept -q --html keep");
    assert!(place.read("kept/vocabulary.txt").contains("href\n"));
}

#[test]
fn json_in_every_layout_gives_the_same_clusters() {
    let place = Place::new();
    let records = [
        r#"{"doc": {"title": "cats", "tags": ["purr", "softly"]}}"#,
        r#"{"doc": {"title": "dogs", "tags": ["bark", "loudly"]}}"#,
        r#"{"doc": {"title": "cats", "tags": "sleep"}}"#,
        r#"{"doc": {"title": "dogs", "tags": ["run"]}}"#,
    ];
    for (name, content) in [
        ("lines.jsonl", records.join("\n")),
        ("list.json", format!("[\n  {}\n]\n", records.join(",\n  "))),
        ("wrapped.json", format!("{{\"count\": 4, \"data\": [{}], \"next\": null}}", records.join(","))),
        ("pretty.json", records.join("\n").replace("{\"doc\": {", "{\n  \"doc\": {\n    ")),
    ] {
        place.write(name, content);
        place.ok(&format!("cluster {name} --text-field doc.title --text-field doc.tags -k 2 -o {name}-out"));
        place.assert_pets(&format!("{name}-out"), ["1", "2", "3", "4"]);
    }
    place.write("texts.json", "[\"cats purr\", \"dogs bark\", \"cats sleep\", \"dogs run\"]");
    let done =
        place.run_with_input("cluster - --format json -k 2 -o texts", place.read("texts.json").as_bytes());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    place.assert_pets("texts", ["1", "2", "3", "4"]);
    place.write("cut.json", &place.read("list.json")[..100]);
    let done = place.run("cluster cut.json --text-field doc.title -k 1 -o cut");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.starts_with("docsphere: error: cut.json"), "{}", done.stderr);
}

/// A document of LibreOffice or Word: an archive with one part that matters.
#[cfg(feature = "office")]
fn archive(parts: &[(&str, String)]) -> Vec<u8> {
    use std::io::Write;

    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        // As office programs do, the type comes first and is not compressed.
        let stored =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        let options = if *name == "mimetype" { stored } else { zip::write::SimpleFileOptions::default() };
        writer.start_file(*name, options).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[cfg(all(feature = "mail", feature = "office"))]
#[test]
fn a_folder_of_files_of_every_kind_is_read_by_content() {
    let place = Place::new();
    let odt = "<office:document-content><office:body><office:text><text:p>cats sleep</text:p></office:text></office:body></office:document-content>";
    let docx = "<w:document><w:body><w:p><w:r><w:t>dogs run</w:t></w:r></w:p></w:body></w:document>";
    for (name, content) in [
        ("all/a.md", b"# cats\n*purr* softly".to_vec()),
        ("all/b", b"From: ann@example.org\r\nSubject: =?utf-8?q?dogs_bark?=\r\n\r\nloudly\r\n> cats cats cats\r\n-- \r\ncats\r\n".to_vec()),
        (
            "all/c.odt",
            archive(&[
                ("mimetype", "application/vnd.oasis.opendocument.text".to_owned()),
                ("content.xml", odt.to_owned()),
            ]),
        ),
        ("all/d.docx", archive(&[("[Content_Types].xml", "<Types/>".to_owned()), ("word/document.xml", docx.to_owned())])),
        ("all/e.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec()),
        ("all/f.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF".to_vec()),
        ("all/g.exe", b"MZ\0\0\x01\x02".to_vec()),
    ] {
        place.write(name, content);
    }
    let shown = place.ok("cluster all -k 2 -o out");
    assert!(
        shown.contains(
            "note: 2 files are images: skipped\nnote: 1 file is binary: skipped\nnote: skipped all/e.png, all/f.jpg, all/g.exe\n"
        ),
        "{shown}"
    );
    place.assert_pets("out", ["a.md", "b", "c.odt", "d.docx"]);
    // One by one, as a shell expands all/*.
    let done = place.run("cluster all/a.md all/c.odt all/d.docx -k 2 -o list");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let ids: Vec<String> = place.assignments("list").into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["a.md", "c.odt", "d.docx"]);
    // Damaged and encrypted documents are refused by name, or skipped and counted.
    let whole = std::fs::read(place.path("all/d.docx")).unwrap();
    place.write("all/h.docx", &whole[..whole.len() / 2]);
    place.write("all/i.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    let done = place.run("cluster all -k 2 -o damaged");
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.starts_with("docsphere: error: all/h.docx: bad DOCX record: expected an archive, found "),
        "{}",
        done.stderr
    );
    let shown = place.ok("cluster all -k 2 -o damaged --skip-bad-records");
    let note = "note: 2 records could not be read and were left out: all/h.docx, all/i.doc\n";
    assert!(shown.contains(note), "{shown}");
    place.assert_pets("damaged", ["a.md", "b", "c.odt", "d.docx"]);
}

#[cfg(feature = "mail")]
#[test]
fn a_mailbox_is_a_list_of_messages() {
    let place = Place::new();
    let message = |words: &str| {
        format!(
            "From ann@example.org Mon Jan  1 00:00:00 2024\nFrom: ann@example.org\nSubject: hello\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n{words} caf=C3=A9\n\nOn Monday, Bob wrote:\n> quoted words\n\n"
        )
    };
    let mailbox: String =
        ["cats purr softly", "dogs bark loudly", "cats sleep", "dogs run"].map(message).concat();
    place.write("inbox.mbox", &mailbox);
    place.ok("cluster inbox.mbox -k 2 -o out");
    place.assert_pets("out", ["1", "2", "3", "4"]);
    place.ok("vectorize inbox.mbox -o terms -q --smooth-idf");
    let terms = place.read("terms/vocabulary.txt");
    assert!(terms.contains("caf\u{e9}\n") && !terms.contains("quoted"), "{terms}");
    let done = place.run_with_input(
        "vectorize - --format mbox -o kept -q --smooth-idf --keep-quotes",
        mailbox.as_bytes(),
    );
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert!(place.read("kept/vocabulary.txt").contains("quoted\n"));
}

/// A spreadsheet as Excel writes it: texts are shared, numbers and inline texts are in the sheet.
#[cfg(feature = "office")]
fn xlsx() -> Vec<u8> {
    let workbook = r#"<workbook xmlns:r="r"><sheets><sheet name="Notes" sheetId="1" r:id="rId1"/><sheet name="Pets &amp; more" sheetId="2" r:id="rId2"/></sheets></workbook>"#;
    let relations = r#"<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/></Relationships>"#;
    let texts = "<sst><si><t>Text</t></si><si><t>cats </t><r><t>purr &lt;</t></r><rPh><t>no</t></rPh></si><si><t>dogs \"bark\"\nloudly</t></si><si/></sst>";
    let notes = r#"<worksheet><sheetData><row><c t="inlineStr"><is><t>text</t></is></c></row><row><c t="str"><v>only a note</v></c></row></sheetData></worksheet>"#;
    let pets = r#"<worksheet><dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>nr</t></is></c><c r="C1" t="s"><v>0</v></c></row>
        <row r="2"><c r="A2"><v>7</v></c><c r="C2" t="s"><v>1</v></c><c r="F2"><v>beyond</v></c></row><row r="3"/><row r="4"><c r="A4"><v>8</v></c><c r="C4" t="s"><v>2</v></c></row>
        <row r="5"><c r="A5"><v>9</v></c><c r="C5" t="str"><f>A1</f><v>cats sleep</v></c></row><row r="6"><c r="A6"><v>10</v></c><c r="B6" t="e"><v>#N/A</v></c><c r="C6" t="inlineStr"><is><t>dogs run</t><rPh><t>aid</t></rPh></is></c></row></sheetData></worksheet>"#;
    archive(&[
        ("[Content_Types].xml", "<Types/>".to_owned()),
        ("xl/workbook.xml", workbook.to_owned()),
        ("xl/_rels/workbook.xml.rels", relations.to_owned()),
        ("xl/sharedStrings.xml", texts.to_owned()),
        ("xl/worksheets/sheet1.xml", notes.to_owned()),
        ("xl/worksheets/sheet2.xml", pets.to_owned()),
    ])
}

#[cfg(feature = "office")]
#[test]
fn a_sheet_of_a_spreadsheet_is_a_table() {
    let place = Place::new();
    place.write("pets.xlsx", xlsx());
    for sheet in ["pets & more", "2"] {
        let out = format!("out{}", sheet.len());
        let words = ["cluster", "pets.xlsx", "--sheet", sheet, "--id-field", "NR", "-k", "2", "-o", &out];
        let done = place.command(words).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        place.assert_pets(&out, ["7", "8", "9", "10"]);
    }
    assert!(place.read("out1/clusters.json").contains("dogs \\\"bark\\\"\\nloudly"));
    place.ok("vectorize pets.xlsx -o first -q --smooth-idf");
    assert_eq!(place.read("first/ids.txt"), "1\n");
    let done = place.run_with_input("vectorize - --format sheet --sheet 2 -o piped -q", &xlsx());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(place.read("piped/ids.txt"), "1\n2\n3\n4\n");
    let done = place.run("vectorize pets.xlsx --sheet none -o none");
    assert_eq!(
        done.stderr,
        "docsphere: error: pets.xlsx: --sheet must be one of the sheets of the file (Notes, Pets & more), or its number, got \"none\"\n"
    );

    // LibreOffice fills a sheet with repeated empty cells; a hostile file, with others.
    let ods = |more: &str| {
        let row = |id: u8, text: &str| {
            format!(
                "<table:table-row><table:table-cell><text:p>{id}</text:p></table:table-cell><table:table-cell table:number-columns-repeated=\"2\"/><table:table-cell><text:p>{text}</text:p></table:table-cell><table:table-cell table:number-columns-repeated=\"16380\"/></table:table-row>"
            )
        };
        let rows: String = [
            row(1, "cats purr"),
            row(2, "dogs<text:s/>bark &amp;"),
            row(3, "cats</text:p><text:p>sleep"),
            row(4, "dogs run</text:p><office:annotation><text:p>remark</text:p></office:annotation><text:p>"),
        ]
        .concat();
        let header = "<table:table-row><table:table-cell><text:p>id</text:p></table:table-cell><table:table-cell table:number-columns-repeated=\"2\"/><table:table-cell><text:p>text</text:p></table:table-cell></table:table-row>";
        let content = format!(
            "<office:document-content><table:table table:name=\"One\">{header}{rows}{more}<table:table-row table:number-rows-repeated=\"1048571\"><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row></table:table></office:document-content>"
        );
        archive(&[
            ("mimetype", "application/vnd.oasis.opendocument.spreadsheet".to_owned()),
            ("content.xml", content),
        ])
    };
    place.write("pets.ods", ods(""));
    place.ok("cluster pets.ods -k 2 -o ods");
    place.assert_pets("ods", ["1", "2", "3", "4"]);
    let found = place.read("ods/clusters.json") + &place.read("out1/clusters.json");
    assert!(!found.contains("remark") && !found.contains("aid"), "{found}");
    let long = "x".repeat(1_000_000);
    let bomb = format!(
        "<table:table-row table:number-rows-repeated=\"50\"><table:table-cell table:number-columns-repeated=\"4000000000\"><text:p>{long}</text:p></table:table-cell></table:table-row>"
    );
    place.write("bomb.ods", ods(&bomb));
    place.ok("cluster bomb.ods -k 2 -o bomb --max-memory 200M --threads 1");
    assert_eq!(place.json("bomb/clusters.json")["n_documents"], 54);
    let endless = "<table:table-row table:number-rows-repeated=\"1000000\"><table:table-cell table:number-columns-repeated=\"16384\"><text:p>0123456789</text:p></table:table-cell></table:table-row>";
    place.write("endless.ods", ods(&endless.replace("0123456789", &"x".repeat(8000))));
    let done = place.run("vectorize endless.ods -o endless");
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("the sheet has more than 1 GiB of text"), "{}", done.stderr);
    // Old and encrypted ones are refused with what to do.
    let advice = "open it in the program that wrote it, and save it as .xlsx without a password, or as CSV\n";
    place.write("secret.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    let manifest = "<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>";
    let secret = archive(&[("content.xml", "?".to_owned()), ("META-INF/manifest.xml", manifest.to_owned())]);
    place.write("secret.ods", secret);
    for name in ["secret.xlsx", "secret.ods"] {
        let done = place.run(&format!("vectorize {name} -o secret"));
        let what = "a spreadsheet with a password, or of Excel before 2007 (.xls), is not supported";
        assert_eq!(done.stderr, format!("docsphere: error: {name}: {what}; {advice}"));
    }
    place.write("old.xls", b"\xd0\xcf\x11\xe0");
    let done = place.run("vectorize old.xls -o old");
    assert!(done.stderr.contains("; save it as .xlsx or CSV, for example with soffice "), "{}", done.stderr);
    // Cut at every hundredth byte, it is refused and never crashes.
    let whole = xlsx();
    for length in (0..whole.len()).step_by(100) {
        place.write("cut.xlsx", &whole[..length]);
        let done = place.run("vectorize cut.xlsx -o cut");
        assert_eq!(done.code, Some(1), "{length}: {}", done.stderr);
        assert!(
            done.stderr.starts_with("docsphere: error: cut.xlsx: not valid spreadsheet: "),
            "{}",
            done.stderr
        );
    }
}

#[cfg(all(feature = "mail", feature = "office"))]
#[test]
fn files_that_other_programs_made_are_read() {
    let place = Place::new();
    let made = repository().join("crates/docsphere-cli/tests/made_by_others");
    let made = made.display();
    for name in [
        "pandas-cp1252.csv",
        "pandas-utf16.csv",
        "pandas-records.json",
        "pandas-table.json",
        "openpyxl.xlsx",
        "odfpy.ods",
    ] {
        place.ok(&format!("cluster {made}/{name} --text-field text --id-field nr -k 2 -o {name}"));
        place.assert_pets(name, ["7", "8", "9", "10"]);
        assert!(
            place.read(&format!("{name}/clusters.json")).contains("\u{ab}tr\u{e8}s\u{bb} & <b>"),
            "{name}"
        );
    }
    place.ok(&format!("cluster {made}/mailbox.mbox -k 2 -o mail"));
    place.assert_pets("mail", ["1", "2", "3", "4"]);
    let clusters = place.read("mail/clusters.json");
    assert!(clusters.contains("Gr\u{fc}\u{df}e 7") && !clusters.contains("quoted"), "{clusters}");
    place.ok(&format!("vectorize {made}/documents -o documents -q --smooth-idf"));
    assert_eq!(place.read("documents/ids.txt"), "cats.docx\ncats.odt\ndogs.docx\ndogs.epub\n");
    let words = "bark cats cell dogs epub heading hi loudly odt purr softly tr\u{e8}s";
    assert_eq!(
        place.read("documents/vocabulary.txt").split_whitespace().collect::<Vec<_>>().join(" "),
        words
    );
}

#[cfg(feature = "pdf")]
#[test]
fn printed_pages_are_read() {
    let made = repository().join("crates/docsphere-cli/tests/made_by_others");
    let place = Place::new();
    for name in ["chromium.pdf", "libreoffice.pdf", "locked.pdf"] {
        place.write(&format!("papers/{name}"), std::fs::read(made.join(name)).unwrap());
    }
    let done = place.run("cluster papers -k 2 -o out --min-df 1");
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.starts_with(
            "docsphere: error: papers/locked.pdf: bad PDF record: expected a file without a password, found an encrypted one (save it without, for example with qpdf --decrypt); "
        ),
        "{}",
        done.stderr
    );
    place.ok("cluster papers -k 2 -o out --min-df 1 --skip-bad-records");
    let clusters = place.read("out/clusters.json");
    for text in [
        "Cats in the office\\nThe efficient workflow: kittens purr, whiskers twitch; a final caf\u{e9} \u{201c}meow\u{201d}.",
        "The efficient workflow: puppies bark, dogs fetch; a final caf\u{e9} \u{201c}woof\u{201d}.",
    ] {
        assert!(clusters.contains(text), "{clusters}");
    }
    // The date and the address that the browser prints on each page are no text.
    assert!(!clusters.contains("q.html"), "{clusters}");
}
