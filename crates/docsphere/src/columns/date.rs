//! Dates and times as people and programs write them.
//!
//! | form | examples |
//! |---|---|
//! | ISO 8601 | `2024-03-04`, `2024-03`, `2024/3/4`, `2024-03-04T10:00:00.5Z`, `2024-03-04 10:00+01:00`, `20240304T100000Z` |
//! | numbers | `4.3.2024`, `03/04/2024`, `3-4-24`, each also with a time, `3/4/2024 5:30 PM` |
//! | English names of months | `4 March 2024`, `Mar 4, 2024`, `4-Mar-24`, `Mon, 4 Mar 2024 10:00:00 +0100`, `Mon Mar  4 10:00:00 2024` |
//!
//! Numbers with dots are day, month, year. With slashes or hyphens they may also be month, day,
//! year: both readings are returned, and the whole column decides. Years of two digits are from
//! 1969 to 2068. A time with an offset is converted to UTC; without one it counts as UTC.
//!
//! The calendar is that of the crate chrono.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, Timelike};

/// The longest text that may be a date.
const MAX_BYTES: usize = 64;

const MICROS: i64 = 1_000_000;

/// A date, or a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Microseconds since the beginning of 1970, in UTC.
    pub micros: i64,
    /// Whether it has a time of day.
    pub has_time: bool,
}

/// A text as a date, by both orders of day and month.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Readings {
    pub(super) day_first: Option<Moment>,
    pub(super) month_first: Option<Moment>,
}

impl Moment {
    /// A date.
    pub(super) fn of_date(date: NaiveDate) -> Self {
        let seconds = date.and_time(NaiveTime::MIN).and_utc().timestamp();
        Moment { micros: seconds * MICROS, has_time: false }
    }

    /// A point in time, by microseconds since the beginning of 1970; `None` beyond the years 1 to
    /// 9999.
    pub fn from_micros(micros: i64) -> Option<Self> {
        let year = DateTime::from_timestamp_micros(micros)?.year();
        (1..=9999).contains(&year).then_some(Moment { micros, has_time: true })
    }

    /// The day, in days since the beginning of 1970.
    pub fn days(self) -> i64 {
        self.micros.div_euclid(86_400 * MICROS)
    }

    /// The day in the calendar.
    pub(super) fn date(self) -> NaiveDate {
        DateTime::from_timestamp_micros(self.micros).map_or(NaiveDate::MIN, |time| time.date_naive())
    }

    /// Writes it as ISO 8601: a date, or a time in UTC.
    pub fn iso(self, with_time: bool) -> impl fmt::Display {
        Iso { moment: self, with_time }
    }
}

struct Iso {
    moment: Moment,
    with_time: bool,
}

impl fmt::Display for Iso {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(time) = DateTime::from_timestamp_micros(self.moment.micros) else { return Ok(()) };
        write!(f, "{:04}-{:02}-{:02}", time.year(), time.month(), time.day())?;
        if !self.with_time {
            return Ok(());
        }
        write!(f, "T{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        match self.moment.micros.rem_euclid(MICROS) {
            0 => f.write_str("Z"),
            rest if rest % 1_000 == 0 => write!(f, ".{:03}Z", rest / 1_000),
            rest => write!(f, ".{rest:06}Z"),
        }
    }
}

/// Reads a date.
pub(super) fn read(text: &str) -> Option<Readings> {
    let text = text.trim();
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    if text.len() > MAX_BYTES || !text.is_ascii() || !has_digit {
        return None;
    }
    let numbers = text.as_bytes()[0].is_ascii_digit().then(|| of_numbers(text)).flatten();
    numbers.or_else(|| of_words(text).map(Readings::certain))
}

impl Readings {
    fn certain(moment: Moment) -> Self {
        Readings { day_first: Some(moment), month_first: Some(moment) }
    }
}

