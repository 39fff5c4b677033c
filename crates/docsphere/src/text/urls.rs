//! Finds web addresses, so that they can be left out.
//!
//! An address begins with `http://` or `https://` anywhere, or with `www.` at the start of a word;
//! it ends before the next white space or one of `<>"`. Addresses without any of these prefixes
//! (`example.org/x`) count as words.

use memchr::memmem;

/// Calls `piece` for each stretch of text between web addresses.
pub(super) fn between_urls<'a>(text: &'a str, mut piece: impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let mut from = 0;
    let mut prefixes = [
        Prefix { find: scheme, next: Some(0), is_found: false },
        Prefix { find: |bytes, from| www(bytes, from, b"www."), next: Some(0), is_found: false },
        Prefix { find: |bytes, from| www(bytes, from, b"WWW."), next: Some(0), is_found: false },
    ];
    while let Some(start) = prefixes.iter_mut().filter_map(|prefix| prefix.at_or_after(bytes, from)).min() {
        let is_end = |&b: &u8| b.is_ascii_whitespace() || matches!(b, b'<' | b'>' | b'"');
        let end = bytes[start..].iter().position(is_end).map_or(bytes.len(), |length| start + length);
        piece(&text[from..start]);
        from = end;
    }
    piece(&text[from..]);
}

/// Where the next address with a kind of prefix begins. The search goes on only when it is behind:
/// a text is searched once for each kind, however many addresses it has.
struct Prefix {
    find: fn(&[u8], usize) -> Option<usize>,
    next: Option<usize>,
    is_found: bool,
}

impl Prefix {
    fn at_or_after(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        if !self.is_found || self.next.is_some_and(|next| next < from) {
            (self.next, self.is_found) = ((self.find)(bytes, from), true);
        }
        self.next
    }
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

/// Start of the next `www.`, in one of its cases, at the start of a word.
fn www(bytes: &[u8], from: usize, prefix: &[u8]) -> Option<usize> {
    let mut search = from;
    loop {
        let start = search + memmem::find(&bytes[search..], prefix)?;
        if start == 0 || !(bytes[start - 1].is_ascii_alphanumeric() || bytes[start - 1] >= 0x80) {
            return Some(start);
        }
        search = start + prefix.len();
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

    #[test]
    fn many_addresses_take_time_in_proportion() {
        // Quadratic, this would take minutes.
        for address in ["http://a.b/c ", "www.a.b ftp://x "] {
            let text = address.repeat(400_000);
            assert!(rest(&text).len() < text.len());
        }
    }
}
