package worlds

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// slowly compares as upstream does, by reflection.
var slowly = equality.Semantic.Copy()

// samePodSpec is what both sides' equality.Semantic asks of two pod specs here. A
// pass asks some ten times, most often of equal ones, and reflection would take a
// quarter of the oracle's time. Equal bytes stand for equal values, but not the
// reverse (1 and 1000m), so that specs that differ are looked at field by field.
func samePodSpec(a, b corev1.PodSpec) bool {
	x, err := a.Marshal()
	if err != nil {
		return slowly.DeepEqual(a, b)
	}
	y, err := b.Marshal()
	return err == nil && bytes.Equal(x, y) || slowly.DeepEqual(a, b)
}
