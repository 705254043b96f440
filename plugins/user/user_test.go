package user_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/user"
)

// TestSteps: steps run at their times, also when the world was settled long
// before; a step that fails is told and does not stop the others.
func TestSteps(t *testing.T) {
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	apply := func(name string) func(context.Context, engine.Hand) error {
		return func(ctx context.Context, hand engine.Hand) error {
			_, err := hand.Apply(ctx, node(name))
			return err
		}
	}
	p := user.New(begin,
		user.Step{At: 0, What: "add n1", Do: apply("n1")},
		user.Step{At: 5 * time.Second, What: "add n2", Do: apply("n2")},
		user.Step{At: 6 * time.Second, What: "trip", Do: func(context.Context, engine.Hand) error { return errors.New("oops") }},
		user.Step{At: 7 * time.Second, What: "remove n1", Do: func(ctx context.Context, hand engine.Hand) error {
			return hand.Delete(ctx, trace.Ref{Kind: "Node", Name: "n1"}, "")
		}},
	)
	log := trace.NewLog()
	w := sim.New(sim.Config{Start: begin, Log: log, Plugins: []sim.Plugin{p}})
	ctx := context.Background()
	if err := w.Settle(ctx, node("n0")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Run(ctx, engine.Goal{Limit: time.Minute, WholeLimit: true}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range log.Events() {
		if c, ok := e.Detail.(trace.Changed); ok {
			got = append(got, fmt.Sprintf("%s %s %s %s", e.Offset.Truncate(time.Millisecond), e.Actor, c.Verb, e.Object))
		}
	}
	want := "0s you create Node/n1; 5s you create Node/n2; 7s you delete Node/n1"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got %s", s)
	}
	if err := p.Err(); err == nil || err.Error() != "trip at 6s: oops" {
		t.Errorf("got error %v", err)
	}
}
