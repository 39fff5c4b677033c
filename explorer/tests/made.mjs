// Pages and servers with made-up data: as many points, clusters and columns as a test wants.

import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

/** The page as it was just built, without data. */
const PAGE = readFileSync(fileURLToPath(new URL("../dist/index.html", import.meta.url)), "utf8");
const DATA_MARK = '{"docsphere":"data"}';

/** Numbers from 0 to 1 that are the same every time. */
export function random(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

const WORDS = ["refund", "delivery", "invoice", "login", "password", "card", "transfer", "account", "order", "parcel", "update", "battery", "screen", "camera", "sound", "price", "garden", "engine", "flight", "hotel", "music", "film", "river", "planet", "protein", "signal", "market", "school", "doctor", "bread"];
const KINDS = ["north", "south", "east", "west", "centre", "abroad"];
const N_MONTHS = 24;

const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

/** The data of a page and all of its documents. */
export function made({ n = 10_000, k = 60, sample = n, served = false, points = true, columns = true, seed = 1, editable = false } = {}) {
  const next = random(seed);
  const nGroups = Math.max(1, Math.min(12, Math.round(k / 5)));
  const centres = Array.from({ length: nGroups }, (_, g) => [0.75 * Math.cos((2 * Math.PI * g) / nGroups), 0.75 * Math.sin((2 * Math.PI * g) / nGroups)]);
  const groupOf = (id) => Math.floor((id * nGroups) / k);
  const share = Array.from({ length: k }, () => 0.2 + next() ** 3 * 3);
  const sum = share.reduce((a, b) => a + b);
  const documents = { number: new Uint32Array(n), offset: new Int16Array(2 * n), cluster: new Int32Array(n), similarity: new Uint8Array(n), bins: [0, 1, 2].map(() => new Uint8Array(n)) };
  const sizes = new Array(k).fill(0);
  const edges = share.map(((at) => (part) => (at += part / sum))(0));
  for (let i = 0; i < n; i++) {
    const u = next();
    let low = 0;
    let high = k - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (edges[middle] < u) low = middle + 1;
      else high = middle;
    }
    sizes[low] += 1;
    const [r, angle] = [Math.sqrt(next()), 2 * Math.PI * next()];
    documents.number[i] = i;
    documents.cluster[i] = low;
    documents.offset[2 * i] = 32767 * r * Math.cos(angle);
    documents.offset[2 * i + 1] = 32767 * r * Math.sin(angle);
    documents.similarity[i] = 255 * (0.7 - 0.5 * r);
    // Clusters of even numbers rise, the others fall; groups prefer a kind.
    const late = low % 2 === 0 ? Math.sqrt(next()) : 1 - Math.sqrt(next());
    documents.bins[0][i] = next() < 0.02 ? 255 : Math.min(N_MONTHS - 1, Math.floor(N_MONTHS * late));
    documents.bins[1][i] = Math.min(9, Math.floor(10 * next() ** 2));
    documents.bins[2][i] = next() < 0.5 ? groupOf(low) % KINDS.length : Math.floor(KINDS.length * next());
  }
  const word = (id, j) => `${WORDS[(groupOf(id) * 3 + j) % WORDS.length]}${j < 2 ? "" : (id * 7 + j) % 50}`;
  const clusters = sizes.map((size, id) => {
    const [gx, gy] = centres[groupOf(id)];
    const keywords = Array.from({ length: 10 }, (_, j) => [word(id, j), Number((0.8 - 0.07 * j).toFixed(3)), 0.5, null, Number((0.9 - 0.08 * j).toFixed(3))]);
    const doc = (j) => ({ id: `doc-${id}-${j}`, similarity: Number((0.7 - 0.1 * j).toFixed(3)), text: `A text about ${word(id, 0)}, ${word(id, j)} and other things.` });
    return {
      name: `${word(id, 0)} ${word(id, 2)}`,
      size,
      cohesion: 0.2 + 0.4 * next(),
      heap: id === 3,
      x: Math.max(-1, Math.min(1, gx + 0.3 * (next() - 0.5))),
      y: Math.max(-1, Math.min(1, gy + 0.3 * (next() - 0.5))),
      keywords,
      typical: size > 0 ? [0, 1, 2].map(doc) : [],
      least: size > 0 ? [doc(4)] : [],
      near: [1, 2, 3].map((step) => [(id + step) % k, 0.3]).filter(([other]) => other !== id),
      histogram: Array.from({ length: 20 }, (_, bin) => (bin > 3 && bin < 14 ? Math.round(size / 10) : 0)),
    };
  });
  const data = {
    title: "made-up.csv",
    version: "0.0.0",
    served,
    editable,
    totals: { documents: n, terms: 5000, withoutTerms: 0, outliers: 0, minSimilarity: null, silhouette: null, emptyClusters: sizes.filter((size) => size === 0).length, objective: 1234.5, iterations: 9, converged: true, seed: "0" },
    settings: [["INPUT", "made-up.csv"]],
    trace: { objective: [1000, 1234.5], moved: [n, 0] },
    stemmed: false,
    clusters,
    merges: mergesOf(k, groupOf, clusters),
    nGroups,
    columns: columns ? columnsOf(documents, k) : [],
    points: points && !served ? sampled(documents, n, sample, columns, (i) => `Document ${i} says ${word(documents.cluster[i], 0)} and ${word(documents.cluster[i], 1 + (i % 9))}`) : null,
  };
  return { data, documents };
}

