//! Parquet.

use super::*;

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let folder = Folder::new();
    let error = Corpus::open([folder.file("d.parquet", "PAR1")], CorpusOptions::default()).unwrap_err();
    assert_eq!(
        folder.strip(&error),
        "d.parquet: Parquet is not supported; it is not in this build: build docsphere with the cargo feature `parquet`, or \
         convert the file to JSON Lines"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_pages_of_every_compression_are_read() {
    use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
    use ::parquet::file::properties::WriterProperties;
    use docsphere_testkit::parquet_files::{Values, write_parquet};

    let folder = Folder::new();
    let texts = Values::texts(["one", "two"].repeat(500));
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let path = folder.0.path().join("d.parquet");
        let properties = WriterProperties::builder().set_compression(compression).build();
        let schema = "required binary text (UTF8);";
        write_parquet(&path, schema, std::slice::from_ref(&texts), properties);
        let (found, _) = read(&path, CorpusOptions::default()).unwrap();
        assert_eq!(found.len(), 1000, "{compression}");
        assert_eq!(found[999], ("1000".to_owned(), "two".to_owned()), "{compression}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_columns_of_every_kind_of_text_are_read() {
    use ::parquet::file::metadata::KeyValue;
    use ::parquet::file::properties::WriterProperties;
    use docsphere_testkit::parquet_files::{Values, write_parquet};

    let folder = Folder::new();
    let path = folder.0.path().join("d.parquet");
    let some = |texts: [Option<&str>; 3]| Values::some_texts(texts.map(|text| text.map(str::to_owned)));
    let schema = "optional binary text (UTF8); required int64 other; required binary large (UTF8); \
         optional binary kind (UTF8); required boolean flag;";
    let columns = [
        some([Some("one"), None, Some("three")]),
        Values::int64([7, 8, 9]),
        Values::texts(["a", "b", "c"]),
        some([Some("x"), None, Some("x")]),
        Values::Bools([true, false, true].map(Some).to_vec()),
    ];
    // As Arrow adds it.
    let more = KeyValue::new("ARROW:schema".to_owned(), "a copy of the schema".to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![more]));
    write_parquet(&path, schema, &columns, properties.build());

    let options = |texts: &[&str], id: Option<&str>| CorpusOptions {
        text_fields: texts.iter().map(|&name| name.to_owned()).collect(),
        id_field: id.map(str::to_owned),
        ..CorpusOptions::default()
    };
    let (found, stats) = read(&path, CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("1", "one"), ("2", ""), ("3", "three")]));
    assert_eq!(stats.bytes_read, fs::metadata(&path).unwrap().len());
    let (found, _) = read(&path, options(&["large", "kind"], Some("other"))).unwrap();
    assert_eq!(found, pairs(&[("7", "a\nx"), ("8", "b\n"), ("9", "c\nx")]));
    let message = |options| folder.strip(&read(&path, options).unwrap_err());
    assert_eq!(
        message(options(&["body"], None)),
        "d.parquet: there is no field \"body\"; the fields are text, other, large, kind, flag; text_fields names the field to take"
    );
    assert_eq!(
        message(options(&["flag"], None)),
        "d.parquet: a column of type Boolean (flag) is not supported; text and ids are read from columns of strings or numbers"
    );
    fs::write(&path, "PAR1 not really").unwrap();
    assert_eq!(
        message(CorpusOptions::default()),
        "d.parquet: not valid Parquet: expected PAR1 as the last four bytes, found \"ally\"; is the file cut off?"
    );
}