/// A date that begins with numbers: ISO 8601, or day, month and year.
fn of_numbers(text: &str) -> Option<Readings> {
    let (date, time) = split_time(text);
    let time = if time.is_empty() { None } else { Some(read_time(time)?) };
    let at = |date: NaiveDate| moment(date, time);
    if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) {
        // Without a time it is a number.
        time?;
        return at(compact(date)?).map(Readings::certain);
    }
    let separator = date.bytes().find(|byte| !byte.is_ascii_digit())? as char;
    if !['-', '/', '.'].contains(&separator) {
        return None;
    }
    let parts: Vec<&str> = date.split(separator).collect();
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.bytes().all(|b| b.is_ascii_digit()));
    match parts[..] {
        [year, month] if year.len() == 4 && month.len() == 2 && separator != '.' && time.is_none() => {
            at(NaiveDate::from_ymd_opt(number(year)? as i32, number(month)?, 1)?).map(Readings::certain)
        }
        [year, month, day] if year.len() == 4 && month.len() <= 2 && day.len() <= 2 => {
            let date = NaiveDate::from_ymd_opt(number(year)? as i32, number(month)?, number(day)?)?;
            at(date).map(Readings::certain)
        }
        [first, second, year] if first.len() <= 2 && second.len() <= 2 => {
            let (first, second, year) = (number(first)?, number(second)?, full_year(year)?);
            let day_first = NaiveDate::from_ymd_opt(year, second, first).and_then(at);
            let month_first = NaiveDate::from_ymd_opt(year, first, second).and_then(at);
            let month_first = if separator == '.' { day_first } else { month_first };
            (day_first.is_some() || month_first.is_some()).then_some(Readings { day_first, month_first })
        }
        _ => None,
    }
}

/// A date of eight digits.
pub(super) fn compact(digits: &str) -> Option<NaiveDate> {
    if digits.len() != 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |range: std::ops::Range<usize>| digits[range].parse::<u32>().ok();
    NaiveDate::from_ymd_opt(part(0..4)? as i32, part(4..6)?, part(6..8)?)
}

/// The date and the time of a text.
fn split_time(text: &str) -> (&str, &str) {
    match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, ""),
    }
}

/// A year of four digits, or of two.
fn full_year(year: &str) -> Option<i32> {
    let number: i32 = year.parse().ok().filter(|_| year.bytes().all(|byte| byte.is_ascii_digit()))?;
    match year.len() {
        4 => Some(number),
        2 if number <= 68 => Some(2000 + number),
        2 => Some(1900 + number),
        _ => None,
    }
}

/// A time of day, and its distance from UTC in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Time {
    micros: i64,
    offset: i64,
}

fn moment(date: NaiveDate, time: Option<Time>) -> Option<Moment> {
    let day = Some(Moment::of_date(date)).filter(|_| (1..=9999).contains(&date.year()))?;
    match time {
        None => Some(day),
        Some(Time { micros, offset }) => Moment::from_micros(day.micros + micros - offset * MICROS),
    }
}

/// Reads `10:00`, `10:00:00.5`, `5:30 PM`, `100000`, each perhaps with an offset.
fn read_time(text: &str) -> Option<Time> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.' && c != ',');
    let (clock, rest) = text.split_at(end.unwrap_or(text.len()));
    let (mut micros, mut rest) = (read_clock(clock)?, rest.trim());
    let half =
        rest.get(..2).filter(|half| half.eq_ignore_ascii_case("am") || half.eq_ignore_ascii_case("pm"));
    if let Some(half) = half {
        let hour = micros / (3_600 * MICROS);
        if !(1..=12).contains(&hour) {
            return None;
        }
        micros = micros % (3_600 * MICROS) + hour % 12 * 3_600 * MICROS;
        micros += if half.eq_ignore_ascii_case("pm") { 12 * 3_600 * MICROS } else { 0 };
        rest = rest[2..].trim();
    }
    let mut offset = 0;
    // Such as "+0000 UTC".
    for word in rest.split_whitespace() {
        offset += read_offset(word)?;
    }
    Some(Time { micros, offset })
}

