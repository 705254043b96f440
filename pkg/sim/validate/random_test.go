package validate_test

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/validate"
)

// Whatever an object holds, filling it in twice is filling it in once, and
// validating it ends, changes nothing and says the same again.
func TestRandomDeployments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, old := &appsv1.Deployment{}, &appsv1.Deployment{}
		fill(t, reflect.ValueOf(d), 0)
		fill(t, reflect.ValueOf(old), 0)
		stable(t, d, old, defaults.Deployment, func(d, old *appsv1.Deployment) string {
			return lines(validate.Deployment(d, 37)) + lines(validate.DeploymentUpdate(d, old, 37)) +
				lines(validate.DeploymentStatusUpdate(d, old)) + lines(validate.Deployment(d, 33))
		})
	})
}

func TestRandomReplicaSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs, old := &appsv1.ReplicaSet{}, &appsv1.ReplicaSet{}
		fill(t, reflect.ValueOf(rs), 0)
		fill(t, reflect.ValueOf(old), 0)
		stable(t, rs, old, defaults.ReplicaSet, func(rs, old *appsv1.ReplicaSet) string {
			return lines(validate.ReplicaSet(rs, 37)) + lines(validate.ReplicaSetUpdate(rs, old, 37)) +
				lines(validate.ReplicaSetStatusUpdate(rs, old))
		})
	})
}

func TestRandomPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &corev1.Pod{}
		fill(t, reflect.ValueOf(p), 0)
		stable(t, p, p.DeepCopy(), defaults.Pod, func(p, _ *corev1.Pod) string {
			return lines(validate.Pod(p, 37)) + string(defaults.QOSClass(p))
		})
	})
}

type object[T any] interface {
	*T
	DeepCopy() *T
}

func stable[T any, O object[T]](t *rapid.T, obj, old O, fillIn func(O), check func(obj, old O) string) {
	fillIn(obj)
	once := O(obj.DeepCopy())
	fillIn(obj)
	if !equality.Semantic.DeepEqual(once, obj) {
		t.Fatalf("filled in once:\n%+v\ntwice:\n%+v", once, obj)
	}
	said := check(obj, old)
	if !equality.Semantic.DeepEqual(once, obj) {
		t.Fatal("validation changed the object")
	}
	if again := check(O(obj.DeepCopy()), old); again != said {
		t.Fatalf("said:\n%s\nthen:\n%s", said, again)
	}
}

// Values that are right somewhere and wrong elsewhere.
var (
	texts = []string{"", "a", "web", "A", "a b", "a.b/c", "../x", "/x", "x=y", "10.0.0.1", "metadata.name", "limits.cpu",
		"metadata.labels['a']", "Always", "Never", "TCP", "RollingUpdate", "Recreate", "In", "Exists", "Localhost", "windows", "v1", "é", "<"}
	numbers    = []int64{-1, 0, 1, 2, 80, 255, 511, 600, 70000, 1 << 31}
	quantities = []string{"0", "1", "-1", "1500m", "2Mi", "3Mi", "0.00001"}
	ports      = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(80), intstr.FromString("25%"), intstr.FromString("x")}
	names      = []corev1.ResourceName{"cpu", "memory", "hugepages-2Mi", "hugepages-", "x.y/gpu", "foo", "A b"}
)

// maxDepth bounds how deep objects are filled.
const maxDepth = 14

// fill draws a value for whatever v is.
func fill(t *rapid.T, v reflect.Value, depth int) {
	if v.Kind() != reflect.Pointer && fillKnown(t, v.Addr().Interface()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && depth < maxDepth && rapid.IntRange(0, 3).Draw(t, "set") == 0 {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			fill(t, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if depth < maxDepth {
			v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, "length"), 2))
			for i := range v.Len() {
				fill(t, v.Index(i), depth+1)
			}
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom(texts).Draw(t, "text"))
	case reflect.Int32, reflect.Int64:
		v.SetInt(rapid.SampledFrom(numbers).Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	}
}

// fillKnown fills what has no exported fields or needs keys of its own.
func fillKnown(t *rapid.T, p any) bool {
	switch value := p.(type) {
	case *resource.Quantity:
		*value = resource.MustParse(rapid.SampledFrom(quantities).Draw(t, "quantity"))
	case *intstr.IntOrString:
		*value = rapid.SampledFrom(ports).Draw(t, "port")
	case *metav1.Time, *metav1.FieldsV1:
	case *map[string]string:
		*value = rapid.MapOfN(rapid.SampledFrom(texts), rapid.SampledFrom(texts), 0, 2).Draw(t, "map")
	case *corev1.ResourceList:
		*value = corev1.ResourceList{}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 2).Draw(t, "resources") {
			(*value)[name] = resource.MustParse(rapid.SampledFrom(quantities).Draw(t, "quantity"))
		}
	default:
		return false
	}
	return true
}
