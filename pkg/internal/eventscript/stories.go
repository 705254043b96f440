package eventscript

import (
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

const (
	oldSet = "web-68fc54fc7c"
	newSet = "web-c6c6877b"
)

// image is the change of the container app's image.
var image = trace.Field{
	Path: "spec.template.spec.containers[0].image", Named: "spec.template.spec.containers[app].image",
	From: "nginx:1.25", To: "nginx:1.26",
}

func unset(s *trace.Specified) { s.NewSet = "" }

func room(desired, surge, there int32) []trace.Term {
	return []trace.Term{{Name: "desired", Value: desired}, {Name: "surge", Value: surge}, {Name: "pods", Value: -there}}
}

func surplus(pods, needed, notReady int32) []trace.Term {
	return []trace.Term{{Name: "pods", Value: pods}, {Name: "needed", Value: -needed}, {Name: "notReady", Value: -notReady}}
}

// Rollout is 10 replicas at 25%/25% whose pods take about two seconds, as a
// real control plane showed it: each wave splits into several steps.
func Rollout() []trace.Event {
	spec := Rolling(10, 3, 2)
	spec.MaxSurge, spec.MaxUnavailable = "25%", "25%"
	s := New("web", spec).World(oldSet, 10)
	s.You("update", unset, image)
	s.At(21).Scale(newSet, 3, trace.Room, room(10, 3, 10)...)
	s.Condition("Progressing", "True", "NewReplicaSetCreated", `Created new replica set "web-c6c6877b"`)
	s.At(34).Scale(oldSet, 8, trace.Surplus, surplus(13, 8, 3)...)
	s.At(45).Delete(oldSet, 2, &trace.Rank{Rule: "ReadyAge", Mine: "33", Other: "34", Stays: s.Pods(oldSet)[2].Name, OnNode: 3})
	s.At(47).Scale(newSet, 5, trace.Room, room(10, 3, 11)...)
	s.At(52).Create(newSet, 3)
	s.At(58).Create(newSet, 2)
	s.At(130).Remove(oldSet, 2)
	s.At(2210).Ready(newSet, 1)
	s.At(2243).Scale(oldSet, 7, trace.Surplus, surplus(13, 8, 4)...)
	s.At(2250).Delete(oldSet, 1, &trace.Rank{Rule: "UID"})
	s.At(2279).Scale(newSet, 6, trace.Room, room(10, 3, 12)...)
	s.At(2285).Create(newSet, 1)
	s.Ready(newSet, 4)
	s.At(2300).Scale(oldSet, 3, trace.Surplus, surplus(13, 8, 1)...)
	s.At(2310).Remove(oldSet, 1).Delete(oldSet, 4, &trace.Rank{Rule: "UID"})
	s.At(2320).Scale(newSet, 10, trace.Room, room(10, 3, 9)...)
	s.At(2330).Create(newSet, 4)
	s.At(2400).Remove(oldSet, 4)
	s.At(4450).Ready(newSet, 5)
	s.At(4460).Scale(oldSet, 0, trace.Surplus, surplus(13, 8, 0)...)
	s.At(4470).Delete(oldSet, 3, &trace.Rank{Rule: "All"})
	s.At(4550).Remove(oldSet, 3)
	s.At(4600).Do(trace.ActorDeployment, s.Owner, trace.StatusChanged{ObservedGeneration: 2, Replicas: 10, Updated: 10, Ready: 10, Available: 10})
	s.Condition("Progressing", "True", "NewReplicaSetAvailable", `ReplicaSet "web-c6c6877b" has successfully progressed.`)
	return s.At(4610).End("Complete")
}

// Unschedulable is 3 replicas at 1/0 on a full cluster: the new pod finds no node.
func Unschedulable() []trace.Event {
	s := New("web", Rolling(3, 1, 0)).World(oldSet, 3)
	s.You("update", unset, image)
	s.At(12).Scale(newSet, 1, trace.Room, room(3, 1, 3)...)
	s.At(15).Do(trace.ActorDeployment, s.Owner, trace.Held{Why: trace.Surplus, Terms: surplus(4, 3, 1)})
	s.At(20).Create(newSet, 1)
	s.At(25).Do(trace.ActorScheduler, s.Pods(newSet)[0], trace.Unschedulable{
		Message:  "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
		Nodes:    map[string]string{"node-1": "Insufficient cpu", "node-2": "Insufficient cpu"},
		Requests: map[string]string{"cpu": "500m", "memory": "64Mi"},
	})
	return s.At(30).End("Idle")
}

// Deadline is a bad image tag: nothing becomes ready and the deadline passes.
func Deadline() []trace.Event {
	s := New("web", Rolling(3, 1, 1)).World(oldSet, 3)
	s.You("update", unset, image)
	s.At(10).Scale(newSet, 1, trace.Room, room(3, 1, 3)...)
	s.At(20).Scale(oldSet, 2, trace.Surplus, surplus(4, 2, 1)...)
	s.At(30).Scale(newSet, 2, trace.Room, room(3, 1, 3)...)
	s.At(35).Create(newSet, 2)
	s.At(40).Delete(oldSet, 1, nil).Remove(oldSet, 1)
	s.At(50).Do(trace.ActorDeployment, s.Owner, trace.Held{Why: trace.Surplus, Terms: surplus(4, 2, 2)})
	s.At(900).State(newSet, trace.PodChanged{Phase: "Pending", Reason: "ErrImagePull"})
	s.At(12000).State(newSet, trace.PodChanged{Phase: "Pending", Reason: "ImagePullBackOff"})
	s.At(601000).Condition("Progressing", "False", "ProgressDeadlineExceeded", `ReplicaSet "web-c6c6877b" has timed out progressing.`)
	return s.At(601000).End("Deadline")
}

// Quota is a full quota and a strategy that lets no old pod go first.
func Quota() []trace.Event {
	s := New("web", Rolling(2, 1, 0)).World(oldSet, 2)
	s.You("update", unset, image)
	s.At(10).Scale(newSet, 1, trace.Room, room(2, 1, 2)...)
	for _, ms := range []int{15, 20, 30, 50, 90, 170} {
		s.At(ms).Do(trace.ActorReplicaSet, trace.Ref{Kind: "Pod", Namespace: "default"}, trace.Wrote{Verb: "create", Code: 403,
			Error: `pods "web-c6c6877b-x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=12, limited: pods=12`})
	}
	s.Do(trace.ActorReplicaSet, s.Set(newSet), trace.ConditionChanged{Condition: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "first"})
	return s.At(600000).End("Limit")
}

// Paused is a template changed while the Deployment is paused.
func Paused() []trace.Event {
	s := New("web", Rolling(3, 1, 0)).World(oldSet, 3)
	s.You("update", func(d *trace.Specified) { d.Paused, d.NewSet = true, "" }, trace.Field{Path: "spec.paused", To: "true"}, image)
	s.At(11).Condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused")
	s.Do(trace.ActorDeployment, s.Owner, trace.Held{Why: trace.PausedRollout, Terms: []trace.Term{{Name: "desired", Value: 3}}, Result: 3})
	return s.At(20).End("Paused")
}

// Nothing is a change that starts no rollout.
func Nothing() []trace.Event {
	s := New("web", Rolling(3, 1, 0)).World(oldSet, 3)
	s.You("update", func(*trace.Specified) {}, trace.Field{Path: `metadata.labels["example.com/team"]`, To: "blue"})
	return s.At(5).End("Idle")
}

// Bare is a ReplicaSet without a Deployment whose template changes.
func Bare() []trace.Event {
	s := New("web", trace.Specified{Generation: 1, Replicas: 2, Needed: 2})
	s.Owner.Kind = "ReplicaSet"
	s.bare(2)
	s.You("update", func(*trace.Specified) {}, image)
	return s.At(5).End("Idle")
}

// BareScaled is a ReplicaSet without a Deployment that grows.
func BareScaled() []trace.Event {
	s := New("web", trace.Specified{Generation: 1, Replicas: 2, Needed: 2})
	s.Owner.Kind = "ReplicaSet"
	s.bare(2)
	s.You("scale", func(d *trace.Specified) { d.Replicas, d.Needed = 4, 4 }, trace.Field{Path: "spec.replicas", From: "2", To: "4"})
	s.At(10).Create("web", 2)
	s.At(2500).Ready("web", 2)
	return s.At(2600).End("Complete")
}

func (s *Script) bare(n int32) {
	s.Do(trace.ActorWorld, s.Owner, s.Spec)
	s.Do(trace.ActorWorld, s.Owner, trace.Found{Replicas: &s.Spec.Replicas})
	for range n {
		s.Do(trace.ActorWorld, s.name(s.Owner.Name), trace.Found{Owner: s.Owner, Phase: "Running", Node: "node-1", Ready: true, Available: true})
		s.made[s.Owner.Name]++
	}
}

// Large is 500 replicas at 25%/25%: each wave is many steps and hundreds of pods.
func Large() []trace.Event {
	spec := Rolling(500, 125, 125)
	spec.MaxSurge, spec.MaxUnavailable = "25%", "25%"
	s := New("web", spec).World(oldSet, 500)
	s.You("update", unset, image)
	s.At(9).Scale(newSet, 125, trace.Room, room(500, 125, 500)...)
	s.At(31).Scale(oldSet, 375, trace.Surplus, surplus(625, 375, 125)...)
	s.At(70).Scale(newSet, 250, trace.Room, room(500, 125, 500)...)
	for i := range 125 {
		s.At(100+40*i).Delete(oldSet, 1, &trace.Rank{Rule: "UID"})
		s.At(105+40*i).Remove(oldSet, 1).Create(newSet, 2)
	}
	old, size := int32(375), int32(250)
	for i := range 25 {
		s.At(6000+100*i).Ready(newSet, 10)
		old, size = old-10, size+10
		s.At(6030+100*i).Scale(oldSet, old, trace.Surplus, surplus(old+size, 375, size-10*int32(i+1))...)
		s.At(6060+100*i).Scale(newSet, size, trace.Room, room(500, 125, old+size-10)...)
		s.At(6070+100*i).Delete(oldSet, 10, &trace.Rank{Rule: "UID"}).Remove(oldSet, 10).Create(newSet, 10)
	}
	s.At(12000).Ready(newSet, 250)
	s.At(12040).Scale(oldSet, 0, trace.Surplus, surplus(625, 375, 0)...)
	s.At(12060).Delete(oldSet, 125, &trace.Rank{Rule: "All"}).Remove(oldSet, 125)
	return s.At(13000).End("Complete")
}

// Hostile is names and messages made to harm a terminal or to deceive a reader.
func Hostile() []trace.Event {
	s := New("web\x1b[31m\u202e", Rolling(1, 1, 0)).World("rs\x00\u200b-1", 1)
	s.You("update", unset, trace.Field{Path: "spec.template.x\n", From: "a\tb", To: "\u2066evil\u2069\u009b"})
	s.At(10).Scale("new\r\u00ad", 1, trace.Room, room(1, 1, 1)...)
	s.At(20).Create("new\r\u00ad", 1)
	s.At(30).Do(trace.ActorScheduler, s.Pods("new\r\u00ad")[0], trace.Unschedulable{Message: "0/1 nodes: \x1b]0;title\x07 Insufficient cpu"})
	return s.At(40).End("Idle")
}

// MinReady is 2 replicas at 1/0 whose pods must be ready for 10 seconds; the
// first new pod is ready at 1.9 s, which counts as 1 s.
func MinReady() []trace.Event {
	spec := Rolling(2, 1, 0)
	spec.MinReadySeconds = 10
	s := New("web", spec).World(oldSet, 2)
	s.You("update", unset, image)
	s.At(10).Scale(newSet, 1, trace.Room, room(2, 1, 2)...)
	s.At(20).Create(newSet, 1)
	s.At(1900).Ready(newSet, 1)
	s.At(11050).Scale(oldSet, 1, trace.Surplus, surplus(3, 2, 0)...)
	s.At(11060).Delete(oldSet, 1, nil)
	s.At(11070).Scale(newSet, 2, trace.Room, room(2, 1, 2)...)
	s.At(11080).Create(newSet, 1)
	s.At(14500).Remove(oldSet, 1).Ready(newSet, 1)
	s.At(24100).Scale(oldSet, 0, trace.Surplus, surplus(3, 2, 0)...)
	s.At(24110).Delete(oldSet, 1, nil).Remove(oldSet, 1)
	return s.At(24200).End("Complete")
}

// Story is a run with a name.
type Story struct {
	Name   string
	Events []trace.Event
}

// Stories are all of this file, in order.
func Stories() []Story {
	return []Story{
		{"rollout", Rollout()}, {"unschedulable", Unschedulable()}, {"deadline", Deadline()}, {"quota", Quota()},
		{"paused", Paused()}, {"nothing", Nothing()}, {"bare", Bare()}, {"bare-scaled", BareScaled()},
		{"large", Large()}, {"hostile", Hostile()}, {"minready", MinReady()},
	}
}
