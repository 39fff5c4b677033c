import type { Level } from "./groups";
import type { ReportData } from "./types";

/** The colours of the canvas, from the page's theme. */
export interface Theme {
  isDark: boolean;
  text: string;
  quiet: string;
  background: string;
}

export type Rgb = readonly [red: number, green: number, blue: number];

/** The theme for printing. */
export const PAPER: Theme = { isDark: false, text: "#000000", quiet: "#444444", background: "#ffffff" };

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return { isDark: value("--is-dark") === "1", text: value("--text"), quiet: value("--quiet"), background: value("--map") };
}

/**
 * Colours of groups and categories as hue, saturation, lightness on light and on dark. They differ
 * in lightness, too, so that most of them differ for those who do not see all hues.
 */
const PALETTE: readonly (readonly [hue: number, saturation: number, light: number, dark: number])[] = [
  [207, 78, 42, 62],
  [24, 92, 50, 60],
  [164, 80, 32, 50],
  [325, 58, 58, 70],
  [43, 90, 44, 62],
  [262, 52, 52, 72],
  [196, 75, 55, 76],
  [352, 68, 46, 62],
  [84, 55, 38, 58],
  [300, 38, 40, 60],
  [16, 50, 34, 50],
  [180, 55, 44, 66],
  [230, 60, 64, 78],
  [60, 60, 34, 72],
];

const GREY: readonly [Rgb, Rgb] = [
  [176, 180, 186],
  [88, 94, 104],
];

export function greyOf(theme: Theme): Rgb {
  return GREY[theme.isDark ? 1 : 0];
}

export const N_COLOURS = PALETTE.length;

/** A colour of the palette; further ones reuse it. */
export function paletteColour(number: number, theme: Theme): Rgb {
  if (number < 0) return greyOf(theme);
  const [hue, saturation, light, dark] = PALETTE[number % PALETTE.length]!;
  return fromHsl(hue, saturation, theme.isDark ? dark : light);
}

/** The same colour for letters: darker on light, lighter on dark. */
export function letterColour([r, g, b]: Rgb, theme: Theme): string {
  const mix = (value: number) => Math.round(theme.isDark ? value + (255 - value) * 0.42 : value * 0.66);
  return css([mix(r), mix(g), mix(b)]);
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
  const [s, l] = [saturation / 100, lightness / 100];
  const part = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

const difference = (a: number, b: number): number => {
  const [first, second] = [fromHsl(...hsl(a)), fromHsl(...hsl(b))];
  return Math.hypot(...first.map((value, i) => value - second[i]!));
};
const hsl = (number: number): [number, number, number] => {
  const [hue, saturation, light] = PALETTE[number]!;
  return [hue, saturation, light];
};

/**
 * A colour number for each group: the largest first, each the one that differs most from those of
 * the groups near it.
 */
export function groupColours(data: ReportData, level: Level): Int32Array {
  const { groups } = level;
  const places = groups.map(() => ({ x: 0, y: 0, size: 0 }));
  data.clusters.forEach(({ x, y, size }, id) => {
    const place = places[level.ofCluster[id]!];
    if (!place) return;
    place.x += x * size;
    place.y += y * size;
    place.size += size;
  });
  for (const place of places) {
    place.x /= place.size || 1;
    place.y /= place.size || 1;
  }
  const colours = new Int32Array(groups.length).fill(-1);
  const uses = new Int32Array(N_COLOURS);
  for (const { id } of [...groups].sort((a, b) => b.size - a.size || a.id - b.id)) {
    let best = 0;
    let least = Infinity;
    for (let colour = 0; colour < N_COLOURS; colour++) {
      let cost = 3 * uses[colour]! + 0.02 * colour;
      for (let other = 0; other < groups.length; other++) {
        if (colours[other]! < 0) continue;
        const distance = Math.hypot(places[id]!.x - places[other]!.x, places[id]!.y - places[other]!.y);
        cost += 60 / ((0.1 + distance) * (15 + difference(colour, colours[other]!)));
      }
      if (cost < least) [best, least] = [colour, cost];
    }
    colours[id] = best;
    uses[best]! += 1;
  }
  return colours;
}

/** From dark violet to light yellow: readable in greyscale, too. */
const STEPS: readonly Rgb[] = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

/** Without the darkest colours for a dark background, and without the lightest for a light one. */
const ENDS = { dark: [0.25, 1], light: [0, 0.93] } as const;

/** The colour at a position from 0 to 1. */
export function ramp(position: number, theme: Theme): Rgb {
  const [start, end] = ENDS[theme.isDark ? "dark" : "light"];
  const within = Math.min(1, Math.max(0, position));
  const place = (start + (end - start) * within) * (STEPS.length - 1);
  const low = Math.min(STEPS.length - 2, Math.floor(place));
  const share = place - low;
  const mix = (i: 0 | 1 | 2) => Math.round(STEPS[low]![i] * (1 - share) + STEPS[low + 1]![i] * share);
  return [mix(0), mix(1), mix(2)];
}

/** The colour scale as a background, from left to right. */
export function rampBackground(theme: Theme): string {
  return `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((position) => css(ramp(position, theme))).join(", ")})`;
}

/** The range of cohesions, without outliers at both ends. */
export function cohesionRange(data: ReportData): readonly [number, number] {
  const sorted = data.clusters.filter((cluster) => cluster.size > 0).map((cluster) => cluster.cohesion).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  return [at(0.02), at(0.98)];
}
