// What led to a step, from it back to the first cause, and what followed from it.
const shownEffects = 20;

class Causes {
  constructor(panel, onPick) {
    this.panel = panel;
    this.onPick = onPick;
    this.inner = false;
    this.seq = 0;
    panel.hidden = false;
    this.hint("Choose a step or a pod to see what led to it.");
  }

  hint(text) {
    this.panel.replaceChildren(element("h2", "", "Because"), element("p", "", text));
  }

  // pod shows the states of a pod, each with the way to its causes.
  pod(pod, seq) {
    const list = element("ol");
    for (const [at, state, by] of pod.lane) {
      const item = element("li", by === seq && by ? "first" : "");
      const line = this.line(by, data.states[state], clock(at), by && events.has(by) ? this.words(events.get(by)) : "time has passed, or it was so from the start");
      item.append(line);
      list.append(item);
    }
    const parts = [element("h2", "", pod.name), element("p", "meta", pod.node ? "on " + pod.node : "on no node"), list];
    if (events.has(seq)) parts.push(...this.chain(seq));
    this.panel.replaceChildren(...parts);
    this.seq = 0;
  }

  show(seq) {
    this.seq = seq;
    if (!events.has(seq)) return this.hint("No event of the trace stands behind it.");
    this.panel.replaceChildren(...this.chain(seq));
  }

  chain(seq) {
    const list = element("ol");
    let count = 0;
    for (let e = events.get(seq); e; e = e.cause < e.seq ? events.get(e.cause) : undefined) {
      if (e.seq !== seq && e.inner && !this.inner) continue;
      const item = element("li", e.seq === seq ? "first" : "");
      item.append(this.line(e.seq, this.words(e), `${clock(e.at)}  ${e.who}`, e.why));
      list.append(item);
      count++;
    }
    const parts = [element("h2", "", count > 1 ? `Because: ${count - 1} steps back to the first cause` : "A first cause"), this.toggle(seq), list];
    const next = (effects.get(seq) || []).filter((e) => !e.inner || this.inner);
    if (next.length) parts.push(element("h2", "", "What followed at once"), this.following(next));
    return parts;
  }

  following(next) {
    const list = element("ol");
    for (const e of next.slice(0, shownEffects)) {
      const item = element("li");
      item.append(this.line(e.seq, this.words(e), `${clock(e.at)}  ${e.who}`, e.why));
      list.append(item);
    }
    if (next.length > shownEffects) list.append(element("li", "meta", `and ${next.length - shownEffects} more`));
    return list;
  }

  toggle(seq) {
    const label = element("label", "filter");
    const box = element("input");
    box.type = "checkbox";
    box.checked = this.inner;
    box.addEventListener("change", () => {
      this.inner = box.checked;
      this.show(seq);
      this.panel.querySelector("input").focus();
    });
    label.append(box, " with deliveries, queues and passes");
    return label;
  }

  words(e) {
    return `${e.what || "event"} ${e.what.includes(e.object.slice(e.object.indexOf("/") + 1)) ? "" : e.object}`.trim();
  }

  line(seq, what, meta, why) {
    const known = events.has(seq);
    const line = element(known ? "button" : "div", "line");
    if (known) {
      line.type = "button";
      line.addEventListener("click", () => this.onPick(seq));
    }
    line.append(element("span", "meta", meta), element("span", "", what));
    if (why) line.append(element("span", "why", why));
    return line;
  }
}
