//! Tables, encodings and pages as other programs write them.

use crate::command::Place;

/// What Excel saves as CSV on a German system, in its code page.
const EXCEL: &[u8] = b"sep=;\r\nNr;Beschreibung;Preis\r\n\
    1;\"Gr\xfc\xdfe; die Katze schnurrt sch\xf6n\";1,50\r\n\
    2;\"Der Hund bellt\nf\xfcr K\xf6ln\";2,00\r\n\
    3;Katze schl\xe4ft;3,00\r\n4;Hund l\xe4uft \x80;4,00\r\n";

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
    // site, more and the words of the sentences.
    assert_eq!(clusters["n_terms"], 9, "{clusters}");
    assert!(place.read("out/clusters.json").contains("Site\\ncats purr softly & more"));
    assert!(!place.read("out/report.html").contains("Imprint"));

    let fields = "{\"text\": \"<p>cats &quot;purr&quot; <a href='x'>softly</a></p>\"}\n{\"text\": \"dogs &amp;quot;bark&amp;quot; loudly\"}\n{\"text\": \"cats sleep\"}\n{\"text\": \"dogs run\"}\n";
    place.write("fields.jsonl", fields);
    place.ok("cluster fields.jsonl -k 2 -o fields");
    place.assert_pets("fields", ["1", "2", "3", "4"]);
    place.ok("vectorize fields.jsonl -o terms -q");
    assert_eq!(place.read("terms/terms.txt"), "bark\ncats\ndogs\nloudly\npurr\nrun\nsleep\nsoftly\n");
    place.ok("vectorize fields.jsonl -o kept -q --html keep");
    assert!(place.read("kept/terms.txt").contains("href\n"));
}
