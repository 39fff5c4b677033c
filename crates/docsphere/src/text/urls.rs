//! Finds web addresses, so that they can be left out.
//!
//! An address begins with `http://` or `https://` anywhere, or with `www.` at the start of a word;
//! it ends before the next white space or one of `<>"`. Addresses without any of these prefixes
//! (`example.org/x`) count as words.

use memchr::memmem;

/// Calls `piece` for each stretch of text between web addresses.
pub(super) fn between_urls<'a>(text: &'a str, mut piece: impl FnMut(&'a str)) {
    let mut from = 0;
    while let Some((start, end)) = next_url(text, from) {
        piece(&text[from..start]);
        from = end;
    }
    piece(&text[from..]);
}

/// The first address at or after `from`, as a range of bytes.
fn next_url(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let start = match (scheme(bytes, from), www(bytes, from)) {
        (Some(a), Some(b)) => a.min(b),
        (a, b) => a.or(b)?,
    };
    let end = bytes[start..].iter().position(|&b| b.is_ascii_whitespace() || matches!(b, b'<' | b'>' | b'"'));
    Some((start, end.map_or(bytes.len(), |length| start + length)))
}

/// Start of the next `http://` or `https://`.
fn scheme(bytes: &[u8], from: usize) -> Option<usize> {
    let mut search = from;
    loop {
        let mark = search + memmem::find(&bytes[search..], b"://")?;
        let before = &bytes[from..mark];
        for scheme in [&b"https"[..], b"http"] {
            if let Some(start) = before.len().checked_sub(scheme.len())
                && before[start..].eq_ignore_ascii_case(scheme)
            {
                return Some(from + start);
            }
        }
        search = mark + 3;
    }
}

/// Start of the next `www.` at the start of a word.
fn www(bytes: &[u8], from: usize) -> Option<usize> {
    let find = |needle: &[u8]| {
        let mut search = from;
        loop {
            let start = search + memmem::find(&bytes[search..], needle)?;
            if start == 0 || !(bytes[start - 1].is_ascii_alphanumeric() || bytes[start - 1] >= 0x80) {
                return Some(start);
            }
            search = start + needle.len();
        }
    };
    match (find(b"www."), find(b"WWW.")) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(text: &str) -> String {
        let mut rest = String::new();
        between_urls(text, |piece| rest.push_str(piece));
        rest
    }

    #[test]
    fn addresses_are_cut_out_up_to_white_space() {
        for (text, expected) in [
            ("", ""),
            ("no address", "no address"),
            ("see http://a.b/c?d=e#f now", "see  now"),
            ("HTTPS://X.Y", ""),
            ("gluedhttps://t.co/x and more", "glued and more"),
            ("<a href=\"http://a.b\">link</a>", "<a href=\"\">link</a>"),
            ("www.a.b, then www.c.d\nWWW.e", " then \n"),
            ("awww. so cute", "awww. so cute"),
            ("ftp://a.b http: // https://", "ftp://a.b http: // "),
            ("http://http://x y", " y"),
            ("é http://ä.é/ü é", "é  é"),
        ] {
            assert_eq!(rest(text), expected, "{text:?}");
        }
    }
}
