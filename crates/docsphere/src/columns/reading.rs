//! What the values of a column mean, decided over the whole column.
//!
//! Every value that is not empty is tried as a date, a number and an address, and the counts decide
//! ([`ColumnCounts::reading`]):
//!
//! 1. **date**, if at least 95 of 100 values are dates. Dates such as 03/04/2024 are day first or
//!    month first for the whole column: by the order in which more values are dates, and month
//!    first on a tie. A named date column is always one; its values may also be seconds or
//!    milliseconds since 1970, eight digits (20240304) or years.
//! 2. **number**, if at least 95 of 100 are numbers, with a decimal point or, if more values are
//!    numbers that way, a decimal comma; and if no value is a code (`number.rs`), and they are not
//!    spelled as versions are: 1.9, 1.10 and 1.20.
//! 3. **address**, if at least 95 of 100 are addresses of the web.
//! 4. **category**, if there are at most 1,000 distinct values of up to 100 bytes, and on average
//!    each occurs at least twice.
//! 5. **text** otherwise.
//!
//! A value that is not what its column is, is *bad*: it is counted, and left out.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::date::{self, Moment};
use super::number;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ColumnKind {
    /// Dates, or points in time.
    Date,
    /// Numbers.
    Number,
    /// Few values that occur often.
    Category,
    /// Addresses of the web.
    Address,
    /// Anything else.
    Text,
}

impl ColumnKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            ColumnKind::Date => "date",
            ColumnKind::Number => "number",
            ColumnKind::Category => "category",
            ColumnKind::Address => "address",
            ColumnKind::Text => "text",
        }
    }
}

/// How dates are written in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DateForm {
    /// In words, or numbers in one order only.
    Certain,
    /// In numbers, the day before the month.
    DayFirst,
    /// In numbers, the month before the day.
    MonthFirst,
    /// Seconds since the beginning of 1970.
    Seconds,
    /// Milliseconds since the beginning of 1970.
    Milliseconds,
    /// Eight digits: year, month, day.
    Digits,
    /// Years alone.
    Years,
}

/// How the values of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ColumnReading {
    /// What they are.
    pub kind: ColumnKind,
    /// How dates are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date_form: Option<DateForm>,
    /// Whether some date has a time of day; then all are written with one.
    #[serde(default)]
    pub has_time: bool,
    /// Whether numbers have a decimal comma.
    #[serde(default)]
    pub decimal_comma: bool,
    /// Whether all numbers are integers.
    #[serde(default)]
    pub is_integer: bool,
}

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnValue<'a> {
    /// A date, or a point in time.
    Date(Moment),
    /// A number.
    Number(f64),
    /// A category, an address or a text.
    Text(&'a str),
}

impl ColumnReading {
    /// The meaning of a value that is not empty; `None` if it is bad.
    pub fn value<'a>(&self, raw: &'a str) -> Option<ColumnValue<'a>> {
        match self.kind {
            ColumnKind::Date => {
                self.date_form.and_then(|form| date_in_form(raw, form)).map(ColumnValue::Date)
            }
            ColumnKind::Number => {
                number::read(raw, if self.decimal_comma { ',' } else { '.' }).map(ColumnValue::Number)
            }
            ColumnKind::Address => host(raw).map(|_| ColumnValue::Text(raw)),
            ColumnKind::Category | ColumnKind::Text => Some(ColumnValue::Text(raw)),
        }
    }

    /// A value as text: dates as ISO 8601, numbers as digits.
    pub fn written(&self, value: ColumnValue<'_>) -> String {
        match value {
            ColumnValue::Date(moment) => moment.iso(self.has_time).to_string(),
            ColumnValue::Number(number) => number.to_string(),
            ColumnValue::Text(text) => text.to_owned(),
        }
    }
}

