//! The map in pixels: as the SVG, at twice its size.
//!
//! Discs and letters are covered areas, mixed with what is behind them; the line around letters is
//! their area, widened. No fonts of the system are used, so the same result gives the same file.

use super::{Disc, HALO, HEIGHT, LETTERS, NAME_HEIGHT, Name, OPACITY, Picture, WIDTH};
use crate::error::{Error, Result};
use crate::lettering::{Fonts, Ink};
use crate::page::MapImage;

/// Pixels per unit of the picture.
const SCALE: f64 = 2.0;

type Rgb = [f64; 3];

const WHITE: Rgb = [1.0; 3];
const DARK: Rgb = [17.0 / 255.0; 3];

impl Picture {
    /// The picture as PNG. `font` is tried before the one that is compiled in.
    pub(crate) fn png(&self, font: Option<&[u8]>) -> Result<MapImage> {
        let fonts = match font {
            Some(bytes) => Fonts::with_first(bytes).ok_or_else(|| {
                Error::malformed("this is no font; give a TTF or OTF file, or a collection (TTC)")
            })?,
            None => Fonts::built_in(),
        };
        let mut canvas = Canvas::new((WIDTH * SCALE) as usize, (HEIGHT * SCALE) as usize);
        for disc in &self.discs {
            canvas.put_disc(disc);
        }
        let mut n_boxed = 0;
        for Name { x, y, text } in &self.names {
            let line = fonts.line(text, LETTERS * SCALE);
            n_boxed += usize::from(line.n_missing > 0);
            // Whole pixels, since fractions blur letters.
            let left = (x * SCALE - line.width / 2.0).round() as i32;
            let base = ((y + NAME_HEIGHT / 3.0) * SCALE).round() as i32;
            let ink = line.ink();
            canvas.put(&widened(&ink, HALO / 2.0 * SCALE), left, base, WHITE);
            canvas.put(&ink, left, base, DARK);
        }
        Ok(MapImage { png: canvas.encoded()?, n_names: self.names.len(), n_boxed })
    }
}

/// Colours of pixels, from 0 to 1.
struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Canvas { width, height, pixels: vec![u8::MAX; 3 * width * height] }
    }

    /// Covers a share of a pixel. What is outside is left out.
    fn mix(&mut self, x: i32, y: i32, colour: Rgb, share: f64) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
        if x >= self.width || y >= self.height {
            return;
        }
        let at = 3 * (y * self.width + x);
        for (value, part) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            *value = (f64::from(*value) * (1.0 - share) + 255.0 * part * share).round() as u8;
        }
    }

    /// A disc with a white line of one unit around it.
    fn put_disc(&mut self, disc: &Disc) {
        let (x, y, radius) = (disc.x * SCALE, disc.y * SCALE, disc.radius * SCALE);
        let (inner, outer) = (radius - SCALE / 2.0, radius + SCALE / 2.0);
        let colour = rgb(disc.hue, 0.6, 0.55);
        let ends = |middle: f64| ((middle - outer).floor() as i32, (middle + outer).ceil() as i32);
        let ((left, right), (top, bottom)) = (ends(x), ends(y));
        for row in top..=bottom {
            for column in left..=right {
                let distance = (f64::from(column) + 0.5 - x).hypot(f64::from(row) + 0.5 - y);
                let within = |radius: f64| (radius + 0.5 - distance).clamp(0.0, 1.0);
                self.mix(column, row, colour, OPACITY * within(radius));
                self.mix(column, row, WHITE, within(outer) - within(inner));
            }
        }
    }

    fn put(&mut self, ink: &Ink, left: i32, base: i32, colour: Rgb) {
        for (x, y, covered) in ink.pixels() {
            self.mix(left + x, base + y, colour, f64::from(covered));
        }
    }

    fn encoded(&self) -> Result<Vec<u8>> {
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&self.pixels));
        written.map_err(|error| Error::malformed(format!("cannot be drawn: {error}")))?;
        Ok(png)
    }
}

