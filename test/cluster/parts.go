package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
)

const loopback = "127.0.0.1"

// startStorage starts etcd. Nothing needs to survive the machine, so it never
// waits for the disk.
func (c *Cluster) startStorage(ctx context.Context) error {
	port, err := c.launch(ctx, Etcd, func(port int) part {
		client := url("http", port, "")
		return part{
			flags: []string{
				"--data-dir=" + filepath.Join(c.dir, "etcd"),
				"--unsafe-no-fsync",
				"--log-level=warn",
				"--listen-client-urls=" + client,
				"--advertise-client-urls=" + client,
				"--listen-peer-urls=" + url("http", 0, ""),
			},
			health: client + "/health",
		}
	})
	c.etcdPort = port
	return err
}

func (c *Cluster) startAPIServer(ctx context.Context) error {
	port, err := c.launch(ctx, APIServer, func(port int) part { return c.apiServer(port) })
	c.apiPort, c.access.host = port, url("https", port, "")
	return err
}

// launchAPIServer starts it at the address it has had.
func (c *Cluster) launchAPIServer(ctx context.Context, flags ...string) error {
	server := c.apiServer(c.apiPort)
	server.flags = append(server.flags, flags...)
	_, err := c.run(ctx, APIServer, server)
	return err
}

func (c *Cluster) apiServer(port int) part {
	return part{
		flags: []string{
			"--etcd-servers=" + url("http", c.etcdPort, ""),
			"--bind-address=" + loopback,
			"--advertise-address=" + loopback,
			"--endpoint-reconciler-type=none", // it would refuse a loopback address
			"--secure-port=" + strconv.Itoa(port),
			"--cert-dir=" + c.access.certificates(),
			"--token-auth-file=" + c.access.tokenFile(),
			"--authorization-mode=RBAC",
			"--service-account-key-file=" + c.access.serviceKeyFile(),
			"--service-account-signing-key-file=" + c.access.serviceKeyFile(),
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-cluster-ip-range=10.0.0.0/16",
			// Pods would wait for tokens that nobody mounts.
			"--disable-admission-plugins=ServiceAccount",
			"--allow-privileged",
		},
		health: url("https", port, "/readyz"),
	}
}

func (c *Cluster) startControllers(ctx context.Context) error {
	controllers := "--controllers="
	for i, name := range c.options.Controllers {
		if i > 0 {
			controllers += ","
		}
		controllers += name
	}
	_, err := c.launch(ctx, ControllerManager, func(port int) part {
		return c.behind(port, controllers, "--service-account-private-key-file="+c.access.serviceKeyFile())
	})
	return err
}

func (c *Cluster) startScheduler(ctx context.Context) error {
	_, err := c.launch(ctx, Scheduler, func(port int) part { return c.behind(port) })
	return err
}

// behind is a program that works through the API server and serves its health.
func (c *Cluster) behind(port int, flags ...string) part {
	return part{
		flags: append([]string{
			"--kubeconfig=" + c.adminFile(),
			"--leader-elect=false",
			"--bind-address=" + loopback,
			"--secure-port=" + strconv.Itoa(port),
		}, flags...),
		health: url("https", port, "/healthz"),
	}
}

// startKwok starts one kwok for all nodes, or one for each.
func (c *Cluster) startKwok(ctx context.Context) error {
	if !c.options.Stoppable {
		return c.launchKwok(ctx, "", "--manage-all-nodes")
	}
	for i := range c.options.Nodes {
		if err := c.launchKwok(ctx, kubeletOf(nodeName(i)), "--manage-single-node="+nodeName(i)); err != nil {
			return err
		}
	}
	return nil
}

// kubeletOf is what the process is called that plays one node.
func kubeletOf(node string) string { return string(Kwok) + "-" + node }

func (c *Cluster) launchKwok(ctx context.Context, name, manages string) error {
	_, err := c.launch(ctx, Kwok, func(port int) part {
		return part{
			name: name,
			flags: []string{
				"--kubeconfig=" + c.adminFile(),
				"--config=" + filepath.Join(filepath.Dir(c.paths[Kwok]), stagesFile),
				manages,
				"--node-lease-duration-seconds=40",
				"--server-address=" + loopback + ":" + strconv.Itoa(port),
			},
			health: url("http", port, "/healthz"),
		}
	})
	return err
}

func (c *Cluster) adminFile() string { return filepath.Join(c.dir, admin+".kubeconfig") }

func url(scheme string, port int, path string) string {
	return fmt.Sprintf("%s://%s:%d%s", scheme, loopback, port, path)
}
