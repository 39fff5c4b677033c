//! Figures: points, bars and lines on linear or logarithmic axes, as SVG and PNG. The same data
//! gives the same bytes: the font is compiled in, never looked up.

use std::ops::Range;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::DynElement;
use plotters::prelude::*;

use super::lettering::{Lettered, Letters};

const PANEL_SIZE: (u32, u32) = (560, 420);

/// Pixels per unit of SVG. At 1, thin letters run together.
const PIXEL_SCALE: u32 = 2;

const FONT: &str = "sans-serif";

/// A palette that colour-blind readers can distinguish (Okabe and Ito); the shapes differ, too.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

/// An axis and its label.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    label: String,
    is_log: bool,
}

impl Axis {
    pub(crate) fn linear(label: &str) -> Self {
        Axis { label: label.to_owned(), is_log: false }
    }

    pub(crate) fn log(label: &str) -> Self {
        Axis { label: label.to_owned(), is_log: true }
    }

    /// The scale over these values, with a margin around them.
    fn over(&self, values: impl Iterator<Item = f64>) -> Scale {
        let place = |value: f64| if self.is_log { value.log10() } else { value };
        let (lo, hi) = values
            .map(place)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), place| (lo.min(place), hi.max(place)));
        let least_air = if self.is_log { 0.1 } else { lo.abs().max(1e-9) * 0.01 };
        let air = ((hi - lo) * 0.07).max(least_air);
        Scale { is_log: self.is_log, lo: lo - air, hi: hi + air }
    }
}

/// The mapping of values to positions on an axis. Positions on a logarithmic axis are logarithms.
#[derive(Clone, Debug)]
struct Scale {
    is_log: bool,
    lo: f64,
    hi: f64,
}

impl Scale {
    fn value(&self, place: f64) -> f64 {
        if self.is_log { 10f64.powf(place) } else { place }
    }
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, pixels: (i32, i32)) -> i32 {
        let place = if self.is_log { value.log10() } else { *value };
        let share = (place - self.lo) / (self.hi - self.lo);
        pixels.0 + (share * f64::from(pixels.1 - pixels.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let places = if self.is_log { log_ticks(self.lo, self.hi) } else { linear_ticks(self.lo, self.hi) };
        places.into_iter().map(|place| self.value(place)).collect()
    }

    fn range(&self) -> Range<f64> {
        self.value(self.lo)..self.value(self.hi)
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        short(*value)
    }
}

/// Ticks at the powers of ten, and also between them while there are fewer than four.
fn log_ticks(lo: f64, hi: f64) -> Vec<f64> {
    const STEPS: [&[f64]; 4] = [
        &[1.0],
        &[1.0, 2.0, 5.0],
        &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        &[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.2, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0],
    ];
    let ticks = |steps: &[f64]| -> Vec<f64> {
        let powers = lo.floor() as i32..=hi.ceil() as i32;
        let places = powers.flat_map(|power| steps.iter().map(move |step| f64::from(power) + step.log10()));
        places.filter(|place| (lo..=hi).contains(place)).collect()
    };
    let sparse_to_dense = STEPS.map(ticks);
    let enough = sparse_to_dense.iter().find(|ticks| ticks.len() >= 4);
    enough.unwrap_or(&sparse_to_dense[STEPS.len() - 1]).clone()
}

/// Four to ten ticks, 1, 2 or 5 times a power of ten apart.
fn linear_ticks(lo: f64, hi: f64) -> Vec<f64> {
    let power = 10f64.powf(((hi - lo) / 4.0).log10().floor());
    let factor =
        [5.0, 2.0, 1.0].into_iter().find(|factor| (hi - lo) / (factor * power) >= 4.0).unwrap_or(1.0);
    let step = factor * power;
    ((lo / step).ceil() as i64..=(hi / step).floor() as i64).map(|n| n as f64 * step).collect()
}

/// A number as an axis label: `200k`, `0.05`.
fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 0.999_999e6 => (value / 1e6, "M"),
        size if size >= 0.999_999e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Nine digits hide the rounding of logarithms; trailing zeros are dropped.
    let digits = (8 - value.abs().max(1e-6).log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// A series of points.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// The range of each point, if known, drawn as a bar.
    pub(crate) ranges: Vec<(f64, f64)>,
    pub(crate) join: Join,
}

/// How points are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    None,
    Line,
    Dotted,
}