/// The area within a distance of what is covered.
fn widened(ink: &Ink, by: f64) -> Ink {
    let reach = by.ceil() as i32;
    let height = ink.coverage.len() / ink.width;
    let side = 2 * reach as usize;
    let mut wide = Ink {
        left: ink.left - reach,
        top: ink.top - reach,
        width: ink.width + side,
        coverage: vec![0.0; (ink.width + side) * (height + side)],
    };
    let around: Vec<(i32, i32, f32)> = (-reach..=reach)
        .flat_map(|y| (-reach..=reach).map(move |x| (x, y)))
        .map(|(x, y)| (x, y, (by + 0.5 - f64::from(x).hypot(f64::from(y))).clamp(0.0, 1.0) as f32))
        .filter(|&(.., share)| share > 0.0)
        .collect();
    for (x, y, covered) in ink.pixels() {
        for &(dx, dy, share) in &around {
            let (column, row) = ((x + dx - wide.left) as usize, (y + dy - wide.top) as usize);
            let value = &mut wide.coverage[row * wide.width + column];
            *value = value.max(covered * share);
        }
    }
    wide
}

/// CSS's `hsl`.
fn rgb(hue: f64, saturation: f64, lightness: f64) -> Rgb {
    let reach = saturation * lightness.min(1.0 - lightness);
    [0.0, 8.0, 4.0].map(|shift| {
        let turn = (shift + hue / 30.0) % 12.0;
        lightness - reach * (turn - 3.0).min(9.0 - turn).clamp(-1.0, 1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(image: &MapImage) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(&image.png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width, info.height, pixels)
    }

    fn picture(title: &str) -> Picture {
        let disc = Disc { x: 300.0, y: 450.0, radius: 34.0, hue: 120.0, title: title.to_owned(), size: 5 };
        let names = super::super::placed_names(&[Disc { x: 900.0, ..disc }]);
        let disc = Disc { x: 300.0, y: 450.0, radius: 34.0, hue: 120.0, title: title.to_owned(), size: 5 };
        Picture { discs: vec![disc], names }
    }

    #[test]
    fn discs_have_their_colour_and_names_are_dark_letters() {
        let image = picture("cats, dogs").png(None).unwrap();
        assert_eq!((image.n_names, image.n_boxed), (1, 0));
        let (width, height, pixels) = pixels(&image);
        assert_eq!((width, height), (2400, 1800));
        let at = |x: usize, y: usize| &pixels[3 * (y * 2400 + x)..][..3];
        assert_eq!(at(0, 0), [255, 255, 255]);
        // hsl(120 60% 55%) is rgb(71, 209, 71); three quarters of it over white.
        assert_eq!(at(600, 900), [117, 221, 117]);
        let dark: Vec<usize> = (0..2400 * 1800).filter(|&pixel| pixels[3 * pixel + 1] < 100).collect();
        assert!(dark.len() > 200, "{}", dark.len());
        assert!(dark.iter().all(|pixel| (1_600..2_000).contains(&(pixel % 2400))));
        assert_eq!(picture("cats, dogs").png(None).unwrap().png, image.png);
    }

    #[test]
    fn names_without_letters_are_counted_and_a_font_must_be_one() {
        assert_eq!(picture("日本").png(None).unwrap().n_boxed, 1);
        let other = picture("cats").png(Some(epaint_default_fonts::HACK_REGULAR)).unwrap();
        assert_ne!(other.png, picture("cats").png(None).unwrap().png);
        assert!(picture("cats").png(Some(b"no font")).is_err());
    }

    #[test]
    fn hues_are_those_of_css() {
        for (hue, expected) in [(0.0, [1.0, 0.0, 0.0]), (120.0, [0.0, 1.0, 0.0]), (240.0, [0.0, 0.0, 1.0])] {
            assert_eq!(rgb(hue, 1.0, 0.5), expected);
        }
    }
}
