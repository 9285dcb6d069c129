/* Fills elasticd's page from its interface (doc/elasticd-api.md), again every two seconds.
 *
 * All text that comes from jobs goes in as text, never as markup.  State: what was loaded last, and the chosen job (in the
 * address, so that a link leads to it). */
"use strict";

const REFRESH_MS = 2000, SEGMENTS_MAX = 4000, RECORDS_MAX = 10000;
const WIDTH = 1160, LEFT = 70, RIGHT = 10, GAP = 6, USE_HEIGHT = 60;
const SVG = "http://www.w3.org/2000/svg";
const ENDED = ["DONE", "FAILED", "CANCELLED"];
const view = { chosen: null, busy: false };

const byId = (id) => document.getElementById(id);

function element(name, attributes, ...children) {
  const made = attributes.xmlns === SVG ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key !== "xmlns" && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}
const svg = (name, attributes, ...children) => element(name, { xmlns: SVG, ...attributes }, ...children);
const row = (attributes, cells) => element("tr", attributes, ...cells.map((cell) => element("td", {}, cell)));

// ---- asking ----------------------------------------------------------------------------------

class Refusal extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function ask(path) {
  const token = sessionStorage.getItem("token");
  const answer = await fetch(path, { headers: token ? { Authorization: "Bearer " + token } : {}, cache: "no-store" });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(answer.status, body.error ? body.error.message : "HTTP status " + answer.status);
  return body;
}

// ---- words -----------------------------------------------------------------------------------