/** Chains within groups, then a chain of groups. */
function mergesOf(k, groupOf, clusters) {
  const merges = [];
  const tops = [];
  for (let first = 0; first < k; ) {
    let node = first;
    let last = first + 1;
    for (; last < k && groupOf(last) === groupOf(first); last++) node = k + merges.push([node, last, `${clusters[first].name.split(" ")[0]} and more`]) - 1;
    tops.push(node);
    first = last;
  }
  for (let i = 1, node = tops[0]; i < tops.length; i++) node = k + merges.push([node, tops[i], "everything"]) - 1;
  return merges;
}

function columnsOf({ bins, cluster }, k) {
  const counted = (column, nBins) => {
    const [counts, cells] = [new Array(nBins).fill(0), Array.from({ length: k }, () => new Array(nBins).fill(0))];
    bins[column].forEach((bin, i) => {
      if (bin === 255) return;
      counts[bin] += 1;
      cells[cluster[i]][bin] += 1;
    });
    return { counts, clusters: cells.map((row) => row.flatMap((number, bin) => (number > 0 ? [[bin, number]] : []))) };
  };
  const values = bins[0].filter((bin) => bin !== 255).length;
  const months = Array.from({ length: N_MONTHS }, (_, i) => `${2022 + Math.floor(i / 12)}-${String((i % 12) + 1).padStart(2, "0")}-01`);
  return [
    { name: "created", kind: "date", values, bad: 0, bins: { step: "month", labels: months, edges: [], ...counted(0, N_MONTHS) } },
    { name: "price", kind: "number", values: cluster.length, bad: 0, bins: { labels: [], edges: Array.from({ length: 11 }, (_, i) => 10 * i), ...counted(1, 10) } },
    { name: "region", kind: "category", values: cluster.length, bad: 0, bins: { labels: KINDS, edges: [], ...counted(2, KINDS.length) } },
    { name: "link", kind: "address", values: cluster.length, bad: 0 },
  ];
}

