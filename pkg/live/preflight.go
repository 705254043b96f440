package live

import (
	"context"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
)

// managerLease is what every kube-controller-manager with leader election holds.
var managerLease = Lease{Namespace: "kube-system", Name: "kube-controller-manager"}

// CheckVacant returns an *OccupiedError when a kube-controller-manager holds
// its lease, or another host of ours one whose namespaces overlap: every
// namespace's for a host of all (namespace ""), else that of all. Other errors
// are those of reading leases.
func CheckVacant(ctx context.Context, config *rest.Config, namespace string) error {
	clock := &serverClock{now: time.Now}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &timed{next, clock} })
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := checkLease(ctx, client, clock, managerLease); err != nil {
		return err
	}
	if namespace != "" {
		return checkLease(ctx, client, clock, Lease{Namespace: LeaseNamespace(""), Name: LeaseName})
	}
	ours, err := client.Leases("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", LeaseName).String()})
	if err != nil {
		return fmt.Errorf("looking for leases %s: %w", LeaseName, err)
	}
	for i := range ours.Items {
		// The host of all namespaces waits for its own lease instead.
		if l := &ours.Items[i]; l.Namespace != LeaseNamespace("") && held(l, clock.Now()) {
			return occupied(l)
		}
	}
	return nil
}

// LeaseNamespace is where the lease of a host of a namespace, or of all, usually is.
func LeaseNamespace(namespace string) string {
	if namespace == "" {
		return "kube-system"
	}
	return namespace
}

func checkLease(ctx context.Context, client coordinationclient.LeasesGetter, clock *serverClock, l Lease) error {
	lease, err := client.Leases(l.Namespace).Get(ctx, l.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the lease %s/%s: %w", l.Namespace, l.Name, err)
	case held(lease, clock.Now()):
		return occupied(lease)
	}
	return nil
}

// held reports whether a lease has a holder that renewed it in time.
func held(l *coordinationv1.Lease, now time.Time) bool {
	s := l.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return false
	}
	return now.Before(s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds) * time.Second))
}

func occupied(l *coordinationv1.Lease) error {
	how := fmt.Sprintf("%s holds the lease %s/%s and renewed it at %s",
		*l.Spec.HolderIdentity, l.Namespace, l.Name, l.Spec.RenewTime.UTC().Format(time.RFC3339))
	return &OccupiedError{How: how, Ours: l.Name == LeaseName}
}