/// A date in this form.
fn date_in_form(raw: &str, form: DateForm) -> Option<Moment> {
    match form {
        DateForm::Certain | DateForm::MonthFirst => date::read(raw)?.month_first,
        DateForm::DayFirst => date::read(raw)?.day_first,
        // From 3 March 1973 to the year 5138, and as far before 1970, so that other numbers are not
        // taken for dates.
        DateForm::Seconds => since_1970(raw, 1e8..1e11, 1e6),
        DateForm::Milliseconds => since_1970(raw, 1e11..1e14, 1e3),
        DateForm::Digits => date::compact(raw.trim()).map(Moment::of_date),
        DateForm::Years => {
            let year = raw.trim().parse().ok().filter(|year| (1000..3000).contains(year))?;
            chrono::NaiveDate::from_ymd_opt(year, 1, 1).map(Moment::of_date)
        }
    }
}

fn since_1970(raw: &str, range: std::ops::Range<f64>, micros: f64) -> Option<Moment> {
    let number = number::read(raw, '.').filter(|number| range.contains(&number.abs()))?;
    Moment::from_micros((number * micros).round() as i64)
}

/// The host of an address of the web, in lower case: `x.org` in `https://www.X.org/a?b`, `[::1]` in
/// `http://[::1]:80/`.
pub fn host(address: &str) -> Option<Cow<'_, str>> {
    let (scheme, rest) = address.trim().split_once("://")?;
    if !["http", "https", "ftp"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let end = match host.starts_with('[') {
        // An address of IPv6 has colons itself.
        true => host.find(']').map(|at| at + 1),
        false => host.find(':'),
    };
    let host = &host[..end.unwrap_or(host.len())];
    let host = match host.get(..4) {
        Some(start) if start.eq_ignore_ascii_case("www.") => &host[4..],
        _ => host,
    };
    let is_host = !host.is_empty() && !host.contains(char::is_whitespace);
    is_host.then(|| match host.contains(char::is_uppercase) {
        true => Cow::Owned(host.to_lowercase()),
        false => Cow::Borrowed(host),
    })
}

/// The greatest number of distinct values of a category.
pub(super) const MAX_DISTINCT: usize = 1_000;

/// The greatest number of hosts that are counted.
const MAX_HOSTS: usize = 2_000;

/// The longest value of a category.
const MAX_CATEGORY_BYTES: usize = 100;

/// Bytes of the counts of a column, at most: values and hosts with their slots in hash tables.
pub(super) const COUNTS_BYTES: u64 = 500_000;

/// Counts, and the least and greatest of what was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tally<T> {
    n: u64,
    range: Option<(T, T)>,
}

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Tally { n: 0, range: None }
    }
}

impl<T: Copy + PartialOrd> Tally<T> {
    fn add(&mut self, value: Option<T>) {
        let Some(value) = value else { return };
        self.n += 1;
        self.range = Some(match self.range {
            None => (value, value),
            Some((least, greatest)) => {
                (if value < least { value } else { least }, if value > greatest { value } else { greatest })
            }
        });
    }
}

/// Distinct values with their numbers, as long as they are few.
#[derive(Clone, Debug, Default)]
struct Distinct {
    counts: HashMap<Box<str>, u64>,
    is_over: bool,
}

impl Distinct {
    fn add(&mut self, value: &str, limit: usize) {
        if self.is_over {
            return;
        }
        if let Some(count) = self.counts.get_mut(value) {
            *count += 1;
        } else if self.counts.len() == limit || value.len() > MAX_CATEGORY_BYTES {
            *self = Distinct { counts: HashMap::new(), is_over: true };
        } else {
            self.counts.insert(value.into(), 1);
        }
    }

    /// The most frequent first, on a tie by value; `None` if there are too many.
    fn sorted(&self) -> Option<Vec<(String, u64)>> {
        if self.is_over {
            return None;
        }
        let mut sorted: Vec<(String, u64)> =
            self.counts.iter().map(|(value, &count)| (value.to_string(), count)).collect();
        sorted.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Some(sorted)
    }
}

/// What the values of a column may be.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnCounts {
    n_values: u64,
    day_first: Tally<Moment>,
    month_first: Tally<Moment>,
    n_day_first_only: u64,
    n_month_first_only: u64,
    n_ambiguous: u64,
    has_time: bool,
    /// Dates that only a named column has, by form.
    other_dates: [Tally<Moment>; OTHER_FORMS.len()],
    point: Tally<f64>,
    comma: Tally<f64>,
    has_fraction: [bool; 2],
    spellings: [Spellings; 2],
    n_addresses: u64,
    values: Distinct,
    hosts: Distinct,
}

