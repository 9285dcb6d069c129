/* Fills elasticd's page from its interface (doc/admin/elasticd-api.md), again every two seconds.
 *
 * The chart is chart.js's.  All text that comes from jobs goes in as text, never as markup.  State: what was loaded last,
 * the chosen job (in the address, so that a link leads to it), and the nodes that are looked at. */
"use strict";

const REFRESH_MS = 2000, RECORDS_MAX = 10000;
const NODES_MAX = 200, GROUPS = 64, COLUMNS = 240;     // more nodes are shown in groups
const ENDED = ["DONE", "FAILED", "CANCELLED"];
const view = { chosen: null, name: null, nodes: null, busy: false, changes: false, administrator: false };

const byId = (id) => document.getElementById(id);

const row = (attributes, cells) => element("tr", attributes, ...cells.map((cell) => element("td", {}, cell)));

// ---- asking ----------------------------------------------------------------------------------

class Refusal extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function ask(path, change) {
  const token = sessionStorage.getItem("token");
  const answer = await fetch(path, { headers: token ? { Authorization: "Bearer " + token } : {}, cache: "no-store",
    ...(change ? { method: "POST", body: JSON.stringify(change) } : {}) });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(answer.status, body.error ? body.error.message : "HTTP status " + answer.status);
  return body;
}

// ---- words -----------------------------------------------------------------------------------

const shown = (value) => (value === null || value === undefined || value === "" ? "–" : String(value));
const places = (nodes) => nodes.map((node) => `${node.name || node.node}:${node.processes}`).join(" ");
const range = (job) => (job.min === job.max ? String(job.min) : `${job.min}:${job.max}`);
const runTime = (job, now) => (job.start_ms ? (job.end_ms || now) - job.start_ms - (job.suspended_ms || 0) : null);
function recordText(record) {
  const data = record.data || {}, sizes = `${data.old_size} → ${data.size} processes`;
  const reason = data.reason ? `: ${data.reason}` : "";
  switch (record.event) {
    case "submitted": return data.spec ? `${range({ min: data.spec.minimum, max: data.spec.maximum })} processes, ${shown(data.spec.elasticity)}` : "";
    case "placed": return `${data.size} processes on ${places(data.blocks || [])} after ${duration(data.waited_ms)}`;
    case "started": return `${data.size} processes`;
    case "mode": return shown(data.mode);
    case "requested": return sizes + (data.by_user ? ` (by ${data.by || "a user"})` : "") + reason;
    case "committed": return `epoch ${data.epoch}: ${sizes} on ${places(data.blocks || [])}, stood still ${shown(data.standstill_ms)} ms`;
    case "withdrawn": case "failed": case "overdue": return sizes + reason;
    case "left": return `epoch ${data.epoch}: ${sizes} by themselves, on ${places(data.blocks || [])}`;
    case "told": case "accepted": case "declined":
      return `request ${data.request}: ${record.event === "told" ? "" : "by "}process ${data.uid}`;
    case "freed": return places(data.blocks || []);
    case "completing": return shown(data.verdict) + reason;
    case "ended": return shown(data.state) + (data.exit_code === null ? "" : `, exit code ${data.exit_code}`) + reason;
    default: return Object.entries(data).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(" ");
  }
}

/* Processes of MPI_Comm_spawn. */
const spawnedText = (known) => `${known.processes} processes, ${known.without_cores} without cores; ${known.max} at most`;

/* Of a program that changes through process sets: one process is notified, and answers for all. */
function setChangesText(known) {
  const last = known.last, answer = last.stage === "told" ? "not answered yet" : `${last.stage} at ${clock(last.at_ms)}`;
  return `${known.told} sent, ${known.accepted} accepted, ${known.declined} declined; the last (request ${last.request}) sent at ` +
    `${clock(last.told_ms)} to process ${last.uid}, ${answer}`;
}

// ---- tables ----------------------------------------------------------------------------------

function fill(table, rows, nothing) {
  const columns = table.tHead ? table.tHead.rows[0].cells.length : 2;
  const none = element("tr", {}, element("td", { colspan: columns, class: "empty" }, nothing));
  table.tBodies[0].replaceChildren(...(rows.length ? rows : [none]));
}

/* "12_3" of a task of an array, "12_[4-9]" of those that drawQueue shows as one. */
function jobName(job) {
  if (!job.array) return String(job.id);
  return `${job.array.job}_${job.waiting ? `[${ranges(job.waiting)}]` : job.array.index}`;
}