fn read_clock(text: &str) -> Option<i64> {
    let (clock, fraction) = match text.find(['.', ',']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = match clock.len() {
        4 | 6 if digits(clock) => (0..clock.len()).step_by(2).map(|at| &clock[at..at + 2]).collect(),
        _ => clock.split(':').collect(),
    };
    let number = |part: &str| part.parse::<i64>().ok().filter(|_| digits(part) && part.len() <= 2);
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (number(hour)?, number(minute)?, 0),
        [hour, minute, second] => (number(hour)?, number(minute)?, number(second)?),
        _ => return None,
    };
    // A leap second counts as the one after it.
    if hour > 23 || minute > 59 || second > 60 || !digits(fraction) {
        return None;
    }
    let fraction: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some((hour * 3_600 + minute * 60 + second) * MICROS + fraction)
}

/// Reads an offset from UTC, in seconds.
fn read_offset(text: &str) -> Option<i64> {
    let hours = match text.to_ascii_uppercase().as_str() {
        "Z" | "UTC" | "GMT" | "UT" => 0,
        "EST" => -5,
        "EDT" => -4,
        "CST" => -6,
        "CDT" => -5,
        "MST" => -7,
        "MDT" => -6,
        "PST" => -8,
        "PDT" => -7,
        "CET" => 1,
        "CEST" => 2,
        _ => return read_numeric_offset(text),
    };
    Some(hours * 3_600)
}

fn read_numeric_offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = text[1..].chars().filter(|&c| c != ':').collect();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = match digits.len() {
        2 if is_number => (digits.parse::<i64>().ok()?, 0),
        4 if is_number => (digits[..2].parse::<i64>().ok()?, digits[2..].parse::<i64>().ok()?),
        _ => return None,
    };
    (hours <= 15 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Which of these names a word is, or begins with at least three letters.
fn named(word: &str, names: &[&str]) -> Option<usize> {
    let word = word.trim_end_matches('.').to_ascii_lowercase();
    let is_short =
        |name: &&str| word.len() >= 3 && name.starts_with(&word) || word == "sept" && *name == "september";
    names.iter().position(is_short)
}

/// A date with the name of a month.
fn of_words(text: &str) -> Option<Moment> {
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    let mut zones = 0;
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    // "4-Mar-2024"
    let parts = words.flat_map(|word| {
        let is_date = word.contains('-') && word.bytes().any(|byte| byte.is_ascii_alphabetic());
        word.split(if is_date { '-' } else { ' ' }).collect::<Vec<_>>()
    });
    for word in parts {
        let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '.');
        if word.contains(':') && time.is_none() && word.as_bytes()[0].is_ascii_digit() {
            time = Some(read_time(word)?);
        } else if let Some(found) = named(word, &MONTHS).filter(|_| month.is_none()) {
            month = Some(found as u32 + 1);
        } else if named(word, &WEEKDAYS).is_some() && day.is_none() {
        } else if let Ok(found) = number.parse::<u32>()
            && ["", ".", "st", "nd", "rd", "th"].contains(&&word[number.len()..])
            && !word.starts_with('+')
        {
            match (day, year) {
                (None, _) if number.len() <= 2 => day = Some(found),
                (_, None) => year = Some(full_year(number)?),
                _ => return None,
            }
        } else if let Some(time) = &mut time {
            match word.to_ascii_lowercase().as_str() {
                "am" | "pm" => *time = read_time(&format!("{} {word}", clock_of(time.micros)))?,
                _ if zones == 0 => {
                    time.offset = read_offset(word)?;
                    zones += 1;
                }
                // Such as "+0000 (UTC)".
                _ => {}
            }
        } else {
            return None;
        }
    }
    moment(NaiveDate::from_ymd_opt(year?, month?, day?)?, time)
}

