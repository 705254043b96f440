// Command cluster starts a control plane for a person and prints where its
// kubeconfig is. Ctrl-C ends it and removes everything; the line "restart" on
// standard input crashes the API server and starts it anew.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o := cluster.Options{Progress: os.Stderr, Kubectl: true}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.IntVar(&o.Nodes, "nodes", 3, "how many nodes kwok plays")
	flags.StringVar(&o.NodeSize.CPU, "node-cpu", "", "CPU of each node (default 64)")
	flags.StringVar(&o.NodeSize.Memory, "node-memory", "", "memory of each node (default 256Gi)")
	flags.IntVar(&o.NodeSize.Pods, "node-pods", 0, "pods of each node (default 110)")
	controllers := flags.String("controllers", "*", "what kube-controller-manager runs; empty starts none")
	flags.BoolVar(&o.Scheduler, "scheduler", true, "start kube-scheduler")
	build := flags.Bool("build", false, "build all programs and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *controllers != "" {
		o.Controllers = strings.Split(*controllers, ",")
	}
	if *build {
		_, err := cluster.Build(ctx, os.Stderr, cluster.AllPrograms...)
		return err
	}
	return serve(ctx, o)
}

// serve keeps a control plane until ctx ends.
func serve(ctx context.Context, o cluster.Options) error {
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return err
	}
	path, err := c.Kubeconfig("")
	if err == nil {
		fmt.Println("export KUBECONFIG=" + path)
		fmt.Fprintln(os.Stderr, "kubectl of this version:", c.Path(cluster.Kubectl))
		fmt.Fprintln(os.Stderr, "Ctrl-C ends the cluster; restart and Enter restarts its API server")
		err = obey(ctx, c)
	}
	if closing := c.Close(); err == nil {
		err = closing
	}
	return err
}

// obey does what standard input says until ctx ends.
func obey(ctx context.Context, c *cluster.Cluster) error {
	lines := make(chan string)
	go func() {
		for s := bufio.NewScanner(os.Stdin); s.Scan(); {
			lines <- s.Text()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-lines:
			if line != "restart" {
				fmt.Fprintf(os.Stderr, "%q: it takes restart\n", line)
				continue
			}
			if err := c.RestartAPIServer(ctx); err != nil {
				return err
			}
			fmt.Println("restarted")
		}
	}
}
