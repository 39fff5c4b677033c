//! Equal steps of time: days, weeks, months, years or decades.

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Serialize};

use super::date::Moment;

/// A step of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TimeStep {
    /// A day.
    Day,
    /// A week, from Monday.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
    /// Ten years, from one that ends with 0.
    Decade,
    /// A hundred years, from one that ends with 00.
    Century,
}

/// Steps that cover a range of dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    step: TimeStep,
    /// The number of the first step, counted from the year 0 or from 1970.
    first: i64,
    n_steps: usize,
    /// The number of centuries in a step, or 1.
    width: i64,
}

impl Timeline {
    /// The finest timeline from one date to another that has at most so many steps. If there are
    /// more centuries, a step has several of them.
    pub fn new(first: Moment, last: Moment, max_steps: usize) -> Self {
        use TimeStep::{Century, Day, Decade, Month, Week, Year};
        let steps = [Day, Week, Month, Year, Decade];
        let length = |step: TimeStep| number(last, step) - number(first, step) + 1;
        let step = steps.into_iter().find(|&step| length(step) <= max_steps as i64).unwrap_or(Century);
        let length = length(step).max(1);
        let max_steps = max_steps.max(1) as i64;
        let width = if step == Century { (length + max_steps - 1) / max_steps } else { 1 };
        let n_steps = ((length + width - 1) / width) as usize;
        Timeline { step, first: number(first, step), n_steps, width }
    }

    /// The step.
    pub fn step(&self) -> TimeStep {
        self.step
    }

    /// The number of steps.
    pub fn n_steps(&self) -> usize {
        self.n_steps
    }

    /// In which step a date is, from 0; the first or the last for dates outside.
    pub fn place(&self, moment: Moment) -> usize {
        let place = (number(moment, self.step) - self.first).div_euclid(self.width);
        place.clamp(0, self.n_steps as i64 - 1) as usize
    }

    /// The first day of a step, as ISO 8601.
    pub fn start(&self, place: usize) -> String {
        let number = self.first + place as i64 * self.width;
        let date = match self.step {
            TimeStep::Day => day(number),
            // The first day of 1970 is a Thursday.
            TimeStep::Week => day(7 * number - 3),
            TimeStep::Month => {
                NaiveDate::from_ymd_opt(number.div_euclid(12) as i32, number.rem_euclid(12) as u32 + 1, 1)
            }
            TimeStep::Year => NaiveDate::from_ymd_opt(number as i32, 1, 1),
            TimeStep::Decade => NaiveDate::from_ymd_opt(10 * number as i32, 1, 1),
            TimeStep::Century => NaiveDate::from_ymd_opt(100 * number as i32, 1, 1),
        };
        date.map_or_else(String::new, |date| format!("{date:?}"))
    }
}

fn day(number: i64) -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(1970, 1, 1)?.checked_add_signed(chrono::TimeDelta::try_days(number)?)
}

/// The number of the step in which a date is.
fn number(moment: Moment, step: TimeStep) -> i64 {
    let (days, date) = (moment.days(), moment.date());
    match step {
        TimeStep::Day => days,
        TimeStep::Week => (days + 3).div_euclid(7),
        TimeStep::Month => 12 * i64::from(date.year()) + i64::from(date.month0()),
        TimeStep::Year => i64::from(date.year()),
        TimeStep::Decade => i64::from(date.year()).div_euclid(10),
        TimeStep::Century => i64::from(date.year()).div_euclid(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(year: i32, month: u32, day: u32) -> Moment {
        Moment::of_date(NaiveDate::from_ymd_opt(year, month, day).unwrap())
    }

    #[test]
    fn the_finest_step_that_fits_is_taken() {
        let line = |from, to| {
            let line = Timeline::new(from, to, 60);
            (line.step(), line.n_steps(), line.start(0), line.start(line.n_steps() - 1))
        };
        let text = str::to_owned;
        let of_days = (TimeStep::Day, 29, text("2024-02-01"), text("2024-02-29"));
        assert_eq!(line(moment(2024, 2, 1), moment(2024, 2, 29)), of_days);
        // 4 March 2024 is a Monday.
        let of_weeks = (TimeStep::Week, 44, text("2024-02-26"), text("2024-12-23"));
        assert_eq!(line(moment(2024, 3, 3), moment(2024, 12, 29)), of_weeks);
        let of_months = (TimeStep::Month, 48, text("2020-01-01"), text("2023-12-01"));
        assert_eq!(line(moment(2020, 1, 31), moment(2023, 12, 1)), of_months);
        let of_years = (TimeStep::Year, 55, text("1970-01-01"), text("2024-01-01"));
        assert_eq!(line(moment(1970, 5, 5), moment(2024, 3, 4)), of_years);
        let of_decades = (TimeStep::Decade, 53, text("1500-01-01"), text("2020-01-01"));
        assert_eq!(line(moment(1500, 1, 1), moment(2024, 3, 4)), of_decades);
        let of_centuries = (TimeStep::Century, 50, text("0000-01-01"), text("9800-01-01"));
        assert_eq!(line(moment(1, 1, 1), moment(9999, 1, 1)), of_centuries);
        let few = Timeline::new(moment(1, 1, 1), moment(9999, 1, 1), 8);
        assert_eq!((few.n_steps(), few.start(7)), (8, "9100-01-01".to_owned()));
        let places = [1, 1299, 1300, 9099, 9100, 9999].map(|year| few.place(moment(year, 1, 1)));
        assert_eq!(places, [0, 0, 1, 6, 7, 7]);
    }

    #[test]
    fn every_day_is_in_the_step_that_begins_last_before_it() {
        let (first, last) = (moment(1968, 12, 30), moment(1971, 2, 3));
        for max_steps in [10_000, 200, 60, 5] {
            let line = Timeline::new(first, last, max_steps);
            for days in first.days()..=last.days() {
                let at = Moment { micros: days * 86_400_000_000 + 1, has_time: true };
                let date = at.iso(false).to_string();
                let place = line.place(at);
                assert!(line.start(place) <= date, "{date}");
                assert!(place + 1 == line.n_steps() || line.start(place + 1) > date, "{date}");
            }
        }
    }
}
