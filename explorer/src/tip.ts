import { get, type Found } from "./api";
import { byId, counted, el, shortened } from "./dom";
import { clusterName } from "./groups";
import type { State } from "./state";

/** Milliseconds that the pointer rests on a point before the server is asked for its text. */
const PAUSE = 120;

const CHARACTERS = 180;

/** Texts of points that the server was asked for, at most. */
const KEPT = 500;

interface Spot {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What is under the pointer: a document and its cluster. */
export class Tip {
  private readonly box = byId("tip");
  private readonly texts = new Map<number, string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private shown: number | null = null;

  constructor(private readonly state: State) {}

  hide(): void {
    this.box.hidden = true;
    this.shown = null;
    clearTimeout(this.timer);
  }

  show(id: number, point: number | null, spot: Spot): void {
    const cluster = this.state.data.clusters[id]!;
    const text = point === null ? undefined : this.textOf(point);
    const facts = `${counted(cluster.size, "document")}, cohesion ${cluster.cohesion.toFixed(2)}${cluster.heap ? ", a heap" : ""}`;
    const { level } = this.state;
    const group = level.groups[level.ofCluster[id]!];
    this.box.replaceChildren(
      ...(text ? [el("p", { class: "doc", dir: "auto" }, shortened(text, CHARACTERS))] : []),
      el("p", { class: "of", dir: "auto" }, clusterName(this.state.data, id)),
      el("p", { class: "more" }, facts),
      ...(group && level.groups.length > 1 && group.nClusters > 1 ? [el("p", { class: "more", dir: "auto" }, `in ${group.name}`)] : []),
    );
    this.box.hidden = false;
    const half = this.box.offsetWidth / 2 + 4;
    this.box.style.left = `${Math.min(Math.max(spot.x, half), spot.width - half)}px`;
    const below = spot.y + 18;
    const isRoom = below + this.box.offsetHeight < spot.height;
    this.box.style.top = `${isRoom ? below : Math.max(2, spot.y - this.box.offsetHeight - 12)}px`;
    if (point !== this.shown) {
      this.shown = point;
      clearTimeout(this.timer);
      if (point !== null && text === undefined && this.state.data.served) this.timer = setTimeout(() => void this.ask(id, point, spot), PAUSE);
    }
  }

  private textOf(point: number): string | undefined {
    const points = this.state.points!;
    return points.titles[point] ?? this.texts.get(points.number[point]!);
  }

  private async ask(id: number, point: number, spot: Spot): Promise<void> {
    const number = this.state.points!.number[point]!;
    const found = await get<Found>(`api/documents/${number}`).catch(() => null);
    if (this.texts.size > KEPT) this.texts.clear();
    this.texts.set(number, found?.text ?? "");
    if (this.shown === point && !this.box.hidden) this.show(id, point, spot);
  }
}
