use std::io::Write;
use std::sync::Arc;

use super::*;
use crate::corpus::options::CorpusOptions;

/// A file of these objects, the first of which is the catalog. Without a table of objects, which is
/// made anew when a file has none.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    for (at, object) in objects.iter().enumerate() {
        writeln!(file, "{} 0 obj", at + 1).unwrap();
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    file.extend(b"trailer\n<< /Root 1 0 R >>\n%%EOF\n");
    file
}

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let mut object = format!("<< {dictionary} /Length {} >>\nstream\n", content.len()).into_bytes();
    object.extend(content);
    object.extend(b"\nendstream");
    object
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    stream("/Filter /FlateDecode", &encoder.finish().unwrap())
}

const FONT: &str = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding \
    /FirstChar 32 /LastChar 122 /Widths [250] /FontDescriptor << /MissingWidth 500 >> >>";

/// A file with one page.
fn page(content: Vec<u8>, resources: &str, others: &[Vec<u8>]) -> Vec<u8> {
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F 4 0 R /G 6 0 R >> {resources} >> >>"
        )
        .into_bytes(),
        b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>".to_vec(),
        FONT.as_bytes().to_vec(),
        content,
    ];
    objects.extend(others.iter().cloned());
    pdf(&objects)
}

fn shown(operators: &str) -> Result<String, String> {
    extracted(page(stream("", operators.as_bytes()), "", &[]))
}

fn extracted(bytes: Vec<u8>) -> Result<String, String> {
    let mut text = String::new();
    let options = CorpusOptions::default();
    let columns = std::cell::RefCell::default();
    let file = RawFile { bytes, options: &options, guesses: &Arc::default(), columns: &columns };
    let done = Pdf.extract(file, &mut |_, found| {
        text.push_str(&String::from_utf8_lossy(found?));
        Ok(())
    });
    done.map(|()| text).map_err(|error| error.to_string())
}

#[test]
fn words_end_where_there_is_room() {
    let text = |operators: &str| shown(operators).unwrap();
    // Letters are 5 wide, blanks 2.5.
    assert_eq!(text("BT /F 10 Tf 10 700 Td (Cats) Tj 22 0 Td (purr) Tj ET"), "Cats purr");
    assert_eq!(text("BT /F 10 Tf 10 700 Td (Ca) Tj 10.5 0 Td (ts) Tj ET"), "Cats");
    assert_eq!(text("BT /F 10 Tf [(C) 30 (ats) -300 (purr)] TJ ET"), "Cats purr");
    assert_eq!(text("BT /F 10 Tf (one) Tj 0 -12 Td (two) Tj 0 -24 Td (three) Tj ET"), "one\ntwo\n\nthree");
    assert_eq!(
        text("BT /F 10 Tf 12 TL (one) ' (two) ' 0 0 (three) \" T* (four) Tj ET"),
        "one\ntwo\nthree\nfour"
    );
    // The room between words and letters counts, and so does the scale of the page.
    assert_eq!(text("BT /F 10 Tf 9 Tw (a b) Tj 21.5 0 Td (c) Tj ET"), "a bc");
    assert_eq!(text("BT /F 10 Tf 2 Tc (ab) Tj 14 0 Td (c) Tj ET"), "abc");
    assert_eq!(text("q .1 0 0 .1 0 0 cm BT /F 100 Tf (ab) Tj 101 0 Td (c) Tj ET Q"), "abc");
    assert_eq!(text("BT /F 1 Tf 10 0 0 10 0 0 Tm (ab) Tj 1.2 0 Td (c) Tj ET"), "ab c");
    // Upside down, and upwards.
    assert_eq!(text("BT /F 10 Tf 0 10 -10 0 0 0 Tm /F 1 Tf (ab) Tj 1 0 Td (c) Tj ET"), "abc");
}

#[test]
fn marks_say_what_is_text() {
    let text = |operators: &str| shown(operators).unwrap();
    assert_eq!(text("/Artifact BMC BT /F 9 Tf (Page 1) Tj ET EMC BT /F 9 Tf (Cats) Tj ET"), "Cats");
    assert_eq!(
        text("BT /F 10 Tf /Span << /ActualText (fi) >> BDC (?) Tj (?) Tj EMC (ne) Tj ET"),
        "fine",
        "the text that stands for two signs"
    );
    // Marks that are not closed, and closed twice.
    assert_eq!(text("EMC EMC Q Q /P BMC BT /F 9 Tf (Cats) Tj ET"), "Cats");
}

