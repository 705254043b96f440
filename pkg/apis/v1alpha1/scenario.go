package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Scenario tells a simulated world what happens in it besides the change that
// is planned: how pods behave, what a person does and when, which requests fail.
type Scenario struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ScenarioSpec `json:"spec"`
}

// ScenarioSpec is the body of a Scenario. All times count from the start of the run.
type ScenarioSpec struct {
	// Pods says how pods behave; the first rule that matches a pod counts.
	Pods []PodBehaviour `json:"pods,omitempty"`
	// Steps is what a person does, at their times, in this order within a time.
	Steps []ScenarioStep `json:"steps,omitempty"`
	// Faults are requests that the API server refuses or fails.
	Faults []Fault `json:"faults,omitempty"`
	// WatchDelays hold back what the controllers' caches learn.
	WatchDelays []WatchDelay `json:"watchDelays,omitempty"`
}

// PodBehaviour is how the pods that match behave.
type PodBehaviour struct {
	Match PodMatch `json:"match,omitempty"`
	// ReadyAfter counts from the binding to a node; a duration or a range: 10s, 2s..6s.
	ReadyAfter string `json:"readyAfter,omitempty"`
	// ExitAfter counts from SIGTERM; a duration or a range. The grace period bounds it.
	ExitAfter string `json:"exitAfter,omitempty"`
	// Never keeps the pods from becoming ready: Unready, ImagePullBackOff,
	// CrashLoopBackOff, or WhileOthers, which ends when no pod of another
	// revision is left.
	Never string `json:"never,omitempty"`
	// IgnoresSIGTERM pods use up their grace period.
	IgnoresSIGTERM bool `json:"ignoresSIGTERM,omitempty"`
	// ExitsCleanly pods end as Succeeded instead of Failed.
	ExitsCleanly bool `json:"exitsCleanly,omitempty"`
}

// PodMatch selects pods; all fields that are set must fit. Image, Name and
// Owner are patterns with * and ?.
type PodMatch struct {
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name,omitempty"`
	Owner     string            `json:"owner,omitempty"`
	Image     string            `json:"image,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// ScenarioStep is one thing a person does. A step has a target and one or more
// of the changes of kubectl's verbs, which are made as one; or it applies an
// object, deletes its target, or makes something happen to a pod.
type ScenarioStep struct {
	At metav1.Duration `json:"at"`
	// Target is TYPE/NAME as kubectl takes it: deployment/web, rs/web-abc, pod/web-abc-x.
	// For pods "TYPE/NAME" may end in *, meaning all that match, in order of creation.
	Target string `json:"target,omitempty"`
	// First is how many of those that a pattern matches; 0 means all.
	First int `json:"first,omitempty"`
	// Namespace of the target; empty means default.
	Namespace string `json:"namespace,omitempty"`

	// Images gives containers their image, by container name; "*" means all.
	Images map[string]string `json:"images,omitempty"`
	// Replicas is kubectl scale.
	Replicas *int32 `json:"replicas,omitempty"`
	// Restart is kubectl rollout restart.
	Restart bool `json:"restart,omitempty"`
	// Undo is kubectl rollout undo --to-revision; 0 means the revision before the last.
	Undo *int64 `json:"undo,omitempty"`
	// Pause and Resume are kubectl rollout pause and resume.
	Pause  bool `json:"pause,omitempty"`
	Resume bool `json:"resume,omitempty"`
	// Patch is a strategic merge patch of the target.
	Patch *runtime.RawExtension `json:"patch,omitempty"`
	// Labels and Annotations of the target to set; null takes one away.
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`

	// Apply is kubectl apply (client-side) of a Deployment or ReplicaSet; other
	// objects are created, or their spec, labels and annotations replaced.
	Apply *runtime.RawExtension `json:"apply,omitempty"`
	// Delete removes the target with this policy: Background, Foreground or Orphan.
	Delete string `json:"delete,omitempty"`
	// Pod makes something happen to the target pod: crash, fail, succeed, notready or ready.
	Pod string `json:"pod,omitempty"`
	// Reason is the status reason of a pod that fails: Evicted.
	Reason string `json:"reason,omitempty"`
	// Refused says that the step must be refused, as one that a test expects to be.
	Refused bool `json:"refused,omitempty"`
}

// Fault is a request that fails. Empty fields match everything.
type Fault struct {
	Verb        string          `json:"verb,omitempty"`        // create, update, delete
	Resource    string          `json:"resource,omitempty"`    // pods, replicasets, deployments
	Subresource string          `json:"subresource,omitempty"` // status, binding; "-" is the object itself
	Namespace   string          `json:"namespace,omitempty"`
	Name        string          `json:"name,omitempty"`  // pattern
	Actor       string          `json:"actor,omitempty"` // replicaset, deployment, you …
	From        metav1.Duration `json:"from,omitempty"`
	To          metav1.Duration `json:"to,omitempty"`    // 0 is for ever
	Skip        int             `json:"skip,omitempty"`  // let so many through first
	Times       int             `json:"times,omitempty"` // fail so many; 0 is all
	// Answer is Conflict, Forbidden, NotFound, AlreadyExists, InternalError,
	// Timeout, NamespaceTerminating, WebhookDenies or WebhookFails.
	Answer  string `json:"answer"`
	Message string `json:"message,omitempty"`
	Webhook string `json:"webhook,omitempty"`
}

// WatchDelay holds back the changes of one resource on their way to an actor.
type WatchDelay struct {
	Actor    string          `json:"actor,omitempty"` // replicaset, deployment …; empty means all
	Resource string          `json:"resource"`        // pods, replicasets, deployments
	Until    metav1.Duration `json:"until"`
}

// DeepCopyObject makes Scenario a runtime.Object.
func (s *Scenario) DeepCopyObject() runtime.Object {
	out := &Scenario{}
	data, err := json.Marshal(s)
	if err != nil || json.Unmarshal(data, out) != nil {
		return &Scenario{TypeMeta: s.TypeMeta, ObjectMeta: *s.ObjectMeta.DeepCopy()}
	}
	return out
}
