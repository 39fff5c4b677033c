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
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
    use ::parquet::file::properties::WriterProperties;
    use arrow_array::{ArrayRef, RecordBatch, StringArray};

    let folder = Folder::new();
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(["one", "two"].repeat(500)));
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
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
        let file = fs::File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let (found, _) = read(&path, CorpusOptions::default()).unwrap();
        assert_eq!(found.len(), 1000, "{compression}");
        assert_eq!(found[999], ("1000".to_owned(), "two".to_owned()), "{compression}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_columns_of_every_kind_of_text_are_read() {
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray};

    let folder = Folder::new();
    let path = folder.0.path().join("d.parquet");
    let dictionary: DictionaryArray<Int32Type> = [Some("x"), None, Some("x")].into_iter().collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("text", Arc::new(StringArray::from(vec![Some("one"), None, Some("three")]))),
        ("other", Arc::new(Int64Array::from(vec![7, 8, 9]))),
        ("large", Arc::new(LargeStringArray::from(vec!["a", "b", "c"]))),
        ("kind", Arc::new(dictionary)),
        ("flag", Arc::new(arrow_array::BooleanArray::from(vec![true, false, true]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();

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
