package objects

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podapi "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/capabilities"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/validate"
)

var (
	objects = flag.Int("objects", envInt("OBJECTS", 4000), "objects for each comparison (env OBJECTS)")
	seed    = flag.Uint64("seed", uint64(envInt("SEED", 1)), "seed of the objects (env SEED)")
)

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func TestMain(m *testing.M) {
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true}) // as nearly every cluster sets
	debug.SetGCPercent(400)                                                   // objects are short-lived garbage
	os.Exit(m.Run())
}

func each(t *testing.T, check func(t *testing.T, r draw)) {
	t.Parallel()
	for i := range *objects {
		if check(t, draw{Rand: rand.New(rand.NewPCG(*seed, uint64(i))), deep: 9}); t.Failed() {
			t.Fatalf("-seed=%d object %d", *seed, i)
		}
	}
}

// decoded is obj as it comes out of JSON, which is what both sides start from.
func decoded[T any](t *testing.T, obj *T) *T {
	out := new(T)
	if err := json.Unmarshal(encoded(t, obj), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// internal is a versioned object with upstream's defaults, in the form in which it is validated.
func internal(t *testing.T, obj, into runtime.Object) {
	legacyscheme.Scheme.Default(obj)
	if err := legacyscheme.Scheme.Convert(obj, into, nil); err != nil {
		t.Fatal(err)
	}
}

// versioned is the way back.
func versioned(t *testing.T, obj, into runtime.Object) {
	if err := legacyscheme.Scheme.Convert(obj, into, nil); err != nil {
		t.Fatal(err)
	}
}

// returned is ours after the same way there and back, on which fields that
// belong to another strategy, say, turn from nothing into zero.
func returned[T any, P interface {
	*T
	runtime.Object
}](t *testing.T, ours P, into runtime.Object) P {
	versioned(t, ours, into)
	out := P(new(T))
	versioned(t, into, out)
	return out
}

// compare goes by what JSON carries.
func compare(t *testing.T, ours, upstream, in any) {
	t.Helper()
	a, b := encoded(t, ours), encoded(t, upstream)
	if !bytes.Equal(a, b) {
		t.Errorf("differs (-upstream +ours):\n%s\nfor %s", cmp.Diff(generic(t, b), generic(t, a)), describe(in))
	}
}

func encoded(t *testing.T, obj any) []byte {
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func generic(t *testing.T, data []byte) (out any) {
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDeploymentDefaults(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		d := deployment()
		r.changed(d, 12)
		ours, theirs := decoded(t, d), decoded(t, d)
		defaults.Deployment(ours)
		in, out := &apps.Deployment{}, &appsv1.Deployment{}
		internal(t, theirs, in)
		podapi.DropDisabledTemplateFields(&in.Spec.Template, nil)
		versioned(t, in, out)
		compare(t, returned(t, ours, &apps.Deployment{}).Spec, out.Spec, d)
	})
}

func TestReplicaSetDefaults(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		rs := replicaSet()
		r.changed(rs, 12)
		ours, theirs := decoded(t, rs), decoded(t, rs)
		defaults.ReplicaSet(ours)
		in, out := &apps.ReplicaSet{}, &appsv1.ReplicaSet{}
		internal(t, theirs, in)
		podapi.DropDisabledTemplateFields(&in.Spec.Template, nil)
		versioned(t, in, out)
		compare(t, returned(t, ours, &apps.ReplicaSet{}).Spec, out.Spec, rs)
	})
}

func TestPodDefaults(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		p := pod()
		r.changed(&p.Spec, 12)
		ours, theirs := decoded(t, p), decoded(t, p)
		defaults.Pod(ours)
		in, out := &core.Pod{}, &corev1.Pod{}
		internal(t, theirs, in)
		podapi.DropDisabledPodFields(in, nil)
		versioned(t, in, out)
		compare(t, returned(t, ours, &core.Pod{}).Spec, out.Spec, p)
	})
}

// errorsOf are the texts of violations in an order of their own: some of
// upstream's come in the order of a map.
func errorsOf(list field.ErrorList) []string {
	out := []string{}
	for _, err := range list {
		out = append(out, err.Error())
	}
	slices.Sort(out)
	return out
}

func TestDeploymentValidation(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		d := deployment()
		r.changed(d, 3)
		d = decoded(t, d)
		in := &apps.Deployment{}
		internal(t, d.DeepCopy(), in)
		podapi.DropDisabledTemplateFields(&in.Spec.Template, nil)
		in.Status = apps.DeploymentStatus{}
		theirs := validation.ValidateDeployment(in, podapi.GetValidationOptionsFromPodTemplate(&in.Spec.Template, nil))
		ours := d.DeepCopy()
		defaults.Deployment(ours)
		compare(t, errorsOf(validate.Deployment(ours, rollout.LatestVersion)), errorsOf(theirs), d)
	})
}

func TestDeploymentUpdateValidation(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		old := deployment()
		old.ResourceVersion, old.UID = "1", "u"
		r.changed(&old.Spec.Template, 2) // may be invalid: what is stored already may stay
		next := old.DeepCopy()
		r.changed(next, 2)
		old, next = decoded(t, old), decoded(t, next)
		oldIn, in := &apps.Deployment{}, &apps.Deployment{}
		internal(t, old.DeepCopy(), oldIn)
		internal(t, next.DeepCopy(), in)
		podapi.DropDisabledTemplateFields(&oldIn.Spec.Template, nil)
		podapi.DropDisabledTemplateFields(&in.Spec.Template, &oldIn.Spec.Template)
		theirs := validation.ValidateDeploymentUpdate(in, oldIn, podapi.GetValidationOptionsFromPodTemplate(&in.Spec.Template, &oldIn.Spec.Template))
		ourOld, ours := old.DeepCopy(), next.DeepCopy()
		defaults.Deployment(ourOld)
		defaults.Deployment(ours)
		compare(t, errorsOf(validate.DeploymentUpdate(ours, ourOld, rollout.LatestVersion)), errorsOf(theirs), fmt.Sprintf("%+v\nwas %+v", next, old))
	})
}

func TestReplicaSetValidation(t *testing.T) {
	each(t, func(t *testing.T, r draw) {
		rs := replicaSet()
		r.changed(rs, 3)
		rs = decoded(t, rs)
		in := &apps.ReplicaSet{}
		internal(t, rs.DeepCopy(), in)
		podapi.DropDisabledTemplateFields(&in.Spec.Template, nil)
		in.Status = apps.ReplicaSetStatus{}
		theirs := validation.ValidateReplicaSet(in, podapi.GetValidationOptionsFromPodTemplate(&in.Spec.Template, nil))
		ours := rs.DeepCopy()
		defaults.ReplicaSet(ours)
		compare(t, errorsOf(validate.ReplicaSet(ours, rollout.LatestVersion)), errorsOf(theirs), rs)
	})
}
