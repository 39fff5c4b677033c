//! Dates of XLSX, which are numbers of days whose cells have the format of a date.

use std::collections::HashMap;

use chrono::{NaiveDate, TimeDelta};

use super::sheet_parts::{Parts, attribute, each_element};
use crate::error::Result;

/// Which styles of cells are dates, and the day from which days are counted.
#[derive(Default)]
pub(super) struct DateStyles {
    is_date: Vec<bool>,
    from_1904: bool,
}

impl DateStyles {
    /// Reads the styles of a file.
    pub(super) fn read(parts: &mut Parts) -> Result<Self> {
        let mut styles = DateStyles::default();
        each_element(parts.xml("xl/workbook.xml")?, |element| {
            if element.local_name().as_ref() == "workbookPr" {
                let given = attribute(element, "date1904");
                styles.from_1904 = given.is_some_and(|given| given == "1" || given == "true");
            }
        })?;
        if !parts.has("xl/styles.xml") {
            return Ok(styles);
        }
        let mut formats: HashMap<u32, bool> = HashMap::new();
        // Styles of cells are numbered apart from those of which they are made.
        let mut in_cells = false;
        each_element(parts.xml("xl/styles.xml")?, |element| {
            let number = || attribute(element, "numFmtId").and_then(|number| number.parse().ok());
            match element.local_name().as_ref() {
                "numFmt" => {
                    let code = attribute(element, "formatCode").unwrap_or_default();
                    formats.extend(number().map(|number| (number, is_date_format(&code))));
                }
                "cellXfs" => in_cells = true,
                "cellStyles" | "cellStyleXfs" | "dxfs" => in_cells = false,
                "xf" if in_cells => {
                    let number: u32 = number().unwrap_or_default();
                    // Formats that every program knows; those of times of day alone are no dates.
                    let is_known = matches!(number, 14..=17 | 22 | 27..=31 | 36 | 50..=54 | 57..=58);
                    styles.is_date.push(formats.get(&number).copied().unwrap_or(is_known));
                }
                _ => {}
            }
        })?;
        Ok(styles)
    }

    /// Whether cells of this style are dates.
    pub(super) fn is_date(&self, style: Option<&str>) -> bool {
        let style = style.and_then(|style| style.parse::<usize>().ok()).unwrap_or(0);
        self.is_date.get(style).copied().unwrap_or(false)
    }

    /// A number of days as a date, or as a point in time.
    pub(super) fn date(&self, number: &str) -> Option<String> {
        let days: f64 = number.trim().parse().ok().filter(|days| (1.0..3_000_000.0).contains(days))?;
        let first = match self.from_1904 {
            true => NaiveDate::from_ymd_opt(1904, 1, 1)?,
            // For these programs 1900 was a leap year.
            false if days < 60.0 => NaiveDate::from_ymd_opt(1899, 12, 31)?,
            false => NaiveDate::from_ymd_opt(1899, 12, 30)?,
        };
        let seconds = (days * 86_400.0).round() as i64;
        let time = first.and_hms_opt(0, 0, 0)?.checked_add_signed(TimeDelta::try_seconds(seconds)?)?;
        Some(if seconds % 86_400 == 0 { format!("{:?}", time.date()) } else { format!("{time:?}") })
    }
}

/// Whether a format shows a day, month or year.
fn is_date_format(code: &str) -> bool {
    let mut rest = code.split(';').next().unwrap_or_default().chars();
    let mut has_day = false;
    while let Some(character) = rest.next() {
        match character.to_ascii_lowercase() {
            // Texts, escaped characters and conditions such as [Red].
            '"' => drop(rest.by_ref().find(|&other| other == '"')),
            '[' => drop(rest.by_ref().find(|&other| other == ']')),
            '\\' | '_' | '*' => drop(rest.next()),
            'y' | 'd' => has_day = true,
            _ => {}
        }
    }
    has_day || code.eq_ignore_ascii_case("mmm") || code.eq_ignore_ascii_case("mmmm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let styles = DateStyles::default();
        for (number, expected) in [
            ("45355", "2024-03-04"),
            ("45355.5", "2024-03-04T12:00:00"),
            ("1", "1900-01-01"),
            ("59", "1900-02-28"),
            ("61", "1900-03-01"),
        ] {
            assert_eq!(styles.date(number).as_deref(), Some(expected));
        }
        assert_eq!(DateStyles { from_1904: true, ..styles }.date("43893").as_deref(), Some("2024-03-04"));
        let styles = DateStyles::default();
        for number in ["0.5", "-3", "x", "1e9", "nan"] {
            assert_eq!(styles.date(number), None, "{number}");
        }
    }

    #[test]
    fn formats_of_dates_are_known() {
        for code in ["yyyy-mm-dd", "DD/MM/YYYY\\ hh:mm", "[$-409]d\\-mmm\\-yy;@", "mmmm d, yyyy"] {
            assert!(is_date_format(code), "{code}");
        }
        for code in ["0.00", "#,##0.00\\ \"day\"", "[Red]0", "hh:mm:ss", "General", "0_d"] {
            assert!(!is_date_format(code), "{code}");
        }
    }
}
