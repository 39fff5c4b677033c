//! The fields of a record, which are not copied unless they must be.

/// The fields of a record. They are slices of its bytes, unless two quotes in them are one.
#[derive(Debug, Default)]
pub(in crate::corpus) struct Fields<'a> {
    /// The bytes of all records.
    bytes: &'a [u8],
    unescaped: Vec<u8>,
    places: Vec<FieldPlace>,
    /// Fields that begin with a stray quote.
    pub(in crate::corpus) n_stray: u64,
    /// Line feeds within quoted fields.
    pub(super) n_feeds: u64,
    /// Whether the next two are looked for.
    pub(super) is_studied: bool,
    /// Whether a quote is where no program writes one that quotes fields.
    pub(in crate::corpus) is_loose: bool,
    /// Whether only its quotes hold a field together: a delimiter, a line feed or a quote is in it.
    pub(in crate::corpus) is_quoting: bool,
    /// Whether a field begins with a quote, and the bytes end before its closing one.
    pub(in crate::corpus) is_open: bool,
}

/// Where a field is.
#[derive(Clone, Copy, Debug)]
struct FieldPlace {
    start: usize,
    end: usize,
    is_unescaped: bool,
}

impl<'a> Fields<'a> {
    /// Fields of which it is also looked for whether they are loose or quoting.
    pub(in crate::corpus) fn studied() -> Self {
        Fields { is_studied: true, ..Fields::default() }
    }

    pub(in crate::corpus) fn len(&self) -> usize {
        self.places.len()
    }

    pub(in crate::corpus) fn get(&self, column: usize) -> &[u8] {
        let FieldPlace { start, end, is_unescaped } = self.places[column];
        if is_unescaped { &self.unescaped[start..end] } else { &self.bytes[start..end] }
    }

    /// Whether these are the fields of a row of `n_columns`. Empty ones may follow: many programs
    /// write a delimiter after the last field, too.
    pub(in crate::corpus) fn fit(&self, n_columns: usize) -> bool {
        self.len() >= n_columns && (n_columns..self.len()).all(|column| self.get(column).is_empty())
    }

    /// Begins a record of these bytes.
    pub(super) fn begin(&mut self, bytes: &'a [u8]) {
        self.bytes = bytes;
        self.unescaped.clear();
        self.places.clear();
        (self.n_stray, self.n_feeds) = (0, 0);
        (self.is_loose, self.is_quoting, self.is_open) = (false, false, false);
    }

    pub(super) fn push(&mut self, start: usize, end: usize) {
        self.places.push(FieldPlace { start, end, is_unescaped: false });
    }

    /// Adds what is within the quotes of a field, in which two quotes are one.
    pub(super) fn push_quoted(&mut self, start: usize, end: usize, quote: u8) {
        let mut field = &self.bytes[start..end];
        self.n_feeds += memchr::memchr_iter(b'\n', field).count() as u64;
        let Some(mut at) = memchr::memchr(quote, field) else { return self.push(start, end) };
        let start = self.unescaped.len();
        loop {
            self.unescaped.extend_from_slice(&field[..=at]);
            field = field.get(at + 2..).unwrap_or_default();
            match memchr::memchr(quote, field) {
                Some(next) => at = next,
                None => break,
            }
        }
        self.unescaped.extend_from_slice(field);
        self.places.push(FieldPlace { start, end: self.unescaped.len(), is_unescaped: true });
    }

    /// Takes the fields of a line as they stand, whatever quotes they have.
    pub(in crate::corpus) fn take_unquoted(&mut self, line: &'a [u8], delimiter: u8) {
        self.begin(line);
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut start = 0;
        for end in memchr::memchr_iter(delimiter, line).chain([line.len()]) {
            self.push(start, end);
            start = end + 1;
        }
    }
}
