/* Why a job waits or has its size, for elasticd's page, in the words of `elastic why` (src/rm/cli/why_text.cpp).  Uses
 * chart.js.  No state. */
"use strict";

const HELD = {
  rigid_phase: "its program is in a phase without adaptations",
  no_data: "it has not been measured at this size yet",
  not_spmd: "no loop of all its processes has been seen",
  between_thresholds: "it uses its cores, and more would give too little speed-up",
  ceiling: "the next larger size has been too large before",
  cost: "a change would cost more than it gains",
  at_minimum: "it has its smallest size",
  at_maximum: "it has its largest or its preferred size",
  cores_wanted: "it can use no idle core, or other jobs wait for cores",
  pause: "its size changed recently, or a change failed",
  no_estimate: "its remaining run time is unknown",
};

/* With the date, if it is another day. */
const moment = (ms) => (new Date(ms).toDateString() === new Date().toDateString() ? clock(ms) : new Date(ms).toLocaleString());
const ofJob = (number) => (number ? `job ${number}` : "a job");
const sizesOf = (job) => (job.min === job.max ? String(job.min) : `${job.min}:${job.max}`);

function missingText(missing) {
  if (!missing.nodes) {
    return `needs capacity for ${missing.processes} processes, there is ${missing.room > 0 ? `capacity for ${missing.room}` : "none"}`;
  }
  const one = missing.nodes === 1, needs = `needs ${missing.nodes} whole ${one ? "node" : "nodes"}`;
  if (missing.room > 0) {
    return `${needs} for ${missing.processes} processes, the largest${one ? " holds" : ` ${missing.nodes} hold`} ${missing.room}`;
  }
  return `${needs}, there ${missing.open_nodes > 1 ? "are" : "is"} ${missing.open_nodes > 0 ? missing.open_nodes : "none"}`;
}

/* The missing resources, and the jobs that give some. */
function shortageText(missing) {
  if (!missing || !missing.processes) return "";
  if (missing.room >= missing.processes) return "there is capacity for it, but it would delay jobs before it in the queue";
  const list = (jobs, words) => (jobs && jobs.length
    ? "; " + jobs.map((each) => `${ofJob(each.job)} ${words} ${each.cores} cores`).join(", ") : "");
  const overdue = list(missing.overdue, "was to give");
  return missingText(missing) +
    (missing.full && missing.full.length ? ` (its node list has full nodes: ${missing.full.join(", ")})` : "") +
    list(missing.giving, "gives") + list(missing.suspended, "is suspended and keeps") +
    overdue + (overdue ? ", and does not reach a probe" : "");
}

const startText = (job) => (job.expected_start_ms
  ? `; starts at ${moment(job.expected_start_ms)} at the latest` + (job.expected_after ? `, when job ${job.expected_after} ends` : "") : "");

const helpersText = (helpers) => (helpers || []).map((each, i) => (i ? ", " : "; for this job, ") + ofJob(each.job) +
  `${each.committed ? " now has" : " gets"} ${each.size}${i ? "" : " processes"} instead of ${each.from}`).join("");

function suspendedText(job) {
  const waiting = job.keeps_waiting || [];
  return `suspended since ${moment(job.suspended_since_ms)}` + (waiting.length
    ? `; ${waiting.map(ofJob).join(", ")} ${waiting.length === 1 ? "waits" : "wait"} for its cores` : "");
}

function lastChangeText(last) {
  if (!last) return "";
  const what = last.size < last.from ? "Reduced" : last.size > last.from ? "Grown" : "Moved";
  return `${what} ${last.from} -> ${last.size} at ${moment(last.at_ms)} (request ${last.request}, stood still ` +
    `${Number(((last.standstill_ms || 0) / 1000).toPrecision(2))} s)${last.reason ? `: ${last.reason}` : ""}.`;
}

function presentText(job) {
  if (job.suspended_since_ms) return suspendedText(job);
  const change = job.adaptation;
  if (change && change.overdue) {
    return `${job.size} processes of ${sizesOf(job)}; since ${moment(change.since_ms)} it is to have ${change.size} ` +
      `(request ${change.request}), but its program has not reached a probe: no decision relies on this change until then`;
  }
  const held = job.performance && job.performance.held_because;
  return job.why || (held ? `${job.size} processes of ${sizesOf(job)}; not growing: ${HELD[held] || held}` : "");
}

/* Empty: nothing is known. */
function whyText(job) {
  const missing = shortageText(job.shortage);
  if (missing) return missing + startText(job) + helpersText(job.helpers);
  return [presentText(job), lastChangeText(job.last_change)].filter(Boolean).join(". ");
}