/// A time of day as text.
fn clock_of(micros: i64) -> String {
    let seconds = micros / MICROS;
    format!("{:02}:{:02}:{:02}.{:06}", seconds / 3_600, seconds / 60 % 60, seconds % 60, micros % MICROS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that is a date by both orders, as ISO 8601.
    fn iso(text: &str) -> Option<String> {
        let found = read(text)?;
        assert_eq!(found.day_first, found.month_first, "{text}");
        found.day_first.map(|moment| moment.iso(moment.has_time).to_string())
    }

    #[test]
    fn common_forms_are_read() {
        for (text, expected) in [
            ("2024-03-04", "2024-03-04"),
            ("2024-03", "2024-03-01"),
            ("2024/3/4", "2024-03-04"),
            ("2024-03-04T10:00:00Z", "2024-03-04T10:00:00Z"),
            ("2024-03-04T10:00:00.5+01:00", "2024-03-04T09:00:00.500Z"),
            ("2024-03-04T10:00:00.123456789Z", "2024-03-04T10:00:00.123456Z"),
            ("2024-03-04 10:00", "2024-03-04T10:00:00Z"),
            ("2024-03-04 23:30:00 -0330", "2024-03-05T03:00:00Z"),
            ("2024-03-04 10:00:00+00:00", "2024-03-04T10:00:00Z"),
            ("2024-03-04 10:00:00 +0000 UTC", "2024-03-04T10:00:00Z"),
            ("20240304T100000Z", "2024-03-04T10:00:00Z"),
            ("4.3.2024", "2024-03-04"),
            ("04.03.24 17:05", "2024-03-04T17:05:00Z"),
            ("4 March 2024", "2024-03-04"),
            ("4th of march", ""),
            ("Mar 4, 2024", "2024-03-04"),
            ("March 4th, 2024 5:30 PM", "2024-03-04T17:30:00Z"),
            ("4-Mar-24", "2024-03-04"),
            ("Sept. 4 1999", "1999-09-04"),
            ("Mon, 4 Mar 2024 10:00:00 +0100", "2024-03-04T09:00:00Z"),
            ("Mon, 04 Mar 2024 10:00:00 +0000 (UTC)", "2024-03-04T10:00:00Z"),
            ("Mon Apr 06 22:19:45 PDT 2009", "2009-04-07T05:19:45Z"),
            ("Wed Aug 27 13:08:45 +0000 2008", "2008-08-27T13:08:45Z"),
            ("Mon Mar  4 10:00:00 2024", "2024-03-04T10:00:00Z"),
            ("1969-07-20T20:17:40Z", "1969-07-20T20:17:40Z"),
            ("0001-01-01", "0001-01-01"),
        ] {
            let expected = Some(expected.to_owned()).filter(|iso| !iso.is_empty());
            assert_eq!(iso(text), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "cats",
            "2024",
            "20240304",
            "1.5",
            "1.2.3",
            "12:00",
            "2024-13-01",
            "2024-02-30",
            "31/11/2024",
            "2024-03-04T25:00",
            "2024-03-04 10:00 maybe",
            "may",
            "4 may",
            "0000-01-01",
            "1/2/3/4",
            "3/4",
            "192.168.0.1",
            "10-20-30-40",
            "2024-03-04T10:00:00+99:00",
            "версия 4",
            "99999-01-01",
            "13:00 pm",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn day_and_month_are_told_apart_where_that_is_possible() {
        let both = |text: &str| {
            let found = read(text).unwrap();
            [found.day_first, found.month_first]
                .map(|found| found.map(|moment| moment.iso(false).to_string()))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(both("03/04/2024"), [some("2024-04-03"), some("2024-03-04")]);
        assert_eq!(both("25/12/2024"), [some("2024-12-25"), None]);
        assert_eq!(both("12/25/24 5:00 PM"), [None, some("2024-12-25")]);
        assert_eq!(both("03.04.2024"), [some("2024-04-03"), some("2024-04-03")]);
    }

    #[test]
    fn no_text_makes_the_reader_panic() {
        for text in [
            "2024-03-04T",
            "1/",
            "//",
            "1/1/",
            "Mon,",
            "-",
            "+",
            ":",
            "1:",
            "2024-03-04T10:00:00.",
            "AM 1 jan 2000 1:1 pm",
        ] {
            for end in 0..=text.len() {
                let _ = read(&text[..end]);
            }
        }
    }
}