/// How the numbers of a column are spelled.
#[derive(Clone, Copy, Debug, Default)]
struct Spellings {
    has_code: bool,
    /// Numbers with one decimal.
    n_short: u64,
    /// Numbers with several decimals of which the last is a zero.
    n_final_zeros: u64,
}

impl Spellings {
    /// Whether rewriting the numbers would lose something: a code, or the final zeros of versions.
    /// Programs write prices with equally many decimals, and other numbers without final zeros.
    fn are_codes(&self, n_values: u64) -> bool {
        let is_share = |n: u64| n > 0 && n.saturating_mul(20) >= n_values;
        self.has_code || (is_share(self.n_short) && is_share(self.n_final_zeros))
    }
}

const OTHER_FORMS: [DateForm; 4] =
    [DateForm::Seconds, DateForm::Milliseconds, DateForm::Digits, DateForm::Years];

/// What a column turned out to be.
pub(super) struct Recognised {
    pub(super) reading: ColumnReading,
    pub(super) n_values: u64,
    pub(super) n_bad: u64,
    /// The first and last date, in microseconds, or the least and greatest number.
    pub(super) range: Option<(f64, f64)>,
    /// Distinct categories, or hosts of addresses; `None` if there are too many, or other kinds.
    pub(super) values: Option<Vec<(String, u64)>>,
    /// Dates that could be read in both orders, if no value decides.
    pub(super) n_undecided: u64,
}

impl ColumnCounts {
    /// Counts a value that is not empty. `is_date` is whether the column is named as one.
    pub(super) fn add(&mut self, raw: &str, is_date: bool) {
        self.n_values += 1;
        if let Some(found) = date::read(raw) {
            self.day_first.add(found.day_first);
            self.month_first.add(found.month_first);
            match (found.day_first, found.month_first) {
                (Some(_), None) => self.n_day_first_only += 1,
                (None, Some(_)) => self.n_month_first_only += 1,
                (day_first, month_first) => self.n_ambiguous += u64::from(day_first != month_first),
            }
            self.has_time |= found.day_first.or(found.month_first).is_some_and(|moment| moment.has_time);
        }
        if is_date {
            for (tally, form) in self.other_dates.iter_mut().zip(OTHER_FORMS) {
                tally.add(date_in_form(raw, form));
            }
        }
        for (numbers, decimal) in [(&mut self.point, '.'), (&mut self.comma, ',')] {
            let Some(found) = number::spelled(raw, decimal) else { continue };
            let which = usize::from(decimal == ',');
            let spellings = &mut self.spellings[which];
            spellings.has_code |= found.is_code;
            spellings.n_short += u64::from(found.n_decimals == 1);
            spellings.n_final_zeros += u64::from(found.has_final_zero);
            if !found.is_code {
                self.has_fraction[which] |= !number::is_integer(found.number);
                numbers.add(Some(found.number));
            }
        }
        if let Some(host) = host(raw) {
            self.n_addresses += 1;
            self.hosts.add(&host, MAX_HOSTS);
        }
        self.values.add(raw, MAX_DISTINCT);
    }

