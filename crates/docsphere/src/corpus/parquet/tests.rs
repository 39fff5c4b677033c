//! Reads files of other writers; refuses invalid files, in little memory.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use docsphere_testkit::parquet_files::{Values, write_parquet};
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use tempfile::TempDir;

use crate::corpus::chunk::{Chunk, InputContext};
use crate::corpus::{Corpus, CorpusFormat, CorpusOptions, CorpusStats, parquet_input};
use crate::error::Result;

type Documents = Vec<(String, String)>;

fn options(text_fields: &[&str], id_field: Option<&str>) -> CorpusOptions {
    CorpusOptions {
        format: Some(CorpusFormat::Parquet),
        text_fields: text_fields.iter().map(|&field| field.to_owned()).collect(),
        id_field: id_field.map(str::to_owned),
        ..CorpusOptions::default()
    }
}

fn read(path: &Path, options: CorpusOptions) -> Result<(Documents, CorpusStats)> {
    let mut documents = Vec::new();
    let corpus = Corpus::open([path], options)?;
    let stats = corpus.for_each_document(|document| {
        assert!(std::str::from_utf8(document.text.as_bytes()).is_ok());
        documents.push((document.id.to_owned(), document.text.to_owned()));
    })?;
    Ok((documents, stats))
}

/// The error message for a file with these bytes, without the file name.
fn refusal(bytes: &[u8]) -> String {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("d.parquet");
    fs::write(&path, bytes).unwrap();
    let message = read(&path, options(&["text"], None)).unwrap_err().to_string();
    message.strip_prefix(&format!("{}: ", path.display())).expect("the name of the file").to_owned()
}

const COMPRESSIONS: [fn() -> Compression; 7] = [
    || Compression::UNCOMPRESSED,
    || Compression::SNAPPY,
    || Compression::GZIP(GzipLevel::default()),
    || Compression::BROTLI(BrotliLevel::default()),
    || Compression::LZ4,
    || Compression::LZ4_RAW,
    || Compression::ZSTD(ZstdLevel::default()),
];

/// Encodings of texts and of integers; `None`: a dictionary.
const ENCODINGS: [Option<(Encoding, Encoding)>; 4] = [
    None,
    Some((Encoding::PLAIN, Encoding::PLAIN)),
    Some((Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BINARY_PACKED)),
    Some((Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT)),
];

const VERSIONS: [WriterVersion; 2] = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];

fn properties(encoding: Option<(Encoding, Encoding)>, version: WriterVersion) -> WriterPropertiesBuilder {
    let properties =
        WriterProperties::builder().set_writer_version(version).set_dictionary_enabled(encoding.is_none());
    let Some((texts, integers)) = encoding else { return properties };
    let columns =
        [("text", texts), ("maybe", texts), ("i32", integers), ("i64", integers), ("u64", integers)];
    columns.into_iter().fold(properties, |properties, (name, encoding)| {
        properties.set_column_encoding(name.into(), encoding)
    })
}

const TABLE: &str = "required binary text (UTF8); optional binary maybe (UTF8); required int32 i32; \
     optional int64 i64; required int64 u64 (UINT_64); required double f64;";

/// The columns of [`TABLE`], and the values expected from them.
fn table(n_rows: i64) -> ([Values; 6], Vec<[String; 6]>) {
    let text = |row: i64| format!("{}{}", "common beginning, ".repeat((row % 3) as usize), row * row);
    let maybe = |row: i64| (row % 4 != 1).then(|| format!("é{}", row % 5));
    let i32s = |row: i64| (row * 77_777 % 1_000_003 - 500_000) as i32 * 4000;
    let i64s = |row: i64| (row % 7 - 3).wrapping_mul(i64::MAX / 3);
    let u64s = |row: i64| u64::MAX - (row * row) as u64;
    let f64s = |row: i64| row as f64 / 8.0 - 1.5;
    let columns = [
        Values::some_texts((0..n_rows).map(|row| Some(text(row)))),
        Values::some_texts((0..n_rows).map(maybe)),
        Values::int32((0..n_rows).map(i32s)),
        Values::int64((0..n_rows).map(i64s)),
        Values::int64((0..n_rows).map(|row| u64s(row) as i64)),
        Values::Double((0..n_rows).map(|row| Some(f64s(row))).collect()),
    ];
    let expected = |row| {
        let (i32s, i64s, u64s, f64s) = (i32s(row), i64s(row), u64s(row), f64s(row));
        let maybe = maybe(row).unwrap_or_default();
        [text(row), maybe, i32s.to_string(), i64s.to_string(), u64s.to_string(), f64s.to_string()]
    };
    (columns, (0..n_rows).map(expected).collect())
}

