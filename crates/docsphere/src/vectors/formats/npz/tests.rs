use super::super::trials;
use super::*;

/// An array file: version 1, any type, any shape, any content.
fn npy(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    npy::write_header(&mut out, descr, shape).unwrap();
    out.extend_from_slice(elements);
    out
}

/// An archive of these members.
fn archive(members: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        archive.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// The members of `[[0, 2, 0], [1, 0, 3]]`.
fn members() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("indices.npy", npy("<i4", "(3,)", &[1i32, 0, 2].map(i32::to_le_bytes).concat())),
        ("indptr.npy", npy("<i4", "(3,)", &[0i32, 1, 3].map(i32::to_le_bytes).concat())),
        ("format.npy", npy("|S3", "()", b"csr")),
        ("shape.npy", npy("<i8", "(2,)", &[2i64, 3].map(i64::to_le_bytes).concat())),
        ("data.npy", npy("<f4", "(3,)", &[2f32, 1., 3.].map(f32::to_le_bytes).concat())),
    ]
}

/// [`members`] with one replaced.
fn with(name: &'static str, content: Vec<u8>) -> Vec<u8> {
    let mut members = members();
    members.iter_mut().find(|member| member.0 == name).unwrap().1 = content;
    archive(&members, CompressionMethod::Stored)
}

fn read_bytes(file: &[u8]) -> Result<SparseRows<'static>> {
    read_from(Cursor::new(file))
}

fn message(file: Vec<u8>) -> String {
    read_bytes(&file).unwrap_err().to_string()
}

fn expected() -> SparseRows<'static> {
    SparseRows::from_parts(3, vec![0, 1, 3], vec![1, 0, 2], vec![2., 1., 3.]).unwrap()
}

fn written(rows: &SparseRows<'_>) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    write_to(&mut out, rows).unwrap();
    out.into_inner()
}

#[test]
fn stored_and_deflated_archives_are_read_and_other_members_ignored() {
    let mut members = members();
    members.push(("_is_array.npy", npy("|b1", "()", &[1])));
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        assert_eq!(read_bytes(&archive(&members, method)).unwrap(), expected());
    }
}

#[test]
fn values_of_every_type_and_byte_order_are_read() {
    macro_rules! check {
        ($($type:ty, $code:literal;)*) => {$(
            let values = [2 as $type, 1 as $type, 3 as $type];
            let orders = [("<", values.map(<$type>::to_le_bytes)), (">", values.map(<$type>::to_be_bytes))];
            for (order, bytes) in orders {
                let file = with("data.npy", npy(&format!("{order}{}", $code), "(3,)", &bytes.concat()));
                assert_eq!(read_bytes(&file).unwrap(), expected(), "{order}{}", $code);
            }
        )*};
    }
    check! { i8, "i1"; i16, "i2"; i32, "i4"; i64, "i8"; u8, "u1"; u16, "u2"; u32, "u4"; u64, "u8"; }
    check! { f32, "f4"; f64, "f8"; }
    let negative = read_bytes(&with("data.npy", npy("|i1", "(3,)", &[0xff, 0xfe, 0xfd]))).unwrap();
    assert_eq!(negative.values(), [-1., -2., -3.]);
    let large = [u64::MAX, 1 << 40, 3].map(u64::to_le_bytes);
    let large = read_bytes(&with("data.npy", npy("<u8", "(3,)", &large.concat()))).unwrap();
    assert_eq!(large.values(), [18446744073709551615f32, 1099511627776., 3.]);
    let bools = read_bytes(&with("data.npy", npy("|b1", "(3,)", &[1, 0, 1]))).unwrap();
    assert_eq!(
        (bools.offsets(), bools.terms(), bools.values()),
        (&[0, 1, 2][..], &[1, 2][..], &[1., 1.][..])
    );
}

