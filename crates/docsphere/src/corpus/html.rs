//! Web pages and marked-up fields as plain text.
//!
//! A text is HTML if it begins like a page, or has a tag that is certainly one: a closing tag of an
//! element of HTML (`</b>`), an opening tag of an element that often stands alone (`<br>`, `<p>`,
//! `<img …>`), a tag with a prefix (`<jats:p>`), or the closing tag of any other element that was
//! opened before. So `a < b`, `<3` and `List<String>` stay as they are. In HTML, tags become blanks
//! or line feeds, entities become characters, and these elements are left out with all their
//! content: scripts, styles, templates, drawings, forms' controls, navigation, footers and asides.
//! The title of a page stays. Elements of XML count by their names without prefixes.
//!
//! In any other text a tag that the end of the text cuts off is dropped, if it is of HTML and has
//! an attribute (`… <a href="http`). Entities are decoded if they end with a semicolon, or if the
//! standard knows them without one and no letter follows (`&eacute s`): `R&D` and `AT&T` stay.
//!
//! # Cost
//!
//! A text without `<` and `&` is returned as it is, after a search for these two bytes. The
//! tokenizer (`html5gum`) follows the standard of HTML, without recursion and without a tree, so
//! its memory is that of the text. A text with tags takes about its size once more, and as much
//! again for a tag that never ends.

use std::borrow::Cow;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use serde::{Deserialize, Serialize};

use crate::names::impl_names;

/// What to do with HTML in texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Html {
    /// Remove tags from texts that are HTML, and decode entities in all.
    #[default]
    Auto,
    /// Treat every text as HTML.
    Strip,
    /// Leave texts as they are.
    Keep,
}

impl Html {
    /// All ways.
    pub const ALL: &'static [Html] = &[Html::Auto, Html::Strip, Html::Keep];

    /// The name by which users choose it.
    pub const fn name(self) -> &'static str {
        match self {
            Html::Auto => "auto",
            Html::Strip => "strip",
            Html::Keep => "keep",
        }
    }
}

impl_names!(Html, "html");

/// A text that was escaped twice is decoded twice.
const MAX_ROUNDS: usize = 2;

/// The longest entity, without its ampersand and semicolon: the longest name in the standard has 31
/// characters.
const MAX_ENTITY_BYTES: usize = 32;

/// The text as people read it.
pub(super) fn plain(text: &str, html: Html) -> Cow<'_, str> {
    match html {
        Html::Keep => Cow::Borrowed(text),
        Html::Strip => Cow::Owned(without_tags(text)),
        Html::Auto if memchr::memchr2(b'<', b'&', text.as_bytes()).is_none() => Cow::Borrowed(text),
        Html::Auto if is_html(text) => Cow::Owned(without_tags(text)),
        Html::Auto => {
            let mut plain = Cow::Borrowed(without_cut_tag(text));
            for _ in 0..MAX_ROUNDS {
                let Some(decoded) = without_entities(&plain) else { break };
                // What was escaped as a whole is HTML after all.
                if is_html(&decoded) {
                    return Cow::Owned(without_tags(&decoded));
                }
                plain = Cow::Owned(decoded);
            }
            plain
        }
    }
}

/// The bytes of a page in which its title is looked for.
const TITLE_BYTES: usize = 1 << 16;

/// The title of a web page, if the text is one that has a title.
pub(super) fn title(text: &str) -> Option<String> {
    if !text.trim_start().starts_with('<') {
        return None;
    }
    let end = (0..=TITLE_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end))?;
    let page = text[..end].to_ascii_lowercase();
    // An element of that name, not one whose name only begins like it.
    let mut tags = page.match_indices("<title").map(|(at, tag)| at + tag.len());
    let tag = tags.find(|&at| page[at..].starts_with(['>', ' ', '\n', '\t', '\r']))?;
    let start = tag + page[tag..].find('>')? + 1;
    let length = page[start..].find("</title")?;
    let title = without_tags(&text[start..start + length]);
    let words: Vec<&str> = title.split_whitespace().collect();
    Some(words.join(" "))
}

