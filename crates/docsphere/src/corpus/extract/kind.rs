//! What a file is, by its first bytes. Its name decides only between kinds of text.

use std::path::Path;

use infer::MatcherType;

use crate::corpus::encoding::is_binary;

/// First bytes of a file by which its kind is found.
pub(in crate::corpus) const SAMPLE_BYTES: usize = 1 << 13;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::corpus) enum Kind {
    /// Text in any encoding, HTML and Markdown included.
    Text,
    /// A mail message.
    Message,
    /// Messages one after the other.
    Mailbox,
    Docx,
    Odt,
    Epub,
    Pdf,
    /// A document of a kind that is not read, and a program that converts it.
    Other {
        name: &'static str,
        tool: &'static str,
    },
    Skipped(Skipped),
}

/// Kinds of files that hold no text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::corpus) enum Skipped {
    Image,
    /// Sound or film.
    Media,
    Archive,
    /// Programs, fonts, databases.
    Binary,
}

const OFFICE: &str = "LibreOffice (soffice --headless --convert-to txt)";

/// Fields at the beginning of a message: two of them show that a text is one.
const MAIL_FIELDS: [&str; 12] = [
    "date",
    "delivered-to",
    "from",
    "in-reply-to",
    "message-id",
    "mime-version",
    "newsgroups",
    "received",
    "reply-to",
    "return-path",
    "subject",
    "to",
];

/// Names of files that hold a single document each.
const SINGLE: [&str; 12] =
    ["doc", "docx", "eml", "epub", "htm", "html", "markdown", "md", "odt", "pdf", "rtf", "xhtml"];

/// Whether a file of this name is a document of its own, and no list of documents.
pub(in crate::corpus) fn is_single_document(path: &Path) -> bool {
    has_ending(path, &SINGLE)
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().unwrap_or_default();
    endings.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

impl Kind {
    /// The kind of a file that begins with these bytes.
    pub(in crate::corpus) fn of(sample: &[u8], path: &Path) -> Kind {
        let start = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
        if sample.len() >= 5 && sample[..sample.len().min(1024)].windows(5).any(|bytes| bytes == b"%PDF-") {
            return Kind::Pdf;
        }
        if start.starts_with(b"{\\rtf") {
            return Kind::Other { name: "RTF", tool: OFFICE };
        }
        if !is_binary(sample) {
            return kind_of_text(start, path);
        }
        if start.starts_with(b"PK\x03\x04") {
            return kind_of_archive(sample, path);
        }
        if start.starts_with(b"\xd0\xcf\x11\xe0") {
            return Kind::Other { name: "Microsoft Office before 2007, or encrypted", tool: OFFICE };
        }
        Kind::Skipped(match infer::get(sample).map(|found| found.matcher_type()) {
            Some(MatcherType::Image) => Skipped::Image,
            Some(MatcherType::Audio | MatcherType::Video) => Skipped::Media,
            Some(MatcherType::Archive) => Skipped::Archive,
            _ => Skipped::Binary,
        })
    }
}

fn kind_of_text(text: &[u8], path: &Path) -> Kind {
    if has_ending(path, &["eml"]) {
        return Kind::Message;
    }
    if has_ending(path, &["svg"]) {
        return Kind::Skipped(Skipped::Image);
    }
    let begins_mailbox = text.starts_with(b"From ");
    let lines = text.split(|&byte| byte == b'\n').skip(usize::from(begins_mailbox));
    let mut n_fields = 0;
    for line in lines.take_while(|line| !line.trim_ascii().is_empty()) {
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            continue; // the rest of a field
        }
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { break };
        if !line[..colon].iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            break;
        }
        n_fields +=
            usize::from(MAIL_FIELDS.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(&line[..colon])));
    }
    match (n_fields, begins_mailbox) {
        (2.., true) => Kind::Mailbox,
        (2.., false) if !has_ending(path, &["md", "markdown", "yml", "yaml", "json"]) => Kind::Message,
        _ if has_ending(path, &["mbox", "mbx"]) && begins_mailbox => Kind::Mailbox,
        _ => Kind::Text,
    }
}

