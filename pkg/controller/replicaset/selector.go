package replicaset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// parseSelector reads a label selector once, so that it can be asked about many
// pods. One of matchLabels only, as Deployments make them, is answered by the
// map itself. A nil selector matches nothing, an empty one everything.
func parseSelector(s *metav1.LabelSelector) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || s == nil || len(s.MatchLabels) == 0 || len(s.MatchExpressions) > 0 {
		return selector, err
	}
	return mapSelector{Selector: selector, want: s.MatchLabels}, nil
}

// mapSelector answers Matches by the map its Selector was made from.
type mapSelector struct {
	labels.Selector
	want map[string]string
}

// Matches says the same as the Selector, with one look-up a label.
func (m mapSelector) Matches(l labels.Labels) bool {
	if set, ok := l.(labels.Set); ok {
		return rollout.HasLabels(set, m.want)
	}
	return m.Selector.Matches(l)
}
