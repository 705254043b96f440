package worlds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Objects travel as protobuf, as they do between kube-controller-manager and its
// API server: without their kinds, with times of whole seconds, with nothing for
// an empty list or map, and with the keys of maps in order, so that equal objects
// are equal bytes.

// wired is an object that can travel.
type wired interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

func encode(obj runtime.Object) []byte {
	data, err := obj.(wired).Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

func decode(resource string, data []byte) (wired, error) {
	obj := fresh(resource)
	return obj, obj.Unmarshal(data)
}

func fresh(resource string) wired {
	switch resource {
	case "deployments":
		return &appsv1.Deployment{}
	case "replicasets":
		return &appsv1.ReplicaSet{}
	}
	return &corev1.Pod{}
}

func resourceOf(obj any) string {
	switch obj.(type) {
	case *appsv1.Deployment:
		return "deployments"
	case *appsv1.ReplicaSet:
		return "replicasets"
	}
	return "pods"
}

// travels are the objects of the store on their way to upstream, which gets what
// the API server would have sent, not what our store keeps in memory. Stored
// objects never change, so each travels once.
type travels map[runtime.Object]*travelled

type travelled struct {
	data    []byte
	arrived wired
}

func (t travels) by(obj runtime.Object) *travelled {
	if t[obj] == nil {
		t[obj] = &travelled{data: encode(obj)}
	}
	return t[obj]
}

// of is the object as a client has decoded it.
func (t travels) of(obj runtime.Object) runtime.Object {
	trip := t.by(obj)
	if trip.arrived == nil {
		var err error
		if trip.arrived, err = decode(resourceOf(obj), trip.data); err != nil {
			panic(err)
		}
	}
	return trip.arrived
}

const (
	protobuf = "application/vnd.kubernetes.protobuf"
	plain    = "application/json"
)

// magic is what an envelope of protobuf begins with.
var magic = []byte("k8s\x00")

// kinds are those of the envelopes.
var kinds = map[string]runtime.TypeMeta{
	"deployments": {APIVersion: "apps/v1", Kind: "Deployment"},
	"replicasets": {APIVersion: "apps/v1", Kind: "ReplicaSet"},
	"pods":        {APIVersion: "v1", Kind: "Pod"},
}

func seal(resource string, data []byte) []byte {
	envelope := runtime.Unknown{TypeMeta: kinds[resource], Raw: data}
	sealed, err := envelope.Marshal()
	if err != nil {
		panic(err)
	}
	return append(magic[:len(magic):len(magic)], sealed...)
}

func open(data []byte) ([]byte, error) {
	inside, ok := bytes.CutPrefix(data, magic)
	if !ok {
		return nil, fmt.Errorf("not protobuf: %q", data)
	}
	var envelope runtime.Unknown
	err := envelope.Unmarshal(inside)
	return envelope.Raw, err
}

// canonical is JSON with its keys in order.
func canonical(data []byte) string {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return string(data)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// readable is the body of a request as people read it.
func readable(what, body string) string {
	verb, rest, _ := strings.Cut(what, " ")
	if verb != http.MethodPost && verb != http.MethodPut {
		return body
	}
	resource := rest[:strings.IndexAny(rest, "/ ")]
	obj, err := decode(resource, []byte(body))
	if err != nil {
		return err.Error()
	}
	out, _ := json.Marshal(obj)
	return string(out)
}
