//! Finds web addresses, so that they can be left out.
//!
//! An address begins with `http://` or `https://` anywhere, or with `www.` at the start of a word;
//! it ends before the next white space or one of `<>"`. Addresses without any of these prefixes
//! (`example.org/x`) count as words.

/// Calls `piece` for each stretch of text between web addresses.
pub(super) fn between_urls<'a>(text: &'a str, mut piece: impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let mut from = 0;
    // One search for the marks of both kinds: texts are often too short for a search for a word to
    // be worth its preparation.
    let mut search = 0;
    while let Some(length) = memchr::memchr2(b':', b'.', &bytes[search..]) {
        let mark = search + length;
        search = mark + 1;
        let Some(start) = address_start(bytes, from, mark) else { continue };
        let is_end = |&b: &u8| b.is_ascii_whitespace() || matches!(b, b'<' | b'>' | b'"');
        let end = bytes[start..].iter().position(is_end).map_or(bytes.len(), |length| start + length);
        piece(&text[from..start]);
        (from, search) = (end, end);
    }
    piece(&text[from..]);
}

/// Where the address begins, at or after `from`, whose first colon or point this is. Points are
/// many, so the byte after a colon and the one before a point are looked at first.
#[inline]
fn address_start(bytes: &[u8], from: usize, mark: usize) -> Option<usize> {
    match bytes[mark] {
        b':' if bytes.get(mark + 1) == Some(&b'/') => scheme_start(bytes, from, mark),
        b'.' if mark > 0 && matches!(bytes[mark - 1], b'w' | b'W') => www_start(bytes, from, mark),
        _ => None,
    }
}

/// The start of `http` or `https` before `://`.
#[cold]
fn scheme_start(bytes: &[u8], from: usize, mark: usize) -> Option<usize> {
    if bytes.get(mark + 2) != Some(&b'/') {
        return None;
    }
    let before = &bytes[from..mark];
    [&b"https"[..], b"http"].into_iter().find_map(|scheme| {
        let start = before.len().checked_sub(scheme.len())?;
        before[start..].eq_ignore_ascii_case(scheme).then_some(from + start)
    })
}

/// The start of `www`, in one of its cases, before a point, if a word starts there.
#[cold]
fn www_start(bytes: &[u8], from: usize, mark: usize) -> Option<usize> {
    let start = mark.checked_sub(3).filter(|&start| start >= from)?;
    let is_www = matches!(&bytes[start..mark], b"www" | b"WWW");
    let is_start = start == 0 || !(bytes[start - 1].is_ascii_alphanumeric() || bytes[start - 1] >= 0x80);
    (is_www && is_start).then_some(start)
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
            ("www.http://x y", " y"),
            ("x:www.a http:/b www", "x: http:/b www"),
            ("<http://a<www.b>", "<<>"),
            ("http:.www.a http://", "http:. "),
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
