package rollout

import (
	"reflect"
	"sync"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Likeness remembers which templates were found alike. A controller holds the
// same few templates against one another several times a pass, and what a cache
// holds never changes: as long as two templates are the same in memory, one
// comparison is enough. The zero value is ready, for several goroutines at once.
type Likeness struct {
	mu    sync.Mutex
	known map[couple]bool
}

// couple is two templates.
type couple struct{ a, b Identity }

// Identity tells templates in memory apart: one that is read anew, or copied to
// be edited, has other parts. It keeps the parts alive, so that nothing else can
// come to lie where they are.
type Identity struct {
	container           *corev1.Container // the first
	labels, annotations unsafe.Pointer
}

// mostCouples is how many comparisons are remembered before all are forgotten:
// a handful of revisions for each of some hundred Deployments. Each keeps two
// templates from being collected.
const mostCouples = 1024

// Split is the function of that name, with its comparisons remembered. The
// Deployment and the ReplicaSets must not be changed afterwards; copies that
// share their templates may be made.
func (l *Likeness) Split(d *appsv1.Deployment, owned []*appsv1.ReplicaSet) Sets {
	return splitBy(l.alike, d, owned)
}

// alike is EqualIgnoreHash, remembered. Templates without containers, which no
// API server lets in, have nothing to know them by.
func (l *Likeness) alike(a, b *corev1.PodTemplateSpec) bool {
	var key couple
	var known bool
	if key.a, known = Identify(a); known {
		key.b, known = Identify(b)
	}
	if !known {
		return EqualIgnoreHash(a, b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, ok := l.known[key]
	if ok {
		return answer
	}
	if l.known == nil || len(l.known) == mostCouples {
		l.known = map[couple]bool{}
	}
	answer = EqualIgnoreHash(a, b)
	l.known[key] = answer
	return answer
}

// Identify is a template's identity; false when it has no container.
func Identify(t *corev1.PodTemplateSpec) (Identity, bool) {
	if len(t.Spec.Containers) == 0 {
		return Identity{}, false
	}
	return Identity{
		container: &t.Spec.Containers[0],
		labels:    reflect.ValueOf(t.Labels).UnsafePointer(), annotations: reflect.ValueOf(t.Annotations).UnsafePointer(),
	}, true
}
