package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/engine"
)

// onlooker notes the changes of pods, with a cache or without one.
type onlooker struct {
	name   string
	follow bool
	h      *Hands
	seen   []string

	numbers map[string]int // by name
	wrong   []string
}

func (o *onlooker) Name() string { return o.name }

func (o *onlooker) Start(h *Hands) {
	o.h = h
	if o.follow {
		h.Follow(Pods, func(c engine.Change, number int) {
			o.observe(c)
			o.number(c, number)
		})
	} else {
		h.Watch(Pods, o.observe)
	}
}

// number holds what it is told of an object's number against what it was told before.
func (o *onlooker) number(c engine.Change, number int) {
	is := c.New.(Object)
	for name, other := range o.numbers {
		if (name == is.GetName()) != (other == number) {
			o.wrong = append(o.wrong, fmt.Sprintf("%s has %d, %s %d", is.GetName(), number, name, other))
		}
	}
	o.numbers[is.GetName()] = number
	stored, there := o.h.Numbered(Pods, number)
	byName, known := o.h.Stored().Get(Pods, is.GetNamespace(), is.GetName())
	if there != known || there && stored != byName {
		o.wrong = append(o.wrong, fmt.Sprintf("%d is %v, %s %v", number, stored, is.GetName(), byName))
	}
	if found, ok := o.h.Number(Pods, is.GetNamespace(), is.GetName()); !ok || found != number {
		o.wrong = append(o.wrong, fmt.Sprintf("%s is found under %d, want %d", is.GetName(), found, number))
	}
}

func (o *onlooker) observe(c engine.Change) {
	before := "nothing"
	if c.Old != nil {
		before = c.Old.(Object).GetResourceVersion()
	}
	is := c.New.(Object)
	o.seen = append(o.seen, fmt.Sprintf("%s %s: %s after %s", c.Verb, is.GetName(), is.GetResourceVersion(), before))
}

// One who follows a resource is told the same as one who watches it, and has no cache.
func TestFollow(t *testing.T) {
	watching, following := &onlooker{name: "watching"}, &onlooker{name: "following", follow: true, numbers: map[string]int{}}
	w := New(Config{Timing: ClusterTiming(), Plugins: []Plugin{watching, following}})
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "web"}}}}
	}
	if err := w.Load(pod("old"), pod("older")); err != nil {
		t.Fatal(err)
	}
	advance := func() {
		if err := w.Advance(context.Background(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	advance()
	h, now := w.Hands("test"), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	for range 2 { // the name comes again
		made, err := h.Create(pod("new"))
		if err != nil {
			t.Fatal(err)
		}
		ready := made.(*corev1.Pod).DeepCopy()
		ready.Status.Phase = corev1.PodRunning
		if _, err := h.UpdateStatus(ready); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"new", "old"} {
			_ = h.Delete(Pods, "default", name, now) // the old one is gone the second time
		}
		advance()
	}
	if len(watching.seen) < 10 || !slices.Equal(watching.seen, following.seen) {
		t.Errorf("watching %q\nfollowing %q", watching.seen, following.seen)
	}
	if len(following.numbers) != 3 || len(following.wrong) > 0 {
		t.Errorf("numbers %v: %q", following.numbers, following.wrong)
	}
	if got := following.h.Cached().List(Pods, ""); len(got) > 0 {
		t.Errorf("%d pods are kept for who follows", len(got))
	}
}
