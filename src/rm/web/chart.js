/* Who held which cores when, as a picture: for elasticd's page and for what `elastic report --html` writes.
 *
 * Three levels of detail: a lane for each core; a row for each node, when those are too many; one curve for each group of
 * nodes, when the timeline was asked for with `groups`.  All text goes in as text, never as markup.  No state. */
"use strict";

const SEGMENTS_MAX = 4000;
const WIDTH = 1160, LEFT = 70, RIGHT = 10, GAP = 6, USE_HEIGHT = 60;
const CHART_HEIGHT = 480, NODE_HEIGHT_MIN = 4, LABEL_HEIGHT = 9;
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  const made = attributes.xmlns === SVG ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key !== "xmlns" && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}
const svg = (name, attributes, ...children) => element(name, { xmlns: SVG, ...attributes }, ...children);

function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  const s = Math.max(0, Math.floor(ms / 1000)), two = (n) => String(n).padStart(2, "0");
  const h = Math.floor(s / 3600);
  return h > 0 ? `${h}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}
const clock = (ms) => (ms ? new Date(ms).toLocaleTimeString() : "–");
// Neighbouring numbers get distant hues: steps of the golden angle.
const colour = (job) => (job === null ? "#b0b0b0" : `hsl(${(job * 137) % 360},60%,62%)`);
const swatch = (job) => {
  const mark = element("span", { class: "swatch" });
  mark.style.background = colour(job);
  return mark;
};

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

/* The height of each node's row, and of a core in it: a lane for each core as long as there is room. */
function rowsOf(nodes) {
  const cores = nodes.reduce((sum, node) => sum + node.cores, 0);
  const lane = Math.floor(CHART_HEIGHT / Math.max(1, cores));
  const height = Math.max(NODE_HEIGHT_MIN, Math.min(14, Math.floor(CHART_HEIGHT / Math.max(1, nodes.length))));
  const gap = lane >= 2 || height > 8 ? GAP : 1, rows = new Map();
  let top = 4;
  for (const node of nodes) {
    const row = lane >= 2 ? Math.min(14, lane) * node.cores : height;
    rows.set(node.name, { top, height: row, lane: row / Math.max(1, node.cores) });
    top += row + gap;
  }
  return { rows, bottom: top + GAP, cores };
}

/* A picture of a timeline (GET /v1/timeline).  `actions`: chosen (a job), choose(job), open(first, last): to see these
 * nodes alone; all may be missing. */
function drawChart(timeline, from, to, actions = {}) {
  return timeline.groups ? drawGroups(timeline, from, to, actions) : drawNodesChart(timeline, from, to, actions);
}

const timeScale = (from, to) => (ms) =>
  LEFT + ((Math.min(to, Math.max(from, ms)) - from) / Math.max(1, to - from)) * (WIDTH - LEFT - RIGHT);

function startPicture(bottom) {
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${bottom + USE_HEIGHT + 24}`, role: "img", "aria-label": "jobs on nodes over time" });
}

function drawAxis(picture, from, to, x, bottom) {
  for (let i = 0; i <= 6; i++) {
    const at = from + ((to - from) * i) / 6;
    picture.append(svg("text", { class: "axis", x: x(at), y: bottom + USE_HEIGHT + 16, "text-anchor": i === 6 ? "end" : "middle" }, clock(at)));
  }
}