    /// What the column is.
    pub(super) fn reading(&self, is_date: bool) -> Recognised {
        let is_most = |n: u64| n > 0 && n.saturating_mul(100) >= self.n_values.saturating_mul(95);
        let decimal_comma = self.comma.n > self.point.n;
        let numbers = if decimal_comma { self.comma } else { self.point };
        let (dates, form) = self.dates(is_date);
        let mut reading = ColumnReading {
            kind: ColumnKind::Text,
            date_form: None,
            has_time: false,
            decimal_comma: false,
            is_integer: false,
        };
        let (mut n_good, mut range, mut values, mut n_undecided) = (self.n_values, None, None, 0);
        if is_date || is_most(dates.n) {
            reading.kind = ColumnKind::Date;
            reading.date_form = Some(form);
            reading.has_time = match form {
                DateForm::Certain | DateForm::DayFirst | DateForm::MonthFirst => self.has_time,
                DateForm::Seconds | DateForm::Milliseconds => true,
                DateForm::Digits | DateForm::Years => false,
            };
            n_good = dates.n;
            range = dates.range.map(|(first, last)| (first.micros as f64, last.micros as f64));
            let is_decided = self.day_first.n != self.month_first.n;
            n_undecided = if form == DateForm::MonthFirst && !is_decided { self.n_ambiguous } else { 0 };
        } else if is_most(numbers.n) && !self.spellings[usize::from(decimal_comma)].are_codes(self.n_values) {
            reading.kind = ColumnKind::Number;
            reading.decimal_comma = decimal_comma;
            reading.is_integer = !self.has_fraction[usize::from(decimal_comma)];
            (n_good, range) = (numbers.n, numbers.range);
        } else if is_most(self.n_addresses) {
            reading.kind = ColumnKind::Address;
            (n_good, values) = (self.n_addresses, self.hosts.sorted());
        } else if let Some(sorted) = self.values.sorted()
            && (1..=self.n_values).contains(&(2 * sorted.len() as u64))
        {
            reading.kind = ColumnKind::Category;
            values = Some(sorted);
        }
        let n_bad = self.n_values - n_good;
        Recognised { reading, n_values: self.n_values, n_bad, range, values, n_undecided }
    }

