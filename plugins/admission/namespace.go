package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// Namespaces is the part of the NamespaceLifecycle admission plugin that keeps
// new objects out of a namespace that is being deleted. A namespace without an
// object is taken to be there.
type Namespaces struct{}

// NewNamespaces makes the plugin.
func NewNamespaces() *Namespaces { return &Namespaces{} }

// Name is the upstream plugin's.
func (n *Namespaces) Name() string { return "NamespaceLifecycle" }

// Start has nothing to begin.
func (n *Namespaces) Start(*sim.Hands) {}

// Validate refuses nothing: the upstream plugin acts before all mutation.
func (n *Namespaces) Validate(*sim.Request) error { return nil }

// Mutate refuses creations in a terminating namespace, with the cause that
// makes the controllers give up instead of trying again.
func (n *Namespaces) Mutate(req *sim.Request) error {
	if req.Verb != "create" || req.New == nil || req.New.GetNamespace() == "" {
		return nil
	}
	obj, ok := req.World.Get(sim.Namespaces, "", req.New.GetNamespace())
	ns, isNamespace := obj.(*corev1.Namespace)
	if !ok || !isNamespace || ns.DeletionTimestamp == nil && ns.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	name := req.New.GetName()
	if name == "" {
		name = req.New.GetGenerateName()
	}
	return terminating(req.Resource, name, ns.Name)
}

// terminating is the API server's error for a creation in a namespace that is
// being deleted (apiserver admission/plugin/namespace/lifecycle).
func terminating(resource, name, namespace string) error {
	err := apierrors.NewForbidden(sim.GroupResource(resource), name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", namespace),
		Field:   "metadata.namespace",
	})
	return err
}