#[test]
fn indices_and_offsets_of_every_integer_type_are_read() {
    macro_rules! check {
        ($($type:ty, $code:literal;)*) => {$(
            for (name, values) in [("indices.npy", [1 as $type, 0, 2]), ("indptr.npy", [0, 1, 3])] {
                let orders =
                    [("<", values.map(<$type>::to_le_bytes)), (">", values.map(<$type>::to_be_bytes))];
                for (order, bytes) in orders {
                    let file = with(name, npy(&format!("{order}{}", $code), "(3,)", &bytes.concat()));
                    assert_eq!(read_bytes(&file).unwrap(), expected(), "{name} {order}{}", $code);
                }
            }
        )*};
    }
    check! { i8, "i1"; i16, "i2"; i32, "i4"; i64, "i8"; u8, "u1"; u16, "u2"; u32, "u4"; u64, "u8"; }
}

#[test]
fn headers_of_all_versions_and_spellings_are_read() {
    let data = [2f32, 1., 3.].map(f32::to_le_bytes).concat();
    let spellings = [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n",
        "{\"shape\":(3),\"fortran_order\":True,\"descr\":\"<f4\"}",
        " { 'shape' : ( 3L , ) , 'descr' : '<f4' , 'fortran_order' : False }   \n",
    ];
    for text in spellings {
        let length = text.len() as u32;
        for (version, length) in [
            (1, length.to_le_bytes()[..2].to_vec()),
            (2, length.to_le_bytes().to_vec()),
            (3, length.to_le_bytes().to_vec()),
        ] {
            let array = [b"\x93NUMPY", &[version, 0][..], &length, text.as_bytes(), &data].concat();
            assert_eq!(
                read_bytes(&with("data.npy", array)).unwrap(),
                expected(),
                "{text} in version {version}"
            );
        }
    }
    for (descr, bytes) in
        [("<U3", "c\0\0\0s\0\0\0r\0\0\0"), (">U3", "\0\0\0c\0\0\0s\0\0\0r"), ("|S5", "csr\0\0")]
    {
        let file = with("format.npy", npy(descr, "()", bytes.as_bytes()));
        assert_eq!(read_bytes(&file).unwrap(), expected(), "{descr}");
    }
}

#[test]
fn arrays_longer_than_the_rows_need_are_cut() {
    let mut members = members();
    members[0].1 = npy("<i8", "(4,)", &[1i64, 0, 2, -7].map(i64::to_le_bytes).concat());
    members[4].1 = npy("<f8", "(4,)", &[2f64, 1., 3., 1e300].map(f64::to_le_bytes).concat());
    assert_eq!(read_bytes(&archive(&members, CompressionMethod::Stored)).unwrap(), expected());
}

#[test]
fn other_layouts_and_types_are_unsupported() {
    for layout in ["csc", "coo", "bsr", "dia"] {
        assert_eq!(
            message(with("format.npy", npy("|S3", "()", layout.as_bytes()))),
            format!(
                "a SciPy matrix in the layout \"{layout}\" is not supported; \
                 convert it with .tocsr() before it is saved"
            )
        );
    }
    for descr in ["<c8", "<f2", "<f16", "|O", "<M8[ns]", "=f4", "|f4", "<b2", "", "<", "<f", "<f-4"] {
        assert_eq!(
            message(with("data.npy", npy(descr, "(3,)", &[0; 12]))),
            format!(
                "an array of type {} in data.npy is not supported; convert it with .astype(\"float32\")",
                excerpt(descr.as_bytes())
            )
        );
    }
    let records =
        b"\x93NUMPY\x01\x00\x40\x00{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}  ";
    assert!(
        message(with("data.npy", records.to_vec()))
            .starts_with("an array of records in data.npy is not supported")
    );
}

#[test]
fn missing_members_are_named() {
    for index in 0..5 {
        let mut members = members();
        let (name, _) = members.remove(index);
        assert_eq!(
            message(archive(&members, CompressionMethod::Stored)),
            format!("not valid SciPy npz: expected an array {name} in the archive, found none of that name")
        );
    }
}