/// One pair of axes.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

/// Panels side by side, drawn as SVG and as PNG.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) svg: String,
    /// The content of the PNG file.
    pub(crate) png: Vec<u8>,
}

impl Drawing {
    /// # Errors
    /// If drawing fails, which is not expected.
    pub(crate) fn new(panels: &[Panel]) -> Result<Self> {
        let (mut svg, mut png) = (String::new(), Vec::new());
        let (width, height) = (PANEL_SIZE.0 * panels.len().max(1) as u32, PANEL_SIZE.1);
        let backend = SVGBackend::with_string(&mut svg, (width, height));
        draw(panels, Lettered::new(backend, Letters::OfBackend), 1)?;
        let (width, height) = (PIXEL_SCALE * width, PIXEL_SCALE * height);
        let mut pixels = vec![0; (width * height * 3) as usize];
        let backend = BitMapBackend::with_buffer(&mut pixels, (width, height));
        draw(panels, Lettered::new(backend, Letters::Pixels), PIXEL_SCALE)?;
        let mut encoder = png::Encoder::new(&mut png, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.write_header()?.write_image_data(&pixels)?;
        Ok(Drawing { svg, png })
    }
}

fn draw<DB: DrawingBackend>(panels: &[Panel], backend: DB, scale: u32) -> Result<()> {
    let area = backend.into_drawing_area();
    area.fill(&WHITE).map_err(|error| anyhow!("{error}"))?;
    for (panel, area) in panels.iter().zip(area.split_evenly((1, panels.len().max(1)))) {
        panel.draw(&area, scale).map_err(|error| anyhow!("{error}"))?;
    }
    area.present().map_err(|error| anyhow!("{error}"))
}

type DrawResult<DB> = std::result::Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

impl Panel {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, scale: u32) -> DrawResult<DB> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        if points().next().is_none() {
            return Ok(());
        }
        let x = self.x.over(points().map(|point| point.0));
        let ranges = self.series.iter().flat_map(|series| &series.ranges);
        let ends = ranges.flat_map(|&(lo, hi)| [lo, hi]);
        let y = self.y.over(points().map(|point| point.1).chain(ends));
        let font = |size: u32| (FONT, size * scale);
        // The names of series are to the right of the axes, where they hide nothing.
        let longest = self.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0) as u32;
        let legend_width = (28 + 8 * longest) * scale;
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, font(18))
            .margin(12 * scale)
            .margin_right(12 * scale + legend_width)
            .x_label_area_size(44 * scale)
            .y_label_area_size(64 * scale)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .label_style(font(13))
            .axis_desc_style(font(14))
            .draw()?;
        for (number, series) in self.series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let points = || series.points.iter().copied();
            match series.join {
                Join::None => {}
                Join::Line => {
                    chart.draw_series(LineSeries::new(points(), colour.stroke_width(2 * scale)))?;
                }
                Join::Dotted => {
                    let dots =
                        DashedLineSeries::new(points(), 2 * scale, 4 * scale, colour.stroke_width(scale));
                    chart.draw_series(dots)?;
                }
            }
            let bars = points().zip(&series.ranges);
            chart.draw_series(bars.map(|((x, y), &(lo, hi))| {
                ErrorBar::new_vertical(x, lo, y, hi, colour.stroke_width(scale), 8 * scale)
            }))?;
            chart.draw_series(points().map(|point| marker(number, point, colour, scale as i32)))?;
            let at = (
                area.dim_in_pixel().0 as i32 - legend_width as i32,
                (60 + 22 * number as i32) * scale as i32,
            );
            area.draw(&marker(number, at, colour, scale as i32))?;
            let beside = (at.0 + 12 * scale as i32, at.1 - 7 * scale as i32);
            area.draw(&Text::new(series.name.as_str(), beside, font(13)))?;
        }
        Ok(())
    }
}

