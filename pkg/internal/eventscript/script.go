// Package eventscript writes the events of a run by hand, for tests of those
// who read them. It keeps what a host keeps: numbers, causes, names and sizes.
package eventscript

import (
	"fmt"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Script is a run being written: one Deployment or bare ReplicaSet with its pods.
type Script struct {
	Log   *trace.Log
	Owner trace.Ref
	Spec  trace.Specified

	at    time.Duration
	cause trace.Seq
	sizes map[string]int32
	pods  map[string][]trace.Ref
	made  map[string]int
}

// New begins a run about a Deployment in the namespace default.
func New(name string, spec trace.Specified) *Script {
	return &Script{
		Log: trace.NewLog(), Owner: trace.Ref{Kind: "Deployment", Namespace: "default", Name: name}, Spec: spec,
		sizes: map[string]int32{}, pods: map[string][]trace.Ref{}, made: map[string]int{},
	}
}

// Rolling is the spec of a RollingUpdate Deployment with limits already in pods.
func Rolling(replicas, surge, unavailable int32) trace.Specified {
	deadline := int32(600)
	return trace.Specified{
		Generation: 1, Replicas: replicas, Strategy: "RollingUpdate", Revision: "1",
		MaxSurge: fmt.Sprint(surge), MaxUnavailable: fmt.Sprint(unavailable), Surge: surge, Unavailable: unavailable,
		Needed: replicas - unavailable, ProgressDeadlineSeconds: &deadline,
	}
}

// At moves the time, in milliseconds since the start.
func (s *Script) At(ms int) *Script {
	s.at = time.Duration(ms) * time.Millisecond
	return s
}

// Set names a ReplicaSet.
func (s *Script) Set(name string) trace.Ref {
	return trace.Ref{Kind: "ReplicaSet", Namespace: "default", Name: name}
}

// Do appends an event that follows from the last decision.
func (s *Script) Do(actor string, object trace.Ref, d trace.Detail) trace.Seq {
	return s.Log.Append(trace.Event{Cause: s.cause, Offset: s.at, Actor: actor, Object: object, Detail: d})
}

// World tells the start: the Deployment and a ReplicaSet with all its pods available.
func (s *Script) World(set string, replicas int32) *Script {
	s.Spec.NewSet = set
	s.Do(trace.ActorWorld, s.Owner, s.Spec)
	s.Do(trace.ActorWorld, s.Owner, trace.Found{Replicas: &s.Spec.Replicas, Revision: s.Spec.Revision})
	s.Do(trace.ActorWorld, s.Set(set), trace.Found{Owner: s.Owner, Replicas: &replicas, Revision: s.Spec.Revision, Hash: set})
	s.sizes[set] = replicas
	for range replicas {
		s.Do(trace.ActorWorld, s.name(set), trace.Found{Owner: s.Set(set), Phase: "Running", Node: "node-1", Ready: true, Available: true})
	}
	return s
}

// You changes fields of the workload; edit says what that makes of the spec.
func (s *Script) You(verb string, edit func(*trace.Specified), fields ...trace.Field) *Script {
	s.cause = 0
	s.cause = s.Do(trace.ActorYou, s.Owner, trace.Changed{Verb: verb, Fields: fields})
	s.Spec.Generation++
	edit(&s.Spec)
	s.Do(trace.ActorYou, s.Owner, s.Spec)
	return s
}

// Scale sizes a ReplicaSet under a rule; a set that was not there is made.
func (s *Script) Scale(set string, to int32, rule trace.Rule, terms ...trace.Term) *Script {
	from, known := s.sizes[set]
	s.cause = s.Do(trace.ActorDeployment, s.Set(set), trace.Budgeted{Rule: rule, Terms: terms, Result: max(to-from, from-to)})
	d := trace.Scaled{From: from, To: to, Why: rule, Owner: s.Owner}
	if !known {
		d.Created, d.Hash, d.Revision = true, set, fmt.Sprint(len(s.sizes)+1)
	}
	s.sizes[set] = to
	s.Do(trace.ActorDeployment, s.Set(set), d)
	return s
}

// Create makes n pods of a ReplicaSet.
func (s *Script) Create(set string, n int32) *Script {
	there := int32(len(s.pods[set]))
	s.cause = s.Do(trace.ActorReplicaSet, s.Set(set), trace.Budgeted{Rule: trace.Wanted, Result: -n,
		Terms: []trace.Term{{Name: "there", Value: there}, {Name: "wanted", Value: -there - n}}})
	for range n {
		s.Do(trace.ActorReplicaSet, s.name(set), trace.Created{Owner: s.Set(set)})
	}
	return s
}

// Ready makes the next n pods that are not ready so.
func (s *Script) Ready(set string, n int32) *Script {
	for range n {
		pod := s.pods[set][s.made[set]]
		s.made[set]++
		s.Log.Append(trace.Event{Offset: s.at, Actor: trace.ActorKubelet, Node: "node-1", Object: pod,
			Detail: trace.PodChanged{Owner: s.Set(set), Phase: "Running", Ready: true}})
	}
	return s
}

// State gives each pod of a ReplicaSet another state.
func (s *Script) State(set string, d trace.PodChanged) *Script {
	d.Owner = s.Set(set)
	for _, pod := range s.pods[set] {
		s.Log.Append(trace.Event{Offset: s.at, Actor: trace.ActorKubelet, Node: "node-1", Object: pod, Detail: d})
	}
	return s
}

// Delete asks the first n pods of a ReplicaSet to go.
func (s *Script) Delete(set string, n int32, rank *trace.Rank) *Script {
	for _, pod := range s.pods[set][:n] {
		s.Do(trace.ActorReplicaSet, pod, trace.Deleted{Owner: s.Set(set), Reason: "Ranked", Rank: rank})
	}
	return s
}

// Remove takes the first n pods of a ReplicaSet out of the API.
func (s *Script) Remove(set string, n int32) *Script {
	for _, pod := range s.pods[set][:n] {
		s.Do(trace.ActorKubelet, pod, trace.Removed{Owner: s.Set(set)})
	}
	s.pods[set] = s.pods[set][n:]
	s.made[set] = max(0, s.made[set]-int(n))
	return s
}

// Pods are the pods of a ReplicaSet that were not removed.
func (s *Script) Pods(set string) []trace.Ref { return s.pods[set] }

// Condition publishes a condition of the workload.
func (s *Script) Condition(kind, status, reason, message string) *Script {
	s.Do(trace.ActorDeployment, s.Owner, trace.ConditionChanged{Condition: kind, Status: status, Reason: reason, Message: message})
	return s
}

// End closes the run and returns its events.
func (s *Script) End(why string) []trace.Event {
	s.cause = 0
	s.Do(trace.ActorWorld, s.Owner, trace.Ended{Why: why})
	return s.Log.Events()
}

// name gives the next pod of a ReplicaSet its name.
func (s *Script) name(set string) trace.Ref {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	n := len(s.Log.Events()) * 7919
	suffix := []byte("xxxxx")
	for i := range suffix {
		suffix[i] = letters[n%len(letters)]
		n = n/len(letters) + 11*n
	}
	ref := trace.Ref{Kind: "Pod", Namespace: "default", Name: set + "-" + string(suffix)}
	s.pods[set] = append(s.pods[set], ref)
	return ref
}
