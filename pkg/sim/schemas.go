package sim

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// schemas are those by which lists and maps of the tracked kinds are merged, as
// gzipped YAML: what client-go has of these kinds (applyconfigurations/internal).
// Its own holds the types of all groups, 0.4 MB that would be linked whole.
// TestSchemas makes the file and fails when client-go's have changed.
//
//go:embed schemas.yaml.gz
var schemas []byte

// tracked has the types of which the server can tell who owns what.
var tracked = []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, autoscalingv2.AddToScheme, policyv1.AddToScheme}

// typesOnce reads schemas, which takes its time. Without a converter nothing is
// tracked: for types that contradict each other or a damaged file, which are
// faults of the build.
var typesOnce = sync.OnceValues(func() (*runtime.Scheme, managedfields.TypeConverter) {
	scheme := runtime.NewScheme()
	for _, add := range tracked {
		if err := add(scheme); err != nil {
			return scheme, nil
		}
	}
	text, err := unpack(schemas)
	if err != nil {
		return scheme, nil
	}
	parser, err := typed.NewParser(typed.YAMLObject(text))
	if err != nil {
		return scheme, nil
	}
	return scheme, managedfields.NewSchemeTypeConverter(scheme, parser)
})

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
