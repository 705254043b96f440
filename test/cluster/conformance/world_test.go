package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// begin goes on in a new namespace, which holds the objects of a script's input.
func (p *player) begin(t *testing.T, input string) string {
	p.worlds++
	ns := &corev1.Namespace{}
	var inside []sim.Object
	for doc := range strings.SplitSeq(input, "\n---\n") {
		obj, err := decode([]byte(doc))
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if given, ok := obj.(*corev1.Namespace); ok {
			ns = given
			continue
		}
		inside = append(inside, obj)
	}
	ns.Name = fmt.Sprintf("%s-%d", p.home, p.worlds)
	if err := p.server.begin(ns, inside); err != nil {
		t.Fatal(err)
	}
	return "ok\n"
}

// informed is long enough for what was written to reach the caches of the API
// server's own admission, which nothing tells of.
const informed = time.Second

func (s *realServer) begin(ns *corev1.Namespace, objs []sim.Object) error {
	core := s.clients[sim.Pods]
	if err := core.Post().Resource(sim.Namespaces).Body(ns).Do(s.ctx).Error(); err != nil {
		return err
	}
	s.namespace = ns.Name
	for _, obj := range objs {
		resource := resourceOf(obj)
		stored, err := s.do(core.Post().Namespace(s.namespace).Resource(resource).Body(obj))
		if err != nil {
			return fmt.Errorf("%s %s: %w", resource, obj.GetName(), err)
		}
		if quota, ok := stored.(*corev1.ResourceQuota); ok {
			unused(quota)
			if err := s.to(core.Put(), resource, quota.Name).SubResource("status").Body(quota).Do(s.ctx).Error(); err != nil {
				return err
			}
		}
	}
	time.Sleep(informed)
	return nil
}

// unused is the status that the quota controller, which does not run, would
// publish: admission holds requests against that alone.
func unused(q *corev1.ResourceQuota) {
	q.Status.Hard, q.Status.Used = q.Spec.Hard, corev1.ResourceList{}
	for name, hard := range q.Spec.Hard {
		q.Status.Used[name] = *resource.NewQuantity(0, hard.Format)
	}
}

func (s *simServer) begin(ns *corev1.Namespace, objs []sim.Object) error {
	s.namespace = ns.Name
	if _, err := s.hands.Create(ns); err != nil {
		return err
	}
	for _, obj := range objs {
		if _, err := s.create(obj); err != nil {
			return fmt.Errorf("%s %s: %w", resourceOf(obj), obj.GetName(), err)
		}
	}
	return s.world.Advance(s.ctx, 0)
}
