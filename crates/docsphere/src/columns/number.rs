//! Numbers as people and programs write them: `-1.5e3`, `1,234.5`, `1 234`, and with a decimal
//! comma `1.234,5`. Digits are grouped by threes or not at all. A number that begins with a zero,
//! such as `007`, is none: it is a code, whose zeros count.

/// Numbers that a floating-point number holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a number with this decimal sign, a point or a comma.
pub(super) fn read(text: &str, decimal: char) -> Option<f64> {
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
    let is_code = digits.len() > 1 && digits.starts_with('0');
    if is_code || fraction.is_some_and(|fraction| fraction.is_empty() || !is_digits(fraction)) {
        return None;
    }
    let number = format!("{digits}.{}{exponent}", fraction.unwrap_or("0"));
    let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite())?;
    Some(if is_negative { -number } else { number })
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
}
