//! Reports: Markdown on standard output, and files if a folder is given.
//!
//! `NAME.md` has the machine, the tables and the remarks. Every table is also written as
//! `TABLE.csv`, with all digits and nothing but the table, and on request as `TABLE.tex`; every
//! figure as `FIGURE.svg` and `FIGURE.png`.

mod figure;
mod lettering;
mod machine;
mod table;

use figure::Drawing;
pub(crate) use figure::{Axis, Join, Panel, Series};
pub(crate) use table::{Cell, Table};

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context, Result};

/// Tables and figures of one subcommand.
#[derive(Clone)]
pub(crate) struct Report {
    /// The subcommand.
    name: &'static str,
    /// The machine, the version and the date.
    header: Vec<(&'static str, String)>,
    /// Descriptions of the inputs.
    inputs: Vec<String>,
    tables: Vec<NamedTable>,
    figures: Vec<Figure>,
    remarks: Vec<String>,
}

#[derive(Clone)]
struct NamedTable {
    /// The name of its file.
    name: String,
    /// The heading; `None` for tables that are only written to files.
    title: Option<String>,
    table: Table,
    /// Whether it is also written for LaTeX.
    is_latex: bool,
}

#[derive(Clone)]
struct Figure {
    name: String,
    drawing: Drawing,
}

impl Report {
    pub(crate) fn new(name: &'static str) -> Self {
        let (inputs, tables, figures, remarks) = Default::default();
        Report { name, header: machine::header(), inputs, tables, figures, remarks }
    }

    /// Adds a line that describes an input.
    pub(crate) fn input(&mut self, line: String) {
        self.inputs.push(line);
    }

    /// Adds a table for people.
    pub(crate) fn table(&mut self, name: &str, title: &str, table: Table) {
        let (name, title) = (name.to_owned(), Some(title.to_owned()));
        self.tables.push(NamedTable { name, title, table, is_latex: false });
    }

    /// The same, also as LaTeX.
    pub(crate) fn latex_table(&mut self, name: &str, title: &str, table: Table) {
        self.table(name, title, table);
        self.tables.iter_mut().for_each(|table| table.is_latex |= table.name == name);
    }

    /// Adds a table for programs, only written as CSV.
    pub(crate) fn raw_table(&mut self, name: &str, table: Table) {
        self.tables.push(NamedTable { name: name.to_owned(), title: None, table, is_latex: false });
    }

    /// Adds a figure with panels side by side.
    pub(crate) fn figure(&mut self, name: &str, panels: &[Panel]) -> Result<()> {
        self.figures.push(Figure { name: name.to_owned(), drawing: Drawing::new(panels)? });
        Ok(())
    }

    /// Adds a line below the tables.
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
            _ => {} // the reader may have closed the pipe
        }
        folder.map_or(Ok(()), |folder| self.write(folder))
    }

    /// Writes the report into a folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
        let write = |name: String, content: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, content).with_context(|| format!("{}: cannot write", path.display()))
        };
        write(format!("{}.md", self.name), self.markdown(true).as_bytes())?;
        for NamedTable { name, table, is_latex, .. } in &self.tables {
            write(format!("{name}.csv"), table.csv()?.as_bytes())?;
            if *is_latex {
                write(format!("{name}.tex"), table.latex().as_bytes())?;
            }
        }
        for Figure { name, drawing } in &self.figures {
            write(format!("{name}.svg"), drawing.svg.as_bytes())?;
            write(format!("{name}.png"), &drawing.png)?;
        }
        Ok(())
    }
}
