// Package observed reads records of what a cluster's objects looked like over
// time, or of what was written to them: streams of kubectl get -w and audit
// logs. What happened in between is for others to tell.
package observed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Object is a version of an API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Observation is a version of an object that was seen, or a write to one.
type Observation struct {
	At  time.Time // of whole seconds where only the object tells it
	Ref trace.Ref
	// Object is the version; nil for a write without an answer that shows it.
	Object  Object
	Deleted bool
	// Write is nil for a version that a watch brought.
	Write *Write
}

// Write is a request that was answered.
type Write struct {
	User              string
	Verb, Subresource string // create, update, patch, delete
	Code              int
	Error             string // the server's message, of a refused one
}

// Format is what a record is.
type Format string

// The formats; empty is none of them.
const (
	WatchStream Format = "kubectl get -w"
	AuditLog    Format = "audit log"
)

// start is the beginning of any value of a record.
type start struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	Type       string          `json:"type"`
	Object     json.RawMessage `json:"object"`
	Items      []json.RawMessage
}

const auditGroup = "audit.k8s.io/"

// FormatOf looks at the first value of a file.
func FormatOf(data []byte) Format {
	var first start
	decoder := json.NewDecoder(bytes.NewReader(data))
	if decoder.Decode(&first) != nil {
		return ""
	}
	_, known := kinds[first.Kind]
	switch {
	case bytes.HasPrefix([]byte(first.APIVersion), []byte(auditGroup)):
		return AuditLog
	case known, first.Object != nil && first.Type != "", first.Kind == "List" && first.Items != nil:
		return WatchStream
	}
	return ""
}

// kinds are those that tell of a rollout.
var kinds = map[string]func() Object{
	"Deployment": func() Object { return &appsv1.Deployment{} },
	"ReplicaSet": func() Object { return &appsv1.ReplicaSet{} },
	"Pod":        func() Object { return &corev1.Pod{} },
	"Event":      func() Object { return &corev1.Event{} },
}

// decode reads an object; nil for one that tells nothing.
func decode(data []byte) (Object, error) {
	var head start
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	fresh, known := kinds[head.Kind]
	if !known || head.APIVersion != "v1" && head.APIVersion != "apps/v1" {
		return nil, nil
	}
	obj := fresh()
	if err := json.Unmarshal(data, obj); err != nil {
		return nil, fmt.Errorf("a %s: %w", head.Kind, err)
	}
	one := int32(1) // the API server's default, which every stored object has
	switch o := obj.(type) {
	case *appsv1.Deployment:
		if o.Spec.Replicas == nil {
			o.Spec.Replicas = &one
		}
	case *appsv1.ReplicaSet:
		if o.Spec.Replicas == nil {
			o.Spec.Replicas = &one
		}
	}
	return obj, nil
}

func refOf(kind string, obj Object) trace.Ref {
	return trace.Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// ReadWatch reads what kubectl get -w -o json printed, also of several such
// commands one after the other, with or without --output-watch-events.
func ReadWatch(data []byte) ([]Observation, error) {
	var out []Observation
	add := func(raw json.RawMessage, deleted bool) error {
		obj, err := decode(raw)
		if err != nil || obj == nil {
			return err
		}
		out = append(out, Observation{At: Newest(obj), Ref: refOf(kindOf(raw), obj), Object: obj, Deleted: deleted || ended(obj)})
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimSpace(data)))
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil {
			err = each(raw, add)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // the last one was cut short, as by Ctrl-C
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", n, err)
		}
	}
}

// each is the objects of one value: an event of a watch, a list, or itself.
func each(raw json.RawMessage, add func(json.RawMessage, bool) error) error {
	var head start
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	switch {
	case head.Object != nil && head.Type != "":
		return add(head.Object, head.Type == "DELETED")
	case head.Items != nil:
		for _, item := range head.Items {
			if err := add(item, false); err != nil {
				return err
			}
		}
		return nil
	}
	return add(raw, false)
}

func kindOf(raw json.RawMessage) string {
	var head start
	_ = json.Unmarshal(raw, &head) // decode has read it before
	return head.Kind
}

// ended says that this is a pod's last version: its grace was cut to nothing,
// which removes it.
func ended(obj Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}