function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  const s = Math.max(0, Math.floor(ms / 1000)), two = (n) => String(n).padStart(2, "0");
  const h = Math.floor(s / 3600);
  return h > 0 ? `${h}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}
const clock = (ms) => (ms ? new Date(ms).toLocaleTimeString() : "–");
const shown = (value) => (value === null || value === undefined || value === "" ? "–" : String(value));
const places = (nodes) => nodes.map((node) => `${node.name || node.node}:${node.processes}`).join(" ");
const range = (job) => (job.min === job.max ? String(job.min) : `${job.min}:${job.max}`);
const runTime = (job, now) => (job.start_ms ? (job.end_ms || now) - job.start_ms : null);
// Neighbouring numbers get distant hues: steps of the golden angle.  `elastic report` does the same.
const colour = (job) => (job === null ? "#b0b0b0" : `hsl(${(job * 137) % 360},60%,62%)`);
const swatch = (job) => {
  const mark = element("span", { class: "swatch" });
  mark.style.background = colour(job);
  return mark;
};

function recordText(record) {
  const data = record.data || {}, sizes = `${data.old_size} → ${data.size} processes`;
  const reason = data.reason ? `: ${data.reason}` : "";
  switch (record.event) {
    case "submitted": return data.spec ? `${range({ min: data.spec.minimum, max: data.spec.maximum })} processes, ${shown(data.spec.elasticity)}` : "";
    case "placed": return `${data.size} processes on ${places(data.blocks || [])} after ${duration(data.waited_ms)}`;
    case "started": return `${data.size} processes`;
    case "mode": return shown(data.mode);
    case "requested": return sizes + (data.by_user ? " (by a user)" : "") + reason;
    case "committed": return `epoch ${data.epoch}: ${sizes} on ${places(data.blocks || [])}, stood still ${shown(data.standstill_ms)} ms`;
    case "withdrawn": case "failed": return sizes + reason;
    case "freed": return places(data.blocks || []);
    case "completing": return shown(data.verdict) + reason;
    case "ended": return shown(data.state) + (data.exit_code === null ? "" : `, exit code ${data.exit_code}`) + reason;
    default: return Object.entries(data).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(" ");
  }
}

// ---- the chart -------------------------------------------------------------------------------

/* Each node has a lane for each core; a job that goes on after an adaptation keeps the lanes that it had, as far as it
 * can.  Adds `lanes` to the segments, in the order of their beginnings. */
function layOut(nodes, segments) {
  const freeAt = new Map(nodes.map((node) => [node.name, new Array(node.cores).fill(-Infinity)]));
  const had = new Map();
  for (const segment of segments) {
    const free = freeAt.get(segment.node), key = `${segment.job}@${segment.node}`, lanes = [];
    for (const lane of [...(had.get(key) || []), ...free.keys()]) {
      if (lanes.length < segment.cores && free[lane] <= segment.from_ms && !lanes.includes(lane)) lanes.push(lane);
    }
    segment.lanes = lanes.sort((x, y) => x - y);
    for (const lane of lanes) free[lane] = segment.end_ms;
    had.set(key, lanes);
  }
}

/* Moments at which the cores of a job changed while it went on: its adaptations. */
function adaptations(segments) {
  const changes = new Map();
  for (const segment of segments) {
    if (segment.job === null) continue;
    if (!changes.has(segment.job)) changes.set(segment.job, new Map());
    const job = changes.get(segment.job);
    job.set(segment.from_ms, (job.get(segment.from_ms) || 0) + segment.cores);
    if (segment.to_ms !== null) job.set(segment.to_ms, (job.get(segment.to_ms) || 0) - segment.cores);
  }
  const found = [];
  for (const [job, times] of changes) {
    let cores = 0;
    for (const [at, change] of [...times].sort((x, y) => x[0] - y[0])) {
      if (cores > 0 && cores + change > 0 && change !== 0) found.push({ job, at, from: cores, to: cores + change });
      cores += change;
    }
  }
  return found;
}

/* Neighbouring lanes as [first, count]. */
function bands(lanes) {
  const result = [];
  for (const lane of lanes) {
    const last = result[result.length - 1];
    if (last && last[0] + last[1] === lane) last[1]++;
    else result.push([lane, 1]);
  }
  return result;
}

function drawChart(timeline, from, to) {
  const nodes = timeline.nodes, known = new Set(nodes.map((node) => node.name));
  const segments = timeline.segments
    .filter((segment) => known.has(segment.node))
    .map((segment) => ({ ...segment, end_ms: segment.to_ms === null ? to : segment.to_ms }))
    .sort((x, y) => x.from_ms - y.from_ms).slice(-SEGMENTS_MAX);
  layOut(nodes, segments);
  const cores = nodes.reduce((sum, node) => sum + node.cores, 0);
  const lane = Math.max(2, Math.min(14, Math.floor(480 / Math.max(1, cores))));
  const x = (ms) => LEFT + ((Math.min(to, Math.max(from, ms)) - from) / Math.max(1, to - from)) * (WIDTH - LEFT - RIGHT);
  const tops = new Map();
  let bottom = 4;
  for (const node of nodes) { tops.set(node.name, bottom); bottom += node.cores * lane + GAP; }
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${bottom + USE_HEIGHT + 24}`, role: "img", "aria-label": "jobs on nodes over time" });
  for (const node of nodes) {
    const top = tops.get(node.name);
    picture.append(svg("rect", { class: "idle", x: LEFT, y: top, width: WIDTH - LEFT - RIGHT, height: node.cores * lane }),
      svg("text", { x: LEFT - 6, y: top + Math.min(node.cores * lane, 12), "text-anchor": "end" }, node.name));
  }
  for (const segment of segments) drawSegment(picture, segment, x, tops.get(segment.node), lane);
  for (const one of adaptations(segments)) drawAdaptation(picture, one, segments, x, tops, lane);
  drawUse(picture, segments, cores, x, from, to, bottom);
  for (let i = 0; i <= 6; i++) {
    const at = from + ((to - from) * i) / 6;
    picture.append(svg("text", { class: "axis", x: x(at), y: bottom + USE_HEIGHT + 16, "text-anchor": i === 6 ? "end" : "middle" }, clock(at)));
  }
  const empty = element("p", { class: "empty" }, "Nothing has run in this period.");
  byId("chart").replaceChildren(segments.some((segment) => segment.end_ms > from) ? picture : empty);
}

