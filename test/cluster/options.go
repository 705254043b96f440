package cluster

import "io"

// Options say what a control plane consists of. The zero value is an API
// server alone: no controllers, no scheduler, no nodes.
type Options struct {
	// Controllers is what kube-controller-manager runs, in the words of its
	// --controllers flag ("*", "deployment-controller"). None: it is not started.
	Controllers []string
	// Scheduler starts kube-scheduler.
	Scheduler bool
	// Nodes is how many made-up nodes there are, node-0 onwards. With any of
	// them kwok plays their kubelets.
	Nodes int
	// NodeSize is what each node offers; fields left empty are roomy.
	NodeSize NodeSize
	// Stoppable gives each of Nodes a kwok of its own, which StopNode ends.
	// Nodes that are added later have none.
	Stoppable bool
	// Kwok starts kwok without nodes too, for nodes that come later.
	Kwok bool
	// Kubectl has kubectl built, for the method of that name.
	Kubectl bool
	// Users may log in without having any rights; Config and Kubeconfig take their names.
	Users []string
	// Flags are added to a program's own; the last of a repeated flag counts.
	Flags map[Program][]string
	// Progress is told what is being built and started; nil keeps quiet.
	Progress io.Writer
}

// NodeSize is what a made-up node offers.
type NodeSize struct {
	CPU    string // a quantity; "" means 64
	Memory string // a quantity; "" means 256Gi
	Pods   int    // 0 means 110
}

// Everything is a whole control plane with so many nodes.
func Everything(nodes int) Options {
	return Options{Controllers: []string{"*"}, Scheduler: true, Nodes: nodes, Kubectl: true}
}

func (o Options) kwok() bool { return o.Kwok || o.Nodes > 0 }

// programs are those that Start needs.
func (o Options) programs() []Program {
	out := []Program{Etcd, APIServer}
	if o.Kubectl {
		out = append(out, Kubectl)
	}
	if len(o.Controllers) > 0 {
		out = append(out, ControllerManager)
	}
	if o.Scheduler {
		out = append(out, Scheduler)
	}
	if o.kwok() {
		out = append(out, Kwok)
	}
	return out
}
