import { get, post } from "./api";
import { counted, el } from "./dom";
import { clusterName } from "./groups";
import type { State } from "./state";

/** A change that someone made to the result. */
type Edit = { op: string; cluster?: number; clusters?: number[]; into?: number; name?: string; text?: string; parts?: number };

/** An edit as the server keeps it. */
type Kept = Edit & { id: number; time: string };

interface Answer {
  edits: Kept[];
  reload?: boolean;
}

/** Parts into which a cluster may be split here. */
const PARTS = [2, 3, 4, 5, 6, 8, 10];

/** Renames, merges, splits, hides a cluster, marks it as outliers, or notes something about it. */
export function editor(state: State, id: number): HTMLElement | null {
  const { data } = state;
  if (!data.editable) return null;
  const cluster = data.clusters[id]!;
  const status = el("p", { class: "facts", role: "status" });
  const send = async (url: string, edit: Edit | Record<string, never>) => {
    status.textContent = "Sending …";
    try {
      const answer = await post<Answer>(url, edit);
      if (answer.reload === false) status.textContent = counted(answer.edits.length, "edit");
      else location.reload();
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const edit = (change: Edit) => void send("api/edits", change);
  const name = el("input", { type: "text", value: clusterName(data, id), maxlength: 200, "aria-label": "New name" });
  const note = el("input", { type: "text", value: cluster.note ?? "", maxlength: 1000, "aria-label": "Note" });
  const into = el("select", { "aria-label": "Cluster to merge into" }, ...targets(state, id));
  const parts = el("select", { "aria-label": "Number of parts" }, ...PARTS.map((n) => el("option", { value: n }, n)));
  const button = (label: string, act: () => void) => el("button", { type: "button", class: "small", click: act }, label);
  const undo = button("Undo", () => void send("api/edits/undo", {}));
  const history = el("p", { class: "facts" });
  get<Answer>("api/edits").then(
    ({ edits }) => {
      const last = edits.at(-1);
      undo.hidden = !last;
      history.textContent = last ? `${counted(edits.length, "edit")}; the last: ${last.op} ${last.cluster ?? last.clusters?.join(", ") ?? ""}` : "No edits yet";
    },
    (error: unknown) => (history.textContent = String(error)),
  );
  undo.hidden = true;
  const row = (...children: (HTMLElement | string)[]) => el("p", { class: "edit" }, ...children);
  return el(
    "details",
    { class: "part", id: "editor" },
    el("summary", {}, "Edit this cluster"),
    row(name, button("Rename", () => edit({ op: "rename", cluster: id, name: name.value.trim() }))),
    row(note, button("Note", () => edit({ op: "note", cluster: id, text: note.value.trim() }))),
    row(into, button("Merge into", () => edit({ op: "merge", clusters: [id, Number(into.value)], into: Number(into.value) }))),
    row(parts, button("Split", () => edit({ op: "split", cluster: id, parts: Number(parts.value) }))),
    row(button("Hide", () => edit({ op: "hide", cluster: id })), " ", button("Mark as outliers", () => edit({ op: "outliers", cluster: id }))),
    row(history, undo),
    status,
  );
}

/** The nearest clusters first, then all others by name. */
function targets(state: State, id: number): HTMLElement[] {
  const { data } = state;
  const near = data.clusters[id]!.near.map(([other]) => other).filter((other) => data.clusters[other]!.size > 0);
  const others = data.clusters.flatMap((cluster, other) => (other !== id && cluster.size > 0 && !near.includes(other) ? [other] : []));
  others.sort((a, b) => clusterName(data, a).localeCompare(clusterName(data, b)));
  return [...near, ...others].map((other) => el("option", { value: other }, `${clusterName(data, other)} (#${other})`));
}
