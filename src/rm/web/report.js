/* Draws what `elastic report --html` has put beside it: the metrics and the chart of a run (chart.js). */
"use strict";

const UNITS = {
  count: (value) => String(value),
  ms: (value) => duration(value),
  part: (value) => `${(value * 100).toFixed(1)} %`,
  core_ms: (value) => (value / 3.6e6).toFixed(3),
};

function metric(report, { title, path, unit }) {
  const value = path.reduce((place, name) => (place ? place[name] : undefined), report);
  const text = value === null || value === undefined ? "–" : (UNITS[unit] || String)(value);
  return element("tr", {}, element("th", {}, title), element("td", {}, text));
}

function drawReport({ title, report, timeline }) {
  document.title = title;
  const first = timeline.segments.reduce((least, segment) => Math.min(least, segment.from_ms), timeline.to_ms);
  const last = timeline.segments.reduce((most, segment) => Math.max(most, segment.to_ms || timeline.to_ms), first);
  const rows = (report.metrics || []).map((one) => metric(report, one));
  document.body.append(element("h1", {}, title), drawChart(timeline, first, last),
    element("table", { id: "metrics" }, element("tbody", {}, ...rows)));
}
drawReport(JSON.parse(document.getElementById("data").textContent));
