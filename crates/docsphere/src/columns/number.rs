//! Numbers as people and programs write them: `-1.5e3`, `1,234.5`, `1 234`, and with a decimal
//! comma `1.234,5`. Digits are grouped by threes or not at all.
//!
//! Some digits are no number but a *code*, which rewriting would change:
//!
//! - they begin with a zero, such as `007` and `02139`;
//! - `+` and seven digits or more, as telephone numbers have;
//! - an integer that a floating-point number writes in another way, such as 9007199254740993.

/// Numbers that a floating-point number holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Digits after a `+` that make a telephone number.
const PHONE_DIGITS: usize = 7;

/// A number, and how it is spelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spelled {
    pub(super) number: f64,
    /// Whether it is a code: rewriting the number would change it.
    pub(super) is_code: bool,
    /// Digits after the decimal sign.
    pub(super) n_decimals: usize,
    /// Whether the last of several decimals is a zero: `1.20`.
    pub(super) has_final_zero: bool,
}

/// Reads a number with this decimal sign, a point or a comma. Codes are none.
pub(super) fn read(text: &str, decimal: char) -> Option<f64> {
    spelled(text, decimal).filter(|spelled| !spelled.is_code).map(|spelled| spelled.number)
}

/// Reads a number or a code with this decimal sign, a point or a comma.
pub(super) fn spelled(text: &str, decimal: char) -> Option<Spelled> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['-', '+', '\u{2212}']).unwrap_or(text);
    let is_negative = unsigned.len() < text.len() && !text.starts_with('+');
    if unsigned.len() > 40 || !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == decimal) {
        return None;
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], &unsigned[at..]),
        None => (unsigned, ""),
    };
    let (whole, fraction) = match mantissa.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = ungrouped(whole, if decimal == '.' { ',' } else { '.' })?;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.is_some_and(|fraction| fraction.is_empty() || !is_digits(fraction)) {
        return None;
    }
    let number = format!("{digits}.{}{exponent}", fraction.unwrap_or("0"));
    let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite())?;
    let is_integer = fraction.is_none() && exponent.is_empty();
    let is_code = (digits.len() > 1 && digits.starts_with('0'))
        || (is_integer && text.starts_with('+') && digits.len() >= PHONE_DIGITS)
        || (is_integer && number >= EXACT && number.to_string() != digits);
    let fraction = fraction.filter(|_| exponent.is_empty()).unwrap_or_default();
    Some(Spelled {
        number: if is_negative { -number } else { number },
        is_code,
        n_decimals: fraction.len(),
        has_final_zero: fraction.len() > 1 && fraction.ends_with('0'),
    })
}

/// Whether a number is an integer that is held exactly.
pub(super) fn is_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= EXACT
}

/// The digits without what groups them.
fn ungrouped(text: &str, separator: char) -> Option<String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.to_owned());
    }
    let separator = text.chars().find(|c| !c.is_ascii_digit()).filter(|&found| {
        found == separator || ['\'', '\u{2019}', ' ', '\u{a0}', '\u{202f}'].contains(&found)
    })?;
    let mut groups = text.split(separator);
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()))?;
    let is_group = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut digits = first.to_owned();
    for group in groups {
        if group.len() != 3 {
            return None;
        }
        digits.push_str(group);
    }
    is_group(&digits).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_either_decimal_sign() {
        for (text, point, comma) in [
            ("0", Some(0.0), Some(0.0)),
            ("-12", Some(-12.0), Some(-12.0)),
            ("1.5", Some(1.5), None),
            ("1,5", None, Some(1.5)),
            ("1,234", Some(1234.0), Some(1.234)),
            ("1.234", Some(1.234), Some(1234.0)),
            ("1,234,567.8", Some(1_234_567.8), None),
            ("1.234.567,8", None, Some(1_234_567.8)),
            ("1 234", Some(1234.0), Some(1234.0)),
            ("+1e3", Some(1000.0), Some(1000.0)),
            ("\u{2212}3", Some(-3.0), Some(-3.0)),
            (".5", Some(0.5), None),
            ("9007199254740992", Some(9_007_199_254_740_992.0), Some(9_007_199_254_740_992.0)),
            ("1000000000000000000000", Some(1e21), Some(1e21)),
            ("1.234567890123456789e18", Some(1_234_567_890_123_456_789.0), None),
            ("+123456", Some(123_456.0), Some(123_456.0)),
        ] {
            assert_eq!((read(text, '.'), read(text, ',')), (point, comma), "{text}");
        }
        for text in
            ["", "-", "007", "12a", "1,23", "1.2.3", "1,,2", "nan", "inf", "1e999", "0x1f", "1e", "5%", "."]
        {
            if text != "1,23" {
                assert_eq!(read(text, ','), None, "{text}");
            }
            assert_eq!(read(text, '.'), None, "{text}");
        }
    }

    #[test]
    fn digits_that_rewriting_would_change_are_codes() {
        for text in [
            "007",
            "02139",
            "00",
            "9007199254740993",
            "-9007199254740993",
            "1234567890123456789",
            "9,007,199,254,740,993",
            "1152921504606846976",
            "+4915112345678",
            "+49 151 123",
        ] {
            let found = spelled(text, '.');
            assert_eq!((found.map(|spelled| spelled.is_code), read(text, '.')), (Some(true), None), "{text}");
        }
        for text in ["1e400", "x", "0.1.2"] {
            assert_eq!(spelled(text, '.'), None, "{text}");
        }
    }
}
