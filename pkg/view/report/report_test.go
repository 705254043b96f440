package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/internal/eventscript"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/timeline"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var (
	screenshots = flag.String("screenshots", "", "a folder for pictures of the pages")
	picture     = flag.String("picture", "", "a file for the picture of -plan that the documents show")
	planFile    = flag.String("plan", "", "a plan to show besides, or with -picture")
)

const markup = `</script><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>{{.}}&amp;`

// hostile is a rollout whose texts are all markup.
func hostile() *v1alpha1.RolloutPlan {
	s := eventscript.New("web"+markup, eventscript.Rolling(2, 1, 1)).World("old"+markup, 2)
	s.You("update", func(d *trace.Specified) { d.NewSet = "" }, trace.Field{Path: "spec.template.spec.containers[0].image", From: markup, To: "x\u2028" + markup})
	s.At(10).Scale("new"+markup, 2, trace.Rule(markup), trace.Term{Name: markup, Value: 2}).Create("new"+markup, 2)
	s.State("new"+markup, trace.PodChanged{Phase: "Pending", Reason: markup})
	s.Do(trace.ActorScheduler, s.Pods("new" + markup)[0], trace.Unschedulable{Message: markup})
	s.Condition("Progressing", "False", "ProgressDeadlineExceeded", markup)
	return plan(s.At(600000).End("Deadline"), markup)
}

func plan(events []trace.Event, facts ...string) *v1alpha1.RolloutPlan {
	return timeline.NewPlan(v1alpha1.RolloutPlanSpec{Seed: 1, KubernetesVersion: "v1.37", World: facts}, events)
}

func written(t *testing.T, plan *v1alpha1.RolloutPlan) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, plan); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What a person without scripts reads, and what the script reads, is all there,
// and nothing of it is markup.
func TestPage(t *testing.T) {
	html := string(written(t, hostile()))
	if n := strings.Count(html, "<script"); n != 2 {
		t.Errorf("%d scripts, want the data and the code", n)
	}
	if strings.Contains(html, "<img") {
		t.Error("markup of the cluster is markup of the page")
	}
	for _, want := range []string{"DeadlineExceeded at", "&lt;/script&gt;", "Content-Security-Policy", "default-src &#39;none&#39;"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if got := string(written(t, hostile())); got != html {
		t.Error("the same run makes another page")
	}
}

// The data has every pod's life and every cause of a step.
func TestData(t *testing.T) {
	html := written(t, plan(eventscript.Rollout()))
	raw := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindSubmatch(html)
	if raw == nil {
		t.Fatal("no data in the page")
	}
	var d data
	if err := json.Unmarshal(raw[1], &d); err != nil {
		t.Fatal(err)
	}
	w := d.Workloads[0]
	if len(w.Sets) != 2 || len(w.Sets[0].Pods) != 10 || len(w.Sets[1].Pods) != 10 || w.Sets[0].New || !w.Sets[1].New {
		t.Errorf("sets %+v, want ten old pods and ten new ones", w.Sets)
	}
	last := len(w.X) - 1
	if w.Old[last] != 0 || w.New[last] != 10 || w.Available[last] != 10 || w.X[last] < 4.55 {
		t.Errorf("ends at %g s with %d old, %d new, %d available", w.X[last], w.Old[last], w.New[last], w.Available[last])
	}
	known := map[trace.Seq]bool{0: true}
	for _, e := range d.Events {
		known[e.Seq] = true
		if !known[e.Cause] {
			t.Errorf("event %d has the cause %d, which is not told before it", e.Seq, e.Cause)
		}
	}
	for _, seq := range regexp.MustCompile(`data-seq="(\d+)"`).FindAllSubmatch(html, -1) {
		if !bytes.Contains(raw[1], fmt.Appendf(nil, `"seq":%s,`, seq[1])) {
			t.Errorf("step %s is not among the events", seq[1])
		}
	}
}

func TestHostileInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.visit(written(t, hostile()))
	for range 20 {
		b.press("Tab", "Enter", "ArrowDown")
	}
	b.click(".lanes svg[role]", 0.5, 0.5)
	b.eval(`document.querySelectorAll(".causes button").forEach(b => b.click())`)
	if got := b.eval("String(window.hacked)"); got != "undefined" {
		t.Error("markup of the cluster has run")
	}
	if got := b.eval(`document.querySelectorAll("img, main script").length`); got != "0" {
		t.Errorf("%s elements came of markup", got)
	}
	for _, c := range b.complaints() {
		t.Error(c)
	}
	// The policy is the second wall: even markup that got in would not run.
	b.eval(`document.body.insertAdjacentHTML("beforeend", '<img src="https://example.com/x" onerror="window.hacked=1"><a onclick="window.hacked=1" id=evil>x</a>'); document.getElementById("evil").click()`)
	if got := b.eval("String(window.hacked)"); got != "undefined" {
		t.Error("the page's policy lets inline code run")
	}
}

func TestUseInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.size(1280, 1000)
	b.visit(written(t, plan(eventscript.Rollout())))
	// By keyboard: to the last step of the table, and what led to it.
	b.eval(`document.querySelector(".steps tr[tabindex='0']").focus()`)
	b.press("ArrowDown", "ArrowDown")
	if got := b.eval(`document.querySelector("tr[aria-selected='true']").textContent`); !strings.Contains(got, "spare: 13 pods - 8 needed - 3 not ready = 2") {
		t.Errorf("two steps down is %q", got)
	}
	if got := b.eval(`document.querySelector(".causes").textContent`); !strings.Contains(got, "spare: 13 pods - 8 needed - 3 not ready = 2") || !strings.Contains(got, "youtemplate changed") {
		t.Errorf("the causes are %q", got)
	}
	b.press("End")
	if got := b.eval(`document.querySelector("tr[aria-selected='true'] .what").textContent`); got != "Progressing=True" {
		t.Errorf("the last step is %q", got)
	}
	// By click: a pod of the new ReplicaSet shows its states and who made it.
	b.click(".group.new svg", 0.9, 0.05)
	if got := b.eval(`document.querySelector(".causes").textContent`); !strings.Contains(got, "web-c6c6877b-") || !strings.Contains(got, "Available") {
		t.Errorf("the pod tells %q", got)
	}
	b.eval(`document.querySelector(".causes .line").click()`)
	if got := b.eval(`document.querySelector("tr[aria-selected='true'] .what").textContent`); !strings.HasPrefix(got, "+ web-c6c6877b-") {
		t.Errorf("the pod's first state leads to %q", got)
	}
	// Lanes and chart show the same stretch of time.
	before := b.eval(`document.querySelector(".lanes svg[role]").getAttribute("viewBox")`)
	b.click("[data-zoom='0.5']", 0.5, 0.5)
	if after := b.eval(`new Promise(r => setTimeout(r, 50)) && document.querySelector(".lanes svg[role]").getAttribute("viewBox")`); after == before {
		t.Errorf("zoomed in, the lanes still show %s", after)
	}
	b.scheme("dark")
	if got := b.eval(`getComputedStyle(document.body).backgroundColor`); got != "rgb(20, 24, 29)" {
		t.Errorf("in the dark the page is %s", got)
	}
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

// Pictures for people to look at: go test -run Screenshots -args -screenshots DIR
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("-screenshots names no folder")
	}
	b := newBrowser(t)
	pages := map[string]*v1alpha1.RolloutPlan{"rollout": plan(eventscript.Rollout()), "hostile": hostile()}
	if *planFile != "" {
		pages = map[string]*v1alpha1.RolloutPlan{strings.TrimSuffix(filepath.Base(*planFile), ".jsonl"): readPlan(t, *planFile)}
	}
	for name, p := range pages {
		for _, scheme := range []string{"light", "dark"} {
			b.size(1280, 1500)
			b.scheme(scheme)
			b.visit(written(t, p))
			b.eval(`document.querySelectorAll(".steps tbody tr")[3]?.click()`)
			b.screenshot(filepath.Join(*screenshots, name+"-"+scheme+".png"))
		}
		b.size(420, 900)
		b.visit(written(t, p))
		b.screenshot(filepath.Join(*screenshots, name+"-phone.png"))
		b.print(filepath.Join(*screenshots, name+".pdf"))
	}
}

// The size of the documents' picture, in pixels.
const pictureWidth, pictureHeight = 1200, 1160

// The picture of the documents, of the rollout of the README: make picture
func TestPicture(t *testing.T) {
	if *picture == "" {
		t.Skip("-picture names no file")
	}
	if browserPath() == "" {
		t.Fatal("no chromium to take a picture with: apt-get install chromium")
	}
	b := newBrowser(t)
	b.size(pictureWidth, pictureHeight)
	b.scheme("light")
	b.visit(written(t, readPlan(t, *planFile)))
	b.screenshot(*picture)
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

func readPlan(t *testing.T, path string) *v1alpha1.RolloutPlan {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := v1alpha1.DecodePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	return timeline.NewPlan(p.Spec, p.Events)
}
