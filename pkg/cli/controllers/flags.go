package controllers

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// rawFlags are flags whose values need reading.
type rawFlags struct {
	all         bool
	leaderElect bool
	lease       live.Lease
	version     string
}

func (o *Options) addFlags(flags *pflag.FlagSet) {
	command.Group(flags, "What is driven", func(flags *pflag.FlagSet) {
		flags.BoolVarP(&o.raw.all, "all-namespaces", "A", false, "Drive all namespaces; so it is without -n too")
		flags.BoolVar(&o.Host.Force, "force", false, "Run although another Deployment controller seems to be at work")
		flags.StringVar(&o.raw.version, "kubernetes-version", "", "The `RELEASE` whose controllers to run, from "+rollout.OldestVersion.String()+" on (default: the server's, or the nearest)")
	})
	command.Group(flags, "Output", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.Detail, "detail", "", "Print what happens, a `WORD`: decisions, pods or syncs (every pass, delivery and write; when not said)")
		flags.Lookup("detail").NoOptDefVal = "syncs"
		flags.StringVarP(&o.Format, "output", "o", "", "The `FORMAT` of --detail: jsonl for JSON lines (default: the view for people)")
		flags.StringVar(&o.Color, "color", "auto", "When to use colour, a `WORD`: auto (on a terminal without NO_COLOR), always or never")
	})
	command.Group(flags, "Limits, as of kube-controller-manager", func(flags *pflag.FlagSet) {
		flags.Float32Var(&o.QPS, "kube-api-qps", 20, "Let each controller's client make `N` requests a second; 0 or less is no limit")
		flags.IntVar(&o.Burst, "kube-api-burst", 30, "`N` requests may exceed that at once")
		flags.IntVar(&o.DeploymentWorkers, "concurrent-deployment-syncs", 5, "Handle `N` Deployments at the same time")
		flags.IntVar(&o.ReplicaSetWorkers, "concurrent-replicaset-syncs", 5, "Handle `N` ReplicaSets at the same time")
		flags.DurationVar(&o.Host.MinResync, "min-resync-period", 12*time.Hour, "The least `TIME` between two looks at everything")
	})
	command.Group(flags, "Lease", func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.raw.leaderElect, "leader-elect", true, "Run only while holding a Lease")
		flags.StringVar(&o.raw.lease.Namespace, "lease-namespace", "", "The Lease's `NAMESPACE` (default: that of -n, or kube-system)")
		flags.StringVar(&o.raw.lease.Name, "lease-name", live.LeaseName, "The Lease's `NAME`")
		flags.DurationVar(&o.raw.lease.Duration, "leader-elect-lease-duration", 15*time.Second, "The `TIME` others wait for a holder that is silent")
		flags.DurationVar(&o.raw.lease.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "The `TIME` the holder tries to renew before it stops")
		flags.DurationVar(&o.raw.lease.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "The `TIME` between two tries to take or renew it")
	})
}

func (o *Options) complete(f genericclioptions.RESTClientGetter) error {
	if err := command.NeedCluster(f, "drive"); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	namespace, explicit, err := f.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	if given, ok := f.(*genericclioptions.ConfigFlags); ok { // a context's own namespace does not limit
		explicit = given.Namespace != nil && *given.Namespace != ""
	}
	if explicit && !o.raw.all {
		o.Host.Namespace = namespace
	}
	o.completeLease()
	if o.Config, err = f.ToRESTConfig(); err != nil {
		return err
	}
	return o.completeVersion(f)
}

func (o *Options) check() error {
	if _, err := command.ParseDetail(o.Detail); o.Detail != "" && err != nil {
		return err
	}
	if _, err := view.ParseColor(o.Color); err != nil {
		return err
	}
	switch {
	case o.DeploymentWorkers < 1 || o.ReplicaSetWorkers < 1:
		return errors.New("--concurrent-deployment-syncs and --concurrent-replicaset-syncs take at least 1")
	case o.QPS > 0 && o.Burst < 1:
		return errors.New("--kube-api-burst takes at least 1")
	case o.Host.MinResync <= 0:
		return errors.New("--min-resync-period must be more than nothing")
	case o.Format != "" && o.Format != "jsonl":
		return fmt.Errorf("-o %q: it takes jsonl", o.Format)
	case o.Format != "" && o.Detail == "":
		return errors.New("-o jsonl prints what --detail asks for: pass both")
	}
	return nil
}

func (o *Options) completeLease() {
	if !o.raw.leaderElect {
		return
	}
	lease := o.raw.lease
	if lease.Namespace == "" {
		lease.Namespace = live.LeaseNamespace(o.Host.Namespace)
	}
	o.Host.Lease = &lease
}

// completeVersion follows the server's release unless a flag names one.
func (o *Options) completeVersion(f genericclioptions.RESTClientGetter) error {
	var err error
	if o.raw.version != "" {
		o.Version, err = rollout.ParseVersion(o.raw.version)
		return err
	}
	discovery, err := f.ToDiscoveryClient()
	if err != nil {
		return err
	}
	server, err := discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the server for its version: %w", err)
	}
	o.Version, _ = rollout.NearestVersion(server.GitVersion)
	return nil
}
