//! Folders, single documents and mailboxes.

use super::*;

#[test]
fn a_folder_is_read_by_path_in_order() {
    let folder = Folder::new();
    for (name, text) in [
        ("c/b.txt", "two"),
        ("c/a.txt.gz", "one"),
        ("c/d/e.md", "three"),
        ("c/.hidden", "no"),
        ("c/.git/x", "no"),
    ] {
        folder.file(name, text);
    }
    let root = folder.0.path().join("c");
    let (found, _) = read(&root, CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("a.txt.gz", "one"), ("b.txt", "two"), ("d/e.md", "three")]));
    let options = CorpusOptions { glob: Some("*.txt".to_owned()), ..CorpusOptions::default() };
    assert_eq!(read(&root, options).unwrap().0, pairs(&[("b.txt", "two")]));
}

#[test]
fn files_of_a_folder_are_read_by_content() {
    let folder = Folder::new();
    for (name, content) in [
        ("c/a.md", &b"# Title\ntext"[..]),
        ("c/b", b"<!doctype html><title>Page</title><p>body &amp; soul</p>"),
        ("c/c.txt", b"caf\xe9 au lait, cr\xe8me br\xfbl\xe9e"),
        ("c/d.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("c/e.txt", b"\xff\xd8\xff\xe0\0\x10JFIF"),
        ("c/f.txt", b"a\0\x01b"),
        ("c/g.zip", b"PK\x03\x04\x14\0\0\0a.txt"),
        ("c/h.mp3", b"ID3\x03\0\0\0"),
        ("c/i", b""),
    ] {
        folder.file(name, content);
    }
    let (found, stats) = read(&folder.0.path().join("c"), CorpusOptions::default()).unwrap();
    assert_eq!(
        found,
        pairs(&[
            ("a.md", "# Title\ntext"),
            ("b", "Page\nbody & soul"),
            ("c.txt", "caf\u{e9} au lait, cr\u{e8}me br\u{fb}l\u{e9}e"),
            ("i", ""),
        ])
    );
    let skipped = stats.skipped;
    assert_eq!((skipped.n_images, skipped.n_media, skipped.n_archives, skipped.n_binaries), (2, 1, 1, 1));
    // Kinds that are not read are refused by name, or skipped on demand.
    let rtf = folder.file("c/j.rtf", "{\\rtf1");
    let message = folder.strip(&read(rtf.parent().unwrap(), CorpusOptions::default()).unwrap_err());
    assert!(
        message.starts_with(
            "c/j.rtf: a file of the kind RTF is not supported; convert the file, for example with LibreOffice "
        ),
        "{message}"
    );
    let (found, stats) = read(rtf.parent().unwrap(), skipping()).unwrap();
    assert_eq!((found.len(), stats.n_bad_records), (4, 1));
}

#[test]
fn single_documents_are_inputs_of_their_own() {
    let folder = Folder::new();
    let paths = [
        folder.file("x/a.md", "one"),
        folder.file("y/a.md", "two"),
        folder.file("b.html.gz", "<p>three</p>"),
        folder.file("c.txt", "four\nfive"),
    ];
    let corpus = Corpus::open(&paths, CorpusOptions::default()).unwrap();
    let (found, _) = read_all(&corpus).unwrap();
    let found: Pairs = found
        .into_iter()
        .map(|(id, text)| (id.replace(&format!("{}/", folder.0.path().display()), ""), text))
        .collect();
    let expected = pairs(&[
        ("x/a.md", "one"),
        ("y/a.md", "two"),
        ("b.html.gz", "three"),
        ("c.txt:1", "four"),
        ("c.txt:2", "five"),
    ]);
    assert_eq!(found, expected);
    let mut pieces = corpus.pieces(3).unwrap();
    let n_lines: Vec<_> = pieces.iter().map(|piece| piece.count_lines().unwrap()).collect();
    CorpusPiece::number_lines(&mut pieces, &n_lines).unwrap();
    let texts: Vec<String> = pieces
        .into_iter()
        .flat_map(|piece| {
            read_all(&Corpus::from_pieces(&[piece], CorpusOptions::default()).unwrap()).unwrap().0
        })
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["one", "two", "three", "four", "five"]);
    let alone = Corpus::open([&paths[0]], CorpusOptions::default()).unwrap();
    assert_eq!(read_all(&alone).unwrap().0, pairs(&[("a.md", "one")]));
}

#[cfg(feature = "mail")]
#[test]
fn bad_messages_are_named_by_their_line() {
    let folder = Folder::new();
    let from = "From a@b Mon Jan  1 00:00:00 2024\n";
    let good = format!("{from}Subject: cats\n\nbody\n\n");
    // The last one has nothing but the line before it.
    let mailbox = format!("\n{good}{good}{from}");
    let path = folder.file("d.mbox", &mailbox);
    let message = folder.strip(&read(&path, CorpusOptions::default()).unwrap_err());
    assert!(message.starts_with("d.mbox:12: "), "{message}");
    let (found, stats) = read(&path, skipping()).unwrap();
    let named: Vec<String> = stats.bad_records.iter().map(|place| place.to_string()).collect();
    assert_eq!((found.len(), named), (2, vec![format!("{}:12", path.display())]));
}