#[test]
fn forms_are_part_of_the_page() {
    let form = |content: &str| stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", content.as_bytes());
    let content = stream("", b"BT /F 9 Tf (Cats) Tj ET q 1 0 0 1 0 -20 cm /X Do Q");
    let file = page(content.clone(), "/XObject << /X 6 0 R >>", &[form("BT /F 9 Tf (purr) Tj ET")]);
    assert_eq!(extracted(file).unwrap(), "Cats\n\npurr");
    // A form that shows itself twice has an end.
    let file = page(content, "/XObject << /X 6 0 R >>", &[form("/X Do BT /F 9 Tf (ha) Tj ET /X Do")]);
    let endless = extracted(file).unwrap();
    assert!(endless.len() < 4_000, "{}", endless.len());
}

#[test]
fn tables_of_characters_and_wide_codes_are_understood() {
    let table = stream(
        "",
        b"/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /Adobe-Identity-UCS def\n\
          1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n\
          2 beginbfchar\n<0001> <732B>\n<0002> <00660069>\nendbfchar\nendcmap\n\
          CMapName currentdict /CMap defineresource pop\nend\nend\n",
    );
    let fonts =
        b"<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 7 0 R /DescendantFonts [8 0 R] >>";
    let descendant = b"<< /Type /Font /Subtype /CIDFontType2 /DW 1000 /W [1 [600] 2 3 700] >>";
    let content = stream("", b"BT /G 10 Tf <00010002> Tj 13 0 Td <0001> Tj 9 0 Td <0002> Tj ET");
    let others = [fonts.to_vec(), table, descendant.to_vec()];
    let file = page(content, "", &others);
    assert_eq!(extracted(file).unwrap(), "\u{732b}fi\u{732b} fi");
}

#[test]
fn damaged_and_hostile_files_are_refused() {
    let good = page(packed(b"BT /F 9 Tf (Cats) Tj ET"), "", &[]);
    assert_eq!(extracted(good.clone()).unwrap(), "Cats");
    assert_eq!(extracted([&b"HTTP/1.1 200\r\n\r\n"[..], &good].concat()).unwrap(), "Cats");
    // No panic, whatever is wrong.
    for length in 0..good.len() {
        let _ = extracted(good[..length].to_vec());
    }
    for position in 0..good.len() {
        for bit in [1, 0x10] {
            let mut flipped = good.clone();
            flipped[position] ^= bit;
            let _ = extracted(flipped);
        }
    }
    let none = extracted(b"%PDF-1.7\n".to_vec()).unwrap_err();
    assert!(none.starts_with("bad PDF record: expected a well-formed file, found "), "{none}");
    let bomb = extracted(page(packed(&vec![b' '; 65 << 20]), "", &[])).unwrap_err();
    assert!(bomb.starts_with("the size in bytes of the parts of a document is limited to "), "{bomb}");
    // A form of a megabyte, shown a thousand times.
    let wide = packed(&vec![b' '; 1 << 20]);
    let wide = [b"<< /Type /XObject /Subtype /Form ", &wide[2..]].concat();
    let often = stream("", "/X Do ".repeat(1000).as_bytes());
    let often = extracted(page(often, "/XObject << /X 6 0 R >>", &[wide])).unwrap_err();
    assert!(often.starts_with("the size in bytes of the parts of a document is limited to "), "{often}");
    let deep = format!("BT /F 9 Tf {}(a) Tj ET", "[".repeat(100_000));
    let _ = shown(&deep);
    let deep = "q ".repeat(100_000) + &"/P BMC ".repeat(100_000);
    assert_eq!(shown(&deep).unwrap(), "");
    let image = stream("/Type /XObject /Subtype /Image /Width 1 /Height 1", b"x");
    let scan = extracted(page(stream("", b"/X Do"), "/XObject << /X 6 0 R >>", &[image])).unwrap_err();
    assert!(
        scan.contains("pictures of pages alone (recognise their text, for example with ocrmypdf)"),
        "{scan}"
    );
}