/// Elements that are left out with their content.
const LEFT_OUT: [&str; 19] = [
    "aside", "audio", "button", "canvas", "datalist", "footer", "iframe", "math", "menu", "nav", "noscript",
    "object", "script", "select", "style", "svg", "template", "textarea", "video",
];

/// Elements within a line of text: their tags separate no words.
const INLINE: [&str; 30] = [
    "a",
    "abbr",
    "acronym",
    "b",
    "bdi",
    "bdo",
    "big",
    "bold",
    "cite",
    "code",
    "del",
    "dfn",
    "em",
    "font",
    "i",
    "ins",
    "italic",
    "kbd",
    "mark",
    "monospace",
    "q",
    "s",
    "samp",
    "small",
    "span",
    "strong",
    "tt",
    "u",
    "var",
    "wbr",
];

/// Elements whose opening tag alone shows that a text is HTML.
const ALONE: [&str; 17] = [
    "body", "br", "div", "h1", "h2", "h3", "head", "hr", "html", "img", "li", "meta", "ol", "p", "table",
    "td", "ul",
];

/// Further elements whose closing tag shows that a text is HTML.
const OTHERS: [&str; 31] = [
    "article",
    "blockquote",
    "caption",
    "center",
    "dd",
    "details",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "form",
    "h4",
    "h5",
    "h6",
    "header",
    "label",
    "main",
    "option",
    "pre",
    "section",
    "strike",
    "sub",
    "summary",
    "sup",
    "tbody",
    "th",
    "thead",
    "time",
    "title",
    "tr",
];

/// Closing tags of unknown elements for which an opening one is searched: each search reads the
/// text.
const MAX_SEARCHES: usize = 8;

/// A tag at some place of a text.
struct Tag<'a> {
    /// Whether it is a closing one.
    closes: bool,
    name: &'a [u8],
    /// What follows the name.
    rest: &'a [u8],
}

impl<'a> Tag<'a> {
    /// The tag whose bracket is before these bytes.
    fn new(bytes: &'a [u8]) -> Self {
        let (closes, bytes) = bytes.strip_prefix(b"/").map_or((false, bytes), |rest| (true, rest));
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b":_-.".contains(byte);
        let length = match bytes.first() {
            Some(first) if first.is_ascii_alphabetic() => bytes.iter().take_while(is_name).count(),
            _ => 0,
        };
        let (name, rest) = bytes.split_at(length);
        Tag { closes, name, rest }
    }

    fn is_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(self.name))
    }

    fn is_of_html(&self) -> bool {
        self.is_any(&ALONE) || self.is_any(&INLINE) || self.is_any(&OTHERS) || self.is_any(&LEFT_OUT)
    }

    /// Whether the tag ends, before another one begins.
    fn ends(&self) -> bool {
        match self.rest.first() {
            Some(b'>') => true,
            Some(b' ' | b'\t' | b'\n' | b'\r' | b'/') => {
                memchr::memchr2(b'<', b'>', self.rest).is_some_and(|end| self.rest[end] == b'>')
            }
            _ => false,
        }
    }

    /// Whether the name has a prefix, as in XML.
    fn is_prefixed(&self) -> bool {
        let colon = memchr::memchr(b':', self.name);
        colon.is_some_and(|at| self.name.get(at + 1).is_some_and(u8::is_ascii_alphabetic))
    }
}

