package trace

import "time"

// Detail says what happened. The set is closed: every type is in this file,
// and a view may switch over all of them.
type Detail interface {
	// Type is the word for the detail in JSON, the Go type's own name.
	Type() string
}

// Found is an object that was there when the run began.
type Found struct {
	Owner    Ref    `json:"owner,omitzero"`
	Replicas *int32 `json:"replicas,omitempty"` // Deployment and ReplicaSet: spec.replicas
	Revision string `json:"revision,omitempty"`
	Hash     string `json:"hash,omitempty"`  // ReplicaSet: pod-template-hash
	Phase    string `json:"phase,omitempty"` // Pod
	// Node a pod is bound to. In JSON "node" is where the actor of an event is.
	Node  string `json:"assignedNode,omitempty"`
	Ready bool   `json:"ready,omitempty"`
	// ReadySeconds is how long a pod's Ready condition, as stored in whole
	// seconds, has been true at the start of the run; zero when that is unknown.
	ReadySeconds float64 `json:"readySeconds,omitempty"`
	// Available pods are ready for minReadySeconds.
	Available bool `json:"available,omitempty"`
}

// Specified is a Deployment's or bare ReplicaSet's spec as it stands from now
// on: at the start of a run, at creation and whenever it changes. It holds what
// the arithmetic needs, with percentages already resolved to pods.
type Specified struct {
	Generation              int64  `json:"generation"`
	Replicas                int32  `json:"replicas"`
	Strategy                string `json:"strategy,omitempty"` // RollingUpdate, Recreate; empty for a ReplicaSet
	MaxSurge                string `json:"maxSurge,omitempty"` // as written: 25%, 3
	MaxUnavailable          string `json:"maxUnavailable,omitempty"`
	Surge                   int32  `json:"surge"`
	Unavailable             int32  `json:"unavailable"`
	Needed                  int32  `json:"needed"` // pods that must stay available
	MinReadySeconds         int32  `json:"minReadySeconds,omitempty"`
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	Paused                  bool   `json:"paused,omitempty"`
	Revision                string `json:"revision,omitempty"`
	// NewSet is the Deployment's own ReplicaSet whose template equals spec.template
	// at this moment (rollout.FindNewReplicaSet over the stored objects); empty
	// when there is none yet. A ReplicaSet made later takes its place.
	NewSet string `json:"newSet,omitempty"`
}

// Ended closes the trace of a run: why it was not followed further.
type Ended struct {
	Why string `json:"why"` // Complete, Idle, Deadline, Limit, Paused
}

// Changed is what a person changed on purpose.
type Changed struct {
	Verb   string  `json:"verb"` // create, update, delete, or a kubectl verb such as restart
	Fields []Field `json:"fields,omitempty"`
}

