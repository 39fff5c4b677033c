//! Follows the operators of pages that place and show text.

use std::collections::HashMap;
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{DecompressError, Dictionary, Document, Object, ObjectId, Stream, decode_text_string};

use super::font::Font;
use super::layout::{Layout, Place};

/// Forms within forms.
const MAX_DEPTH: usize = 8;

/// Nodes of the tree of pages from a page to the root. It may be a cycle.
const MAX_TREE: usize = 64;

/// Saved states, and marks around text, within each other.
const MAX_NESTED: usize = 256;

/// Fonts that are kept for the next page.
const MAX_FONTS: usize = 256;

/// `x' = a x + c y + e`, `y' = b x + d y + f`.
#[derive(Clone, Copy)]
struct Matrix([f64; 6]);

impl Matrix {
    const ONE: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    fn shift(x: f64, y: f64) -> Self {
        Matrix([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// First this, then the other.
    fn then(self, other: Matrix) -> Self {
        let ([a, b, c, d, e, f], [oa, ob, oc, od, oe, of]) = (self.0, other.0);
        Matrix([
            a * oa + b * oc,
            a * ob + b * od,
            c * oa + d * oc,
            c * ob + d * od,
            e * oa + f * oc + oe,
            e * ob + f * od + of,
        ])
    }

    /// Where the origin comes to lie, for a font of this size.
    fn place(self, size: f64) -> Place {
        let [a, b, c, d, x, y] = self.0;
        let length = a.hypot(b);
        let along = if length > 0.0 { (a / length, b / length) } else { (1.0, 0.0) };
        Place { x, y, along, size: size.abs() * c.hypot(d) }
    }
}

/// What `q` saves.
#[derive(Clone)]
struct State<'a> {
    page: Matrix,
    font: Option<Rc<Font<'a>>>,
    size: f64,
    letter_gap: f64,
    word_gap: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

/// The text of the pages of a document.
pub(super) struct Pages<'a> {
    document: &'a Document,
    fonts: HashMap<ObjectId, Rc<Font<'a>>>,
    layout: Layout,
    /// Bytes that may still be unpacked.
    n_left: usize,
}

impl<'a> Pages<'a> {
    pub(super) fn new(document: &'a Document, n_bytes: usize) -> Self {
        Pages { document, fonts: HashMap::new(), layout: Layout::default(), n_left: n_bytes }
    }

    /// # Errors
    /// If the pages unpack to more bytes than they may. What else is wrong with a page is passed
    /// over.
    pub(super) fn read(&mut self, page: ObjectId) -> lopdf::Result<()> {
        let content = self.document.get_page_content_with_limit(page, self.n_left)?;
        self.spend(content.len())?;
        let resources = self.resources(page);
        self.run(&content, &resources, Matrix::ONE, 0)?;
        self.layout.page();
        Ok(())
    }

    /// The resources of a page, before those that it inherits.
    fn resources(&self, page: ObjectId) -> Vec<&'a Dictionary> {
        let mut all = Vec::new();
        let mut node = self.document.get_dictionary(page).ok();
        for _ in 0..MAX_TREE {
            let Some(dictionary) = node else { break };
            all.extend(dictionary.get_deref(b"Resources", self.document).and_then(Object::as_dict).ok());
            node = dictionary.get_deref(b"Parent", self.document).and_then(Object::as_dict).ok();
        }
        all
    }

    pub(super) fn into_text(self) -> String {
        self.layout.into_text()
    }

    fn spend(&mut self, n_bytes: usize) -> lopdf::Result<()> {
        let limit = self.n_left;
        // Each stream costs something, so that empty ones have an end, too.
        match limit.checked_sub(n_bytes + 1) {
            Some(left) if self.layout.n_bytes() <= left => self.n_left = left,
            _ => return Err(DecompressError::MemoryLimitExceeded { limit }.into()),
        }
        Ok(())
    }

    /// Runs the operators of a page or form.
    fn run(
        &mut self,
        content: &[u8],
        resources: &[&'a Dictionary],
        page: Matrix,
        depth: usize,
    ) -> lopdf::Result<()> {
        let mut run = Run::new(page);
        for operation in Content::decode_iter(content) {
            // The rest of a damaged page cannot be trusted.
            let Ok(operation) = operation else { break };
            let operands = &operation.operands;
            match operation.operator.as_str() {
                "Tf" => {
                    run.state.font = None;
                    if let (Some(Ok(name)), Some(size)) =
                        (operands.first().map(Object::as_name), operand(&operation, 1))
                    {
                        run.state.font = self.font(name, resources)?;
                        run.state.size = size;
                    }
                }
                "Do" if depth < MAX_DEPTH && !run.is_hidden() => {
                    let Some(Ok(name)) = operands.first().map(Object::as_name) else { continue };
                    let Some(form) = self.form(name, resources) else { continue };
                    self.run_form(form, resources, run.state.page, depth)?;
                }
                "Tj" => run.show(operands.first(), &mut self.layout),
                "TJ" => {
                    let Some(Object::Array(pieces)) = operands.first() else { continue };
                    for piece in pieces {
                        match piece.as_float() {
                            Ok(gap) => run.advance(-f64::from(gap) / 1000.0 * run.state.size),
                            Err(_) => run.show(Some(piece), &mut self.layout),
                        }
                    }
                }
                "'" | "\"" => {
                    run.next_line();
                    run.show(operands.last(), &mut self.layout);
                }
                "BMC" | "BDC" => run.begin_mark(self.mark(operands, resources)),
                _ => run.follow(&operation),
            }
        }
        Ok(())
    }

    fn run_form(
        &mut self,
        form: &'a Stream,
        outer: &[&'a Dictionary],
        page: Matrix,
        depth: usize,
    ) -> lopdf::Result<()> {
        let content = match form.get_plain_content_with_limit(self.n_left) {
            Err(error @ lopdf::Error::Decompress(DecompressError::MemoryLimitExceeded { .. })) => {
                return Err(error);
            }
            Err(_) => return Ok(()),
            Ok(content) => content,
        };
        self.spend(content.len())?;
        let matrix = form.dict.get_deref(b"Matrix", self.document).and_then(Object::as_array);
        let matrix = matrix.ok().and_then(|matrix| matrix_of(matrix)).unwrap_or(Matrix::ONE);
        let own = form.dict.get_deref(b"Resources", self.document).and_then(Object::as_dict).ok();
        let own = own.map(|own| vec![own]);
        self.run(&content, own.as_deref().unwrap_or(outer), matrix.then(page), depth + 1)
    }

    /// What a mark around text says of it.
    fn mark(&self, operands: &[Object], resources: &[&'a Dictionary]) -> Mark {
        if operands.first().and_then(|tag| tag.as_name().ok()) == Some(b"Artifact") {
            return Mark::LeftOut;
        }
        let properties = match operands.get(1) {
            Some(Object::Name(name)) => self.resource(b"Properties", name, resources),
            inline => inline,
        };
        let text = properties
            .and_then(|properties| self.document.dereference(properties).ok()?.1.as_dict().ok())
            .and_then(|properties| properties.get_deref(b"ActualText", self.document).ok())
            .and_then(|text| decode_text_string(text).ok());
        text.map_or(Mark::Other, |text| Mark::Instead(Some(text)))
    }

    fn form(&self, name: &[u8], resources: &[&'a Dictionary]) -> Option<&'a Stream> {
        let form = self.resource(b"XObject", name, resources)?;
        let form = self.document.dereference(form).ok()?.1.as_stream().ok()?;
        let subtype = form.dict.get(b"Subtype").and_then(Object::as_name).ok()?;
        (subtype == b"Form").then_some(form)
    }

    fn font(&mut self, name: &[u8], resources: &[&'a Dictionary]) -> lopdf::Result<Option<Rc<Font<'a>>>> {
        let Some(object) = self.resource(b"Font", name, resources) else { return Ok(None) };
        let id = object.as_reference().ok();
        if let Some(font) = id.and_then(|id| self.fonts.get(&id)) {
            return Ok(Some(Rc::clone(font)));
        }
        let font = self.document.dereference(object).ok().and_then(|(_, object)| object.as_dict().ok());
        let Some(font) = font else { return Ok(None) };
        let font = match Font::new(font, self.document) {
            Ok(font) => Rc::new(font),
            Err(error @ lopdf::Error::Decompress(_)) => return Err(error),
            Err(_) => return Ok(None),
        };
        if self.fonts.len() == MAX_FONTS {
            self.fonts.clear();
        }
        self.fonts.extend(id.map(|id| (id, Rc::clone(&font))));
        Ok(Some(font))
    }

    fn resource(&self, kind: &[u8], name: &[u8], resources: &[&'a Dictionary]) -> Option<&'a Object> {
        resources.iter().find_map(|resources| {
            resources.get_deref(kind, self.document).ok()?.as_dict().ok()?.get(name).ok()
        })
    }
}

/// The state of a page's or form's operators.
struct Run<'a> {
    state: State<'a>,
    saved: Vec<State<'a>>,
    /// Where text stands, and where its line began.
    text: Matrix,
    line: Matrix,
    /// The marks around text, from the outermost.
    marks: Vec<Mark>,
}

/// A mark around text.
enum Mark {
    /// Headers, footers and the like.
    LeftOut,
    /// The text that stands for what is shown; nothing once it is taken.
    Instead(Option<String>),
    Other,
}

impl<'a> Run<'a> {
    fn new(page: Matrix) -> Self {
        let state = State {
            page,
            font: None,
            size: 1.0,
            letter_gap: 0.0,
            word_gap: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        Run { state, saved: Vec::new(), text: Matrix::ONE, line: Matrix::ONE, marks: Vec::new() }
    }

    fn is_hidden(&self) -> bool {
        self.marks.iter().any(|mark| matches!(mark, Mark::LeftOut))
    }

    fn begin_mark(&mut self, mark: Mark) {
        if self.marks.len() < MAX_NESTED {
            self.marks.push(mark);
        }
    }

    /// Moves along the line, in units of text before it is stretched.
    fn advance(&mut self, by: f64) {
        self.text = Matrix::shift(by * self.state.stretch, 0.0).then(self.text);
    }

    fn next_line(&mut self) {
        self.move_line(0.0, -self.state.leading);
    }

    fn move_line(&mut self, x: f64, y: f64) {
        self.line = Matrix::shift(x, y).then(self.line);
        self.text = self.line;
    }

    fn place(&self) -> Place {
        Matrix::shift(0.0, self.state.rise).then(self.text).then(self.state.page).place(self.state.size)
    }

    fn show(&mut self, string: Option<&Object>, layout: &mut Layout) {
        let (Some(Object::String(string, _)), Some(font)) = (string, self.state.font.clone()) else { return };
        let start = self.place();
        for (code, width) in font.widths(string) {
            let word_gap = if font.has_words() && code == 32 { self.state.word_gap } else { 0.0 };
            self.advance(width / 1000.0 * self.state.size + self.state.letter_gap + word_gap);
        }
        if self.is_hidden() {
            return;
        }
        let instead = self.marks.iter_mut().find_map(|mark| match mark {
            Mark::Instead(text) => Some(text.take()),
            _ => None,
        });
        match instead {
            Some(Some(text)) => layout.piece(&text, start, self.place()),
            Some(None) => layout.extend(self.place()),
            None => layout.piece(&font.text(string), start, self.place()),
        }
    }

    /// Operators that show nothing.
    fn follow(&mut self, operation: &Operation) {
        let number = |at: usize| operand(operation, at);
        match operation.operator.as_str() {
            "q" if self.saved.len() < MAX_NESTED => self.saved.push(self.state.clone()),
            "Q" => self.state = self.saved.pop().unwrap_or_else(|| self.state.clone()),
            "cm" => {
                if let Some(matrix) = matrix_of(&operation.operands) {
                    self.state.page = matrix.then(self.state.page);
                }
            }
            "BT" => (self.text, self.line) = (Matrix::ONE, Matrix::ONE),
            "Tm" => {
                if let Some(matrix) = matrix_of(&operation.operands) {
                    (self.text, self.line) = (matrix, matrix);
                }
            }
            "Td" | "TD" => {
                let (Some(x), Some(y)) = (number(0), number(1)) else { return };
                if operation.operator == "TD" {
                    self.state.leading = -y;
                }
                self.move_line(x, y);
            }
            "T*" => self.next_line(),
            "Tc" => self.state.letter_gap = number(0).unwrap_or(0.0),
            "Tw" => self.state.word_gap = number(0).unwrap_or(0.0),
            "Tz" => self.state.stretch = number(0).unwrap_or(100.0) / 100.0,
            "TL" => self.state.leading = number(0).unwrap_or(0.0),
            "Ts" => self.state.rise = number(0).unwrap_or(0.0),
            "EMC" => drop(self.marks.pop()),
            _ => {}
        }
    }
}

fn operand(operation: &Operation, at: usize) -> Option<f64> {
    operation.operands.get(at)?.as_float().ok().map(f64::from)
}

fn matrix_of(objects: &[Object]) -> Option<Matrix> {
    let mut matrix = [0.0; 6];
    for (at, value) in matrix.iter_mut().enumerate() {
        *value = f64::from(objects.get(at)?.as_float().ok()?);
    }
    Some(Matrix(matrix))
}