/* "4-6,9" from rising numbers. */
function ranges(numbers) {
  const parts = [];
  for (const number of numbers) {
    const last = parts[parts.length - 1];
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(",");
}

/* Tasks of one array that wait for the same become one. */
function mergeTasks(jobs) {
  const arrays = new Map();
  for (const job of jobs.filter((each) => each.array && each.state === "PENDING")) {
    const key = `${job.array.job} ${job.held}`;
    arrays.set(key, [...(arrays.get(key) || []), job]);
  }
  const first = new Map([...arrays.values()].filter((tasks) => tasks.length > 1).flatMap((tasks) => {
    const waiting = tasks.map((job) => job.array.index).sort((a, b) => a - b);
    return tasks.map((job, at) => [job, at === 0 ? { ...job, waiting } : null]);
  }));
  return jobs.map((job) => (first.has(job) ? first.get(job) : job)).filter((job) => job !== null);
}

function drawQueue(jobs, now) {
  fill(byId("queue"), mergeTasks(jobs).map((job) => {
    const where = job.nodes.length && !(job.end_ms && job.reason) ? places(job.nodes) : job.reason ? `(${job.reason})` : "–";
    const more = job.spawned && job.spawned.processes ? ` + ${job.spawned.processes}` : "";
    const size = (job.adaptation ? `${job.size} → ${job.adaptation.size}` : job.size || "–") + more;
    const made = row({ "data-job": job.id, tabindex: 0 }, [element("span", {}, swatch(job.id), jobName(job)),
      inPartitions(job.name, job.partition ? [job.partition] : []), job.user, job.state,
      duration(runTime(job, now)), size, range(job), job.counts ? job.counts.committed : 0, where]);
    made.addEventListener("click", () => choose(job.id));
    made.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(job.id); });
    return made;
  }), "No job runs or waits.");
}

/* "n0 · batch, debug" */
function inPartitions(name, partitions) {
  return partitions && partitions.length ? `${name} · ${partitions.join(", ")}` : name;
}

/* "2 of 4 cores, 1 of 2 GPUs" */
function inUse(node) {
  return `${node.cores_used} of ${node.cores} cores` + (node.gpus ? `, ${node.gpus_used.length} of ${node.gpus} GPUs` : "");
}

