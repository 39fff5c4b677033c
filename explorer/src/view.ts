import type { Colours } from "./colouring";
import type { State, Topic } from "./state";
import type { Times } from "./times";

/** What the parts of the panel are made from. */
export interface Setting {
  state: State;
  colours: Colours;
  times: Times | null;
}

/** What the panel shows. */
export interface View {
  title: string;
  element: HTMLElement;
  /** Called after a change while it is shown. */
  update?(topics: Set<Topic>): void;
}
