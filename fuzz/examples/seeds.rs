//! Writes the seeds of every target into `corpus/<target>/` in the folder that is named.

use std::fs;
use std::path::PathBuf;

use docsphere_fuzzed::{ScratchFile, TARGETS};

fn main() {
    let root = PathBuf::from(std::env::args_os().nth(1).expect("the folder of the fuzz targets"));
    for target in TARGETS {
        let folder = root.join("corpus").join(target.name);
        fs::create_dir_all(&folder).expect("a folder for seeds");
        let place = ScratchFile::new(target.name);
        for (number, seed) in (target.seeds)(place.folder()).iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:02}")), seed).expect("room for a seed");
        }
    }
    parquet_seeds::write(&root.join("corpus/parquet"));
}

/// Small files of every encoding, compression and version of pages.
mod parquet_seeds {
    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
    use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

    pub(super) fn write(folder: &Path) {
        let compressions = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::BROTLI(BrotliLevel::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
            Compression::ZSTD(ZstdLevel::default()),
        ];
        // Of texts and of integers; none: a dictionary.
        let encodings = [
            None,
            Some((Encoding::PLAIN, Encoding::PLAIN)),
            Some((Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BINARY_PACKED)),
            Some((Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT)),
        ];
        let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
        let mut number = 0;
        for compression in compressions {
            for encoding in encodings {
                for version in versions {
                    number += 1;
                    let properties = WriterProperties::builder()
                        .set_compression(compression)
                        .set_writer_version(version)
                        .set_statistics_enabled(EnabledStatistics::None)
                        .set_dictionary_enabled(encoding.is_none())
                        .set_max_row_group_row_count(Some(7));
                    let properties = match encoding {
                        None => properties,
                        Some((texts, integers)) => properties
                            .set_column_encoding("text".into(), texts)
                            .set_column_encoding("number".into(), integers)
                            .set_column_encoding("id".into(), integers),
                    };
                    write_file(
                        &folder.join(format!("seed-{number:02}")),
                        properties.build(),
                        number % 2 == 0,
                    );
                }
            }
        }
    }

    fn write_file(path: &Path, properties: WriterProperties, with_nulls: bool) {
        let texts = (0..9).map(|row| match row {
            3 if with_nulls => None,
            row => Some(["apple tart", "apple pie", "", "plum", "plûm jam €"][row % 5]),
        });
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("text", Arc::new(StringArray::from_iter(texts))),
            ("number", Arc::new(Int64Array::from_iter_values((0..9).map(|row| row * row - 5)))),
            ("real", Arc::new(Float64Array::from_iter_values((0..9).map(|row| f64::from(row) / 4.0)))),
        ];
        if !with_nulls {
            columns.push(("id", Arc::new(UInt32Array::from_iter_values(10..19))));
        }
        let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
        let file = File::create(path).expect("a file");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
        writer.write(&batch).expect("rows");
        writer.close().expect("a footer");
    }
}