#[test]
fn every_encoding_compression_and_version_is_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("d.parquet");
    let (columns, rows) = table(1000);
    let fields = ["text", "maybe", "i32", "i64", "u64", "f64"];
    let expected: Documents = rows.iter().map(|values| (values[0].clone(), values.join("\n"))).collect();
    for encoding in ENCODINGS {
        for version in VERSIONS {
            for compression in COMPRESSIONS {
                // Several row groups, and several pages in each.
                let properties = properties(encoding, version)
                    .set_compression(compression())
                    .set_max_row_group_row_count(Some(600))
                    .set_data_page_row_count_limit(97)
                    .set_write_batch_size(97);
                write_parquet(&path, TABLE, &columns, properties.build());
                let (found, stats) = read(&path, options(&fields, Some("text"))).unwrap();
                let what = format!("{encoding:?}, {version:?}, {}", compression());
                assert!(found == expected, "{what}");
                assert_eq!(stats.n_invalid_utf8, 0, "{what}");
                assert_eq!(stats.bytes_read, fs::metadata(&path).unwrap().len(), "{what}");
            }
        }
    }
}

#[test]
fn numbers_are_texts_whatever_their_width() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("d.parquet");
    let schema = "required int32 i8 (INT_8); required int32 u32 (UINT_32); required float f32;";
    let columns =
        [Values::int32([-5, 6]), Values::int32([0, -1]), Values::Float(vec![Some(0.1), Some(-2.0)])];
    write_parquet(&path, schema, &columns, WriterProperties::default());
    let (found, _) = read(&path, options(&["i8", "f32"], Some("u32"))).unwrap();
    assert_eq!(found, [("0".to_owned(), "-5\n0.1".to_owned()), (u32::MAX.to_string(), "6\n-2".to_owned())]);
}

/// One column of texts.
const TEXT: &str = "required binary text (UTF8);";

/// A file with one column of texts that need not be UTF-8.
fn write_bytes(path: &Path, values: &[&[u8]], properties: WriterProperties) {
    let values = Values::Bytes(values.iter().map(|value| Some(value.to_vec())).collect());
    write_parquet(path, TEXT, &[values], properties);
}

#[test]
fn what_is_not_utf8_is_replaced_and_counted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("d.parquet");
    // The first two are valid UTF-8 together, but neither is alone: a check of all bytes at once
    // misses it.
    let values: [&[u8]; 4] = [b"caf\xc3", b"\xa9 au lait", b"tea", b"\xff"];
    for encoding in ENCODINGS {
        for version in VERSIONS {
            write_bytes(&path, &values, properties(encoding, version).build());
            let (found, stats) = read(&path, options(&["text"], None)).unwrap();
            let texts: Vec<&str> = found.iter().map(|(_, text)| &text[..]).collect();
            assert_eq!(texts, ["caf\u{fffd}", "\u{fffd} au lait", "tea", "\u{fffd}"], "{encoding:?}");
            assert_eq!(stats.n_invalid_utf8, 3, "{encoding:?}");
            // As text and as id: still counted as one document.
            assert_eq!(read(&path, options(&["text"], Some("text"))).unwrap().1.n_invalid_utf8, 3);
        }
    }
}

