//! Bytes to documents, as the command reads files of other programs: an error or documents, never a
//! panic.

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use docsphere::{Corpus, CorpusOptions, CorpusPiece, CorpusStats, Event, Html, Quote};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A few bytes may stand for many documents. When so many have been seen, or so many bytes of them,
/// it is enough.
const ENOUGH_DOCUMENTS: u64 = 10_000;
const ENOUGH_BYTES: usize = 16 << 20;

/// A part of an archive: its name and its content.
type Part = (&'static str, &'static str);

/// Parts of archives into which bytes are put: a name of the file, and the parts before the one
/// that holds the bytes.
const ARCHIVES: [(&str, &[Part], &str); 5] = [
    ("a.docx", &[("[Content_Types].xml", "<Types/>")], "word/document.xml"),
    ("a.odt", &[("mimetype", "application/vnd.oasis.opendocument.text")], "content.xml"),
    (
        "a.epub",
        &[
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", "<container><rootfile full-path=\"p.opf\"/></container>"),
            ("p.opf", "<package><item id=\"a\" href=\"a.xhtml\"/><itemref idref=\"a\"/></package>"),
        ],
        "a.xhtml",
    ),
    ("a.ods", &[("mimetype", "application/vnd.oasis.opendocument.spreadsheet")], "content.xml"),
    (
        "a.xlsx",
        &[
            (
                "xl/workbook.xml",
                "<workbook xmlns:r=\"r\"><sheets><sheet name=\"A\" r:id=\"r1\"/></sheets></workbook>",
            ),
            ("xl/_rels/workbook.xml.rels", "<R><Relationship Id=\"r1\" Target=\"worksheets/s.xml\"/></R>"),
            (
                "xl/sharedStrings.xml",
                "<sst><si><t>text</t></si><si><t>cats</t><rPh><t>no</t></rPh></si></sst>",
            ),
        ],
        "xl/worksheets/s.xml",
    ),
];

/// Reads bytes as files of this kind, which it writes into `folder`.
///
/// # Panics
/// If reading does, or if its counts or its pieces contradict each other.
pub fn read(target: &str, data: &[u8], folder: &Path) {
    let options = CorpusOptions::default();
    let file = |name: &str| {
        let path = folder.join(name);
        fs::write(&path, data).expect("room for a temporary file");
        path
    };
    match target {
        "encodings" => {
            check(&file("a.txt"), &options);
            check(&file("a.txt"), &options.encoding("shift_jis"));
        }
        "files" => {
            let inner = folder.join("files");
            fs::create_dir_all(&inner).expect("a folder");
            fs::write(inner.join("a"), data).expect("room for a temporary file");
            check(&inner, &options.clone().skip_bad_records(true));
            check(&inner, &options);
        }
        "html" => {
            check(&file("a.html"), &options);
            check(&file("a.html"), &options.html(Html::Strip));
        }
        "json" => {
            check(&file("a.json"), &options);
            check(
                &file("a.json"),
                &options.text_fields(["a.b", "text"]).id_field("a").skip_bad_records(true),
            );
        }
        "mail" => {
            check(&file("a.mbox"), &options.clone().skip_bad_records(true));
            check(&file("a.eml"), &options.keep_quotes(true));
        }
        "office" | "sheet" => read_archives(target, data, folder),
        "table" => read_table(data, folder),
        _ => panic!("no such target"),
    }
}

fn read_archives(target: &str, data: &[u8], folder: &Path) {
    let is_sheet = |name: &str| name == "a.ods" || name == "a.xlsx";
    for (name, parts, last) in ARCHIVES.iter().filter(|(name, ..)| is_sheet(name) == (target == "sheet")) {
        let path = folder.join(name);
        let mut writer = ZipWriter::new(File::create(&path).expect("a file"));
        let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        let mut part = |name: &str, content: &[u8]| {
            writer.start_file(name, stored).expect("a part");
            writer.write_all(content).expect("room for a part");
        };
        parts.iter().for_each(|(name, content)| part(name, content.as_bytes()));
        part(last, data);
        writer.finish().expect("an archive");
        check(&path, &CorpusOptions::default());
        // The bytes as they are, too.
        fs::write(&path, data).expect("room for a temporary file");
        check(&path, &CorpusOptions::default().skip_bad_records(true));
    }
}

fn read_table(data: &[u8], folder: &Path) {
    let options = CorpusOptions::default().encoding("utf-8");
    for name in ["a.csv", "a.tsv"] {
        let path = folder.join(name);
        fs::write(&path, data).expect("room for a temporary file");
        check(&path, &options);
        check(&path, &options.clone().skip_bad_records(true).quote(Quote::Double));
        // If quotes are plain characters, every line is a record.
        let plain = options.clone().skip_bad_records(true).quote(Quote::None).delimiter(';');
        let is_marked =
            [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| data.starts_with(mark));
        let lines = data.split(|&byte| byte == b'\n').filter(|line| !matches!(**line, [] | [b'\r']));
        let n_lines = lines.clone().count() as u64;
        let is_simple =
            !is_marked && lines.clone().all(|line| !line.starts_with(b"\r") && !line.starts_with(b"sep="));
        if let Some(stats) = check(&path, &plain).filter(|_| is_simple) {
            assert_eq!(stats.n_documents + stats.n_bad_records + 1, n_lines.max(1));
        }
    }
}

