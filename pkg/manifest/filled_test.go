package manifest

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/randfill"
)

// TestShareFilled decodes pods and nodes in which every field may be set, so
// that no field of their types is forgotten or taken for another.
func TestShareFilled(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	fill := randfill.New().RandSource(random).NilChance(.3).NumElements(0, 3).MaxDepth(20).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(int64(c.Intn(5000)), resource.DecimalSI)
		},
		func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(int64(c.Intn(1<<31)), 0) },
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(int32(c.Intn(100)))
			if c.Bool() {
				*v = intstr.FromString("25%")
			}
		},
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawBytes([]byte(`{"f:metadata":{}}`)) },
		func(s *string, c randfill.Continue) {
			if *s = "plain-" + string(rune('a'+c.Intn(26))); c.Intn(20) == 0 {
				*s = c.String(8)
			}
		},
	)
	var all sharers
	share := all.take()
	for range 300 {
		for _, obj := range []Object{&corev1.Pod{}, &corev1.Node{}} {
			fill.Fill(obj)
			data, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			got, want := reflect.New(reflect.TypeOf(obj).Elem()).Interface(), reflect.New(reflect.TypeOf(obj).Elem()).Interface()
			if !share.decode(data, got.(Object)) {
				t.Fatalf("left to the usual decoder:\n%s", data)
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("(-usual +shared):\n%s\n%s", diff, data)
			}
		}
	}
}
