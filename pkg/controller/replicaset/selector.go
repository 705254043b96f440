package replicaset

import (
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// parseSelector reads a label selector once, so that it can be asked about many
// pods by one pass. One of matchLabels only, as Deployments make them, is answered
// by the map itself. A nil selector matches nothing, an empty one everything.
func (c *Controller) parseSelector(s *metav1.LabelSelector) (labels.Selector, error) {
	selector, err := c.selectors.Read(s)
	if err != nil || s == nil || len(s.MatchLabels) == 0 || len(s.MatchExpressions) > 0 {
		return selector, err
	}
	return &mapSelector{Selector: selector, want: s.MatchLabels}, nil
}

// mapSelector answers Matches by the map its Selector was made from. It
// remembers its last answer, since pods of one template may share their labels.
type mapSelector struct {
	labels.Selector
	want map[string]string

	asked  unsafe.Pointer // the map of the last question
	answer bool
}

// Matches says the same as the Selector, with one look-up a label.
func (m *mapSelector) Matches(l labels.Labels) bool {
	set, ok := l.(labels.Set)
	if !ok {
		return m.Selector.Matches(l)
	}
	if p := reflect.ValueOf(set).UnsafePointer(); p == nil || p != m.asked {
		m.asked, m.answer = p, rollout.HasLabels(set, m.want)
	}
	return m.answer
}