/// The documents of a corpus, as far as they are few.
fn documents(corpus: &Corpus) -> Option<(Vec<(String, String)>, CorpusStats)> {
    let mut found = Vec::new();
    let mut n_bytes = 0;
    let mut n_events = 0;
    let mut observer = |event: &Event<'_>| match *event {
        Event::Reading { n_documents, .. } if n_documents > ENOUGH_DOCUMENTS || n_events > 1000 => {
            ControlFlow::Break(())
        }
        _ => {
            n_events += 1;
            ControlFlow::Continue(())
        }
    };
    let read = corpus.for_each_document_watched(&mut observer, |document| {
        assert!(std::str::from_utf8(document.text.as_bytes()).is_ok());
        assert!(!document.id.is_empty());
        n_bytes += document.text.len();
        if n_bytes < ENOUGH_BYTES {
            found.push((document.id.to_owned(), document.text.to_owned()));
        }
    });
    let stats = read.ok()?;
    (n_bytes < ENOUGH_BYTES).then_some((found, stats))
}

/// Reads an input, whole and in pieces, which must agree.
fn check(path: &Path, options: &CorpusOptions) -> Option<CorpusStats> {
    let corpus = Corpus::open([path], options.clone()).ok()?;
    let whole = documents(&corpus);
    if let Some((found, stats)) = &whole {
        assert_eq!(stats.n_documents, found.len() as u64);
        assert!(stats.bad_records.len() as u64 <= stats.n_bad_records);
    }
    let mut pieces = corpus.pieces(3).ok()?;
    let n_lines = pieces.iter().map(CorpusPiece::count_lines).collect::<docsphere::Result<Vec<_>>>().ok()?;
    CorpusPiece::number_lines(&mut pieces, &n_lines).expect("a count per piece");
    let together = Corpus::from_pieces(&pieces, options.clone()).expect("pieces of this corpus");
    if let (Some((found, stats)), Some((parts, _))) = (&whole, documents(&together)) {
        assert_eq!(*found, parts);
        return Some(stats.clone());
    }
    whole.map(|(_, stats)| stats)
}

/// Small files of this kind.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let texts = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
    match target {
        "encodings" => vec![
            "caf\u{e9}\n\u{6771}\u{4eac}\n".as_bytes().to_vec(),
            b"Gr\xfc\xdfe aus K\xf6ln\ncr\xe8me br\xfbl\xe9e\n".to_vec(),
            [b"\xff\xfe".to_vec(), utf16("marked \u{6771}\n")].concat(),
            utf16("\u{201c}not marked\u{201d} \u{2019}text\u{2019} of more than thirty-two bytes\n"),
            b"\x1b$BEl5~\x1b(B and \x1b[31mred\x1b[0m\n".to_vec(),
            b"\x93\xfa\x96{\n".to_vec(),
        ],
        "files" => vec![
            b"From: a@b\nSubject: c\n\nbody\n".to_vec(),
            b"From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: c\n\nbody\n\nFrom c Tue Jan  2 00:00:00 2024\nTo: d\nSubject: e\n\nf".to_vec(),
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
            b"PK\x03\x04\x14\0\0\0word/document.xml".to_vec(),
            b"%PDF-1.4".to_vec(),
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x4c\x04\0".to_vec(),
            utf16("a text of Windows\r\n"),
        ],
        "html" => texts(&[
            "<!doctype html><title>A &amp; b</title><p>c <b>d</b><script>e</script><nav>f</nav><!-- g --><br/>h",
            "<jats:p>a < b and c > d</jats:p> &nbsp &eacute x <a href=\"http",
            "List<String> &lt;p&gt;&amp;quot; R&D </unknown>",
        ]),
        "json" => texts(&[
            "{\"text\":\"a \\ud83d\",\"id\":1.0}\n{\"text\":[\"b\",1e5],\"a\":{\"b\":\"c\"}}\n",
            "[{\"text\": \"a\"},\n \"b\", {\"a\": 18446744073709551616}]",
            "{\"n\": 1, \"data\": [{\"text\": \"a\", \"x\": {\"y\": [1, \"]\"]}}], \"more\": null}",
        ]),
        "mail" => texts(&[
            "From a@b Mon Jan  1 00:00:00 2024\nSubject: =?utf-8?Q?a=C3=A9?=\n\n> b\n>From c\n\nFrom d Tue Jan  2 00:00:00 2024\nSubject: e\n",
            "Subject: a\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\nY2F0cw==\n--b\nContent-Type: text/html\n\n<p>c</p>\n--b--\n",
        ]),
        "office" => texts(&[
            "<w:document><w:body><w:p><w:r><w:t>Cats &amp; caf&#233;</w:t><w:tab/></w:r><w:del><w:t>no</w:t></w:del></w:p></w:body></w:document>",
            "<office:document-content><office:text><text:h>a</text:h><text:p>b<text:s/>c</text:p><office:annotation>d</office:annotation></office:text></office:document-content>",
            "<html><body><p>One &amp; only</p></body></html>",
        ]),
        "sheet" => texts(&[
            "<worksheet><sheetData><row><c r=\"A1\" t=\"s\"><v>0</v></c></row><row><c t=\"inlineStr\"><is><t>a</t><rPh><t>b</t></rPh></is></c></row></sheetData></worksheet>",
            "<office:document-content><table:table table:name=\"A\"><table:table-row><table:table-cell><text:p>text</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated=\"3\"><table:table-cell table:number-columns-repeated=\"2\"><text:p>a</text:p><office:annotation><text:p>b</text:p></office:annotation></table:table-cell></table:table-row></table:table></office:document-content>",
        ]),
        "table" => texts(&[
            "id;text\n1;\"a \"\"b\"\"\nc\"\n2;'d'\n\n3;e;\n",
            "id\ttext\n1\t\"stray\n2\tb\n3\tends in 5\"\n4\t\"x\" y\n",
            "sep=,\r\ntext,id\r\n\"a, b\",1\r\n",
        ]),
        _ => Vec::new(),
    }
}
