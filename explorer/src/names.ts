import { letterColour } from "./colours";
import type { Colours } from "./colouring";
import { count } from "./dom";
import type { Label } from "./labels";
import { wrapped } from "./labels";
import type { Disc, Layout } from "./layout";
import type { State } from "./state";

/** From this zoom on the names of groups give way to those of clusters. */
const NEAR = 2.6;

/** Pixels of a disc's radius from which it has a name, two lines, keywords. */
const NAMED = 7;
const WIDE = 34;
const ROOMY = 85;

/** Clusters tried per frame. */
const TRIED = 700;

/** What of the map is seen. */
export interface View {
  /** Pixels per unit of the layout. */
  scale: number;
  /** The zoom, 1 if everything is in view. */
  zoom: number;
  width: number;
  height: number;
  x(place: number): number;
  y(place: number): number;
}

/** All labels, the most important first: which have room is decided elsewhere. */
export function* labels(state: State, layout: Layout, view: View, colours: Colours): Generator<Label> {
  const { text, quiet } = colours.theme;
  const chosen = [state.cluster, state.hovered].flatMap((id) => (id === null ? [] : [layout.ofCluster[id]])).filter((disc) => disc !== undefined);
  for (const disc of new Set(chosen)) yield { ...clusterLabel(state, disc, view, text), weight: 700, isForced: true };
  const isFocused = state.hits !== null || state.scope !== null;
  if (view.zoom < NEAR && !isFocused) yield* groupLabels(state, layout, view, colours);
  let tried = 0;
  const documents = (disc: Disc) => state.hits?.clusters.get(disc.id)?.documents ?? 0;
  // Where most was found comes first; else large clusters do.
  const discs = state.hits ? [...layout.discs].sort((a, b) => documents(b) - documents(a)) : layout.discs;
  for (const disc of discs) {
    const radius = disc.r * view.scale;
    if (!isFocused && radius < NAMED) break;
    if (!state.isLit(disc.id) || chosen.includes(disc)) continue;
    const [x, y] = [view.x(disc.x), view.y(disc.y)];
    if (x < -radius || y < -radius || x > view.width + radius || y > view.height + radius) continue;
    if (++tried > TRIED) break;
    const label = clusterLabel(state, disc, view, isFocused || view.zoom >= NEAR ? text : mixed(text, quiet, radius));
    yield label;
    // The first of several phrases may fit where all do not.
    if (label.lines.length > 1) yield { ...label, lines: [state.data.clusters[disc.id]!.name.split(", ")[0]!, ...foundLine(state, disc)] };
    if (radius > ROOMY) yield* keywordLabels(state, disc, label, radius, quiet);
  }
}

const mixed = (text: string, quiet: string, radius: number): string => (radius > 22 ? text : quiet);

function clusterLabel(state: State, disc: Disc, view: View, colour: string): Label {
  const radius = disc.r * view.scale;
  const lines = wrapped(state.data.clusters[disc.id]!.name, radius > WIDE ? 20 : 24, radius > WIDE ? 3 : 2);
  lines.push(...foundLine(state, disc));
  const size = Math.round(2 * Math.min(17, Math.max(10.5, 9 + 0.075 * radius))) / 2;
  return { lines, x: view.x(disc.x), y: view.y(disc.y), size, weight: radius > 22 ? 600 : 500, colour, key: String(disc.id) };
}

/** How many documents of a cluster a search found. */
function foundLine(state: State, disc: Disc): string[] {
  const documents = state.hits?.clusters.get(disc.id)?.documents ?? 0;
  return documents > 0 ? [`${count(documents)} found`] : [];
}

/** The keywords below the name, where the disc has room for both. */
function keywordLabels(state: State, disc: Disc, name: Label, radius: number, colour: string): Label[] {
  const { keywords } = state.data.clusters[disc.id]!;
  const words = keywords.slice(0, radius > 2 * ROOMY ? 10 : 5).map(([term, , , written]) => written ?? term);
  if (words.length === 0) return [];
  const lines = wrapped(words.join(", "), 34, radius > 2 * ROOMY ? 4 : 2);
  const size = 11;
  const below = (name.lines.length * name.size * 1.14) / 2 + (lines.length * size * 1.14) / 2 + 6;
  return [{ lines, x: name.x, y: name.y + below, size, weight: 400, colour, needs: name.key! }];
}

/** Names of groups in the middle of their documents, larger for larger groups. */
function groupLabels(state: State, layout: Layout, view: View, colours: Colours): Label[] {
  const { groups, ofCluster } = state.level;
  if (groups.length < 2) return [];
  const places = groups.map(() => ({ x: 0, y: 0, n: 0 }));
  for (const disc of layout.discs) {
    const place = places[ofCluster[disc.id]!];
    if (!place || !state.isLit(disc.id)) continue;
    const { size } = state.data.clusters[disc.id]!;
    place.x += disc.x * size;
    place.y += disc.y * size;
    place.n += size;
  }
  const most = Math.max(...places.map((place) => place.n), 1);
  const small = view.width < 500;
  return groups
    .filter((group) => places[group.id]!.n > 0 && group.nClusters > 1)
    .sort((a, b) => places[b.id]!.n - places[a.id]!.n)
    .map((group) => {
      const { x, y, n } = places[group.id]!;
      const size = Math.round((small ? 11 : 13) + (small ? 5 : 10) * Math.sqrt(n / most));
      return { lines: wrapped(group.name, 20, 2), x: view.x(x / n), y: view.y(y / n), size, weight: 750, colour: state.colouring === "group" ? letterColour(colours.ofGroup(group.id), colours.theme) : colours.theme.text };
    });
}