#[cfg(feature = "mail")]
#[test]
fn mailboxes_are_read_message_by_message() {
    let folder = Folder::new();
    let message = |number: usize| {
        format!(
            "From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: number {number}\n\nbody\n> quoted\n\n"
        )
    };
    let mailbox: String = (1..=20).map(message).collect();
    let (found, _) = read(&folder.file("d.mbox", &mailbox), CorpusOptions::default()).unwrap();
    assert_eq!(found.len(), 20);
    assert_eq!(found[19], ("20".to_owned(), "number 20\nbody".to_owned()));
    let options = CorpusOptions::default().keep_quotes(true);
    assert_eq!(
        read(&folder.file("d.mbox.gz", &mailbox), options).unwrap().0[0].1,
        "number 1\nbody\n> quoted"
    );
    folder.file("c/inbox", &mailbox);
    folder.file("c/one.eml", &message(7)[34..]);
    let (found, _) = read(&folder.0.path().join("c"), CorpusOptions::default()).unwrap();
    assert_eq!((found.len(), &found[1].0[..], &found[20].0[..]), (21, "inbox#2", "one.eml"));
    assert_eq!(found[20].1, "number 7\nbody");
}

#[test]
fn damaged_files_of_a_folder_are_named_or_skipped_and_counted() {
    let folder = Folder::new();
    folder.file("c/a.txt", "one");
    let whole = fs::read(folder.file("x.txt.gz", "many words ".repeat(100))).unwrap();
    fs::write(folder.0.path().join("c/b.txt.gz"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.0.path().join("c/c.gz"), [0x1f, 0x8b, 8, 0, 0]).unwrap();
    folder.file("c/d.rtf", "{\\rtf1");
    folder.file("c/e.txt", "two");
    let root = folder.0.path().join("c");
    let message = folder.strip(&read(&root, CorpusOptions::default()).unwrap_err());
    assert!(message.starts_with("c/b.txt.gz: not valid gzip: "), "{message}");
    let (found, stats) = read(&root, skipping()).unwrap();
    assert_eq!(found, pairs(&[("a.txt", "one"), ("e.txt", "two")]));
    let named: Vec<String> = stats.bad_records.iter().map(|place| place.to_string()).collect();
    let expected = ["b.txt.gz", "c.gz", "d.rtf"].map(|name| root.join(name).display().to_string());
    assert_eq!((stats.n_bad_records, named), (3, expected.to_vec()));
}

#[cfg(feature = "office")]
#[test]
fn documents_that_expand_to_too_much_are_skipped_and_counted() {
    use std::io::Write;

    let folder = Folder::new();
    folder.file("c/a.txt", "one");
    let mut writer = zip::ZipWriter::new(fs::File::create(folder.0.path().join("c/bomb.docx")).unwrap());
    writer.start_file("word/document.xml", zip::write::SimpleFileOptions::default()).unwrap();
    let blanks = vec![b' '; 1 << 20];
    (0..65).for_each(|_| writer.write_all(&blanks).unwrap());
    writer.finish().unwrap();
    let root = folder.0.path().join("c");
    let corpus = |options| Corpus::open([&root], options).unwrap();
    let message = folder.strip(&read_all(&corpus(CorpusOptions::default())).unwrap_err());
    assert!(
        message.starts_with("c/bomb.docx: the size in bytes of a part of a document is limited"),
        "{message}"
    );
    let (found, stats) = read_all(&corpus(skipping())).unwrap();
    assert_eq!((found, stats.n_bad_records), (pairs(&[("a.txt", "one")]), 1));
}

#[test]
fn what_is_done_with_the_documents_is_no_matter_of_bad_files() {
    let folder = Folder::new();
    folder.file("c/a.txt", "one");
    let corpus = Corpus::open([folder.0.path().join("c")], skipping()).unwrap();
    struct Failing;
    impl ChunkWork for Failing {
        type Output = ();
        fn start(&self) {}
        fn document(&self, (): &mut (), _: Document<'_>) -> Result<()> {
            Err(crate::Error::io("write", std::io::Error::other("the disk is full")))
        }
        fn finish(&self, (): &mut ()) -> Result<()> {
            Ok(())
        }
        fn bytes_per_byte(&self) -> u64 {
            0
        }
    }
    let read = corpus.map_chunks(&mut crate::observer::Silent, &Failing, |()| Ok(ControlFlow::Continue(())));
    assert_eq!(folder.strip(&read.unwrap_err()), "c/a.txt: cannot write: the disk is full");
}

#[cfg(unix)]
#[test]
fn links_to_files_are_followed_and_others_counted() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    folder.file("c/a.txt", "one");
    folder.file("d/b.txt", "two");
    let root = folder.0.path().join("c");
    symlink(folder.0.path().join("d/b.txt"), root.join("file")).unwrap();
    symlink(folder.0.path().join("d"), root.join("folder")).unwrap();
    symlink(&root, root.join("cycle")).unwrap();
    symlink("nowhere", root.join("broken")).unwrap();
    let (found, stats) = read(&root, CorpusOptions::default()).unwrap();
    assert_eq!(found, pairs(&[("a.txt", "one"), ("file", "two")]));
    assert_eq!(stats.skipped.n_links, 3);
    assert_eq!(stats.skipped.first, ["broken", "cycle", "folder"].map(|name| root.join(name)));
}

