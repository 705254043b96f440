package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

var (
	errOccupied  = &live.OccupiedError{How: "master-1 holds the lease"}
	errForbidden = fmt.Errorf("reading the lease a/b: %w", apierrors.NewForbidden(leases, "b", errors.New("no")))
)

// Driving takes an answer that nobody acts, and nobody who does; whatever else
// is the case is only followed.
func TestChoose(t *testing.T) {
	asked := inquiry{}
	answered := func(err error) inquiry { return inquiry{known: true, answer: err} }
	for _, test := range []struct {
		name     string
		inquiry  inquiry
		observed bool
		since    time.Duration
		want     choice
	}{
		{"no answer yet", asked, false, 0, undecided},
		{"no answer for long", asked, false, time.Hour, undecided},
		{"no answer is needed", asked, true, 0, followed},
		{"vacant, just now", answered(nil), false, idleness - 1, undecided},
		{"vacant", answered(nil), false, idleness, driven},
		{"vacant, and yet somebody acts", answered(nil), true, idleness, followed},
		{"occupied", answered(errOccupied), false, 0, followed},
		{"not to be known, just now", answered(errForbidden), false, idleness - 1, undecided},
		{"not to be known", answered(errForbidden), false, idleness, watched},
		{"not to be known, and somebody acts", answered(errForbidden), true, 0, followed},
	} {
		if got := test.inquiry.choose(test.observed, test.since); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// What may pass is asked again, and told; what stands is not.
func TestUntilAnswered(t *testing.T) {
	trouble := []error{
		errors.New("connection refused"),
		apierrors.NewUnauthorized("expired"),
		apierrors.NewServiceUnavailable("starting"),
		apierrors.NewTooManyRequests("later", 1),
		context.DeadlineExceeded,
	}
	for name, answer := range map[string]error{"vacant": nil, "occupied": errOccupied, "forbidden": errForbidden} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, told := 0, []error(nil)
				got := untilAnswered(t.Context(), func(context.Context) error {
					if asked++; asked <= len(trouble) {
						return trouble[asked-1]
					}
					return answer
				}, func(err error) { told = append(told, err) })
				if got != answer || asked != len(trouble)+1 || len(told) != len(trouble) {
					t.Fatalf("answered %v after %d questions, told %v", got, asked, told)
				}
				for i := range told {
					if !errors.Is(told[i], trouble[i]) {
						t.Errorf("told %v of %v", told[i], trouble[i])
					}
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // who stops asking is not kept
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(90*time.Second, stop)
		err := untilAnswered(ctx, func(context.Context) error { return trouble[0] }, func(error) {})
		if err == nil || ctx.Err() == nil {
			t.Errorf("it ended with %v before it was stopped", err)
		}
	})
}

// On the way to a server a question may be lost, refused, or not be allowed:
// each is told for what it is.
func TestVacancyOfServers(t *testing.T) {
	for name, test := range map[string]struct {
		allowed func(verb, resource, namespace string) bool
		asks    int // at least, until there is an answer
		told    string
		want    string // the answer
	}{
		"vacant":    {nil, 1, "", "<nil>"},
		"forbidden": {func(_, resource, _ string) bool { return resource != "leases" }, 1, "", `User "dev" cannot get resource "leases"`},
		"cut off":   {cutOff(15), 2, "EOF", "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			server := (&livetest.Server{Allowed: test.allowed}).Start()
			defer server.Close()
			s := &session{workloads: []trace.Ref{web}}
			asks, told := 0, ""
			err := untilAnswered(t.Context(), func(ctx context.Context) error {
				asks++
				return s.checkVacant(ctx, &rest.Config{Host: server.URL()})
			}, func(err error) { told = err.Error() })
			if asks < test.asks || !strings.Contains(told, test.told) || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("asked %d times, told %q, answered %v", asks, told, err)
			}
		})
	}
}

// cutOff ends the first requests for leases without an answer.
func cutOff(n int32) func(verb, resource, namespace string) bool {
	var asked atomic.Int32
	return func(_, resource, _ string) bool {
		if resource == "leases" && asked.Add(1) <= n {
			panic(http.ErrAbortHandler)
		}
		return true
	}
}