    /// The best way to read dates.
    fn dates(&self, is_date: bool) -> (Tally<Moment>, DateForm) {
        let by_order = if self.day_first.n > self.month_first.n {
            (self.day_first, DateForm::DayFirst)
        } else {
            (self.month_first, DateForm::MonthFirst)
        };
        let has_order = self.n_ambiguous + self.n_day_first_only + self.n_month_first_only > 0;
        let mut best = if has_order { by_order } else { (self.month_first, DateForm::Certain) };
        if is_date {
            for (&tally, form) in self.other_dates.iter().zip(OTHER_FORMS) {
                best = if tally.n > best.0.n { (tally, form) } else { best };
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognised<'a>(values: impl IntoIterator<Item = &'a str>, is_date: bool) -> Recognised {
        let mut counts = ColumnCounts::default();
        values.into_iter().for_each(|value| counts.add(value, is_date));
        counts.reading(is_date)
    }

    fn kind<'a>(values: impl IntoIterator<Item = &'a str>) -> (ColumnKind, u64) {
        let found = recognised(values, false);
        (found.reading.kind, found.n_bad)
    }

    #[test]
    fn the_kind_is_that_of_nearly_all_values() {
        let dates = || std::iter::repeat_n("2024-03-04", 19);
        assert_eq!(kind(dates().chain(["soon"])), (ColumnKind::Date, 1));
        assert_eq!(kind(dates().chain(["soon", "late"])), (ColumnKind::Category, 0));
        assert_eq!(kind(["1", "2.5", "1,000"]), (ColumnKind::Number, 0));
        assert_eq!(kind(["01", "02", "02", "01"]), (ColumnKind::Category, 0));
        assert_eq!(kind(["true", "false", "true", "true"]), (ColumnKind::Category, 0));
        assert_eq!(kind(["https://www.x.org/a", "http://y.org"]), (ColumnKind::Address, 0));
        assert_eq!(kind(["cats purr", "dogs bark"]), (ColumnKind::Text, 0));
        assert_eq!(kind([]), (ColumnKind::Text, 0));
        assert_eq!(kind(["2021", "2022", "2023"]), (ColumnKind::Number, 0), "years are numbers");
        let many: Vec<String> = (0..3_000).map(|n| format!("v{}", n % 1_001)).collect();
        assert_eq!(kind(many.iter().map(String::as_str)), (ColumnKind::Text, 0), "too many values");
        assert_eq!(kind(many.iter().map(String::as_str).filter(|v| *v != "v1000")).0, ColumnKind::Category);
    }

    #[test]
    fn the_whole_column_decides_between_day_and_month() {
        let order = |values: &[&str]| {
            let found = recognised(values.iter().copied(), false);
            (found.reading.date_form.unwrap(), found.n_bad, found.n_undecided)
        };
        assert_eq!(order(&["03/04/2024", "25/04/2024"]), (DateForm::DayFirst, 0, 0));
        assert_eq!(order(&["03/04/2024", "04/25/2024"]), (DateForm::MonthFirst, 0, 0));
        assert_eq!(order(&["03/04/2024", "05/04/2024"]), (DateForm::MonthFirst, 0, 2));
        assert_eq!(order(&["2024-03-04", "4.3.2024"]), (DateForm::Certain, 0, 0));
        let mut mixed = vec!["25/04/2024"; 30];
        mixed.push("04/25/2024");
        assert_eq!(order(&mixed), (DateForm::DayFirst, 1, 0));
    }

    #[test]
    fn a_decimal_comma_is_found() {
        let found = recognised(["1,5", "2,75", "1.000"], false);
        assert_eq!((found.reading.kind, found.reading.decimal_comma), (ColumnKind::Number, true));
        assert_eq!((found.range, found.reading.is_integer), (Some((1.5, 1000.0)), false));
        assert_eq!(found.reading.value("1.000"), Some(ColumnValue::Number(1000.0)));
        assert_eq!(found.reading.value("n/a"), None);
    }

    #[test]
    fn numbers_that_rewriting_would_change_stay_as_they_are() {
        let big = ["1234567890123456789", "1234567890123456790", "9007199254740993"];
        assert_eq!(kind(big), (ColumnKind::Text, 0));
        // One value is enough: the others may be as short as they like.
        for code in ["9007199254740993", "02139", "+4915112345678"] {
            let values = || std::iter::repeat_n("10001", 99).chain([code]);
            assert_eq!(kind(values()), (ColumnKind::Category, 0), "{code}");
            let found = recognised(values(), false);
            assert_eq!(found.reading.value(code), Some(ColumnValue::Text(code)));
        }
        assert_eq!(kind(["1.2", "1.20", "1.9", "1.10"]), (ColumnKind::Text, 0), "versions");
        assert_eq!(kind(["1.20", "1.25", "3", "4.00"]), (ColumnKind::Number, 0), "prices");
        assert_eq!(kind(["1.0", "2.5", "3.25", "-0.0"]), (ColumnKind::Number, 0), "a program's numbers");
        assert_eq!(kind(["9007199254740992", "-5", "+12"]), (ColumnKind::Number, 0));
    }

    #[test]
    fn a_named_date_column_may_hold_numbers() {
        for (values, form, first) in [
            (["1709546400", "1709546401", "x"], DateForm::Seconds, "2024-03-04T10:00:00Z"),
            (["1709546400000", "1709546400500", "x"], DateForm::Milliseconds, "2024-03-04T10:00:00Z"),
            (["20240304", "20240305", "x"], DateForm::Digits, "2024-03-04"),
            (["2024", "2025", "x"], DateForm::Years, "2024-01-01"),
        ] {
            let found = recognised(values, true);
            assert_eq!((found.reading.date_form, found.n_bad), (Some(form), 1), "{values:?}");
            let value = found.reading.value(values[0]).unwrap();
            assert_eq!(found.reading.written(value), first);
        }
        assert_eq!(recognised(["cats"], true).n_bad, 1);
    }

    #[test]
    fn hosts_are_found() {
        for (address, expected) in [
            ("https://www.x.org/a?b", Some("x.org")),
            ("HTTP://u:p@y.org:80#c", Some("y.org")),
            ("http://WWW.Y.Org/A", Some("y.org")),
            ("http://[::1]:80/", Some("[::1]")),
            ("https://u@[2001:DB8::7]", Some("[2001:db8::7]")),
            ("x.org", None),
            ("http:///a", None),
            ("see http://x.org", None),
        ] {
            assert_eq!(host(address).as_deref(), expected, "{address}");
        }
    }
}
