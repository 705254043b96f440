// The counts of a workload over time, as steps: they hold until they change.
const leftAxis = 64;
const rightGap = 12;

const lines = [
  { key: "needed", label: "needed", dash: [6, 4], width: 1.5 },
  { key: "old", label: "old", dash: [], width: 2 },
  { key: "new", label: "new", dash: [], width: 2 },
  { key: "terminating", label: "terminating", dash: [2, 3], width: 1.5 },
  { key: "available", label: "available", dash: [], width: 3 },
];

function chartOptions(width, end, onScale) {
  const stepped = uPlot.paths.stepped({ align: 1 });
  const axis = { stroke: () => color("soft"), grid: { stroke: () => color("line"), width: 1 }, ticks: { stroke: () => color("line"), width: 1 } };
  return {
    width, height: 280, padding: [10, rightGap, 0, 0],
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { time: false, range: (u, min, max) => [Math.max(0, min), Math.min(end, max)] }, y: { range: (u, min, max) => [0, Math.max(1, max * 1.08)] } },
    axes: [
      { ...axis, values: (u, ticks) => ticks.map((t) => +t.toFixed(6) + "s") },
      { ...axis, size: leftAxis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] },
    ],
    series: [
      { label: "time", value: (u, v) => (v == null ? "" : clock(v)) },
      ...lines.map((l) => ({ label: l.label, stroke: () => color(l.key), width: l.width, dash: l.dash, paths: stepped, points: { show: false }, value: (u, v) => (v == null ? "" : v) })),
    ],
    hooks: {
      setScale: [(u, key) => key === "x" && onScale(u.scales.x.min, u.scales.x.max)],
    },
  };
}

// Chart draws the counts and says which stretch of time is seen.
class Chart {
  constructor(figure, drawing, onScale) {
    this.end = drawing.end || 1;
    this.figure = figure;
    this.plot = figure.querySelector(".plot");
    this.mark = null;
    figure.hidden = false;
    const options = chartOptions(this.width(), this.end, onScale);
    options.hooks.draw = [(u) => this.drawMark(u)];
    this.u = new uPlot(options, [drawing.x, ...lines.map((l) => drawing[l.key])], this.plot);
    this.whole();
    const moving = figure.querySelector("[data-moves]");
    moving.hidden = drawing.moves > this.end / 3;
    moving.addEventListener("click", () => this.u.setScale("x", { min: 0, max: drawing.moves * 1.1 || this.end }));
    for (const button of figure.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.zoom(Number(button.dataset.zoom)));
    }
  }

  width() {
    return Math.max(300, this.figure.clientWidth);
  }

  whole() {
    this.u.setScale("x", { min: 0, max: this.end });
  }

  zoom(factor) {
    if (!factor) return this.whole();
    const { min, max } = this.u.scales.x;
    const middle = this.mark !== null && this.mark >= min && this.mark <= max ? this.mark : (min + max) / 2;
    const half = Math.min(this.end, (max - min) * factor) / 2;
    const from = Math.max(0, Math.min(middle - half, this.end - 2 * half));
    this.u.setScale("x", { min: from, max: from + 2 * half });
  }

  // show marks the time of a step, and moves to where it can be seen.
  show(at) {
    this.mark = at;
    const { min, max } = this.u.scales.x;
    if (at < min || at > max) {
      const from = Math.max(0, Math.min(at - (max - min) / 2, this.end - (max - min)));
      this.u.setScale("x", { min: from, max: from + max - min });
    }
    this.u.redraw(false);
  }

  drawMark(u) {
    if (this.mark === null) return;
    const x = Math.round(u.valToPos(this.mark, "x", true));
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
    u.ctx.save();
    u.ctx.strokeStyle = color("ink");
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.restore();
  }

  // fit takes the room there is, and the colours of the moment.
  fit() {
    this.u.setSize({ width: this.width(), height: 280 });
    this.u.redraw(true, true);
  }
}
