//! What is told: Markdown on standard output; with a folder also files.
//!
//! `NAME.md` has the machine, the tables and the remarks; every table is also `TABLE.csv`, with all digits and nothing but the table; every figure is `FIGURE.svg`.

mod figure;
mod machine;
mod table;

pub(crate) use figure::{Axis, Panel, Series, svg};
pub(crate) use table::{Cell, Table};

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context, Result};

/// Tables and figures of one subcommand.
pub(crate) struct Report {
    /// The subcommand.
    name: &'static str,
    /// Which machine, which version, when.
    header: Vec<(&'static str, String)>,
    /// What was measured.
    inputs: Vec<String>,
    tables: Vec<NamedTable>,
    figures: Vec<Figure>,
    remarks: Vec<String>,
}

struct NamedTable {
    /// The name of its file.
    name: String,
    /// What stands above it; `None` for tables that go only into files.
    title: Option<String>,
    table: Table,
}

struct Figure {
    name: String,
    svg: String,
}

impl Report {
    pub(crate) fn new(name: &'static str) -> Self {
        let (inputs, tables, figures, remarks) = Default::default();
        Report { name, header: machine::header(), inputs, tables, figures, remarks }
    }

    /// A line on what was measured.
    pub(crate) fn input(&mut self, line: String) {
        eprintln!("{line}");
        self.inputs.push(line);
    }

    /// A table for people.
    pub(crate) fn table(&mut self, name: &str, title: &str, table: Table) {
        self.tables.push(NamedTable { name: name.to_owned(), title: Some(title.to_owned()), table });
    }

    /// A table for programs: only written as CSV.
    pub(crate) fn raw_table(&mut self, name: &str, table: Table) {
        self.tables.push(NamedTable { name: name.to_owned(), title: None, table });
    }

    pub(crate) fn figure(&mut self, name: &str, svg: String) {
        self.figures.push(Figure { name: name.to_owned(), svg });
    }

    /// A line below the tables.
    pub(crate) fn remark(&mut self, line: impl Into<String>) {
        self.remarks.push(line.into());
    }

    fn markdown(&self, links_to_figures: bool) -> String {
        let mut text = format!("# docsphere-bench {}\n\n", self.name);
        for (key, value) in &self.header {
            let _ = writeln!(text, "- {key}: {value}");
        }
        text.push('\n');
        for line in &self.inputs {
            let _ = writeln!(text, "- {line}");
        }
        for NamedTable { title, table, .. } in &self.tables {
            if let Some(title) = title {
                let _ = write!(text, "\n## {title}\n\n{}", table.markdown());
            }
        }
        if links_to_figures {
            for Figure { name, .. } in &self.figures {
                let _ = write!(text, "\n![{name}]({name}.svg)\n");
            }
        }
        if !self.remarks.is_empty() {
            text.push('\n');
        }
        for line in &self.remarks {
            let _ = writeln!(text, "- {line}");
        }
        text
    }

    /// Prints the report, and writes it into a folder if there is one.
    pub(crate) fn publish(&self, folder: Option<&Path>) -> Result<()> {
        match io::stdout().write_all(self.markdown(false).as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {} // whoever reads it may have seen enough
        }
        let Some(folder) = folder else { return Ok(()) };
        fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
        let write = |name: String, content: &str| {
            let path = folder.join(name);
            fs::write(&path, content).with_context(|| format!("{}: cannot write", path.display()))
        };
        write(format!("{}.md", self.name), &self.markdown(true))?;
        for NamedTable { name, table, .. } in &self.tables {
            write(format!("{name}.csv"), &table.csv()?)?;
        }
        for Figure { name, svg } in &self.figures {
            write(format!("{name}.svg"), svg)?;
        }
        Ok(())
    }
}
