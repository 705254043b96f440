package live

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// TestInbox lets watches bring things in the order of a script; what is printed
// is what each look takes, in its order; time may not go back in it. A version is KIND/NAME@VERSION, with a
// "-" before it for a deletion, and a "~" after it says that it is blurred.
func TestInbox(t *testing.T) {
	datadriven.Walk(t, "testdata/inbox", func(t *testing.T, path string) {
		b := &boxed{inbox: &inbox{every: 50 * time.Millisecond}, turns: map[string]int{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Cmd + " " + argsOf(d) + "\n" + d.Input) {
				if words := strings.Fields(line); len(words) > 0 {
					b.happens(t, words, &out)
				}
			}
			return out.String()
		})
	})
}

// boxed is an inbox with what a script needs to know of it.
type boxed struct {
	*inbox
	turns map[string]int
	told  time.Time // of what was taken last
}

func argsOf(d *datadriven.TestData) string {
	var all []string
	for _, a := range d.CmdArgs {
		all = append(all, a.String())
	}
	return strings.Join(all, " ")
}

// happens does what a line says.
func (b *boxed) happens(t *testing.T, words []string, out *strings.Builder) {
	t.Helper()
	number := func(i int) int {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch words[0] {
	case "watch": // of each name
		for _, name := range words[1:] {
			b.await(name, name == "events")
			b.turns[name] = b.attach(name)
			b.regain(name)
		}
	case "found", "list": // WATCH VERSION OBJECTS: what is different
		var changed []arrival
		for _, w := range words[3:] {
			a := arrivalOf(w)
			a.initial, a.missed = words[0] == "found", a.verb == engine.Deleted
			a.listed = !a.initial && !a.missed
			a.frees = a.frees || a.missed
			changed = append(changed, a)
		}
		b.fill(words[1], words[2], words[0] == "list", changed)
	case "put":
		for _, w := range words[2:] {
			b.put(words[1], arrivalOf(w))
		}
	case "pass":
		b.pass(words[1], words[2])
	case "lose":
		for _, name := range words[1:] {
			b.lose(name, b.turns[name])
		}
	case "late": // the end of a watch that another has taken up
		b.lose(words[1], b.turns[words[1]]-1)
	case "away": // for so long
		away, _ := time.ParseDuration(words[2])
		b.feeds[words[1]].since = time.Now().Add(-away)
	case "again":
		for _, name := range words[1:] {
			b.turns[name] = b.attach(name)
			b.regain(name)
		}
	case "hold":
		b.hold()
	case "release":
		b.release()
	case "expect": // UID GENERATION
		b.expect(types.UID(words[1]), int64(number(2)))
	case "look": // N times, until something is taken
		b.look(t, number(1), out)
	default:
		t.Fatalf("nothing is called %s", words[0])
	}
}

func (b *boxed) look(t *testing.T, times int, out *strings.Builder) {
	t.Helper()
	for i := range times {
		list := b.take(false)
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(out, "%d:", i+1)
		for _, a := range list {
			if a.at.Before(b.told) {
				t.Errorf("time goes back from %s to %s", b.told, a.at)
			}
			b.told = a.at
			sign, blur := "", ""
			if a.verb == engine.Deleted {
				sign = "-"
			}
			if a.blurred {
				blur = "~"
			}
			fmt.Fprintf(out, " %s%s@%s%s", sign, a.obj.GetName(), a.obj.GetResourceVersion(), blur)
		}
		fmt.Fprintln(out)
	}
	if b.empty() {
		fmt.Fprintln(out, "empty")
	} else {
		fmt.Fprintf(out, "%d wait\n", len(b.inbox.list))
	}
}

// arrivalOf is "-NAME@VERSION" or "NAME@VERSION[@GENERATION]", with a "<" behind
// it when it has become smaller; the first letter of the name is its kind.
func arrivalOf(text string) arrival {
	name, deleted := strings.CutPrefix(text, "-")
	name, smaller := strings.CutSuffix(name, "<")
	name, version, _ := strings.Cut(name, "@")
	version, generation, _ := strings.Cut(version, "@")
	obj := map[byte]Object{'d': &appsv1.Deployment{}, 'r': &appsv1.ReplicaSet{}, 'p': &corev1.Pod{}, 'e': &corev1.Event{}}[name[0]]
	obj.SetName(name)
	obj.SetUID(types.UID(name))
	obj.SetResourceVersion(version)
	n, _ := strconv.ParseInt(generation, 10, 64)
	obj.SetGeneration(n)
	a := arrival{verb: engine.Modified, obj: obj, frees: smaller, at: time.Unix(int64(2000-versionOf(version)), 0)} // clocks prove nothing
	if deleted {
		a.verb = engine.Deleted
	}
	return a
}