// Field is one difference between two versions of an object.
type Field struct {
	Path string `json:"path"` // spec.template.spec.containers[0].image
	// Named is Path with list items by name, when that differs: spec.template.spec.containers[app].image
	Named string `json:"named,omitempty"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// Delivered is a watch event reaching an actor's cache.
type Delivered struct {
	Watch           string `json:"watch"` // ADDED, MODIFIED, DELETED
	ResourceVersion string `json:"resourceVersion"`
}

// Enqueued is a key put into a controller's work queue.
type Enqueued struct{}

// Requeued is a key put back for later.
type Requeued struct {
	After time.Duration `json:"after"` // seconds in JSON
	Why   string        `json:"why"`   // ProgressDeadline, MinReadySeconds, Error, RateLimited
}

// SyncBegan opens one pass of a controller over one object.
type SyncBegan struct {
	Requeues int `json:"requeues,omitempty"` // failures in a row before this pass
}

// SyncEnded closes it.
type SyncEnded struct {
	Error string `json:"error,omitempty"`
}

// Rule names an arithmetic of the controllers: the words are a closed set.
type Rule string

// The rules, with the upstream function each belongs to.
const (
	// Room: the size of a new ReplicaSet at its creation and while it grows: NewRSNewReplicas.
	Room Rule = "Room"
	// Surplus: old pods that may go while enough stay available: reconcileOldReplicaSets.
	Surplus Rule = "Surplus"
	// Unhealthy: old pods that go first since they are not available: cleanupUnhealthyReplicas.
	Unhealthy Rule = "Unhealthy"
	// Available: old pods that availability can spare: scaleDownOldReplicaSetsForRollingUpdate.
	Available Rule = "Available"
	// Proportion: a ReplicaSet's share when the Deployment is scaled in mid-rollout: scale.
	Proportion Rule = "Proportion"
	// Desired: a ReplicaSet follows spec.replicas of its Deployment: scale, reconcileNewReplicaSet.
	Desired Rule = "Desired"
	// Saturated: the new ReplicaSet is whole, so the old ones go: scale.
	Saturated Rule = "Saturated"
	// Recreate: all old pods go before a new one is made: rolloutRecreate.
	Recreate Rule = "Recreate"
	// OldPodsRunning: Recreate waits for old pods to end: oldPodsRunning.
	OldPodsRunning Rule = "OldPodsRunning"
	// Wanted: pods a ReplicaSet has against those it wants: manageReplicas.
	Wanted Rule = "Wanted"
	// Expectations: a ReplicaSet waits to see its own writes: SatisfiedExpectations.
	Expectations Rule = "Expectations"
	// Wedged: size is right but its desired-replicas annotation is not, so that
	// every pass is a scaling event and no rollout step is taken: scale.
	Wedged Rule = "Wedged"
	// PausedRollout: the Deployment is paused, so that only scaling goes on: syncDeployment.
	PausedRollout Rule = "Paused"
	// History: old ReplicaSets beyond revisionHistoryLimit are deleted: cleanupDeployment.
	History Rule = "History"
	// Unexplained: a real controller's step that none of these gives on what was
	// observed. Its term is the size they give, when they give one.
	Unexplained Rule = "Unexplained"
)

// Term is one operand of an arithmetic, signed as it enters the sum. Names are
// fixed words (desired, surge, pods, needed, notReady, unavailable, available, there, base, size …).
type Term struct {
	Name  string `json:"name"`
	Value int32  `json:"value"`
}

// Budgeted is a decision with its arithmetic. Unless a rule says otherwise,
// the result is the sum of the terms, as in: 10 desired + 3 surge - 10 pods = 3.
type Budgeted struct {
	Rule   Rule   `json:"rule"`
	Terms  []Term `json:"terms,omitempty"`
	Result int32  `json:"result"`
}

// Held is a decision to do nothing, with its arithmetic.
type Held struct {
	Why    Rule   `json:"why"`
	Terms  []Term `json:"terms,omitempty"`
	Result int32  `json:"result"`
}

// Scaled is a ReplicaSet whose spec.replicas was changed, or that was made
// (from 0). Hosts read it off the writes, with the rule of the arithmetic the
// write followed from.
type Scaled struct {
	From int32 `json:"from"`
	To   int32 `json:"to"`
	Why  Rule  `json:"why,omitempty"`
	// Created: the ReplicaSet was made by this step.
	Created  bool   `json:"created,omitempty"`
	Revision string `json:"revision,omitempty"`
	Hash     string `json:"hash,omitempty"`
	Owner    Ref    `json:"owner,omitzero"`
}

// Created is an object made, other than by a person: a pod of a ReplicaSet.
// Hosts read it off the writes.
type Created struct {
	Owner  Ref    `json:"owner,omitzero"`
	Reason string `json:"reason,omitempty"`
}

// Deleted is a deletion asked for. The pod may live on for its grace period.
type Deleted struct {
	Owner        Ref    `json:"owner,omitzero"`
	Reason       string `json:"reason,omitempty"` // Ranked, Surplus, History, Owner gone, Evicted …
	Rank         *Rank  `json:"rank,omitempty"`   // why this pod and not another
	GraceSeconds *int64 `json:"graceSeconds,omitempty"`
}

// Rank is the rule that made a pod go before the first one that stays.
// The words of Rule are those of rollout.RankRule.
type Rank struct {
	Rule   string `json:"rule"`            // Unassigned, Phase, NotReady, DeletionCost, NodeCrowded, ReadyAge, Restarts, Age, UID, Tie, All
	Mine   string `json:"mine,omitempty"`  // this pod's value under the rule
	Other  string `json:"other,omitempty"` // the value of the first that stays
	Stays  string `json:"stays,omitempty"` // that pod's name
	OnNode int32  `json:"onNode,omitempty"`
}

// Removed is an object gone from the store.
type Removed struct {
	Owner Ref `json:"owner,omitzero"`
}

// Wrote is one write to the API and its answer.
type Wrote struct {
	Verb            string `json:"verb"` // create, update, patch, delete
	Subresource     string `json:"subresource,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"` // after the write
	Code            int    `json:"code"`                      // HTTP status
	Error           string `json:"error,omitempty"`
}

// Rejected is a write refused by admission, quota or validation.
type Rejected struct {
	By      string `json:"by"`
	Message string `json:"message"`
}

// Scheduled is a pod bound to a node.
type Scheduled struct {
	Node string `json:"assignedNode"`
}

// Unschedulable is a pod that no node takes.
type Unschedulable struct {
	Message string            `json:"message"`
	Nodes   map[string]string `json:"nodes,omitempty"` // reason by node
	// Requests is what the pod asks for, by resource: cpu 500m.
	Requests map[string]string `json:"requests,omitempty"`
}

// PodChanged is a pod whose phase, readiness or waiting reason changed.
type PodChanged struct {
	Owner  Ref    `json:"owner,omitzero"`
	Phase  string `json:"phase"`
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // ImagePullBackOff, CrashLoopBackOff, Evicted …
	// Terminating pods have a deletionTimestamp.
	Terminating bool `json:"terminating,omitempty"`
}

// Exited is a container that ended, other than by a deletion of its pod.
type Exited struct {
	Container string `json:"container"`
	Code      int32  `json:"code"`
	Reason    string `json:"reason,omitempty"` // Error, OOMKilled, Completed …
	Restarts  int32  `json:"restarts"`         // of this container so far
}

// Evicted is a pod thrown out by something other than its ReplicaSet.
type Evicted struct {
	By      string `json:"by"`
	Message string `json:"message,omitempty"`
}

// Heartbeat is a node's kubelet falling silent or being heard again.
type Heartbeat struct {
	State string `json:"state"` // Stopped, Missed (the first that does not come), Resumed
}

// Tainted is a taint put on a node, or taken off it.
type Tainted struct {
	Taint   string `json:"taint"` // key=value:effect, as kubectl writes it
	Removed bool   `json:"removed,omitempty"`
}

// StatusChanged is the counts of a Deployment or ReplicaSet as published.
type StatusChanged struct {
	ObservedGeneration int64  `json:"observedGeneration"`
	Replicas           int32  `json:"replicas"`
	Updated            int32  `json:"updated,omitempty"`
	Ready              int32  `json:"ready"`
	Available          int32  `json:"available"`
	Unavailable        int32  `json:"unavailable,omitempty"`
	Terminating        *int32 `json:"terminating,omitempty"`
}

// ConditionChanged is a condition set, changed or removed (Status empty).
type ConditionChanged struct {
	Condition string `json:"condition"`
	Status    string `json:"status"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
}

