package conformance

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// smallest are the shortest valid manifests; a script's input is merged into them.
var smallest = map[string]string{
	sim.Deployments: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "nginx:1"}]}}`,
	sim.ReplicaSets: `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: set}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "nginx:1"}]}}`,
	sim.PersistentVolumeClaims: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`,
	sim.Pods: `
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec: {containers: [{name: web, image: "nginx:1"}]}`,
}

// decode reads a manifest of a stored kind.
func decode(data []byte) (sim.Object, error) {
	j, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(j, nil, nil)
	if err != nil {
		return nil, err
	}
	out, ok := obj.(sim.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", obj)
	}
	return out, nil
}

// merged is a manifest with a change: maps key by key, lists as a whole, null removes.
func merged(manifest []byte, change string) (sim.Object, error) {
	out, err := mergedJSON(manifest, change)
	if err != nil {
		return nil, err
	}
	return decode(out)
}

func mergedJSON(manifest []byte, change string) ([]byte, error) {
	base, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return nil, err
	}
	patch, err := yaml.YAMLToJSON([]byte(change))
	if err != nil {
		return nil, err
	}
	if string(patch) == "null" {
		patch = []byte("{}")
	}
	return jsonpatch.MergePatch(base, patch)
}

// changed is a stored object with a change, as a client makes one.
func changed(obj sim.Object, change string) (sim.Object, error) {
	obj = obj.DeepCopyObject().(sim.Object)
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(gvks[0])
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return merged(data, change)
}