/// The mark of the series with this number.
fn marker<DB: DrawingBackend, C: Clone + 'static>(
    number: usize,
    at: C,
    colour: RGBColor,
    scale: i32,
) -> DynElement<'static, DB, C>
where
    Circle<C, i32>: IntoDynElement<'static, DB, C>,
    TriangleMarker<C, i32>: IntoDynElement<'static, DB, C>,
    Cross<C, i32>: IntoDynElement<'static, DB, C>,
{
    match number % 3 {
        0 => Circle::new(at, 4 * scale, colour.filled()).into_dyn(),
        1 => TriangleMarker::new(at, 5 * scale, colour.filled()).into_dyn(),
        _ => Cross::new(at, 4 * scale, colour.stroke_width(2 * scale as u32)).into_dyn(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(ticks: Vec<f64>) -> Vec<String> {
        ticks.into_iter().map(|place| short(10f64.powf(place))).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(values(log_ticks(4.35, 5.35)), ["30k", "50k", "70k", "100k", "150k", "200k"]);
        assert_eq!(values(log_ticks(1.6, 3.0)), ["50", "100", "200", "500", "1000"]);
        assert_eq!(values(log_ticks(-0.53, -0.3)), ["0.3", "0.35", "0.4", "0.45", "0.5"]);
        assert_eq!(values(log_ticks(-4.0, 1.0)), ["0.0001", "0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(linear_ticks(0.3, 4.9), [1.0, 2.0, 3.0, 4.0]);
        let labels: Vec<_> = linear_ticks(59_180.0, 61_020.0).into_iter().map(short).collect();
        assert_eq!(
            labels,
            ["59.2k", "59.4k", "59.6k", "59.8k", "60k", "60.2k", "60.4k", "60.6k", "60.8k", "61k"]
        );
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 0.05, 1.0, 500.0, 9999.0, 25e3, 1e6, 2.5e6, 10f64.powf(2f64.log10())];
        assert_eq!(numbers.map(short), ["0", "0.05", "1", "500", "9999", "25k", "1M", "2.5M", "2"]);
    }

    fn panel() -> Panel {
        let series = |name: &str, factor: f64, join| Series {
            name: name.to_owned(),
            points: [25e3, 50e3, 100e3].map(|x| (x, x * factor)).into(),
            ranges: if join == Join::Dotted {
                [25e3, 50e3, 100e3].map(|x| (x * factor / 2.0, x * factor * 3.0)).into()
            } else {
                Vec::new()
            },
            join,
        };
        Panel {
            title: "growth <of> all".to_owned(),
            x: Axis::log("documents"),
            y: Axis::log("seconds"),
            series: vec![series("auto", 1e-6, Join::Line), series("inverted", 3e-6, Join::Dotted)],
        }
    }

    #[test]
    fn a_figure_is_whole_and_always_the_same() {
        let Drawing { svg: text, png } = Drawing::new(&[panel(), panel()]).unwrap();
        let again = Drawing::new(&[panel(), panel()]).unwrap();
        assert_eq!((&text, &png), (&again.svg, &again.png));
        let decoder = png::Decoder::new(std::io::Cursor::new(&png));
        let size = decoder.read_info().unwrap().info().size();
        assert_eq!(size, (2240, 840));
        assert!(text.starts_with("<svg width=\"1120\"") && text.trim_end().ends_with("</svg>"));
        assert!(text.contains("growth &lt;of&gt; all") && text.contains("documents"));
        assert_eq!(
            text.matches("<circle").count(),
            2 * (3 + 3 + 1),
            "points, the middle of bars, the legend"
        );
        assert_eq!(text.matches("<polygon").count(), 2 * (3 + 1));
    }

    #[test]
    fn a_single_point_has_a_range_too() {
        let mut panel = panel();
        panel.series.truncate(1);
        panel.series[0].points.truncate(1);
        panel.y = Axis::linear("seconds");
        assert!(Drawing::new(&[panel.clone()]).unwrap().svg.contains("<circle"));
        panel.series.clear();
        assert!(Drawing::new(&[panel]).is_ok());
    }
}
