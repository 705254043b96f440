package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// ExplanationKind identifies an Explanation.
const ExplanationKind = "Explanation"

// SourceRecording: the events of a plan or of a recorded rollout.
const SourceRecording PlanSource = "Recording"

// Explanation says why a Deployment, ReplicaSet or pod is as it is, and what
// the controllers do next. It is what explain -o json and -o yaml print.
type Explanation struct {
	metav1.TypeMeta `json:",inline"`

	// Spec is what was asked, and of what.
	Spec ExplanationSpec `json:"spec"`
	// Status is the answer.
	Status ExplanationStatus `json:"status"`
}

// ExplanationSpec is what an explanation was made from.
type ExplanationSpec struct {
	// Object is the Deployment, ReplicaSet or pod.
	Object trace.Ref `json:"object"`
	// Source says where the knowledge came from.
	Source PlanSource `json:"source"`
	// Context is the kubeconfig context of a live cluster.
	Context string `json:"context,omitempty"`
	// KubernetesVersion is the release whose controllers were followed, as v1.37.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Time is the moment that is explained; for recordings without a start time it is unset.
	Time *metav1.MicroTime `json:"time,omitempty"`
	// OffsetSeconds is that moment in a recording, from its start.
	OffsetSeconds float64 `json:"offsetSeconds,omitempty"`
}

// Cause is what the state of an object comes down to, one of a closed set of words.
type Cause string

// The causes of pods that go or have gone.
const (
	CauseRollout      Cause = "ScaledDownByRollout" // its ReplicaSet gave way to another revision
	CauseScaledDown   Cause = "ScaledDown"          // fewer pods are wanted
	CauseNodeLost     Cause = "NodeLost"            // its node is gone or silent
	CauseEvicted      Cause = "Evicted"             // thrown out by something other than its ReplicaSet
	CauseOwnerDeleted Cause = "OwnerDeleted"        // its ReplicaSet or Deployment was deleted
	CauseDeleted      Cause = "Deleted"             // by a person or another program
	CauseEnded        Cause = "Ended"               // its containers ended, or it failed
)

// The causes of pods that are there, or should be.
const (
	CauseOrphaned      Cause = "Orphaned"      // its labels no longer match its ReplicaSet's selector
	CauseQuota         Cause = "Quota"         // a ResourceQuota does not let it be made
	CauseRefused       Cause = "Refused"       // the API server does not let it be made
	CauseUnschedulable Cause = "Unschedulable" // no node takes it
	CauseUnscheduled   Cause = "Unscheduled"   // no scheduler has decided yet, or may not
	CauseImage         Cause = "ImagePull"     // an image cannot be pulled
	CauseCrashing      Cause = "Crashing"      // a container ends again and again
	CauseConfig        Cause = "Config"        // a container cannot be made or started
	CauseStarting      Cause = "Starting"      // on its node, containers not running yet
	CauseNotReady      Cause = "NotReady"      // running, and not ready
	CauseSettling      Cause = "Settling"      // ready for less than minReadySeconds
	CauseAvailable     Cause = "Available"     // as it should be
)

// The causes of workloads, besides those of their pods.
const (
	CauseComplete   Cause = "Complete"         // all pods are as wanted
	CausePaused     Cause = "Paused"           // the Deployment is paused
	CauseRollingOut Cause = "RollingOut"       // the controllers have something to do
	CauseDeadline   Cause = "DeadlineExceeded" // no progress for progressDeadlineSeconds
	CauseWaiting    Cause = "Waiting"          // the controllers wait for something else to happen
)

// ExplanationStatus is the answer.
type ExplanationStatus struct {
	// Cause is the word for it, Message the same in a sentence.
	Cause   Cause  `json:"cause"`
	Message string `json:"message"`
	// Inferred says that the cause was concluded from traces that other causes
	// might have left as well, rather than seen.
	Inferred bool `json:"inferred,omitempty"`
	// Findings answer single questions about the object.
	Findings []Finding `json:"findings,omitempty"`
	// Facts are what is known to have happened to it and to what it belongs to, oldest first.
	Facts []Fact `json:"facts,omitempty"`
	// Chain is what led to its state, the first cause first: events of the
	// recording. Without a recording there is none.
	Chain []trace.Event `json:"chain,omitempty"`
	// Pass is what one pass of each controller would do with what is there now,
	// with the arithmetic. Nothing of it was written.
	Pass []trace.Event `json:"pass,omitempty"`
	// Victims are the pods that would go first if fewer were wanted.
	Victims []Victim `json:"victims,omitempty"`
	// Next are the steps to come, by a simulation from here or by the recording.
	Next []trace.Event `json:"next,omitempty"`
}

// Topic is the question that a finding answers, one of a closed set of words.
type Topic string

// The topics.
const (
	TopicCreated  Topic = "Created"  // why it was made
	TopicPending  Topic = "Pending"  // why it is not running
	TopicNotReady Topic = "NotReady" // why it is not ready, or not available
	TopicDeleted  Topic = "Deleted"  // why it goes or went
	TopicEviction Topic = "Eviction" // what will throw it out, and when
	TopicOwner    Topic = "Owner"    // whose it is
	TopicWaits    Topic = "Waits"    // what is waited for
	TopicState    Topic = "State"    // how it stands
)

// Finding is one answer.
type Finding struct {
	Topic   Topic  `json:"topic"`
	Message string `json:"message"`
	// Cause is the word for it, where there is one.
	Cause Cause `json:"cause,omitempty"`
	// Object is what it is about besides the explained object: a node, a quota, pods' ReplicaSet.
	Object trace.Ref `json:"object,omitzero"`
	// Time is when it happens or happened, where that is known.
	Time *metav1.MicroTime `json:"time,omitempty"`
	// Inferred says that it was concluded rather than seen; From tells of what.
	Inferred bool   `json:"inferred,omitempty"`
	From     string `json:"from,omitempty"`
}

// Fact is something that a cluster's objects tell of the past.
type Fact struct {
	Time metav1.MicroTime `json:"time"`
	// Actor is who did it, as far as the objects say.
	Actor  string    `json:"actor,omitempty"`
	Object trace.Ref `json:"object"`
	// What happened, in words.
	What string `json:"what"`
	// From is where it is written: creationTimestamp, condition Ready, event Killing, managedFields …
	From string `json:"from"`
}

// Victim is a pod in the order in which a ReplicaSet would delete its pods.
type Victim struct {
	Pod        trace.Ref `json:"pod"`
	ReplicaSet trace.Ref `json:"replicaSet"`
	// Place counts from 1, of Of pods.
	Place int `json:"place"`
	Of    int `json:"of"`
	// Rank is the rule that puts it before the next.
	Rank trace.Rank `json:"rank"`
}

// NewExplanation is an explanation with its kind set.
func NewExplanation(spec ExplanationSpec) *Explanation {
	return &Explanation{TypeMeta: metav1.TypeMeta{APIVersion: PlanAPIVersion, Kind: ExplanationKind}, Spec: spec}
}

// Find is the first finding about a topic; nil when there is none.
func (s *ExplanationStatus) Find(topic Topic) *Finding {
	for i := range s.Findings {
		if s.Findings[i].Topic == topic {
			return &s.Findings[i]
		}
	}
	return nil
}

// GetObjectKind makes an explanation a runtime.Object, for kubectl's printers.
func (e *Explanation) GetObjectKind() schema.ObjectKind { return &e.TypeMeta }

// DeepCopyObject copies the explanation; what it lists is shared, as nobody changes it.
func (e *Explanation) DeepCopyObject() runtime.Object {
	out := *e
	return &out
}