#[test]
fn arrays_that_contradict_each_other_are_refused() {
    let integers = |numbers: &[i64]| {
        let bytes: Vec<_> = numbers.iter().map(|number| number.to_le_bytes()).collect();
        npy("<i8", &format!("({},)", numbers.len()), &bytes.concat())
    };
    let malformed =
        |expected: &str, found: &str| format!("not valid SciPy npz: expected {expected}, found {found}");
    let structure = |problem: &str| format!("not a valid sparse matrix: {problem}");
    let too_large =
        |what: &str, limit: u64| format!("the number of {what} is limited to {limit}, got {}", 1u64 << 40);
    let range = |row: u64, term: u64, n: u64| {
        format!("row {row}: term id {term} is out of range: ids run from 0 to {}", n - 1)
    };
    let cases = [
        ("shape.npy", integers(&[2, 3, 4]), malformed("2 numbers in shape.npy", "3")),
        ("shape.npy", integers(&[-2, 3]), malformed("numbers of at least 0 in shape.npy", "-2")),
        ("shape.npy", integers(&[1 << 40, 3]), too_large("rows", 1 << 30)),
        ("shape.npy", integers(&[2, 1 << 40]), too_large("terms", 1 << 28)),
        ("shape.npy", integers(&[3, 3]), malformed("4 offsets in indptr.npy, one more than rows", "3")),
        ("shape.npy", integers(&[2, 2]), range(1, 2, 2)),
        ("indices.npy", integers(&[1, 0, 1 << 40]), range(1, 1 << 40, 3)),
        (
            "indices.npy",
            integers(&[-1, 0, 2]),
            malformed("indices of at least 0 in indices.npy", "-1 in row 0"),
        ),
        (
            "indices.npy",
            integers(&[1, 0]),
            malformed("2 values in data.npy, one for each of indices.npy", "3"),
        ),
        ("indptr.npy", integers(&[0, -1, 3]), malformed("offsets of at least 0 in indptr.npy", "-1")),
        (
            "indptr.npy",
            integers(&[0, 1, 4]),
            structure("the last offset should be 3, the number of nonzeros, got 4"),
        ),
        (
            "indptr.npy",
            integers(&[0, 9, 3]),
            structure("each offset should be at least the one before it, got 3 after 9 at row 1"),
        ),
        ("indptr.npy", integers(&[1, 1, 3]), structure("the first offset should be 0, got 1")),
        (
            "indptr.npy",
            npy("<f8", "(3,)", &[0; 24]),
            malformed("an array of integers in indptr.npy", "another type"),
        ),
        (
            "data.npy",
            npy("<f4", "(3, 1)", &[0; 12]),
            malformed("a one-dimensional array in data.npy", "one with 2 dimensions"),
        ),
        ("data.npy", npy("|S4", "(3,)", &[0; 12]), malformed("an array of numbers in data.npy", "strings")),
        (
            "format.npy",
            npy("<i8", "()", &[0; 8]),
            malformed("a short string in format.npy", "something else"),
        ),
    ];
    for (member, content, expected) in cases {
        assert_eq!(message(with(member, content)), expected);
    }
}

#[test]
fn values_that_are_not_finite_in_32_bits_are_refused_with_their_place() {
    let doubles =
        |numbers: [f64; 3]| with("data.npy", npy("<f8", "(3,)", &numbers.map(f64::to_le_bytes).concat()));
    assert_eq!(
        message(doubles([1., 1., -1e39])),
        "row 1: the value -1000000000000000000000000000000000000000 of term 2 is too large for a 32-bit float"
    );
    assert_eq!(
        message(doubles([f64::NAN, 1., 1.])),
        "row 0: the value of term 1 is NaN; values must be finite"
    );
    assert_eq!(
        message(doubles([1., f64::INFINITY, 1.])),
        "row 1: the value of term 0 is inf; values must be finite"
    );
}