// Recorded is a Kubernetes Event said about an object.
type Recorded struct {
	EventType string `json:"eventType"` // Normal, Warning
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

// Adopted is an orphan taken by an owner; Released is the reverse.
type Adopted struct {
	Owner Ref `json:"owner"`
}

// Released is an object whose controller reference was taken away.
type Released struct {
	Owner Ref `json:"owner"`
}

func (Found) Type() string            { return "Found" }
func (Specified) Type() string        { return "Specified" }
func (Ended) Type() string            { return "Ended" }
func (Changed) Type() string          { return "Changed" }
func (Delivered) Type() string        { return "Delivered" }
func (Enqueued) Type() string         { return "Enqueued" }
func (Requeued) Type() string         { return "Requeued" }
func (SyncBegan) Type() string        { return "SyncBegan" }
func (SyncEnded) Type() string        { return "SyncEnded" }
func (Budgeted) Type() string         { return "Budgeted" }
func (Held) Type() string             { return "Held" }
func (Scaled) Type() string           { return "Scaled" }
func (Created) Type() string          { return "Created" }
func (Deleted) Type() string          { return "Deleted" }
func (Removed) Type() string          { return "Removed" }
func (Wrote) Type() string            { return "Wrote" }
func (Rejected) Type() string         { return "Rejected" }
func (Scheduled) Type() string        { return "Scheduled" }
func (Unschedulable) Type() string    { return "Unschedulable" }
func (PodChanged) Type() string       { return "PodChanged" }
func (Exited) Type() string           { return "Exited" }
func (Evicted) Type() string          { return "Evicted" }
func (Heartbeat) Type() string        { return "Heartbeat" }
func (Tainted) Type() string          { return "Tainted" }
func (StatusChanged) Type() string    { return "StatusChanged" }
func (ConditionChanged) Type() string { return "ConditionChanged" }
func (Recorded) Type() string         { return "Recorded" }
func (Adopted) Type() string          { return "Adopted" }
func (Released) Type() string         { return "Released" }
