package v1alpha1

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Request is the change of a saved plan, as it was asked for, so that it can be
// made later: manifests, or the flags that stand for kubectl's verbs.
type Request struct {
	// Namespace is where objects go that name none; it was asked for expressly
	// when Explicit is set, so that objects of another are an error.
	Namespace string `json:"namespace"`
	Explicit  bool   `json:"explicitNamespace,omitempty"`
	// Manifests are the objects to apply, in order, as they were written.
	Manifests []json.RawMessage `json:"manifests,omitempty"`
	// ServerSide, FieldManager and ForceConflicts are the flags of kubectl apply.
	ServerSide     bool   `json:"serverSide,omitempty"`
	FieldManager   string `json:"fieldManager,omitempty"`
	ForceConflicts bool   `json:"forceConflicts,omitempty"`
	// Verbs are the change flags, as --image=app=nginx:1.27.
	Verbs []string `json:"verbs,omitempty"`
	// Bases are the workloads as they were when the plan was made.
	Bases []Base `json:"bases"`
}

// Base is the state of a workload that a plan was made from. UID,
// ResourceVersion and Generation are empty for one that was not there.
type Base struct {
	Object          trace.Ref `json:"object"`
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Generation      int64     `json:"generation,omitempty"`
}

// Predicted is what a plan had said about a rollout that was then made for
// real: it is kept with the recording, so that both can be compared.
type Predicted struct {
	Verdict         Verdict         `json:"verdict"`
	DurationSeconds float64         `json:"durationSeconds"`
	Steps           []PredictedStep `json:"steps,omitempty"`
}

// PredictedStep is a ReplicaSet's change of size in a plan.
type PredictedStep struct {
	OffsetSeconds float64   `json:"offsetSeconds"`
	ReplicaSet    trace.Ref `json:"replicaSet"`
	Workload      trace.Ref `json:"workload"`
	From          int32     `json:"from"`
	To            int32     `json:"to"`
	// New says that the ReplicaSet is the one of the new template. Its name may
	// differ in reality: a restart puts the time into the template.
	New bool `json:"new,omitempty"`
}