function drawNodes(nodes) {
  fill(byId("nodes"), nodes.map((node) => row({}, [inPartitions(node.name, node.partitions), node.state, inUse(node),
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
  view.name = null;
  byId("changed").textContent = "";
  refresh();
}

async function drawDetails(now) {
  const section = byId("details");
  section.hidden = view.chosen === null;
  if (section.hidden) return;
  const id = view.chosen;
  const [{ job }, { records }, measured] = await Promise.all([ask("/v1/jobs/" + id),
    ask(`/v1/jobs/${id}/records?limit=${RECORDS_MAX}`), ask(`/v1/jobs/${id}/loops`)]);
  const fields = [["State", job.state + (job.reason ? ` (${job.reason})` : "")],
    ...(ENDED.includes(job.state) || !whyText(job) ? [] : [["Why", whyText(job)]]), ["User", job.user], ["Kind", `${job.kind}, ${range(job)} processes`],
    ...(job.partition ? [["Partition", job.partition]] : []), ["Size", job.size], ["Nodes", places(job.nodes) || "–"],
    ...(job.gpus && job.gpus.length ? [["GPUs", job.gpus.map((each) => `${each.node}: ${ranges(each.gpus)}`).join("; ")]] : []), ["Submitted", clock(job.submit_ms)],
    ["Waited", duration((job.start_ms || job.end_ms || now) - job.submit_ms)], ["Ran", duration(runTime(job, now))],
    ["Time limit", job.time_limit_ms === null ? "unlimited" : duration(job.time_limit_ms)], ["Exit code", shown(job.exit_code)],
    ["Adaptations", job.counts ? `${job.counts.committed} committed, ${job.counts.withdrawn} withdrawn, ${job.counts.failed} failed` : "–"],
    ...(job.spawned ? [["Spawned", spawnedText(job.spawned)]] : []),
    ...(job.set_changes ? [["Changes of sets", setChangesText(job.set_changes)]] : []),
    ["Command", (job.command || []).join(" ")]];
  byId("details-title").replaceChildren(swatch(job.id), `Job ${jobName(job)}: ${job.name}`);
  view.name = jobName(job);
  fill(byId("fields"), fields.map(([name, value]) => element("tr", {}, element("th", {}, name), element("td", {}, value))), "");
  fill(byId("records"), records.map((record) => row({}, [clock(record.time_ms), record.event, recordText(record)])), "No records are kept.");
  drawMeasured(measured);
  drawChanges(job);
}

/* Shows the buttons that apply to the job's state, if elasticd allows changes from a page (web.allow_changes). */
function drawChanges(job) {
  const has = { cancel: !ENDED.includes(job.state), hold: job.state === "PENDING" && !job.held,
    release: job.state === "PENDING" && job.held, suspend: view.administrator && job.state === "RUNNING",
    resume: view.administrator && job.state === "SUSPENDED", resize: job.state === "RUNNING" && job.kind !== "rigid" };
  byId("changes").hidden = !view.changes || !Object.values(has).includes(true);
  for (const [name, can] of Object.entries(has)) byId(name).hidden = !can;
  byId("size").parentElement.hidden = !has.resize;
  if (document.activeElement !== byId("size")) byId("size").value = job.size;
}

/* Sends a change after a confirmation; its result stands beside the buttons. */
async function change(what, body, question) {
  const id = view.name;       /* the number of an array's first task is that of the whole array */
  if (id === null || !window.confirm(question.replace("JOB", "job " + id))) return;
  try {
    await ask(`/v1/jobs/${id}/${what}`, body);
    byId("changed").textContent = `${what}: accepted`;
  } catch (error) {
    byId("changed").textContent = `${what}: ${error.message}`;
  }
  refresh();
}

/* Of jobs of which something is known: rigid ones are not measured. */
function drawMeasured(measured) {
  byId("measured").hidden = !measured.available && !measured.history.length && !measured.scaling;
  byId("measured-now").textContent = measuredText(measured);
  byId("share").replaceChildren(drawShare(measured.history));
  byId("speedup").replaceChildren(drawSpeedup(measured.scaling));
  fill(byId("loops"), (measured.loops || []).map((loop) => row({}, loopCells(loop))), "No loop is known now.");
}

// ---- again and again -------------------------------------------------------------------------

function complain(error) {
  byId("login").hidden = error.status !== 401;
  byId("problem").hidden = false;
  byId("problem").textContent = error instanceof Refusal ? error.message : "elasticd does not answer: " + error.message;
}

/* Of a large machine: the nodes that are looked at, else those that are not well. */
function nodesQuery(isLarge) {
  if (view.nodes) return "?" + new URLSearchParams(view.nodes);
  return isLarge ? "?state=draining,drained,down&limit=" + NODES_MAX : "";
}

function look(nodes) {
  view.nodes = nodes;
  refresh();
}

function drawRange(isLarge) {
  byId("all-nodes").hidden = !view.nodes;
  byId("range").textContent = view.nodes ? `${view.nodes.first} – ${view.nodes.last}` : "";
  byId("nodes-note").hidden = !isLarge || view.nodes !== null;
}

async function load() {
  const [version, summary] = await Promise.all([ask("/v1/version"), ask("/v1/summary")]);
  const isLarge = Object.values(summary.nodes).reduce((sum, n) => sum + n, 0) > NODES_MAX;
  const period = Number(byId("period").value) * 1000, to = summary.now_ms, from = period ? to - period : 0;
  const detail = view.nodes ? "&" + new URLSearchParams(view.nodes) : isLarge ? `&groups=${GROUPS}&columns=${COLUMNS}` : "&limit=" + SEGMENTS_MAX;
  const [nodes, jobs, timeline] = await Promise.all([ask("/v1/nodes" + nodesQuery(isLarge)),
    ask("/v1/jobs?order=queue&limit=500"), ask(`/v1/timeline?from_ms=${from}&to_ms=${to}${detail}`)]);
  const first = timeline.groups ? timeline.from_ms : timeline.segments.reduce((least, segment) => Math.min(least, segment.from_ms), to);
  view.changes = version.web_changes === true;
  view.administrator = version.user?.administrator === true;
  drawFacts(version, summary);
  byId("chart").replaceChildren(drawChart(timeline, timeline.groups || !period ? first : from, to,
    { chosen: view.chosen, choose, open: (first, last) => look({ first, last }) }));
  drawRange(isLarge);
  drawQueue(jobs.jobs.filter((job) => !ENDED.includes(job.state)), to);
  drawNodes(nodes.nodes);
  await drawDetails(to);
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
  for (const verb of ["cancel", "hold", "release", "suspend", "resume"])
    byId(verb).addEventListener("click", () => change(verb, {}, `${verb[0].toUpperCase()}${verb.slice(1)} JOB?`));
  byId("resize").addEventListener("click", () => {
    const size = Number(byId("size").value);
    change("resize", { size }, `Change JOB to ${size} processes?`);
  });
  byId("all-nodes").addEventListener("click", () => look(null));
  byId("login").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", byId("token").value);
    refresh();
  });
  setInterval(() => { if (byId("live").checked && !document.hidden) refresh(); }, REFRESH_MS);
  refresh();
}
start();