fn kind_of_archive(sample: &[u8], path: &Path) -> Kind {
    let has = |name: &str| memchr::memmem::find(sample, name.as_bytes()).is_some();
    let is = |name: &str, ending: &str| has(name) || has_ending(path, &[ending]);
    if is("mimetypeapplication/epub+zip", "epub") {
        Kind::Epub
    } else if is("mimetypeapplication/vnd.oasis.opendocument.text", "odt") {
        Kind::Odt
    } else if is("word/", "docx") {
        Kind::Docx
    } else if has("xl/") || has("mimetypeapplication/vnd.oasis.opendocument.spreadsheet") {
        Kind::Other {
            name: "spreadsheet within a folder (give it as an input of its own)",
            tool: "LibreOffice (soffice --headless --convert-to csv)",
        }
    } else if has("ppt/") || has("mimetypeapplication/vnd.oasis.opendocument") {
        Kind::Other { name: "presentation or drawing", tool: OFFICE }
    } else {
        Kind::Skipped(Skipped::Archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_what_a_file_is() {
        let kind = |bytes: &[u8], name: &str| Kind::of(bytes, Path::new(name));
        let utf16: Vec<u8> = "It\u{2019}s a text of \u{201c}Windows\u{201d}, \u{420}\u{443}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for (bytes, name) in [
            (&b""[..], "a"),
            (b"BMW makes cars", "a.bmp"),
            (b"caf\xe9 cr\xe8me", "a"),
            (b"\xff\xfea\0b\0", "a"),
            (b"a\0b\0\n\0", "a"),
            (&utf16, "a"),
            (&b"\x1b$BEl5~\x1b(B"[..], "a"),
            (b"To do: buy milk\nSubject matter\n", "a"),
            (b"From here on\nit is text\n", "a.txt"),
            (b"From: a\nSubject: b\n\nx", "a.md"),
            (b"<svg", "a.html"),
        ] {
            assert_eq!(kind(bytes, name), Kind::Text, "{name}: {bytes:?}");
        }
        // A few control characters are no reason to leave a text out.
        let dos =
            [&b"A text of an old program, with its own mark at the end.\r\n".repeat(3)[..], b"\x1a"].concat();
        assert_eq!(kind(&dos, "a.txt"), Kind::Text);
        let mail = b"Received: x\r\n y\r\nSubject: hi\r\n\r\nbody";
        assert_eq!(kind(mail, "1234"), Kind::Message);
        assert_eq!(kind(&[b"From a@b Mon Jan 1\n", &mail[..]].concat(), "inbox"), Kind::Mailbox);
        assert_eq!(kind(b"x", "a.eml"), Kind::Message);
        let skipped = |bytes: &[u8]| match kind(bytes, "a.txt") {
            Kind::Skipped(skipped) => skipped,
            kind => panic!("{kind:?}"),
        };
        assert_eq!(skipped(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Skipped::Image);
        assert_eq!(skipped(b"\xff\xd8\xff\xe0\0\x10JFIF"), Skipped::Image);
        assert_eq!(skipped(b"ID3\x03\0\0\0"), Skipped::Media);
        assert_eq!(skipped(b"7z\xbc\xaf\x27\x1c\0\x04"), Skipped::Archive);
        assert_eq!(skipped(b"PK\x03\x04\x14\0\0\0a.txt"), Skipped::Archive);
        assert_eq!(skipped(b"\x7fELF\x02\x01\x01\0"), Skipped::Binary);
        assert_eq!(skipped(b"anything\0at all"), Skipped::Binary);
        for (bytes, name) in [
            (&b"{\\rtf1"[..], "RTF"),
            (b"PK\x03\x04\0xl/workbook.xml", "spreadsheet within a folder (give it as an input of its own)"),
        ] {
            assert!(matches!(kind(bytes, "a"), Kind::Other { name: found, .. } if found == name), "{name}");
        }
        assert_eq!(kind(b"%PDF-1.4\n", "a"), Kind::Pdf);
        assert_eq!(kind(b"PK\x03\x04\0\0word/document.xml", "a"), Kind::Docx);
        assert!(is_single_document(Path::new("a.PDF")) && !is_single_document(Path::new("a.csv")));
    }
}