/* A large machine: how much of each group of nodes was in use.  One path for each, however many nodes and jobs there are. */
function drawGroups(timeline, from, to, actions) {
  const height = Math.max(6, Math.min(14, Math.floor(CHART_HEIGHT / Math.max(1, timeline.groups.length))));
  const bottom = 4 + timeline.groups.length * (height + 1) + GAP, x = timeScale(from, to), picture = startPicture(bottom);
  const columns = Math.max(1, ...timeline.groups.map((group) => group.used.length));
  const at = (column) => from + ((to - from) * column) / columns;
  const area = (used, cores, floor, height) => used.reduce((path, value, column) => {
    const y = (floor - (cores > 0 ? Math.min(1, value / cores) : 0) * height).toFixed(1);
    return path + `V${y}H${x(at(column + 1)).toFixed(1)}`;
  }, `M${LEFT},${floor}`) + `V${floor}Z`;
  const sum = new Array(columns).fill(0);
  let cores = 0;
  timeline.groups.forEach((group, index) => {
    const top = 4 + index * (height + 1);
    const name = group.first === group.last ? group.first : `${group.first} – ${group.last}`;
    const now = group.used.length ? Math.round(group.used[group.used.length - 1]) : 0;
    const box = svg("g", { class: "group", "data-first": group.first, tabindex: 0 },
      svg("rect", { class: "idle", x: LEFT, y: top, width: WIDTH - LEFT - RIGHT, height }),
      svg("path", { class: "use", d: area(group.used, group.cores, top + height, height) }),
      svg("text", { x: LEFT - 6, y: top + height - 1, "text-anchor": "end" }, group.first),
      svg("title", {}, `${name}: ${group.nodes} nodes, ${now} of ${group.cores} cores in use`));
    if (actions.open) {
      box.addEventListener("click", () => actions.open(group.first, group.last));
      box.addEventListener("keydown", (event) => { if (event.key === "Enter") actions.open(group.first, group.last); });
    }
    picture.append(box);
    group.used.forEach((value, column) => { sum[column] += value; });
    cores += group.cores;
  });
  picture.append(svg("rect", { class: "idle", x: LEFT, y: bottom, width: WIDTH - LEFT - RIGHT, height: USE_HEIGHT }),
    svg("path", { class: "use", id: "use", d: area(sum, cores, bottom + USE_HEIGHT, USE_HEIGHT) }),
    svg("text", { x: LEFT - 6, y: bottom + 11, "text-anchor": "end" }, "in use"));
  drawAxis(picture, from, to, x, bottom);
  return picture;
}

function drawNodesChart(timeline, from, to, actions) {
  const nodes = timeline.nodes, known = new Set(nodes.map((node) => node.name));
  const segments = timeline.segments
    .filter((segment) => known.has(segment.node))
    .map((segment) => ({ ...segment, end_ms: segment.to_ms === null ? to : segment.to_ms }))
    .sort((x, y) => x.from_ms - y.from_ms).slice(-SEGMENTS_MAX);
  layOut(nodes, segments);
  const { rows, bottom, cores } = rowsOf(nodes), x = timeScale(from, to), picture = startPicture(bottom);
  for (const node of nodes) {
    const { top, height } = rows.get(node.name);
    picture.append(svg("rect", { class: "idle", x: LEFT, y: top, width: WIDTH - LEFT - RIGHT, height }));
    if (height >= LABEL_HEIGHT) picture.append(svg("text", { x: LEFT - 6, y: top + Math.min(height, 12), "text-anchor": "end" }, node.name));
  }
  for (const segment of segments) drawSegment(picture, segment, x, rows.get(segment.node), actions);
  for (const one of adaptations(segments)) drawAdaptation(picture, one, segments, x, rows);
  drawUse(picture, segments, cores, x, from, to, bottom);
  drawAxis(picture, from, to, x, bottom);
  const empty = element("p", { class: "empty" }, "Nothing has run in this period.");
  return segments.some((segment) => segment.end_ms > from) ? picture : empty;
}

function drawSegment(picture, segment, x, { top, lane }, actions) {
  const left = x(segment.from_ms), width = x(segment.end_ms) - left;
  if (width <= 0) return;
  const name = segment.job === null ? "job of another user" : `${segment.job} ${segment.name}`;
  bands(segment.lanes).forEach(([first, count], index) => {
    const y = top + first * lane, height = Math.max(0.5, count * lane - 0.5);
    const box = svg("rect", { class: "segment" + (segment.job === actions.chosen && segment.job !== null ? " chosen" : ""),
      x: left, y, width: Math.max(0.8, width - 0.6), height, rx: 1.5, fill: colour(segment.job), "data-job": segment.job === null ? undefined : segment.job },
    svg("title", {}, `${name}: ${segment.cores} cores of ${segment.node}, ${clock(segment.from_ms)} – ${segment.to_ms === null ? "now" : clock(segment.to_ms)}`));
    if (segment.job !== null && actions.choose) box.addEventListener("click", () => actions.choose(segment.job));
    picture.append(box);
    if (index === 0 && width > name.length * 6.4 && height >= 9) {
      picture.append(svg("text", { class: "label", x: left + 4, y: y + Math.min(height, 12) - 1 }, name));
    }
  });
}

function drawAdaptation(picture, one, segments, x, rows) {
  const at = segments.find((s) => s.job === one.job && s.lanes.length && (s.from_ms === one.at || s.end_ms === one.at));
  if (!at || x(one.at) <= LEFT) return;
  const { top, lane } = rows.get(at.node), up = one.to > one.from, left = x(one.at), y = top + at.lanes[0] * lane;
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
