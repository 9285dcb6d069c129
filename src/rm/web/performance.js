/* What a job does with its time (GET /v1/jobs/ID/loops), for elasticd's page: MPI share and progress over time as a picture,
 * its loops as a table.  Uses chart.js.  All text goes in as text, never as markup.  No state. */
"use strict";

const SHARE_HEIGHT = 90, SHARE_TOP = 16;
const percent = (share) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(1)} %`);
const rate = (value) => (value === null || value === undefined ? "–" : `${Number(value.toPrecision(3))} a second`);

/* Intervals lie one after the other; between them an adaptation, or nothing, was measured. */
function drawShare(history) {
  if (!history.length) return element("p", { class: "empty" }, "Nothing has been measured yet.");
  const from = Math.min(...history.map((one) => one.until_ms - one.ms)), to = history[history.length - 1].until_ms;
  const x = timeScale(from, to), floor = SHARE_TOP + SHARE_HEIGHT;
  const fastest = Math.max(...history.map((one) => one.per_second || 0), 1e-9);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${floor + 18}`, role: "img", "aria-label": "MPI share and progress over time" },
    svg("rect", { class: "idle", x: LEFT, y: SHARE_TOP, width: WIDTH - LEFT - RIGHT, height: SHARE_HEIGHT }));
  for (const part of [0, 0.5, 1]) {
    picture.append(svg("text", { class: "axis", x: LEFT - 6, y: floor - part * SHARE_HEIGHT + 4, "text-anchor": "end" }, `${100 * part} %`));
  }
  let line = "", size = null;
  for (const one of history) {
    const left = x(one.until_ms - one.ms), right = Math.max(left + 0.8, x(one.until_ms));
    const words = `${clock(one.until_ms - one.ms)} – ${clock(one.until_ms)}: ${one.size} processes, ` +
      `${percent(one.mpi_share)} in MPI, ${rate(one.per_second)}`;
    const height = (one.mpi_share || 0) * SHARE_HEIGHT;
    picture.append(svg("rect", { class: "share", x: left, y: floor - height, width: right - left, height },
      svg("title", {}, words)));
    if (one.per_second !== null) {
      const y = (floor - (one.per_second / fastest) * SHARE_HEIGHT).toFixed(1);
      line += `${line ? "L" : "M"}${left.toFixed(1)},${y}H${right.toFixed(1)}`;
    }
    if (one.size !== size) {
      picture.append(svg("line", { class: "grid", x1: left, x2: left, y1: SHARE_TOP, y2: floor }),
        svg("text", { class: "size", x: left + 2, y: SHARE_TOP - 4 }, String(one.size)));
      size = one.size;
    }
  }
  picture.append(svg("path", { class: "progress", d: line }));
  for (const [at, anchor] of [[from, "start"], [to, "end"]]) {
    picture.append(svg("text", { class: "axis", x: x(at), y: floor + 14, "text-anchor": anchor }, clock(at)));
  }
  return picture;
}

/* The estimated speed-up over one process as a line, and what was measured as dots. */
function drawSpeedup(scaling) {
  if (!scaling || !scaling.curve.length) return element("p", { class: "empty" }, "No speed-up has been estimated yet.");
  const floor = SHARE_TOP + SHARE_HEIGHT, all = [...scaling.curve, ...scaling.points];
  const most = Math.max(...all.map((one) => one.size)), fastest = Math.max(...all.map((one) => one.speedup), 1e-9);
  const x = (size) => LEFT + (size / most) * (WIDTH - LEFT - RIGHT), y = (speedup) => floor - (speedup / fastest) * SHARE_HEIGHT;
  const line = scaling.curve.map((one, i) => `${i ? "L" : "M"}${x(one.size).toFixed(1)},${y(one.speedup).toFixed(1)}`).join("");
  const words = scaling.hinted ? "Estimated speed-up, by the user's hint" : "Estimated speed-up, and what was measured";
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${floor + 18}`, role: "img", "aria-label": words },
    svg("rect", { class: "idle", x: LEFT, y: SHARE_TOP, width: WIDTH - LEFT - RIGHT, height: SHARE_HEIGHT }, svg("title", {}, words)),
    svg("path", { class: "progress", d: line }));
  for (const one of scaling.points) {
    picture.append(svg("circle", { class: "point", cx: x(one.size).toFixed(1), cy: y(one.speedup).toFixed(1), r: 3 },
      svg("title", {}, `${one.size} processes: ${one.speedup.toFixed(2)}, ${rate(one.per_second)} in ${one.intervals} intervals`)));
  }
  if (scaling.end !== null) {
    picture.append(svg("line", { class: "grid", x1: x(scaling.end), x2: x(scaling.end), y1: SHARE_TOP, y2: floor },
      svg("title", {}, `More than ${scaling.end} processes give no gain`)));
  }
  for (const value of [0, fastest]) {
    picture.append(svg("text", { class: "axis", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(Number(value.toPrecision(3)))));
  }
  for (const [size, anchor] of [[0, "start"], [most, "end"]]) {
    picture.append(svg("text", { class: "axis", x: x(size), y: floor + 14, "text-anchor": anchor }, `${size} processes`));
  }
  return picture;
}

/* Where a program of phases is: "solve: 412 of 1000 iterations". */
function phaseText(phase) {
  if (!phase) return "";
  const behind = phase.behind.map((one) => `rank ${one.rank} on ${one.host} (${one.iteration})`).join(", ");
  const total = phase.total === null ? "" : ` of ${phase.total}`;
  return `${phase.name || `phase ${phase.element}`}: ${phase.iteration}${total} iterations` +
    (phase.rigid ? " of a rigid phase" : "") + (behind ? `; stragglers: ${behind}` : "") + ". ";
}

/* What is known now, in words. */
function measuredText(answer) {
  if (!answer.available) return answer.reason ? `No measurements: ${answer.reason}.` : "";
  const { probes, ms, per_second, recent_per_second } = answer.progress;
  const missing = answer.size - answer.processes;
  return phaseText(answer.phase) +
    `${answer.size} processes, ${probes} probes in ${duration(ms)}: ${rate(per_second)} (recently ${rate(recent_per_second)})` +
    (missing > 0 ? `; ${missing} did not answer` : "");
}

function loopCells(loop) {
  const round = loop.iterations > 0 ? `${Number((loop.loop_us / loop.iterations / 1000).toPrecision(3))} ms` : "–";
  const share = loop.loop_us > 0 ? percent(loop.mpi_us / loop.loop_us) : "–";
  const ranks = loop.ratio_min === null ? "–" : `${percent(loop.ratio_min)} – ${percent(loop.ratio_max)}`;
  const least = (loop.slowest || []).map((one) => `${one.rank} on ${one.host}`).join(", ");
  const items = (loop.items || []).join(", ") + (loop.items_total > (loop.items || []).length ? ", …" : "");
  return [loop.key === "probe" ? "loop that probes" : loop.name || "?", loop.ranks, round, share, ranks, loop.key === "probe" ? least : items];
}
