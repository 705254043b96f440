package v1alpha1

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/resource"
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
	// Loads are what metrics say from the beginning, for autoscalers.
	Loads []Load `json:"loads,omitempty"`
	// NodeGroups are nodes that join when pods find no room.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
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

	// AnswersAfter counts from the start of a container until it answers its
	// probes, which then decide when the pod is ready; a duration or a range.
	AnswersAfter string `json:"answersAfter,omitempty"`
	// InitFor is how long each init container runs; a duration or a range.
	InitFor string `json:"initFor,omitempty"`
	// PullFor is how long the first pull of an image on a node takes; a duration
	// or a range. Without it images are on the nodes already.
	PullFor string `json:"pullFor,omitempty"`
	// HookFor is how long those hooks take whose length their spec does not tell.
	HookFor string `json:"hookFor,omitempty"`

	// Container is what the fields below are about; empty means all containers
	// but init containers and sidecars.
	Container string `json:"container,omitempty"`
	// Crash lets the container exit by itself.
	Crash *PodCrash `json:"crash,omitempty"`
	// ImageMissing is when the image cannot be pulled.
	ImageMissing []Window `json:"imageMissing,omitempty"`
	// FailsProbes is when the container fails its probes.
	FailsProbes []ProbeFailure `json:"failsProbes,omitempty"`
}

// PodCrash is how a container exits by itself.
type PodCrash struct {
	// After counts from each start; a duration or a range.
	After string `json:"after"`
	// Code is the exit code, from 0 to 255.
	Code int32 `json:"code"`
	// Reason of the container's state, such as OOMKilled; otherwise Completed for code 0 and Error for others.
	Reason string `json:"reason,omitempty"`
	// Times is how often it does so; 0 means each time it runs.
	Times int `json:"times,omitempty"`
}

// Window is from one time of the run to another; no To means for ever.
type Window struct {
	From metav1.Duration `json:"from,omitempty"`
	To   metav1.Duration `json:"to,omitempty"`
}

// ProbeFailure is a window in which probes fail.
type ProbeFailure struct {
	Window `json:",inline"`
	// Probes are startup, readiness and liveness; empty means all.
	Probes []string `json:"probes,omitempty"`
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
	// ServerSide makes it kubectl apply --server-side.
	ServerSide *ServerSide `json:"serverSide,omitempty"`
	// Load is what a metric of the target says from now on.
	Load *Metric `json:"load,omitempty"`
	// Delete removes the target with this policy: Background, Foreground or Orphan.
	Delete string `json:"delete,omitempty"`
	// Pod makes something happen to the target pod: crash, fail, succeed, evict, notready or ready.
	Pod string `json:"pod,omitempty"`
	// Reason is the status reason of a pod that fails, or the resource that the
	// node of an evicted one is short of: memory when it says nothing.
	Reason string `json:"reason,omitempty"`
	// Node makes something happen to the target node: down (its kubelet falls
	// silent), up, add (a node of that name joins), delete (the machine is gone
	// and its Node with it), cordon, uncordon or drain.
	Node string `json:"node,omitempty"`
	// Like is the node that an added one resembles; empty means the first there is.
	Like string `json:"like,omitempty"`
	// Drain says how a node is drained; empty means as kubectl drain does without flags.
	Drain *DrainOptions `json:"drain,omitempty"`
	// Refused says that the step must be refused, as one that a test expects to be.
	Refused bool `json:"refused,omitempty"`
}

// ServerSide is how a configuration is applied server-side.
type ServerSide struct {
	// FieldManager owns what is applied; empty means kubectl.
	FieldManager string `json:"fieldManager,omitempty"`
	// ForceConflicts takes fields from their other owners.
	ForceConflicts bool `json:"forceConflicts,omitempty"`
}

// Load is a metric of a target.
type Load struct {
	// Target is the TYPE/NAME of the Deployment or ReplicaSet that carries the load.
	Target string `json:"target"`
	// Namespace of the target; empty means default.
	Namespace string `json:"namespace,omitempty"`
	Metric    `json:",inline"`
}

// Metric is what a metric says.
type Metric struct {
	// Metric is cpu, memory or another resource, CONTAINER/cpu for that of one
	// container, or the name of a pods, object or external metric.
	Metric string `json:"metric"`
	// Total is shared by the target's ready pods; for an object or external
	// metric it is the value.
	Total resource.Quantity `json:"total,omitzero"`
	// PerPod says that each pod uses the total, ready or not.
	PerPod bool `json:"perPod,omitempty"`
	// ReportsAfter is when, after its start, a pod is first measured; otherwise
	// 30 seconds for resources and at once for other metrics.
	ReportsAfter *metav1.Duration `json:"reportsAfter,omitempty"`
	// Missing says that there is no such metric.
	Missing bool `json:"missing,omitempty"`
}

// NodeGroup is a group of like nodes to which a cluster autoscaler adds some
// while pods wait that no node takes. It takes none away.
type NodeGroup struct {
	// Name is what its nodes' names begin with: NAME-1, NAME-2 and so on.
	Name string `json:"name"`
	// Like is the node that they resemble: its room, labels and taints. Empty
	// means the first there is, unless there is a template.
	Like string `json:"like,omitempty"`
	// Template is the Node that they resemble, in place of one that is there.
	Template *runtime.RawExtension `json:"template,omitempty"`
	// Max is how many nodes may be added.
	Max int32 `json:"max"`
	// Delay is from the decision until a node has joined; a minute when it is left out.
	Delay *metav1.Duration `json:"delay,omitempty"`
}

// DrainOptions are the flags of kubectl drain.
type DrainOptions struct {
	IgnoreDaemonSets   bool `json:"ignoreDaemonSets,omitempty"`
	DeleteEmptyDirData bool `json:"deleteEmptyDirData,omitempty"`
	Force              bool `json:"force,omitempty"`
	DisableEviction    bool `json:"disableEviction,omitempty"`
	// GracePeriodSeconds replaces the pods' own.
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`
	// Timeout is how long refusals are put up with; 0 is for ever.
	Timeout metav1.Duration `json:"timeout,omitzero"`
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
	// Timeout, NamespaceTerminating, WebhookDenies, WebhookFails, WebhookTimesOut or WebhookMutates.
	Answer  string `json:"answer"`
	Message string `json:"message,omitempty"`
	Webhook string `json:"webhook,omitempty"`
	// FailurePolicy of a webhook that fails or times out: Fail, which is the default, or Ignore.
	FailurePolicy string `json:"failurePolicy,omitempty"`
	// WebhookTimeout is how long a webhook that times out is waited for; 0 means 10 seconds.
	WebhookTimeout metav1.Duration `json:"webhookTimeout,omitzero"`
	// Patch is the strategic merge patch of a webhook that mutates.
	Patch *runtime.RawExtension `json:"patch,omitempty"`
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