/// Whether a text certainly is HTML.
fn is_html(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut n_searches = 0;
    memchr::memchr_iter(b'<', bytes).any(|at| {
        let tag = Tag::new(&bytes[at + 1..]);
        if tag.name.is_empty() {
            let doctype = tag.rest.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"!doctype"));
            return !tag.closes && doctype && text[..at].trim().is_empty();
        }
        if !tag.ends() {
            return false;
        }
        if tag.is_any(&ALONE) || tag.is_prefixed() || (tag.closes && tag.is_of_html()) {
            return true;
        }
        if !tag.closes || n_searches == MAX_SEARCHES {
            return false;
        }
        n_searches += 1;
        let opening = [b"<", tag.name].concat();
        let mut found = memchr::memmem::find_iter(&bytes[..at], &opening);
        found.any(|open| matches!(bytes[open + opening.len()], b'>' | b' ' | b'\t' | b'\n' | b'\r'))
    })
}

/// The text without a tag at its end that has been cut off.
fn without_cut_tag(text: &str) -> &str {
    let Some(at) = memchr::memrchr2(b'<', b'>', text.as_bytes()) else { return text };
    let tag = Tag::new(&text.as_bytes()[at + 1..]);
    if text.as_bytes()[at] == b'>' || !tag.is_of_html() {
        return text;
    }
    let attribute = tag.rest.trim_ascii_start();
    let n_letters = attribute.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
    let has_attribute =
        attribute.len() < tag.rest.len() && n_letters > 0 && attribute.get(n_letters) == Some(&b'=');
    let is_cut = if tag.closes { tag.rest.is_empty() } else { has_attribute };
    if is_cut { text[..at].trim_end() } else { text }
}

/// The text of HTML.
fn without_tags(html: &str) -> String {
    let mut text = Text::default();
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<()> {
        text.on(&event);
        None
    });
    // Scripts and styles hold no tags.
    emitter.naively_switch_states(true);
    for Ok(()) in Tokenizer::new_with_emitter(html, emitter) {}
    text.finish()
}

/// The name of an element without its prefix.
fn local(name: &[u8]) -> &[u8] {
    memchr::memrchr(b':', name).map_or(name, |at| &name[at + 1..])
}

/// Text as it is collected.
#[derive(Default)]
struct Text {
    text: String,
    /// The element that is being left out, and how many of its name are open.
    left_out: Option<(&'static str, usize)>,
    /// The last opening tag, if it opens an element that is left out.
    opening: Option<&'static str>,
}

impl Text {
    fn on(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                let name = local(name);
                self.opening = LEFT_OUT.into_iter().find(|known| known.as_bytes() == name);
                self.separate(name);
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                let Some(name) = self.opening.take().filter(|_| !self_closing) else { return };
                match &mut self.left_out {
                    None => self.left_out = Some((name, 1)),
                    Some((open, depth)) if *open == name => *depth += 1,
                    Some(_) => {}
                }
            }
            CallbackEvent::EndTag { name } => {
                let name = local(name);
                match &mut self.left_out {
                    Some((open, depth)) if open.as_bytes() == name => *depth -= 1,
                    _ => {}
                }
                self.left_out = self.left_out.filter(|&(_, depth)| depth > 0);
                self.separate(name);
            }
            CallbackEvent::String { value } if self.left_out.is_none() => self.push(value),
            _ => {}
        }
    }

    /// Separates what comes before and after a tag, unless it is one within a line.
    fn separate(&mut self, name: &[u8]) {
        let is_inline = INLINE.iter().any(|known| known.as_bytes() == name);
        if self.left_out.is_some() || is_inline || self.text.is_empty() || self.text.ends_with('\n') {
            return;
        }
        // Cells are parts of a line.
        let separator = if matches!(name, b"td" | b"th") { ' ' } else { '\n' };
        if self.text.ends_with(' ') {
            self.text.pop();
        }
        self.text.push(separator);
    }

    /// Adds text; blanks and line ends that follow each other become one.
    fn push(&mut self, bytes: &[u8]) {
        let value = String::from_utf8_lossy(bytes);
        let starts_blank = value.starts_with(|c: char| c.is_whitespace());
        let mut words = value.split_whitespace();
        let Some(first) = words.next() else {
            self.blank(starts_blank);
            return;
        };
        self.blank(starts_blank);
        self.text.push_str(first);
        for word in words {
            self.text.push(' ');
            self.text.push_str(word);
        }
        self.blank(value.ends_with(|c: char| c.is_whitespace()));
    }

    fn blank(&mut self, is_wanted: bool) {
        if is_wanted && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

/// The text with its entities decoded; `None` if it has none.
fn without_entities(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut copied = 0;
    for at in memchr::memchr_iter(b'&', text.as_bytes()) {
        if at < copied {
            continue;
        }
        let rest = &text.as_bytes()[at + 1..];
        let rest = &rest[..rest.len().min(MAX_ENTITY_BYTES + 1)];
        let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'#');
        let name = &text[at + 1..at + 1 + end.unwrap_or(rest.len())];
        let next = text.as_bytes().get(at + 1 + name.len());
        let (length, character) = match next {
            _ if name.is_empty() => continue,
            Some(b';') => (name.len() + 1, entity_text(&format!("&{name};"))),
            // No word begins like this.
            _ if name.starts_with("nbsp") => (4, "\u{a0}".to_owned()),
            // As in the address `?a=1&copy=2`, and in words longer than any name.
            Some(b'=' | b'_') => continue,
            Some(byte) if byte.is_ascii_alphanumeric() => continue,
            _ => (name.len(), bare_entity_text(name)),
        };
        if character.is_empty() || character.ends_with(';') {
            continue; // not the name of any
        }
        decoded.push_str(&text[copied..at]);
        decoded.push_str(&character);
        copied = at + 1 + length;
    }
    (copied > 0).then(|| decoded + &text[copied..])
}

