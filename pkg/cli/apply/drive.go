package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/controllers"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/exit"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/deployment"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/controller/replicaset"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
)

// driver is our own controllers of one namespace.
type driver struct {
	namespace string
	host      *live.Host
	waits     chan struct{} // closed once another is seen to hold the lease
	told      bool          // that it drives
}

// embark makes sure of the wheel before anything is changed, where this process
// is told to drive: an API server on which somebody else acts is refused, and
// our controllers are at work before there is something to do, so that they
// notice whoever else looks at it. Behind the lease of another host, which may
// be one that was killed a moment ago, the change is made at once.
func (s *session) embark(ctx context.Context) error {
	if s.Driver != driverEmbedded {
		return nil
	}
	config, err := s.Getter.ToRESTConfig()
	if err != nil {
		return err
	}
	if !s.Force {
		if err := s.checkVacant(ctx, config); err != nil {
			return controllers.WayOut(err)
		}
	}
	if err := s.startDriving(ctx); err != nil {
		return err
	}
	for _, d := range s.drivers {
		select {
		case <-d.host.Ready():
		case <-d.waits:
		case <-d.host.Done():
			if err := d.host.Wait(); err != nil {
				return controllers.WayOut(err)
			}
			return &exit.Error{Code: exit.Failure, Message: "interrupted: nothing was changed"}
		}
	}
	s.screen.warn()
	return nil
}

// startDriving starts our own controllers for each namespace.
func (s *session) startDriving(ctx context.Context) error {
	for _, ns := range s.namespaces() {
		d, err := s.newDriver(ctx, ns)
		if err != nil {
			return err
		}
		s.drivers = append(s.drivers, d)
	}
	return nil
}

func (s *session) newDriver(ctx context.Context, ns string) (*driver, error) {
	config, err := s.Getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	d, once := &driver{namespace: ns, waits: make(chan struct{})}, sync.Once{}
	d.host, err = live.Start(ctx, config, live.Options{
		Namespace: ns, Problem: s.screen.problem, Force: s.Force,
		Lease: &live.Lease{Namespace: ns, Name: live.LeaseName, Waiting: func(holder string) {
			s.screen.problem(fmt.Errorf("waiting for %s, which holds the lease %s of namespace %s", holder, live.LeaseName, ns))
			once.Do(func() { close(d.waits) })
		}},
	}, deployment.Spec(s.Version), replicaset.Spec(s.Version))
	return d, err
}

// namespaces are those of the workloads, each once.
func (s *session) namespaces() []string {
	var out []string
	for _, at := range s.workloads {
		if !slices.Contains(out, at.Namespace) {
			out = append(out, at.Namespace)
		}
	}
	return out
}

// driving looks after our own controllers: one that lost its lease, as while
// there is no API server, takes it again; one that is not alone stops. The
// ending is nil while they run, or are not needed.
func (s *session) driving(ctx context.Context) *ending {
	for i, d := range s.drivers {
		select {
		case <-d.host.Ready():
			s.announce(d)
		default:
		}
		select {
		case <-d.host.Done():
		default:
			continue
		}
		err := d.host.Wait()
		var occupied *live.OccupiedError
		switch {
		case ctx.Err() != nil:
			return nil // told as interrupted
		case errors.As(err, &occupied) && s.Driver == driverEmbedded:
			return &ending{code: exit.Failure, reason: err.Error() + ", so this process has stopped driving it; to follow whoever acts, pass --driver=cluster"}
		case errors.As(err, &occupied): // somebody else acts after all: that one is followed
			s.stopDriving()
			s.screen.note("driver", occupied.How+": it is followed from here on")
			return nil
		case errors.Is(err, live.ErrLeaseLost):
			s.screen.problem(fmt.Errorf("namespace %s: %w; taking it again", d.namespace, err))
			if s.drivers[i], err = s.newDriver(ctx, d.namespace); err == nil {
				continue
			}
		}
		if err == nil {
			err = errors.New("the controllers were stopped")
		}
		return &ending{code: exit.Failed, reason: "this process no longer drives the rollout: " + err.Error()}
	}
	return nil
}

// announce tells once that a driver drives.
func (s *session) announce(d *driver) {
	if d.told {
		return
	}
	d.told = true
	text := "no controller acts here: this process drives the rollout, as long as it runs"
	if len(s.drivers) > 1 {
		text = "no controller acts in namespace " + d.namespace + ": this process drives its rollouts, as long as it runs"
	}
	s.screen.note("driver", text)
}

func (s *session) stopDriving() {
	for _, d := range s.drivers {
		_ = d.host.Stop() // why it ended has been told, if it ended by itself
	}
	s.drivers = nil
}
