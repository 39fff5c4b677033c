/** A document as the server tells it. */
export interface Found {
  number: number;
  id: string;
  cluster: number;
  similarity: number;
  text: string;
  isPart: boolean;
  /** The kept columns that have a value. */
  columns?: Record<string, string | number>;
}

/** A page of documents. */
export interface Answer {
  total: number;
  isMore: boolean;
  pageDocs: number;
  documents: Found[];
}

async function checked(answer: Promise<Response>): Promise<Response> {
  const response = await answer.catch(() => {
    throw new Error("The server does not answer; is docsphere serve still running?");
  });
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: string };
  throw new Error(error ?? response.statusText);
}

/** The server's answer. */
export async function get<T>(url: string): Promise<T> {
  return (await (await checked(fetch(url))).json()) as T;
}

/** The same as bytes; `null` if there is nothing of this name. */
export async function getBytes(url: string): Promise<ArrayBuffer | null> {
  const response = await fetch(url);
  return response.status === 404 ? null : (await checked(Promise.resolve(response))).arrayBuffer();
}

/** Sends something as JSON. */
export async function post<T>(url: string, body: unknown): Promise<T> {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return (await (await checked(fetch(url, request))).json()) as T;
}