/// The characters of an entity, or the entity itself if there is no such.
fn entity_text(entity: &str) -> String {
    let mut found = String::new();
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<()> {
        if let CallbackEvent::String { value } = event {
            found.push_str(&String::from_utf8_lossy(value));
        }
        None
    });
    for Ok(()) in Tokenizer::new_with_emitter(entity, emitter) {}
    found
}

/// The character of an entity without a semicolon, or nothing if the standard wants one.
fn bare_entity_text(name: &str) -> String {
    let mut found = entity_text(&format!("&{name} "));
    found.pop();
    if found.chars().nth(1).is_some() { String::new() } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        for text in [
            "",
            "cats purr",
            "a < b and c > d",
            "i <3 cats",
            "List<String> of Map<K, V>",
            "AT&T, R&D; a&b",
            "x <y",
            "<name@example.org> wrote",
            "&nosuch; &; &#; &;;",
            "if (a<b && c>d) {}",
            "\u{6771} < \u{4eac}",
            "vector<a> and <b without an end",
            "<p_T> is the mean",
            "< p > q",
            "&",
            "&c, Q&A, ?a=1&copy=2&reg_x=3",
            "if x <a and y",
            "for i <b c=d> e",
            "</3 and </ and </nosuch>",
            "<http://a.org/b> or <mailto:a@b.org>",
            "ends in <a",
            "ends in <q x",
            "E[<x>|y] and </x",
        ] {
            assert_eq!(plain(text, Html::Auto), text);
            assert!(matches!(plain(text, Html::Auto), Cow::Borrowed(_)), "{text}");
        }
        assert_eq!(plain("<b>a</b> &amp;", Html::Keep), "<b>a</b> &amp;");
    }

    #[test]
    fn entities_are_decoded_wherever_they_are() {
        for (text, expected) in [
            ("&quot;cats&quot; &amp; dogs", "\"cats\" & dogs"),
            ("caf&eacute; &#233; &#xE9; &hellip;", "caf\u{e9} \u{e9} \u{e9} \u{2026}"),
            ("AT&amp;T 1 &lt; 2", "AT&T 1 < 2"),
            ("&amp;quot;twice&amp;quot;", "\"twice\""),
            ("&lt;p&gt;escaped&lt;/p&gt;", "escaped"),
            ("&amp;&amp;", "&&"),
            ("a&nbsp;b &nbsp c&nbspd &nbsp", "a\u{a0}b \u{a0} c\u{a0}d \u{a0}"),
            ("caf&eacute, R&amp D, 1 &lt 2, &quot", "caf\u{e9}, R& D, 1 < 2, \""),
        ] {
            assert_eq!(plain(text, Html::Auto), expected, "{text}");
        }
    }

    #[test]
    fn tags_scripts_styles_and_navigation_are_removed() {
        let page = "<!DOCTYPE html><html><head><title>Cats &amp; dogs</title><style>p { color: red }</style>\
            <script>var a = '<p>no</p>';</script></head><body class=\"x\"><nav><ul><li><a href=\"/\">Home</a></li></ul>\
            </nav><h1>All about   <b>ca</b>ts</h1><p>They purr.<br>And\n sleep.</p><!-- no --><table><tr><td>one</td>\
            <td>two</td></tr></table><svg><g/><text>no</text></svg><footer>Imprint <footer>x</footer> y</footer></body></html>";
        assert_eq!(plain(page, Html::Auto), "Cats & dogs\nAll about cats\nThey purr.\nAnd sleep.\none two");
        for (text, expected) in [
            ("a<br/>b", "a\nb"),
            ("<p>one<p>two", "one\ntwo"),
            ("<a href='x'>link</a>ed", "linked"),
            ("<script>never closed", ""),
            ("<script>x</script>a", "a"),
            ("5 < 6 <br> 7 & 8", "5 < 6\n7 & 8"),
            ("<b>cut</b> <i", "cut"),
        ] {
            assert_eq!(plain(text, Html::Strip), expected, "{text}");
        }
        assert_eq!(plain("<b>cats</b> purr", Html::Auto), "cats purr");
        for (text, expected) in [
            ("cats purr <a href=\"http", "cats purr"),
            ("cats purr <img  src=http://x/y.png alt='a", "cats purr"),
            ("cats &amp; dogs <a\ntitle=\"x", "cats & dogs"),
            ("cats purr </a", "cats purr"),
            ("cats <b>purr</b> <a href=\"x", "cats purr"),
            ("<jats:p>Cats <jats:italic>E</jats:italic>. coli</jats:p>", "Cats E. coli"),
            (
                "<jats:title>Abstract</jats:title><jats:p>a < b and c > d, cut",
                "Abstract\na < b and c > d, cut",
            ),
            ("x <mml:math><mml:mi>q</mml:mi></mml:math> y", "x\ny"),
            ("<summary_1 x='y'>Cats</summary_1>", "Cats"),
        ] {
            assert_eq!(plain(text, Html::Auto), expected, "{text}");
        }
        assert_eq!(plain("a <unknown>b", Html::Strip), "a\nb");
    }

    #[test]
    fn damaged_and_hostile_pages_are_read_to_the_end() {
        let page = "<!doctype html><p>caf\u{e9} &eacute;</p><script>x</script><nav>y</nav><!-- z -->\u{6771}";
        for (cut, _) in page.char_indices() {
            plain(&page[..cut], Html::Auto);
            plain(&page[..cut], Html::Strip);
            plain(&page[cut..], Html::Strip);
        }
        let deep = "<div>".repeat(200_000) + "cats";
        assert_eq!(plain(&deep, Html::Auto), "cats");
        assert_eq!(plain(&"<nav>".repeat(100_000), Html::Strip), "");
        assert_eq!(plain(&"&amp;".repeat(100_000), Html::Auto).len(), 100_000);
        assert_eq!(plain(&"<".repeat(1_000_000), Html::Auto).len(), 1_000_000);
        let unknown: String = (0..100_000).map(|number| format!("</x{number}>")).collect();
        assert_eq!(plain(&unknown, Html::Auto), unknown);
        assert_eq!(plain(&"<a b=".repeat(200_000), Html::Auto).len(), 5 * 199_999);
    }
}
