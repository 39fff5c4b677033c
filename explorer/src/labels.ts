/** Places names on the map so that none covers another. */

export interface Label {
  lines: string[];
  /** Where it would like to be: its middle. */
  x: number;
  y: number;
  size: number;
  weight: number;
  colour: string;
  /** Of labels with the same key only the first that has room is drawn. */
  key?: string;
  /** Drawn only if a label with this key is. */
  needs?: string;
  /** A label that is always drawn, even over others. */
  isForced?: boolean;
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export type Placed = Label & Box;

/** Line height in sizes of the font. */
const LINE = 1.14;

/** Pixels around a label that stay free. */
const GAP = 3;

export const fontOf = (label: { size: number; weight: number }): string => `${label.weight} ${label.size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;

/** Widths of texts: measuring is what takes the time. */
const widths = new Map<string, number>();

function widthOf(context: CanvasRenderingContext2D, font: string, text: string): number {
  const key = `${font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    context.font = font;
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** Boxes in a coarse grid, so that thousands of labels can be tried. */
class Taken {
  private readonly cells = new Map<number, Box[]>();
  private static readonly CELL = 80;

  private visit<T>(box: Box, visitor: (key: number) => T | undefined): T | undefined {
    const cell = (value: number) => Math.floor(value / Taken.CELL) + 100;
    for (let y = cell(box.top - GAP); y <= cell(box.top + box.height + GAP); y++) {
      for (let x = cell(box.left - GAP); x <= cell(box.left + box.width + GAP); x++) {
        const found = visitor(y * 4096 + x);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  isFree(box: Box): boolean {
    const meets = (other: Box) =>
      box.left < other.left + other.width + GAP && box.left + box.width + GAP > other.left && box.top < other.top + other.height + GAP && box.top + box.height + GAP > other.top;
    return !this.visit(box, (key) => (this.cells.get(key)?.some(meets) ? true : undefined));
  }

  add(box: Box): void {
    this.visit(box, (key) => {
      const cell = this.cells.get(key);
      if (cell) cell.push(box);
      else this.cells.set(key, [box]);
      return undefined;
    });
  }
}

/** The labels that have room beside the reserved boxes, in the given order of importance. */
export function placed(labels: Iterable<Label>, context: CanvasRenderingContext2D, width: number, height: number, most: number, reserved: Box[]): Placed[] {
  const taken = new Taken();
  for (const box of reserved) taken.add(box);
  const result: Placed[] = [];
  const keys = new Set<string>();
  for (const label of labels) {
    if ((label.key !== undefined && keys.has(label.key)) || (label.needs !== undefined && !keys.has(label.needs))) continue;
    if (label.x < -40 || label.y < -20 || label.x > width + 40 || label.y > height + 20) continue;
    const font = fontOf(label);
    const wide = Math.max(...label.lines.map((text) => widthOf(context, font, text)));
    const high = label.lines.length * label.size * LINE;
    const left = clamp(label.x - wide / 2, 4, width - wide - 4);
    const top = clamp(label.y - high / 2, 4, height - high - 4);
    const box: Placed = { ...label, left, top, width: wide, height: high };
    if (!label.isForced && !taken.isFree(box)) continue;
    taken.add(box);
    result.push(box);
    if (label.key !== undefined) keys.add(label.key);
    if (result.length >= most) break;
  }
  return result;
}

function clamp(value: number, low: number, high: number): number {
  return high < low ? (low + high) / 2 : Math.min(Math.max(value, low), high);
}

/** Draws labels, the least important first, with a halo in the colour of the background. */
export function draw(labels: Placed[], context: CanvasRenderingContext2D, background: string): void {
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.lineJoin = "round";
  for (const label of [...labels].reverse()) {
    context.font = fontOf(label);
    eachLine(label, (text, x, y) => {
      context.lineWidth = Math.max(3, label.size / 4);
      context.strokeStyle = background;
      context.strokeText(text, x, y);
      context.fillStyle = label.colour;
      context.fillText(text, x, y);
    });
  }
}

/** Each line with the middle of its base line. */
export function eachLine(label: Placed, visitor: (text: string, x: number, y: number) => void): void {
  label.lines.forEach((text, line) => visitor(text, label.left + label.width / 2, label.top + (line + 0.82) * label.size * LINE));
}

/** Breaks a name into lines of about this many characters, at most so many. */
export function wrapped(name: string, characters: number, lines: number): string[] {
  const words = name.split(/\s+/).filter(Boolean);
  const result: string[] = [];
  for (const word of words) {
    const last = result[result.length - 1];
    if (last !== undefined && last.length + word.length + 1 <= characters) result[result.length - 1] = `${last} ${word}`;
    else result.push(word);
  }
  if (result.length <= lines) return result.length > 0 ? result : [""];
  const kept = result.slice(0, lines);
  kept[lines - 1] = `${kept[lines - 1]!.replace(/[,;:]$/, "")}…`;
  return kept;
}
