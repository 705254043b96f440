package rollout

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Selectors remembers what label selectors were read as. A controller reads the
// same few in every pass, and those of a cache never change. The zero value is
// ready, for several goroutines at once.
type Selectors struct {
	mu    sync.Mutex
	known map[*metav1.LabelSelector]readSelector
}

type readSelector struct {
	selector labels.Selector
	err      error
}

// mostSelectors is how many are remembered before all are forgotten.
const mostSelectors = 4096

// Read is metav1.LabelSelectorAsSelector: nil selects nothing, an empty one
// everything, and an error is that of an invalid one. The selector must not be
// changed afterwards.
func (s *Selectors) Read(from *metav1.LabelSelector) (labels.Selector, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, ok := s.known[from]
	if ok {
		return read.selector, read.err
	}
	if s.known == nil || len(s.known) == mostSelectors {
		s.known = map[*metav1.LabelSelector]readSelector{}
	}
	read.selector, read.err = metav1.LabelSelectorAsSelector(from)
	s.known[from] = read
	return read.selector, read.err
}
