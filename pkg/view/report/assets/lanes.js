// A lane for each pod: a bar for each of its states. States differ in height as
// well as in colour.
const heights = { Pending: 0.35, Running: 0.55, Ready: 0.75, Available: 0.9, Terminating: 0.45, Ended: 0.25 };

function bar(x, y, width, height) {
  return `M${x} ${y}h${width}v${height}h${-width}z`;
}

// In pixels. Lanes of many pods are drawn so low that all can be seen at once;
// buttons make them higher.
const tallest = 16;
const overview = 480;

function laneHeight(count) {
  return Math.min(tallest, overview / Math.max(count, 1));
}

// Lanes draws the pods of a workload, a group for each ReplicaSet.
class Lanes {
  constructor(figure, drawing, onPick) {
    this.figure = figure;
    this.end = drawing.end || 1;
    this.onPick = onPick;
    this.readout = figure.querySelector(".readout");
    this.groups = [];
    this.key();
    for (const set of drawing.sets) this.addGroup(set);
    figure.hidden = this.groups.length === 0;
    this.lowest = laneHeight(drawing.sets.reduce((n, s) => n + s.pods.length, 0));
    this.rise(this.lowest);
    this.seen(0, this.end);
    const tools = figure.querySelector(".tools");
    tools.hidden = this.lowest >= tallest;
    for (const button of tools.querySelectorAll("button")) {
      button.addEventListener("click", () => this.rise(this.height * Number(button.dataset.rise)));
    }
  }

  key() {
    const list = this.figure.querySelector(".key");
    for (const [state, part] of Object.entries(heights)) {
      const item = element("li");
      const icon = shape("svg", { viewBox: "0 0 18 12", "aria-hidden": "true" });
      icon.append(shape("path", { class: state, d: bar(0, 12 - 12 * part, 18, 12 * part) }));
      item.append(icon, state);
      list.append(item);
    }
  }

  addGroup(set) {
    const box = element("div", "group " + (set.new ? "new" : "old"));
    box.append(element("h3", "", `${set.new ? "new" : "old"}: ${set.name}, ${set.pods.length} ${set.pods.length === 1 ? "pod" : "pods"}`));
    const rows = element("div", "rows");
    const names = element("div", "names");
    const svg = shape("svg", {
      tabindex: "0", role: "application", preserveAspectRatio: "none",
      "aria-label": `Pods of ${set.name}: arrow keys choose one, Enter shows what led to its states`,
    });
    const bars = shape("g", {});
    svg.append(bars);
    const picked = shape("rect", { class: "picked", visibility: "hidden", height: 1 });
    const now = shape("line", { class: "now", visibility: "hidden", y1: 0, y2: set.pods.length });
    svg.append(picked, now);
    rows.append(names, svg);
    box.append(rows);
    this.figure.querySelector(".groups").append(box);
    const group = { set, svg, bars, names, picked, now, chosen: -1 };
    this.groups.push(group);
    this.listen(group);
  }

  // rise makes the lanes higher or lower; names stand beside them where they fit.
  rise(height) {
    this.height = Math.max(this.lowest, Math.min(tallest, height));
    for (const { set, svg, bars, names } of this.groups) {
      bars.replaceChildren(...[...this.paths(set)].map(([state, d]) => shape("path", { class: state, d })));
      svg.setAttribute("height", Math.max(8, this.height * set.pods.length));
      const room = this.height === tallest;
      names.textContent = room ? set.pods.map((p) => p.name.slice(p.name.lastIndexOf("-") + 1)).join("\n") : "";
    }
  }

  // paths are the bars of all pods, one path for each state, a pod being one unit high.
  paths(set) {
    const parts = new Map();
    set.pods.forEach((pod, row) => {
      pod.lane.forEach(([at, state], i) => {
        const name = data.states[state];
        const until = i + 1 < pod.lane.length ? pod.lane[i + 1][0] : this.end;
        if (!heights[name] || until <= at) return;
        // Gaps and heights below a pixel would only shimmer.
        const height = this.height < 4 ? 1 : heights[name];
        const y = this.height < 4 ? row : +(row + 0.95 - height).toFixed(2);
        const d = bar(at, y, +(until - at).toFixed(6), height);
        parts.set(name, (parts.get(name) || "") + d);
      });
    });
    return parts;
  }

  listen(group) {
    const rowOf = (e) => {
      const box = group.svg.getBoundingClientRect();
      const count = group.set.pods.length;
      return Math.max(0, Math.min(count - 1, Math.floor(((e.clientY - box.top) / box.height) * count)));
    };
    const timeOf = (e) => {
      const box = group.svg.getBoundingClientRect();
      return this.from + ((e.clientX - box.left) / box.width) * (this.to - this.from);
    };
    group.svg.addEventListener("mousemove", (e) => this.tell(group, rowOf(e), timeOf(e)));
    group.svg.addEventListener("click", (e) => this.pick(group, rowOf(e), timeOf(e)));
    group.svg.addEventListener("keydown", (e) => this.keydown(group, e));
  }

  keydown(group, e) {
    const last = group.set.pods.length - 1;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    if (e.key === "Enter" || e.key === " ") {
      this.pick(group, Math.max(0, group.chosen), this.to);
    } else if (e.key in moves) {
      this.choose(group, Math.max(0, Math.min(last, group.chosen + moves[e.key])));
      this.tell(group, group.chosen, this.to);
    } else {
      return;
    }
    e.preventDefault();
  }

  choose(group, row) {
    for (const other of this.groups) {
      if (other !== group) other.picked.setAttribute("visibility", "hidden");
    }
    group.chosen = row;
    group.picked.setAttribute("y", row);
    group.picked.setAttribute("visibility", "visible");
    const box = this.figure.querySelector(".groups");
    const y = group.svg.getBoundingClientRect().top - box.getBoundingClientRect().top + row * this.height;
    if (y < 30 || y > box.clientHeight - 20) box.scrollTop += y - box.clientHeight / 2;
  }

  pick(group, row, at) {
    this.choose(group, row);
    this.tell(group, row, at);
    const pod = group.set.pods[row];
    const now = this.stateAt(pod, at);
    this.onPick(pod, now ? now[2] : 0);
  }

  stateAt(pod, at) {
    let found = null;
    for (const state of pod.lane) if (state[0] <= at) found = state;
    return found;
  }

  tell(group, row, at) {
    const pod = group.set.pods[row];
    const now = this.stateAt(pod, at);
    const state = now ? `${data.states[now[1]]} since ${clock(now[0])}` : "not there yet";
    this.readout.textContent = `${pod.name}${pod.node ? " on " + pod.node : ""}: ${state}`;
  }

  // seen is the stretch of time that is shown.
  seen(from, to) {
    this.from = from;
    this.to = to;
    for (const { set, svg, picked } of this.groups) {
      svg.setAttribute("viewBox", `${from} 0 ${to - from} ${set.pods.length}`);
      picked.setAttribute("x", from);
      picked.setAttribute("width", to - from);
    }
  }

  show(at) {
    for (const { now } of this.groups) {
      now.setAttribute("x1", at);
      now.setAttribute("x2", at);
      now.setAttribute("visibility", "visible");
    }
  }
}