function sampled(documents, n, sample, columns, title) {
  const step = n / sample;
  const taken = Array.from({ length: sample }, (_, i) => Math.floor(i * step));
  const of = (array) => array.constructor.from(taken, (i) => array[i]);
  const offset = new Int16Array(2 * sample);
  taken.forEach((i, at) => offset.set(documents.offset.subarray(2 * i, 2 * i + 2), 2 * at));
  return {
    total: n,
    n: sample,
    number: base64(of(documents.number)),
    offset: base64(offset),
    cluster: base64(of(documents.cluster)),
    similarity: base64(of(documents.similarity)),
    bins: columns ? Object.fromEntries(documents.bins.map((bins, column) => [column, base64(of(bins))])) : {},
    titles: sample > 200_000 ? [] : taken.map(title),
  };
}

/** The page with these data. */
export function html(data) {
  const [start, end] = PAGE.split(DATA_MARK);
  const head = data.served ? start.replace("connect-src 'none'", "connect-src 'self'") : start;
  return head + JSON.stringify(data).replace(/</g, "\\u003c") + end;
}

export function writePage(path, data) {
  writeFileSync(path, html(data));
}

/** What the server sends as points. */
export function pointBytes({ number, offset, cluster, similarity, bins }) {
  const head = new Uint32Array([1, number.length, bins.length, ...bins.keys()]);
  const parts = [Buffer.from("DsPt"), ...[head, number, offset, cluster, similarity, ...bins].map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength))];
  return Buffer.concat(parts);
}

/** A server that answers as `docsphere serve` does; `asked` holds the requests. */
export async function serve({ data, documents }) {
  const asked = [];
  const page = html(data);
  const bytes = pointBytes(documents);
  const edits = [];
  const all = (query) => {
    const words = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const cluster = query.get("cluster");
    const found = [];
    const bins = query.getAll("bins").map((text) => [Number(text.split(":")[0]), new Set(text.split(":")[1].split(",").map(Number))]);
    documents.cluster.forEach((id, i) => {
      const text = textOf(i);
      const isIn = (cluster === null || id === Number(cluster)) && words.every((word) => text.toLowerCase().includes(word)) && bins.every(([column, set]) => set.has(documents.bins[column][i]));
      if (isIn) found.push(i);
    });
    return found;
  };
  const textOf = (i) => `Document ${i} tells of ${data.clusters[documents.cluster[i]].keywords.slice(0, 1 + (i % 10)).map(([term]) => term).join(", ")}.`;
  const told = (i) => ({ number: i, id: `id-${i}`, cluster: documents.cluster[i], similarity: documents.similarity[i] / 255, text: textOf(i), isPart: false, columns: { price: 7, link: i % 2 === 0 ? `https://example.org/${i}` : "javascript:window.hacked=1" } });
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    asked.push(`${request.method} ${request.url}`);
    const json = (value) => response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    const number = /^\/api\/documents\/(\d+)$/.exec(url.pathname);
    if (url.pathname === "/") response.writeHead(200, { "Content-Type": "text/html" }).end(page);
    else if (url.pathname === "/api/points") response.writeHead(200, { "Content-Type": "application/octet-stream" }).end(bytes);
    else if (url.pathname === "/api/hits") {
      const found = all(url.searchParams);
      const counts = new Map();
      for (const i of found) counts.set(documents.cluster[i], (counts.get(documents.cluster[i]) ?? 0) + 1);
      json({ total: found.length, isMore: false, clusters: [...counts], numbers: found.slice(0, 100_000) });
    } else if (url.pathname === "/api/documents") {
      const found = all(url.searchParams);
      const page = Number(url.searchParams.get("page") ?? 0);
      json({ total: found.length, isMore: false, pageDocs: 20, documents: found.slice(20 * page, 20 * page + 20).map(told) });
    } else if (number) json(told(Number(number[1])));
    else if (url.pathname === "/api/edits" && request.method === "GET") json({ edits });
    else if (request.method === "POST") {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        if (url.pathname.endsWith("undo")) edits.pop();
        else edits.push({ ...JSON.parse(body), id: edits.length + 1, time: "2026-01-01T00:00:00Z" });
        json({ edits, reload: true });
      });
    } else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, asked, edits, close: () => server.close() };
}
