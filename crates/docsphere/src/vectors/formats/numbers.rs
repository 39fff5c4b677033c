//! Numbers in text.

use std::io::{self, Write};

/// Number of decimal digits that always fit into a `u64`.
const SAFE_DIGITS: usize = 15;

/// The maximum number of significant digits in the shortest form of an f32.
const F32_DIGITS: usize = 9;

/// What a value in a text format must be, for messages.
pub(super) const VALUE: &str = "a finite number in the range of a 32-bit float";

/// An unsigned integer. `None` for anything else, or if it does not fit.
#[inline]
pub(super) fn parse_index(token: &[u8]) -> Option<u64> {
    if token.is_empty() {
        return None;
    }
    token.iter().try_fold(0u64, |number, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A value. `None` if it is not a number, not finite, or too large for an f32.
///
/// A 32-bit float prints at most nine significant digits; these are rounded directly to f32. More
/// digits come from a 64-bit float, and are rounded to f64 and then to f32, as the same number in a
/// binary file would be. So values of either width that were written as text are read back as the
/// same f32.
#[inline]
pub(super) fn parse_value(token: &[u8]) -> Option<f32> {
    if token.len() <= SAFE_DIGITS
        && let Some(count) = parse_index(token)
    {
        return Some(count as f32);
    }
    let text = str::from_utf8(token).ok()?;
    let value = if significant_digits(token) <= F32_DIGITS {
        text.parse::<f32>().ok()?
    } else {
        text.parse::<f64>().ok()? as f32
    };
    value.is_finite().then_some(value)
}

/// Whether the token is an integer, optionally signed.
pub(super) fn is_integer(token: &[u8]) -> bool {
    let digits = match token {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// The number of digits from the first nonzero one up to the exponent.
fn significant_digits(token: &[u8]) -> usize {
    let mantissa = token.iter().take_while(|&&byte| byte != b'e' && byte != b'E');
    mantissa.filter(|byte| byte.is_ascii_digit()).skip_while(|&&byte| byte == b'0').count()
}

/// Writes the shortest decimal that is read back as the same value: `3`, `0.25`, `1e-20`.
pub(super) fn write_value(out: &mut (impl Write + ?Sized), value: f32) -> io::Result<()> {
    if (1e-5..1e16).contains(&value.abs()) { write!(out, "{value}") } else { write!(out, "{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f32) -> String {
        let mut out = Vec::new();
        write_value(&mut out, value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_index_has_digits_only_and_fits() {
        assert_eq!(parse_index(b"0"), Some(0));
        assert_eq!(parse_index(b"007"), Some(7));
        assert_eq!(parse_index(b"18446744073709551615"), Some(u64::MAX));
        for bad in
            ["", "-1", "+1", "1.0", "1e3", "18446744073709551616", "99999999999999999999999", "\u{661}"]
        {
            assert_eq!(parse_index(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn values_that_are_not_finite_numbers_are_refused() {
        for bad in
            ["", "nan", "NaN", "inf", "-inf", "infinity", "1e39", "-4e38", "1e999", "0x1", "1,5", "1_0"]
        {
            assert_eq!(parse_value(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_value(b"\xff"), None);
        assert_eq!(parse_value(b"340282356779733661637539395458142568447"), None); // rounds up to 2^128
        assert_eq!(parse_value(b"+.5"), Some(0.5));
        assert_eq!(parse_value(b"-1.E2"), Some(-100.0));
        assert_eq!(parse_value(b"123456789012345"), Some(123456789012345u64 as f32));
    }

    #[test]
    fn values_of_both_widths_arrive_as_the_f32_that_they_are() {
        // The only f32 whose shortest form, read as f64 and then rounded, becomes another f32.
        assert_eq!(parse_value(b"7.038531e-26"), Some(7.038531e-26));
        assert_ne!(7.038531e-26_f64 as f32, 7.038531e-26_f32);
        // An f64 halfway between two f32: its shortest form is slightly above it, and would be
        // rounded up.
        let halfway = 1.0 + 2f64.powi(-24);
        assert_eq!(parse_value(halfway.to_string().as_bytes()), Some(halfway as f32));
        assert_ne!(halfway.to_string().parse(), Ok(halfway as f32));
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(written(3.0), "3");
        assert_eq!(written(-0.25), "-0.25");
        assert_eq!(written(1e-20), "1e-20");
        assert_eq!(written(f32::MAX), "3.4028235e38");
        let mut bits = 1u32;
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = f32::from_bits(bits);
            if value.is_finite() {
                assert_eq!(parse_value(written(value).as_bytes()).map(f32::to_bits), Some(bits), "{value:e}");
            }
        }
    }
}
