package apply

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// TestWeigh: a rollout goes on by what changes, and stands still however often
// the same is refused.
func TestWeigh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{moved: time.Now()}
		began := s.moved
		happens := func(details ...trace.Detail) time.Duration {
			time.Sleep(time.Second)
			var fresh []trace.Event
			for _, d := range details {
				fresh = append(fresh, trace.Event{Detail: d})
			}
			s.weigh(fresh)
			return s.moved.Sub(began)
		}
		if at := happens(trace.Rejected{}, trace.Recorded{}, trace.Unschedulable{}, trace.Held{}); at != 0 {
			t.Errorf("what is refused counts as a step, at %s", at)
		}
		if at := happens(trace.Recorded{}, trace.Created{}); at != 2*time.Second {
			t.Errorf("a pod that is made counts from %s on, want 2s", at)
		}
		if at := happens(); at != 2*time.Second {
			t.Errorf("nothing counts as a step, at %s", at)
		}
		if at := happens(trace.ConditionChanged{}); at != 4*time.Second {
			t.Errorf("a condition that changes counts from %s on, want 4s", at)
		}
	})
}
