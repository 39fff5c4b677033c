//! Fields of records by name.

use crate::error::{ErrorKind, Result};

/// The position of a field: the one of exactly this name, or else the only one that has it in
/// another letter case.
pub(super) fn find_field<S: AsRef<str>>(names: &[S], field: &str) -> Option<usize> {
    let exact = names.iter().position(|name| name.as_ref() == field);
    exact.or_else(|| {
        let mut loose = (0..names.len()).filter(|&at| same_but_case(names[at].as_ref(), field));
        loose.next().filter(|_| loose.next().is_none())
    })
}

/// Like [`find_field`]; a field that is missing is an error.
pub(super) fn find_required<S: AsRef<str>>(names: &[S], field: &str, option: &'static str) -> Result<usize> {
    find_field(names, field).ok_or_else(|| {
        let found = field_list(names);
        ErrorKind::MissingField { field: field.to_owned(), option, found }.into()
    })
}

/// Whether a name differs from the wanted one at most in letter case.
#[inline]
pub(super) fn same_but_case(name: &str, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted) || (!wanted.is_ascii() && name.to_lowercase() == wanted.to_lowercase())
}

/// Maximum number of names in a message.
pub(super) const MAX_SHOWN: usize = 20;

/// Field names for a message.
pub(crate) fn field_list<S: AsRef<str>>(fields: &[S]) -> String {
    if fields.is_empty() {
        return "none".to_owned();
    }
    let mut shown: Vec<&str> = fields.iter().take(MAX_SHOWN).map(AsRef::as_ref).collect();
    if fields.len() > MAX_SHOWN {
        shown.push("…");
    }
    shown.join(", ")
}
