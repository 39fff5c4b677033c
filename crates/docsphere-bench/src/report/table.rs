//! Tables: rounded as Markdown and LaTeX for people, with all digits as CSV for programs.

use std::fmt::Write as _;

use anyhow::Result;

use crate::measure::Timing;

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    Count(u64),
    /// A number, rounded to `digits` decimals for people.
    Number {
        value: f64,
        digits: usize,
    },
    /// The same, marked as extrapolated.
    Extrapolated {
        value: f64,
        digits: usize,
    },
    /// An unknown value.
    Empty,
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    pub(crate) fn count(count: usize) -> Self {
        Cell::Count(count as u64)
    }

    pub(crate) fn number(value: f64, digits: usize) -> Self {
        Cell::Number { value, digits }
    }

    /// Seconds, to three or four significant digits.
    pub(crate) fn seconds(value: f64) -> Self {
        let digits = match value {
            value if value < 0.1 => 5,
            value if value < 1.0 => 4,
            value if value < 10.0 => 3,
            value if value < 100.0 => 2,
            _ => 1,
        };
        Cell::Number { value, digits }
    }

    /// Bytes as megabytes.
    pub(crate) fn megabytes(bytes: Option<u64>) -> Self {
        bytes.map_or(Cell::Empty, |bytes| Cell::number(bytes as f64 / 1e6, 1))
    }

    /// The same number, marked as extrapolated if `is_extrapolated`.
    pub(crate) fn marked(self, is_extrapolated: bool) -> Self {
        match self {
            Cell::Number { value, digits } if is_extrapolated => Cell::Extrapolated { value, digits },
            cell => cell,
        }
    }

    fn is_numeric(&self) -> bool {
        !matches!(self, Cell::Text(_))
    }

    /// For people.
    fn rounded(&self) -> String {
        match self {
            Cell::Text(text) => text.replace('|', r"\|"),
            Cell::Count(count) => with_commas(*count),
            Cell::Number { value, digits } => format!("{value:.digits$}"),
            Cell::Extrapolated { value, digits } => format!("{value:.digits$} \\*"),
            Cell::Empty => String::new(),
        }
    }

    /// For LaTeX.
    fn latex(&self) -> String {
        match self {
            Cell::Text(text) => latex_text(text),
            Cell::Extrapolated { value, digits } => format!("{value:.digits$}$^*$"),
            cell => cell.rounded(),
        }
    }

    /// For programs.
    fn exact(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number { value, .. } | Cell::Extrapolated { value, .. } => value.to_string(),
            Cell::Empty => String::new(),
        }
    }
}

impl From<Option<Timing>> for Cell {
    fn from(timing: Option<Timing>) -> Self {
        timing.map_or(Cell::Empty, |timing| Cell::seconds(timing.seconds).marked(timing.is_extrapolated))
    }
}

/// Escapes the special characters of LaTeX.
fn latex_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '\\' => escaped.push_str(r"\textbackslash{}"),
            '~' => escaped.push_str(r"\textasciitilde{}"),
            '^' => escaped.push_str(r"\textasciicircum{}"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// 1234567 as 1,234,567.
fn with_commas(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Rows under named columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Table { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// # Panics
    /// If there is not one cell for each column.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "one cell for each column");
        self.rows.push(row);
    }

    /// The table as Markdown: numbers right-aligned, columns as wide as their widest cell.
    pub(crate) fn markdown(&self) -> String {
        let cells: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::rounded).collect()).collect();
        let width = |column: usize| {
            let in_rows = cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            in_rows.max(self.columns[column].chars().count()).max(3)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let is_right = self.numeric_columns();
        let mut text = String::new();
        let mut line = |cells: &[String]| {
            for ((cell, &width), &is_right) in cells.iter().zip(&widths).zip(&is_right) {
                let _ = if is_right {
                    write!(text, "| {cell:>width$} ")
                } else {
                    write!(text, "| {cell:<width$} ")
                };
            }
            text.push_str("|\n");
        };
        line(&self.columns);
        let rule = |(&width, &is_right): (&usize, &bool)| {
            if is_right { format!("{}:", "-".repeat(width - 1)) } else { "-".repeat(width) }
        };
        line(&widths.iter().zip(&is_right).map(rule).collect::<Vec<_>>());
        cells.iter().for_each(|row| line(row));
        text
    }

    fn numeric_columns(&self) -> Vec<bool> {
        (0..self.columns.len()).map(|column| self.rows.iter().all(|row| row[column].is_numeric())).collect()
    }

    /// The table as a LaTeX `tabular` environment, which needs no package.
    pub(crate) fn latex(&self) -> String {
        let places: String =
            self.numeric_columns().iter().map(|is_right| if *is_right { 'r' } else { 'l' }).collect();
        let names: Vec<String> = self.columns.iter().map(|name| latex_text(name)).collect();
        let mut text =
            format!("\\begin{{tabular}}{{{places}}}\n\\hline\n{} \\\\ \\hline\n", names.join(" & "));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(Cell::latex).collect();
            let _ = writeln!(text, "{} \\\\", cells.join(" & "));
        }
        text.push_str("\\hline\n\\end{tabular}\n");
        text
    }

    /// The table as CSV, with underscores for spaces in the names of columns.
    pub(crate) fn csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|name| name.replace(' ', "_")))?;
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::exact))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["strategy", "CPU seconds", "similarities", "peak MB"]);
        let cells = |name: &str, seconds, count| vec![Cell::text(name), seconds, Cell::Count(count)];
        let mut first = cells("a|b", Cell::seconds(12.3456), 1_234_567);
        first.push(Cell::megabytes(Some(2_560_000)));
        let mut second = cells("c, d", Cell::seconds(0.25).marked(true), 12);
        second.push(Cell::megabytes(None));
        table.push(first);
        table.push(second);
        table
    }

    #[test]
    fn markdown_is_rounded_and_aligned() {
        let expected = [
            r"| strategy | CPU seconds | similarities | peak MB |",
            r"| -------- | ----------: | -----------: | ------: |",
            r"| a\|b     |       12.35 |    1,234,567 |     2.6 |",
            r"| c, d     |   0.2500 \* |           12 |         |",
        ];
        assert_eq!(table().markdown().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn csv_has_all_digits_and_quotes() {
        let expected =
            "strategy,CPU_seconds,similarities,peak_MB\na|b,12.3456,1234567,2.56\n\"c, d\",0.25,12,\n";
        assert_eq!(table().csv().unwrap(), expected);
    }

    #[test]
    fn latex_is_escaped() {
        let mut table = Table::new(["mode", "k_1", "share %"]);
        table.push(vec![Cell::text(r"a & b\c"), Cell::Count(1234), Cell::seconds(0.25).marked(true)]);
        let expected = [
            r"\begin{tabular}{lrr}",
            r"\hline",
            r"mode & k\_1 & share \% \\ \hline",
            r"a \& b\textbackslash{}c & 1,234 & 0.2500$^*$ \\",
            r"\hline",
            r"\end{tabular}",
        ];
        assert_eq!(table.latex().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!(
            [0, 999, 1000, 12_345, 1_000_000].map(with_commas),
            ["0", "999", "1,000", "12,345", "1,000,000"]
        );
    }

    #[test]
    #[should_panic(expected = "one cell for each column")]
    fn a_row_must_be_complete() {
        Table::new(["a", "b"]).push(vec![Cell::Empty]);
    }
}
