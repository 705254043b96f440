// One part a workload: choosing a step anywhere shows it everywhere.
const manySteps = 400;

class Workload {
  constructor(section, drawing) {
    this.rows = [...section.querySelectorAll(".steps tbody tr")];
    const panel = section.querySelector(".causes");
    this.causes = panel && new Causes(panel, (seq) => this.pick(seq, true));
    this.lanes = new Lanes(section.querySelector(".lanes"), drawing, (pod, seq) => this.pickPod(pod, seq));
    this.chart = drawing.x && drawing.x.length > 1 ? new Chart(section.querySelector(".chart"), drawing, (from, to) => this.lanes.seen(from, to)) : null;
    if (this.rows.length) this.listen(section);
  }

  listen(section) {
    const steps = section.querySelector(".steps");
    const filter = steps.querySelector("[data-pods]");
    filter.parentElement.hidden = false;
    filter.checked = this.rows.length <= manySteps;
    const apply = () => steps.classList.toggle("decisions", !filter.checked);
    filter.addEventListener("change", apply);
    apply();
    const table = steps.querySelector("table");
    table.setAttribute("role", "grid");
    table.addEventListener("click", (e) => {
      const row = e.target.closest("tbody tr");
      if (row) this.choose(row);
    });
    table.addEventListener("keydown", (e) => this.keydown(e));
    const first = this.visible()[0];
    if (first) first.tabIndex = 0;
  }

  visible() {
    return this.rows.filter((r) => r.offsetParent !== null);
  }

  keydown(e) {
    const rows = this.visible();
    const at = rows.indexOf(e.target.closest("tr"));
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: rows.length - 1, Enter: at, " ": at };
    if (at < 0 || !(e.key in moves)) return;
    e.preventDefault();
    const row = rows[Math.max(0, Math.min(rows.length - 1, moves[e.key]))];
    this.choose(row);
    row.focus();
  }

  choose(row) {
    this.mark(row);
    this.pick(Number(row.dataset.seq), false);
  }

  mark(row) {
    for (const r of this.rows) {
      r.setAttribute("aria-selected", r === row);
      r.tabIndex = r === row ? 0 : -1;
    }
  }

  // pick shows a step; one that was chosen elsewhere is found in the table, too.
  pick(seq, elsewhere) {
    if (elsewhere) {
      const row = this.rows.find((r) => Number(r.dataset.seq) === seq);
      this.mark(row);
      if (row) row.scrollIntoView({ block: "nearest" });
      else if (this.visible()[0]) this.visible()[0].tabIndex = 0;
    }
    this.causes.show(seq);
    this.show(events.get(seq));
  }

  pickPod(pod, seq) {
    if (this.causes) this.causes.pod(pod, seq);
    this.show(events.get(seq));
  }

  show(event) {
    if (!event) return;
    this.lanes.show(event.at);
    if (this.chart) this.chart.show(event.at);
  }

  fit() {
    if (this.chart) this.chart.fit();
  }
}

const sections = [...document.querySelectorAll(".workload")];
const workloads = sections.map((section, i) => new Workload(section, data.workloads[i]));
const fitAll = () => workloads.forEach((w) => w.fit());
addEventListener("resize", fitAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fitAll);
// Paper is white.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  fitAll();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.theme;
  fitAll();
});