function drawSegment(picture, segment, x, top, lane) {
  const left = x(segment.from_ms), width = x(segment.end_ms) - left;
  if (width <= 0) return;
  const name = segment.job === null ? "somebody else's job" : `${segment.job} ${segment.name}`;
  bands(segment.lanes).forEach(([first, count], index) => {
    const y = top + first * lane, height = count * lane - 0.5;
    const box = svg("rect", { class: "segment" + (segment.job === view.chosen && segment.job !== null ? " chosen" : ""),
      x: left, y, width: Math.max(0.8, width - 0.6), height, rx: 1.5, fill: colour(segment.job), "data-job": segment.job === null ? undefined : segment.job },
    svg("title", {}, `${name}: ${segment.cores} cores of ${segment.node}, ${clock(segment.from_ms)} – ${segment.to_ms === null ? "now" : clock(segment.to_ms)}`));
    if (segment.job !== null) box.addEventListener("click", () => choose(segment.job));
    picture.append(box);
    if (index === 0 && width > name.length * 6.4 && height >= 9) {
      picture.append(svg("text", { class: "label", x: left + 4, y: y + Math.min(height, 12) - 1 }, name));
    }
  });
}

function drawAdaptation(picture, one, segments, x, tops, lane) {
  const at = segments.find((s) => s.job === one.job && s.lanes.length && (s.from_ms === one.at || s.end_ms === one.at));
  if (!at || x(one.at) <= LEFT) return;
  const up = one.to > one.from, left = x(one.at), y = tops.get(at.node) + at.lanes[0] * lane;
  const points = up ? `${left - 4},${y + 8} ${left + 4},${y + 8} ${left},${y}` : `${left - 4},${y} ${left + 4},${y} ${left},${y + 8}`;
  picture.append(svg("polygon", { class: "adaptation " + (up ? "grow" : "shrink"), points, "data-job": one.job },
    svg("title", {}, `job ${one.job}: ${one.from} → ${one.to} cores, ${clock(one.at)}`)));
}

function drawUse(picture, segments, cores, x, from, to, top) {
  const floor = top + USE_HEIGHT, changes = new Map([[from, 0], [to, 0]]);
  const add = (at, cores) => changes.set(at, (changes.get(at) || 0) + cores);
  for (const segment of segments) {
    if (segment.end_ms <= from || segment.from_ms >= to) continue;
    add(Math.max(from, segment.from_ms), segment.cores);
    add(Math.min(to, segment.end_ms), -segment.cores);
  }
  let used = 0, path = `M${x(from)},${floor}`;
  for (const [at, change] of [...changes].sort((a, b) => a[0] - b[0])) {
    const y = (n) => floor - (cores > 0 ? n / cores : 0) * USE_HEIGHT;
    path += `L${x(at)},${y(used)}L${x(at)},${y(used + change)}`;
    used += change;
  }
  picture.append(svg("rect", { class: "idle", x: LEFT, y: top, width: WIDTH - LEFT - RIGHT, height: USE_HEIGHT }),
    svg("path", { class: "use", id: "use", d: path + `L${x(to)},${floor}Z` }),
    svg("text", { x: LEFT - 6, y: top + 11, "text-anchor": "end" }, "in use"));
}

// ---- tables ----------------------------------------------------------------------------------

function fill(table, rows, nothing) {
  const columns = table.tHead ? table.tHead.rows[0].cells.length : 2;
  const none = element("tr", {}, element("td", { colspan: columns, class: "empty" }, nothing));
  table.tBodies[0].replaceChildren(...(rows.length ? rows : [none]));
}

function drawQueue(jobs, now) {
  fill(byId("queue"), jobs.map((job) => {
    const where = job.nodes.length ? places(job.nodes) : job.reason ? `(${job.reason})` : "–";
    const size = job.adaptation ? `${job.size} → ${job.adaptation.size}` : job.size || "–";
    const made = row({ "data-job": job.id, tabindex: 0 }, [element("span", {}, swatch(job.id), job.id), job.name, job.user, job.state,
      duration(runTime(job, now)), size, range(job), job.counts ? job.counts.committed : 0, where]);
    made.addEventListener("click", () => choose(job.id));
    made.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(job.id); });
    return made;
  }), "No job runs or waits.");
}

function drawNodes(nodes) {
  fill(byId("nodes"), nodes.map((node) => row({}, [node.name, node.state, `${node.cores_used} of ${node.cores}`,
    element("span", {}, ...node.jobs.flatMap((use) => [swatch(use.job), `${use.job === null ? "other" : use.job}:${use.cores} `])),
    shown(node.reason)])), "There are no nodes.");
}