#[cfg(unix)]
#[test]
fn sockets_are_counted_and_names_that_are_not_utf8_are_in_order() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = Folder::new();
    let root = folder.0.path().join("c");
    fs::create_dir(&root).unwrap();
    let names = [&b"\xff.txt"[..], b"\x80.txt", b"\xc3.txt", b"\xa0.txt", b"\xfe.txt"];
    for name in names {
        fs::write(root.join(OsStr::from_bytes(name)), format!("{name:?}")).unwrap();
    }
    let socket = std::os::unix::net::UnixListener::bind(root.join("socket"));
    let (found, stats) = read(&root, CorpusOptions::default()).unwrap();
    let mut sorted = names;
    sorted.sort_unstable();
    let expected = sorted.map(|name| ("\u{fffd}.txt".to_owned(), format!("{name:?}")));
    assert_eq!(found, expected);
    let is_socket = socket.is_ok();
    assert_eq!(stats.skipped.n_special, u64::from(is_socket));
    assert_eq!(stats.skipped.first.len(), usize::from(is_socket));
}

#[test]
fn columns_of_a_folder_of_tables_are_those_of_the_tables() {
    let folder = Folder::new();
    folder.file("c/a.csv", "text,label\none,x\ntwo,y\n");
    folder.file("c/b.csv", "text,label\nthree,x\n");
    let root = folder.0.path().join("c");
    let kept = |name: &str| {
        let options = CorpusOptions::default().keep(Keep::Named(vec![name.to_owned()]));
        let corpus = Corpus::open([&root], options)?;
        let mut values = Vec::new();
        corpus.for_each_document(|document| values.push(document.kept.values()[0].1.to_owned()))?;
        Ok::<_, crate::Error>(values)
    };
    assert_eq!(kept("label").unwrap(), ["x", "y", "x"]);
    let message = folder.strip(&kept("none").unwrap_err());
    assert!(
        message.starts_with("c/a.csv:1: there is no field \"none\"; the fields are text, label;"),
        "{message}"
    );
}

#[test]
fn a_folder_of_tables_is_read_record_by_record() {
    let folder = Folder::new();
    folder.file("c/a.csv", "text,n\none,1\ntwo,2\n");
    folder.file("c/sub/b.jsonl.gz", "{\"text\":\"three\"}\n{\"text\":\"four\",\"id\":\"own\"}\n");
    let root = folder.0.path().join("c");
    let expected = [("a.csv:1", "one"), ("a.csv:2", "two"), ("sub/b.jsonl.gz:1", "three"), ("own", "four")];
    let (found, stats) = read(&root, CorpusOptions::default()).unwrap();
    assert_eq!((found, stats.n_whole_tables), (pairs(&expected), 0));
    let corpus = Corpus::open([&root], CorpusOptions::default()).unwrap();
    let pieces = corpus.pieces(1).unwrap();
    let part = Corpus::from_pieces(&pieces, CorpusOptions::default()).unwrap();
    assert_eq!(read_all(&part).unwrap().0, pairs(&expected));
    // The format of all can be stated, also that they are documents.
    let stated = |format| read(&root, CorpusOptions::default().format(format)).unwrap();
    assert_eq!(stated(CorpusFormat::Lines).0[0], ("a.csv:1".to_owned(), "text,n".to_owned()));
    let (found, stats) = stated(CorpusFormat::Folder);
    assert_eq!((found.len(), &found[0].1[..], stats.n_whole_tables), (2, "text,n\none,1\ntwo,2\n", 2));
    // Beside other files, a table is a document.
    folder.file("c/z.txt", "five");
    let (found, stats) = read(&root, CorpusOptions::default()).unwrap();
    assert_eq!((found.len(), stats.n_whole_tables), (3, 2));
    let only = read(&root, CorpusOptions::default().glob("*.csv")).unwrap().0;
    assert_eq!(only, pairs(&expected[..2]));
}
