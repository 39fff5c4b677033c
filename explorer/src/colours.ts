import type { ReportData } from "./types";

/** The colours of the canvas, from the page's theme. */
export interface Theme {
  isDark: boolean;
  text: string;
  background: string;
}

/** The theme for printing. */
export const PAPER: Theme = { isDark: false, text: "#000000", background: "#ffffff" };

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return { isDark: value("--is-dark") === "1", text: value("--text"), background: value("--background") };
}

/**
 * Distinguishable with most forms of colour blindness (Okabe and Ito). Further groups reuse them,
 * lighter or darker.
 */
const GROUPS = [
  [202, 100, 35],
  [27, 100, 42],
  [164, 100, 31],
  [327, 45, 64],
  [41, 100, 45],
  [202, 77, 63],
  [56, 85, 50],
  [0, 0, 50],
] as const;

export function groupColour(group: number, theme: Theme): string {
  if (group < 0) return theme.isDark ? "#555" : "#bbb";
  const [hue, saturation, lightness] = GROUPS[group % GROUPS.length]!;
  const round = Math.floor(group / GROUPS.length) % 3;
  const shift = [0, 14, -10][round]! + (theme.isDark ? 8 : 0);
  return `hsl(${hue} ${saturation}% ${Math.min(82, Math.max(22, lightness + shift))}%)`;
}

/** From dark violet to light yellow: readable in greyscale, too. */
const STEPS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
] as const;

/** Without the darkest colours, for a dark background. */
const DARK_START = 0.25;

/** The range of cohesions, without outliers at both ends. */
export function cohesionRange(data: ReportData): readonly [number, number] {
  const sorted = data.clusters.filter((cluster) => cluster.size > 0).map((cluster) => cluster.cohesion).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  return [at(0.02), at(0.98)];
}

export function cohesionColour(cohesion: number, [lo, hi]: readonly [number, number], theme: Theme): string {
  return ramp(hi > lo ? (cohesion - lo) / (hi - lo) : 0.5, theme);
}

/** The colour scale as a background, from left to right. */
export function cohesionRamp(theme: Theme): string {
  return `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((position) => ramp(position, theme)).join(", ")})`;
}

/** The colour at a position from 0 to 1. */
function ramp(position: number, theme: Theme): string {
  const within = Math.min(1, Math.max(0, position));
  const place = (theme.isDark ? DARK_START + (1 - DARK_START) * within : within) * (STEPS.length - 1);
  const low = Math.min(STEPS.length - 2, Math.floor(place));
  const share = place - low;
  const mix = [0, 1, 2].map((i) => Math.round(STEPS[low]![i]! * (1 - share) + STEPS[low + 1]![i]! * share));
  return `rgb(${mix.join(" ")})`;
}