/// Files of every encoding, small enough to be damaged at every byte.
fn small_files() -> Vec<Vec<u8>> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("d.parquet");
    let ([texts, maybe, _, integers, _, _], _) = table(5);
    let schema = "required binary text (UTF8); optional binary maybe (UTF8); optional int64 i64;";
    let columns = [texts, maybe, integers];
    let mut files = Vec::new();
    for (number, encoding) in ENCODINGS.into_iter().enumerate() {
        for (version, compression) in VERSIONS.into_iter().zip([COMPRESSIONS[0], COMPRESSIONS[1 + number]]) {
            let properties = properties(encoding, version).set_compression(compression());
            let properties = properties
                .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
                .set_created_by(String::new());
            write_parquet(&path, schema, &columns, properties.build());
            files.push(fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn damage_at_any_byte_is_an_error_or_other_documents() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("d.parquet");
    let (mut n_read, mut n_refused) = (0, 0);
    for file in small_files() {
        fs::write(&path, &file).unwrap();
        assert_eq!(read(&path, options(&["text", "maybe"], Some("i64"))).unwrap().0.len(), 5);
        for at in 0..file.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= change;
                fs::write(&path, &damaged).unwrap();
                match read(&path, options(&["text", "maybe"], Some("i64"))) {
                    Ok(_) => n_read += 1,
                    Err(_) => n_refused += 1,
                }
            }
        }
    }
    assert!(n_read > 100 && n_refused > 1000, "{n_read} read, {n_refused} refused");
}

#[test]
fn files_that_are_cut_off_are_refused() {
    let file = &small_files()[0];
    for length in 0..file.len() {
        assert!(refusal(&file[..length]).starts_with("not valid Parquet: expected "), "{length} bytes");
    }
    assert_eq!(refusal(b"PAR1"), "not valid Parquet: expected a Parquet file, found a file of 4 bytes");
    assert_eq!(
        refusal(&file[..file.len() - 1]),
        r#"not valid Parquet: expected PAR1 as the last four bytes, found "\x00PAR"; is the file cut off?"#
    );
    assert_eq!(
        refusal(b"PAR1\xff\xff\xff\xffPAR1"),
        "not valid Parquet: expected a footer of at most 0 bytes, found a length of 4294967295"
    );
    assert_eq!(
        refusal(b"PAR1\0\0\0\0PARE"),
        "encryption is not supported; write the file anew with a current program, or convert it to JSON Lines"
    );
}

/// Structs in the compact protocol of Thrift.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last_id: u8,
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

impl Struct {
    fn field(mut self, id: u8, kind: u8, value: &[u8]) -> Self {
        self.bytes.push((id - self.last_id) << 4 | kind);
        self.bytes.extend(value);
        self.last_id = id;
        self
    }

    fn number(self, id: u8, value: i64) -> Self {
        self.field(id, 6, &varint((value << 1 ^ value >> 63) as u64))
    }

    fn text(self, id: u8, text: &str) -> Self {
        self.field(id, 8, &[&varint(text.len() as u64), text.as_bytes()].concat())
    }

    fn inner(self, id: u8, inner: Struct) -> Self {
        self.field(id, 12, &inner.end())
    }