#[test]
fn damaged_arrays_are_refused() {
    let name = "not valid SciPy npz: expected";
    let header =
        |length: u32, text: &str| [b"\x93NUMPY\x02\x00", &length.to_le_bytes()[..], text.as_bytes()].concat();
    let quoted =
        |text: &str| format!("{name} a NumPy array in data.npy, found a header {}", excerpt(text.as_bytes()));
    let mut cases = vec![
        (Vec::new(), format!("{name} a NumPy array in data.npy, found a file that begins \"\"")),
        (
            b"PK\x03\x04 something".to_vec(),
            format!("{name} a NumPy array in data.npy, found a file that begins \"PK\\u{{3}}\\u{{4}} som\""),
        ),
        (
            b"\x93NUMPY\x09\x00".to_vec(),
            format!("{name} a NumPy array in data.npy, found version 9 of the .npy format"),
        ),
        (
            header(u32::MAX, ""),
            format!("{name} a NumPy array in data.npy, found a header of 4294967295 bytes"),
        ),
        (header(100, "{"), format!("{name} undamaged data in data.npy, found failed to fill whole buffer")),
        (npy("<f4", "(3,)", &[0; 11]), format!("{name} 3 elements in data.npy, found 2")),
        (npy("<f4", "(3,)", &[0; 13]), format!("{name} 3 elements in data.npy, found more")),
        (
            npy("<f4", "(18446744073709551615,)", &[0; 12]),
            format!("{name} 18446744073709551615 elements in data.npy, found 3"),
        ),
    ];
    for text in [
        "",
        "nonsense",
        "{",
        "{}",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'shape': (3,), 'fortran_order': maybe}",
        "{'descr': '<f4', 'shape': (-3,), 'fortran_order': False}",
        "{'descr': '<f4', 'shape': (99999999999999999999,), 'fortran_order': False}",
        "{'descr': '<f4', 'shape': (3,), 'fortran_order': False, 'more': 1}",
        "{'descr': '<f4', 'shape': (3,), 'fortran_order': False} more",
        "{'descr': '<f4', 'shape': (3 3), 'fortran_order': False}",
        "{'descr': '<f4",
    ] {
        cases.push((header(text.len() as u32, text), quoted(text)));
    }
    for (array, expected) in cases {
        assert_eq!(message(with("data.npy", array)), expected);
    }
}

#[test]
fn what_is_no_archive_is_refused() {
    assert_eq!(message(Vec::new()), "not valid SciPy npz: expected a zip archive, found an empty file");
    let text = message(b"%%MatrixMarket matrix coordinate real general\n1 1 0\n".to_vec());
    assert!(
        text.starts_with("not valid SciPy npz: expected a zip archive, found invalid Zip archive"),
        "{text}"
    );
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    for (_, rows) in trials::matrices() {
        assert_eq!(written(&rows), written(&rows));
    }
}

#[test]
fn damaged_archives_never_panic_and_are_never_taken_for_other_data() {
    let (_, rows) = trials::matrices().pop().unwrap();
    let stored = archive(&members(), CompressionMethod::Stored);
    for (file, rows) in [(written(&rows), rows), (stored, expected())] {
        assert_eq!(trials::accepted_prefixes(&file, read_bytes), [0; 0]);
        for survivor in trials::survivors(&file, 1, read_bytes) {
            assert_eq!(survivor, rows);
        }
        trials::survivors(&file, 8, read_bytes);
    }
}

#[test]
fn changed_bytes_behind_the_checksum_never_panic() {
    // The zip checksum shields the arrays from the changes above, so change the arrays and archive
    // them again.
    for (name, content) in members() {
        trials::accepted_prefixes(&content, |array| read_bytes(&with(name, array.to_vec())));
        trials::survivors(&content, 4, |array| read_bytes(&with(name, array.to_vec())));
    }
}

/// A disk that is full after some bytes.
struct FullDisk {
    file: Cursor<Vec<u8>>,
    room: u64,
}

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.position() + bytes.len() as u64 > self.room {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no room left"));
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for FullDisk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn a_full_disk_is_reported_wherever_it_happens() {
    let whole = written(&expected());
    for room in 0..whole.len() as u64 {
        let error = write_to(FullDisk { file: Cursor::default(), room }, &expected()).unwrap_err();
        assert_eq!(error.to_string(), "cannot write: no room left", "room for {room} bytes");
    }
    let mut disk = FullDisk { file: Cursor::default(), room: whole.len() as u64 };
    write_to(&mut disk, &expected()).unwrap();
    assert_eq!(disk.file.into_inner(), whole);
}
