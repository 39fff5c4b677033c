/** Creates elements. Texts are always inserted as text nodes, never as markup. */

export type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((event: never) => void)>;

const SVG = "http://www.w3.org/2000/svg";

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of a drawing. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], attributes, children);
}

function fill<E extends HTMLElement | SVGElement>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    // The page's policy would refuse a style attribute.
    else if (name === "style") element.style.cssText = String(value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function byId<E extends HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (!element) throw new Error(`there is no #${id}`);
  return element as E;
}

/** A heading with its content, or nothing if there is none. */
export function section(title: string, ...content: Child[]): Child {
  const isShown = content.some((child) => child !== null && child !== undefined && child !== false);
  return isShown && el("section", { class: "part" }, el("h3", {}, title), ...content);
}

const whole = new Intl.NumberFormat("en");

/** 1234567 as 1,234,567. */
export function count(n: number): string {
  return whole.format(Math.round(n));
}

/** "1 document", "2 documents". */
export function counted(n: number, noun: string): string {
  return `${count(n)} ${noun}${Math.round(n) === 1 ? "" : "s"}`;
}

/** A share in whole percent; a small one is never shown as nothing. */
export function percent(share: number): string {
  if (share > 0 && share < 0.01) return "<1%";
  return `${share < 0.1 && share > 0 ? Number((100 * share).toFixed(1)) : Math.round(100 * share)}%`;
}

/** The first characters of a text. */
export function shortened(text: string, n: number): string {
  const characters = [...text];
  return characters.length > n ? `${characters.slice(0, n).join("").trimEnd()}…` : text;
}
