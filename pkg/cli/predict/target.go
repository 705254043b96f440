package predict

import (
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Target is one TYPE/NAME of the arguments.
type Target struct{ Kind, Name string }

// resourceNames are the ways to write a type, as kubectl takes them.
var resourceNames = map[string]string{
	"deploy": "Deployment", "deployment": "Deployment", "deployments": "Deployment",
	"rs": "ReplicaSet", "replicaset": "ReplicaSet", "replicasets": "ReplicaSet",
}

// ParseTargets reads TYPE/NAME … or TYPE NAME ….
func ParseTargets(args []string) ([]Target, error) {
	if len(args) == 0 {
		return nil, nil
	}
	if !strings.Contains(args[0], "/") {
		kind, err := parseKind(args[0])
		if err != nil {
			return nil, err
		}
		if len(args) == 1 {
			return nil, fmt.Errorf("resource(s) were provided, but no name was specified: say %s/NAME", args[0])
		}
		args = append([]string(nil), args[1:]...)
		for i, name := range args {
			if strings.Contains(name, "/") {
				return nil, errors.New("there is no need to specify a resource type as a separate argument when passing arguments in resource/name form")
			}
			args[i] = strings.ToLower(kind) + "/" + name
		}
	}
	out := make([]Target, len(args))
	for i, arg := range args {
		word, name, slash := strings.Cut(arg, "/")
		if !slash || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%q is not TYPE/NAME", arg)
		}
		kind, err := parseKind(word)
		if err != nil {
			return nil, err
		}
		out[i] = Target{kind, name}
	}
	return out, nil
}

// parseKind reads deploy, deployments, deployment.apps, deployments.v1.apps and the like.
func parseKind(word string) (string, error) {
	name, group, _ := strings.Cut(strings.ToLower(word), ".")
	kind, ok := resourceNames[name]
	if !ok || (group != "" && group != "apps" && group != "v1.apps") {
		return "", fmt.Errorf("%q is not a type that rolls out: use deployment/NAME or replicaset/NAME", word)
	}
	return kind, nil
}

// selection says which workloads of the input are planned.
type selection struct {
	targets   []Target
	selector  labels.Selector
	namespace string // of the targets; empty when the user did not say
}

// from picks the workloads among objects, in the order of the targets or else
// of the objects. ReplicaSets of a Deployment come only when they are named.
func (s selection) from(objs []manifest.Object) ([]trace.Ref, error) {
	if len(s.targets) == 0 {
		var out []trace.Ref
		for _, obj := range objs {
			if s.takes(obj) {
				out = append(out, ref(obj))
			}
		}
		return out, nil
	}
	var out []trace.Ref
	for _, target := range s.targets {
		found, err := s.find(target, objs)
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	return out, nil
}

func (s selection) takes(obj manifest.Object) bool {
	return isWorkload(obj) && metav1.GetControllerOf(obj) == nil &&
		(s.namespace == "" || obj.GetNamespace() == s.namespace) &&
		(s.selector == nil || s.selector.Matches(labels.Set(obj.GetLabels())))
}

// find looks a target up. Without -n, the only one of that name will do, and
// of several the one in namespace default.
func (s selection) find(target Target, objs []manifest.Object) (trace.Ref, error) {
	var found []trace.Ref
	for _, obj := range objs {
		r := ref(obj)
		if r.Kind != target.Kind || r.Name != target.Name || (s.namespace != "" && r.Namespace != s.namespace) {
			continue
		}
		if r.Namespace == metav1.NamespaceDefault {
			return r, nil
		}
		found = append(found, r)
	}
	resource := strings.ToLower(target.Kind) + "s.apps"
	switch {
	case len(found) == 0 && s.namespace != "":
		return trace.Ref{}, fmt.Errorf("%s %q not found in namespace %q of the input", resource, target.Name, s.namespace)
	case len(found) == 0:
		return trace.Ref{}, fmt.Errorf("%s %q not found in the input", resource, target.Name)
	case len(found) > 1:
		return trace.Ref{}, fmt.Errorf("%s %q is in several namespaces: choose one with -n", resource, target.Name)
	}
	return found[0], nil
}

func isWorkload(obj manifest.Object) bool {
	switch obj.(type) {
	case *appsv1.Deployment, *appsv1.ReplicaSet:
		return true
	}
	return false
}

func ref(obj manifest.Object) trace.Ref {
	return trace.Ref{Kind: obj.GetObjectKind().GroupVersionKind().Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