function drawFacts(version, summary) {
  const many = (counts) => Object.entries(counts).filter(([, n]) => n > 0).map(([name, n]) => `${n} ${name.toLowerCase()}`).join(", ") || "none";
  byId("cluster").textContent = version.cluster || "elasticd";
  document.title = `${version.cluster || "elasticd"}: ${summary.cores_used} of ${summary.cores} cores`;
  byId("facts").textContent = `${summary.cores_used} of ${summary.cores} cores in use · nodes: ${many(summary.nodes)} · jobs: ` +
    `${many(summary.jobs)} · adaptations: ${many(summary.adaptations)} · policy ${summary.policy} · elasticd ${version.version}`;
}

// ---- one job ---------------------------------------------------------------------------------

function choose(job) {
  history.replaceState(null, "", job === null ? location.pathname : "#job=" + job);
  view.chosen = job;
  refresh();
}

async function drawDetails() {
  const section = byId("details");
  section.hidden = view.chosen === null;
  if (section.hidden) return;
  const id = view.chosen;
  const [{ job }, { records }] = await Promise.all([ask("/v1/jobs/" + id), ask(`/v1/jobs/${id}/records?limit=${RECORDS_MAX}`)]);
  const fields = [["State", job.state + (job.reason ? ` (${job.reason})` : "")], ["User", job.user], ["Kind", `${job.kind}, ${range(job)} processes`],
    ["Size", job.size], ["Nodes", places(job.nodes) || "–"], ["Submitted", clock(job.submit_ms)],
    ["Waited", duration((job.start_ms || job.end_ms || Date.now()) - job.submit_ms)], ["Ran", duration(runTime(job, Date.now()))],
    ["Time limit", job.time_limit_ms === null ? "unlimited" : duration(job.time_limit_ms)], ["Exit code", shown(job.exit_code)],
    ["Adaptations", job.counts ? `${job.counts.committed} committed, ${job.counts.withdrawn} withdrawn, ${job.counts.failed} failed` : "–"],
    ["Command", (job.command || []).join(" ")]];
  byId("details-title").replaceChildren(swatch(job.id), `Job ${job.id}: ${job.name}`);
  fill(byId("fields"), fields.map(([name, value]) => element("tr", {}, element("th", {}, name), element("td", {}, value))), "");
  fill(byId("records"), records.map((record) => row({}, [clock(record.time_ms), record.event, recordText(record)])), "No records are kept.");
}

// ---- again and again -------------------------------------------------------------------------

function complain(error) {
  byId("login").hidden = error.status !== 401;
  byId("problem").hidden = false;
  byId("problem").textContent = error instanceof Refusal ? error.message : "elasticd does not answer: " + error.message;
}

async function load() {
  const [version, summary, nodes, jobs] = await Promise.all(
    [ask("/v1/version"), ask("/v1/summary"), ask("/v1/nodes"), ask("/v1/jobs?order=queue&limit=500")]);
  const period = Number(byId("period").value) * 1000, to = summary.now_ms;
  const timeline = await ask(`/v1/timeline?from_ms=${period ? to - period : 0}&to_ms=${to}`);
  const first = timeline.segments.reduce((least, segment) => Math.min(least, segment.from_ms), to);
  drawFacts(version, summary);
  drawChart(timeline, period ? to - period : first, to);
  drawQueue(jobs.jobs.filter((job) => !ENDED.includes(job.state)), to);
  drawNodes(nodes.nodes);
  await drawDetails();
}

async function refresh() {
  if (view.busy) { view.again = true; return; }
  view.busy = true;
  try {
    await load();
    byId("problem").hidden = byId("login").hidden = true;
    document.body.dataset.loaded = "true";
  } catch (error) {
    complain(error);
  }
  view.busy = false;
  if (view.again) { view.again = false; refresh(); }
}

function start() {
  const chosen = /^#job=(\d+)$/.exec(location.hash);
  view.chosen = chosen ? Number(chosen[1]) : null;
  byId("period").addEventListener("change", refresh);
  byId("close").addEventListener("click", () => choose(null));
  byId("login").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", byId("token").value);
    refresh();
  });
  setInterval(() => { if (byId("live").checked && !document.hidden) refresh(); }, REFRESH_MS);
  refresh();
}
start();
