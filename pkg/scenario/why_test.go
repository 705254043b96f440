package scenario_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// why tells how the last event of a type about an object came about: its
// causes, the first of them first.
func (s *story) why(d *datadriven.TestData) string {
	kind, name, _ := strings.Cut(word(d, "object", ""), "/")
	events := s.log.Events()
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		if e.Object.Kind == kind && e.Object.Name == name && e.Detail.Type() == word(d, "type", "PodChanged") {
			chain := append([]trace.Event{e}, trace.NewIndex(events).Causes(e.Seq)...)
			slices.Reverse(chain)
			return told(chain)
		}
	}
	return "nothing is known\n"
}

func told(chain []trace.Event) string {
	var out strings.Builder
	for _, e := range chain {
		detail, err := json.Marshal(e.Detail)
		if err != nil {
			detail = []byte(err.Error())
		}
		fmt.Fprintf(&out, "%-8s %-13s %s/%s %s %s\n", e.Offset.Round(time.Millisecond), e.Actor, e.Object.Kind, e.Object.Name, e.Detail.Type(), detail)
	}
	return out.String()
}
