package validate_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/validate"
)

func TestInvalidWordsTheAnswer(t *testing.T) {
	for _, test := range []struct{ name, change, want string }{
		{
			name:   "one violation",
			change: `{spec: {minReadySeconds: 600}}`,
			want: `Deployment.apps "web" is invalid: ` +
				`spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds`,
		},
		{
			name:   "several at once",
			change: `{spec: {replicas: -1, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}}}`,
			want: `Deployment.apps "web" is invalid: [` +
				`spec.replicas: Invalid value: -1: must be greater than or equal to 0, ` +
				"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0]",
		},
		{
			name:   "the same text once",
			change: `{metadata: {labels: {a: " ", b: " "}}}`,
			want: `Deployment.apps "web" is invalid: ` +
				`metadata.labels: Invalid value: " ": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', ` +
				`regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := deployment(t, test.change)
			err := validate.Invalid(validate.DeploymentKind, d.Name, validate.Deployment(d, rollout.LatestVersion))
			if err.Error() != test.want {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
			if !apierrors.IsInvalid(err) || err.Status().Code != 422 {
				t.Errorf("status is %+v", err.Status())
			}
		})
	}
}

func TestInvalidNamesTheKind(t *testing.T) {
	rs := replicaSet(t, `{metadata: {name: Web}}`)
	err := validate.Invalid(validate.ReplicaSetKind, rs.Name, validate.ReplicaSet(rs, rollout.LatestVersion))
	if want := `ReplicaSet.apps "Web" is invalid: metadata.name: `; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %s, want it to begin with %s", err, want)
	}
	errs := validate.Deployment(deployment(t, `{spec: {replicas: -1}}`), rollout.LatestVersion)
	if got, want := validate.Invalid(validate.PodKind, "x", errs).Error(), `Pod "x" is invalid: `; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want it to begin with %s", got, want)
	}
	if err := validate.Invalid(validate.PodKind, "x", nil); err != nil {
		t.Errorf("got %v for no violations", err)
	}
}

// Case C83: apps/v1 has no podReplacementPolicy. Read strictly, as kubectl asks
// the server to, the field is an error; otherwise it changes nothing.
func TestUnknownFieldChangesNothing(t *testing.T) {
	text := "{apiVersion: apps/v1, kind: Deployment}"
	base := merge(parse(t, workload), parse(t, text))
	merged, err := yaml.Marshal(merge(base, parse(t, "spec: {podReplacementPolicy: TerminationComplete}")))
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	want := `strict decoding error: unknown field "spec.podReplacementPolicy"`
	if _, _, err := strict.Decode(merged, nil, nil); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	obj, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(merged, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, plain := obj.(*appsv1.Deployment), deployment(t, text)
	defaults.Deployment(got)
	if !equality.Semantic.DeepEqual(got, plain) {
		t.Errorf("got %+v, want %+v", got, plain)
	}
	if errs := validate.Deployment(got, rollout.LatestVersion); len(errs) > 0 {
		t.Errorf("got %v", errs)
	}
}

// Annotations may have 256 KiB altogether, keys included.
func TestAnnotationsSize(t *testing.T) {
	d := deployment(t, "")
	d.Annotations = map[string]string{"a": strings.Repeat("x", 256*1024-1)}
	if errs := validate.Deployment(d, rollout.LatestVersion); len(errs) > 0 {
		t.Errorf("at the limit: %v", errs)
	}
	d.Annotations["a"] += "x"
	got := lines(validate.Deployment(d, rollout.LatestVersion))
	if want := "metadata.annotations: Too long: may not be more than 262144 bytes\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
