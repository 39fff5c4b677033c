//! Where words and lines end, by the gaps between pieces of text.

/// A gap of so much of the font's size separates words. TeX's smallest blank is .22, and no font
/// moves two letters of a word that far apart.
const BLANK: f64 = 0.16;

/// Text that lies so much higher or lower is another line. Indices are nearer.
const LINE: f64 = 0.5;

/// Text that lies so much lower begins a paragraph.
const PARAGRAPH: f64 = 1.75;

/// A place on the page, and the direction of writing there.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Unit vector along the line.
    pub(super) along: (f64, f64),
    /// Size of the font on the page.
    pub(super) size: f64,
}

/// The text of pages, put together.
#[derive(Default)]
pub(super) struct Layout {
    text: String,
    /// Where the last piece ended.
    end: Option<Place>,
}

impl Layout {
    pub(super) fn n_bytes(&self) -> usize {
        self.text.len()
    }

    /// Adds a piece of text from `start` to `end`.
    pub(super) fn piece(&mut self, piece: &str, start: Place, end: Place) {
        if piece.is_empty() {
            return;
        }
        if let Some(last) = self.end.replace(end) {
            let (dx, dy) = (start.x - last.x, start.y - last.y);
            let size = start.size.max(last.size).max(f64::MIN_POSITIVE);
            let (along_x, along_y) = start.along;
            let along = (dx * along_x + dy * along_y) / size;
            let across = (dy * along_x - dx * along_y).abs() / size;
            if across > LINE {
                self.line(piece, across > PARAGRAPH);
            } else if !(-1.0..=BLANK).contains(&along) {
                self.blank();
            }
        }
        for character in piece.chars() {
            self.character(character);
        }
    }

    /// The last piece ends here.
    pub(super) fn extend(&mut self, end: Place) {
        self.end = Some(end);
    }

    /// Ends a page.
    pub(super) fn page(&mut self) {
        self.end = None;
        self.line("", false);
    }

    /// Begins a line, with the piece that follows. A word that was divided becomes whole.
    fn line(&mut self, next: &str, is_paragraph: bool) {
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        let mut before = self.text.chars().rev();
        let is_divided = matches!(before.next(), Some('-' | '\u{ad}' | '\u{2010}'))
            && before.next().is_some_and(char::is_lowercase)
            && next.starts_with(char::is_lowercase);
        if is_divided {
            self.text.pop();
        } else if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(if is_paragraph { "\n\n" } else { "\n" });
        }
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    /// Ligatures become letters; what has no meaning is left out.
    fn character(&mut self, character: char) {
        match character {
            '\u{fb00}' => self.text.push_str("ff"),
            '\u{fb01}' => self.text.push_str("fi"),
            '\u{fb02}' => self.text.push_str("fl"),
            '\u{fb03}' => self.text.push_str("ffi"),
            '\u{fb04}' => self.text.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => self.text.push_str("st"),
            '\u{fffd}' => self.blank(),
            character if character.is_whitespace() => self.blank(),
            character if character.is_control() => {}
            character => self.text.push(character),
        }
    }

    pub(super) fn into_text(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(x: f64, y: f64) -> Place {
        Place { x, y, along: (1.0, 0.0), size: 10.0 }
    }

    #[test]
    fn gaps_separate_words_and_lines() {
        let mut layout = Layout::default();
        layout.piece("spe", place(0.0, 100.0), place(15.0, 100.0));
        layout.piece("ci\u{fb01}c", place(15.9, 100.0), place(40.0, 100.0));
        layout.piece("words", place(42.0, 100.0), place(60.0, 100.0));
        layout.piece("2", place(60.5, 104.0), place(65.0, 104.0)); // an index
        layout.piece("clus-", place(0.0, 88.0), place(20.0, 88.0));
        layout.piece("ters", place(0.0, 76.0), place(20.0, 76.0));
        layout.piece("COVID-", place(0.0, 64.0), place(30.0, 64.0));
        layout.piece("19", place(0.0, 52.0), place(10.0, 52.0));
        layout.piece("New", place(0.0, 30.0), place(10.0, 30.0));
        layout.page();
        layout.piece("page", place(0.0, 100.0), place(10.0, 100.0));
        assert_eq!(layout.into_text(), "specific words2\nclusters\nCOVID-\n19\n\nNew\npage");
    }
}
