//! Names of options, as users type them, files store them and messages show them.

use crate::error::{ErrorKind, Result};

/// Implements `Display` and `FromStr` for a plain enum with `ALL` and `name`. The literal is the
/// name of the option whose value the enum is, for error messages.
macro_rules! impl_names {
    ($type:ident, $option:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(name: &str) -> $crate::error::Result<Self> {
                let names = $type::ALL.iter().map(|value| value.name());
                Ok($type::ALL[$crate::names::position($option, name, names)?])
            }
        }
    };
}

pub(crate) use impl_names;

/// The position of a name in a list of names.
///
/// # Errors
/// [`ErrorKind::Parameter`], which lists the names.
pub(crate) fn position<'a>(
    option: &'static str,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize> {
    names.clone().position(|known| known == name).ok_or_else(|| {
        let names: Vec<&str> = names.collect();
        let expected = format!("one of {}", names.join(", "));
        ErrorKind::Parameter { name: option, expected, got: format!("{name:?}") }.into()
    })
}