    fn list(self, id: u8, items: Vec<Struct>) -> Self {
        let mut bytes = vec![0xfc];
        bytes.extend(varint(items.len() as u64));
        items.into_iter().for_each(|item| bytes.extend(item.end()));
        self.field(id, 9, &bytes)
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// A file with one column of texts in the given pages, compressed with codec number `codec`.
fn file_of(pages: &[u8], codec: i64, n_rows: i64) -> Vec<u8> {
    let root = Struct::default().text(4, "rows").number(5, 1);
    let column = Struct::default().number(1, 6).number(3, 0).text(4, "text").number(6, 0);
    let chunk = Struct::default()
        .number(1, 6)
        .number(4, codec)
        .number(5, n_rows)
        .number(7, pages.len() as i64)
        .number(9, 4);
    let group = Struct::default().list(1, vec![Struct::default().inner(3, chunk)]).number(3, n_rows);
    let footer = Struct::default().list(2, vec![root, column]).number(3, n_rows).list(4, vec![group]).end();
    [b"PAR1", pages, &footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

/// A page: kind 0 has data, kind 2 a dictionary.
fn page(kind: i64, unpacked: i64, n_values: i64, encoding: i64, packed: &[u8]) -> Vec<u8> {
    let inner = Struct::default().number(1, n_values).number(2, encoding).number(3, 3);
    let header = Struct::default().number(1, kind).number(2, unpacked).number(3, packed.len() as i64);
    [header.inner(if kind == 0 { 5 } else { 7 }, inner).end(), packed.to_vec()].concat()
}

#[test]
fn sizes_that_cannot_be_are_refused_before_memory_is_taken() {
    let plain = |n_values, encoding, bytes: &[u8]| page(0, bytes.len() as i64, n_values, encoding, bytes);
    let refused = |pages: &[u8], codec, n_rows, expected: &str| {
        assert_eq!(
            refusal(&file_of(pages, codec, n_rows)),
            format!("not valid Parquet: expected {expected}")
        );
    };
    let ok = plain(1, 0, b"\x01\0\0\0a");
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("d.parquet"), file_of(&ok, 0, 1)).unwrap();
    let (found, _) = read(&folder.path().join("d.parquet"), options(&["text"], None)).unwrap();
    assert_eq!(found, [("1".to_owned(), "a".to_owned())]);

    // A page of 2 GiB in six bytes, in every compression.
    for codec in [0, 1, 2, 4, 5, 6, 7] {
        refused(
            &page(0, i64::from(i32::MAX), 1, 0, b"packed"),
            codec,
            1,
            "a page of 6 bytes to unpack to at most 67108864 (100 times as many, or 67108864), found 2147483647 (in column \"text\")",
        );
    }
    // A page that is larger than the file; one that expands to more than it states.
    let inner = Struct::default().number(1, 1).number(2, 0).number(3, 3);
    let header = Struct::default().number(1, 0).number(2, 9).number(3, 1 << 30).inner(5, inner);
    refused(
        &header.end(),
        0,
        1,
        "a page of at most 0 bytes, found a size of 1073741824 (in column \"text\")",
    );
    let zeros = zstd::bulk::compress(&[0; 100_000], 0).unwrap();
    let message = refusal(&file_of(&page(0, 10, 1, 0, &zeros), 6, 1));
    assert!(
        message.starts_with("not valid Parquet: expected a page that unpacks to 10 bytes, found "),
        "{message}"
    );
    let mut gzip = flate2::read::GzEncoder::new(&[0; 100_000][..], flate2::Compression::default());
    let mut packed = Vec::new();
    std::io::Read::read_to_end(&mut gzip, &mut packed).unwrap();
    refused(
        &page(0, 10, 1, 0, &packed),
        2,
        1,
        "a page that unpacks to 10 bytes, found more (in column \"text\")",
    );
    // A dictionary of 2^31 values in four bytes.
    refused(
        &page(2, 4, i64::from(i32::MAX), 0, &[0; 4]),
        0,
        1,
        "a dictionary of 2147483647 values, found 4 bytes (in column \"text\")",
    );
    // Keys that are not in the dictionary; no dictionary at all.
    let dictionary = page(2, 5, 1, 0, b"\x01\0\0\0a");
    let keys = plain(1, 8, &[1, 2, 1]);
    refused(
        &[dictionary.clone(), keys.clone()].concat(),
        0,
        1,
        "a key below 1, the number of values in the dictionary, found 1 (in column \"text\")",
    );
    refused(&keys, 0, 1, "a dictionary before its keys, found none (in column \"text\")");
    refused(
        &[&dictionary[..], &dictionary].concat(),
        0,
        1,
        "one dictionary, found another (in column \"text\")",
    );
    // 2^62 lengths, all zero; a length below zero; a prefix of a text that is shorter.
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f];
    let lengths = [&[0x80, 0x01, 4], &huge[..], &[0, 0, 0, 0, 0, 0]].concat();
    refused(&plain(1, 6, &lengths), 0, 1, "more values in a page, found its end (in column \"text\")");
    refused(
        &plain(1, 6, &[0x80, 0x01, 4, 1, 1]),
        0,
        1,
        "a value within the 0 bytes left of its page, found a length of -1 (in column \"text\")",
    );
    refused(
        &plain(1, 7, &[0x80, 0x01, 4, 1, 4, 0x80, 0x01, 4, 1, 2, b'a']),
        0,
        1,
        "a prefix of at most 0 bytes, found 2 (in column \"text\")",
    );
    // Texts that extend past their page; fewer and more rows than expected.
    refused(
        &plain(1, 0, b"\x02\0\0\0a"),
        0,
        1,
        "a value within the 1 bytes left of its page, found a length of 2 (in column \"text\")",
    );
    refused(&ok, 0, 2, "1 more rows, found no more pages (in column \"text\")");
    refused(&plain(2, 0, b""), 0, 1, "1 more rows, found a page of 2 (in column \"text\")");
    // 2^40 rows in a file of a few bytes.
    let file = file_of(&ok, 0, 1 << 40);
    let expected = format!("at most 10000000 rows in a file of {} bytes, found 1099511627776", file.len());
    refused(&ok, 0, 1 << 40, &expected);
}

#[test]
fn a_schema_that_is_no_tree_is_refused() {
    let node = |n_children: i64| Struct::default().text(4, "text").number(5, n_children);
    let leaf = || Struct::default().number(1, 6).number(3, 0).text(4, "text").number(6, 0);
    let file = |nodes: Vec<Struct>| {
        let footer = Struct::default().list(2, nodes).number(3, 0).list(4, vec![]).end();
        [b"PAR1", &footer[..], &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
    };
    let tree = "not valid Parquet: expected a schema that is a tree, found ";
    assert_eq!(refusal(&file(vec![node(1), leaf(), leaf()])), format!("{tree}a column without a parent"));
    assert_eq!(refusal(&file(vec![node(2), leaf()])), format!("{tree}one that is cut off"));
    assert_eq!(refusal(&file(vec![node(-1), leaf()])), format!("{tree}-1 children"));
    // Columns nested 100,000 deep: the stack does not overflow.
    let mut nodes: Vec<Struct> = (0..100_000).map(|_| node(1)).collect();
    nodes.push(leaf());
    assert_eq!(
        refusal(&file(nodes)),
        "a column of type nested (text) is not supported; text and ids are read from columns of strings or numbers"
    );
}

#[test]
fn values_that_repeat_are_cut_into_chunks_of_the_usual_size() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("d.parquet");
    let text = "long ".repeat(80_000); // 400 KB
    let texts = Values::texts(std::iter::repeat_n(&text[..], 1000));
    // A dictionary of one text; texts equal to the previous one.
    for encoding in [None, Some((Encoding::DELTA_BYTE_ARRAY, Encoding::PLAIN))] {
        write_parquet(&path, TEXT, std::slice::from_ref(&texts), properties(encoding, VERSIONS[1]).build());
        let chunk_bytes = 1 << 21;
        let mut n_rows = 0;
        let n_bytes = Arc::new(AtomicU64::new(0));
        let options = options(&["text"], None);
        let input = InputContext {
            id_prefix: "",
            options: &options,
            chunk_bytes,
            first_line: 1,
            is_part: false,
            n_bytes: &n_bytes,
            guesses: &Arc::default(),
        };
        let file = fs::File::open(&path).unwrap();
        let flow = parquet_input::cut_rows(&file, None, &input, &mut |rows| {
            assert!(rows.n_bytes() < chunk_bytes + text.len() + 100, "{} bytes", rows.n_bytes());
            n_rows += rows.n_rows();
            ControlFlow::Continue(())
        });
        assert_eq!((flow.unwrap(), n_rows), (ControlFlow::Continue(()), 1000));
    }
}
