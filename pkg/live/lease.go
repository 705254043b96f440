package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lease is a lock in the API that one host holds at a time: the others wait.
type Lease struct {
	Namespace string
	Name      string
	// Identity is this host's name in the lease. Empty: one that no other has.
	Identity string
	// Duration is how long the lease holds without being renewed,
	// RenewDeadline how long renewing is tried, RetryPeriod how often. Zero
	// values are kube-controller-manager's: 15 s, 10 s and 2 s.
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Waiting is told of each other holder that is seen; it may be nil.
	Waiting func(holder string)
}

// LeaseName is the usual name.
const LeaseName = "rollout-sim-controllers"

// The lease's times where none are given. (component-base RecommendedDefaultLeaderElectionConfiguration)
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// ErrLeaseLost ends a host that could not renew its lease: from now on another may act.
var ErrLeaseLost = errors.New("the lease was lost: it could not be renewed in time")

func (l Lease) completed() Lease {
	if l.Duration == 0 {
		l.Duration = leaseDuration
	}
	if l.RenewDeadline == 0 {
		l.RenewDeadline = renewDeadline
	}
	if l.RetryPeriod == 0 {
		l.RetryPeriod = retryPeriod
	}
	if l.Identity == "" {
		host, _ := os.Hostname() // the UUID is enough
		l.Identity = host + "_" + string(uuid.NewUUID())
	}
	return l
}

// LeaseRefusedError says that the user may not take or renew the lease.
type LeaseRefusedError struct{ text string }

func (e *LeaseRefusedError) Error() string { return e.text }

// candid is a lock that tells of what the user may not do with it: the elector
// only logs that, and tries for ever.
type candid struct {
	resourcelock.Interface
	refused func(error)
}

func (c candid) tell(err error) error {
	if apierrors.IsForbidden(err) {
		c.refused(&LeaseRefusedError{fmt.Sprintf("taking the lease %s: %v", c.Describe(), err)})
	}
	return err
}

// Get reads the lease.
func (c candid) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := c.Interface.Get(ctx)
	return record, raw, c.tell(err)
}

// Create makes the lease.
func (c candid) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return c.tell(c.Interface.Create(ctx, r))
}

// Update takes or renews the lease.
func (c candid) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return c.tell(c.Interface.Update(ctx, r))
}

// elector makes what acquires and renews a lease. started is called once it is
// held, refused when the user may not do that.
func (l Lease) elector(config *rest.Config, started func(), refused func(error)) (*leaderelection.LeaderElector, error) {
	config = rest.AddUserAgent(config, "leader-election")
	config.Timeout = l.RenewDeadline / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, l.Namespace, l.Name,
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: l.Identity})
	if err != nil {
		return nil, err
	}
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: candid{lock, refused}, Name: l.Name, LeaseDuration: l.Duration, RenewDeadline: l.RenewDeadline, RetryPeriod: l.RetryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { started() },
			OnStoppedLeading: func() {},
			OnNewLeader:      l.seen,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	return e, nil
}

func (l Lease) seen(holder string) {
	if l.Waiting != nil && holder != l.Identity {
		l.Waiting(holder)
	}
}

// whileLeading waits for the lease, runs work and gives the lease up only when
// work has ended. work is told when the lease is lost by the end of its second context.
func whileLeading(ctx context.Context, e *leaderelection.LeaderElector, held <-chan struct{}, work func(soft, hard context.Context)) error {
	elect, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(elect)
	}()
	select {
	case <-ctx.Done():
		release()
		<-ended
		return nil
	case <-held:
	}
	hard, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	go func() {
		<-ended
		lose(ErrLeaseLost)
	}()
	work(ctx, hard)
	lost := context.Cause(hard)
	release()
	<-ended
	return lost
}
