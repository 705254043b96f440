package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// part is how one program is started and where it says how it is.
type part struct {
	name   string // of the process and its log; "" is the program's
	flags  []string
	health string // answers 200 once the program is healthy
}

// launchAttempts is how often another port is tried when a stranger takes the
// one that was free a moment ago.
const launchAttempts = 3

// launch starts a program on a free port and waits until it is healthy.
func (c *Cluster) launch(ctx context.Context, program Program, on func(port int) part) (int, error) {
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return 0, err
		}
		taken, err := c.run(ctx, program, on(port))
		if err == nil || !taken || attempt == launchAttempts {
			return port, err
		}
	}
}

// run starts a program and waits until it is healthy; portTaken says that an
// error comes from its port being in use.
func (c *Cluster) run(ctx context.Context, program Program, how part) (portTaken bool, err error) {
	began := time.Now()
	flags := slices.Concat(how.flags, c.options.Flags[program])
	p, err := startProcess(c.dir, cmp.Or(how.name, string(program)), c.paths[program], flags)
	if err != nil {
		return false, err
	}
	c.running = append(c.running, p)
	if err := c.watchdog.started(p); err != nil {
		return false, err
	}
	if err := p.awaitHealth(ctx, how.health); err != nil {
		taken := p.ended() && p.portTaken()
		return taken, fmt.Errorf("%w\n%s", err, p.tail())
	}
	fmt.Fprintf(c.options.Progress, "%s is ready after %s\n", p.name, time.Since(began).Round(time.Millisecond))
	return false, nil
}

// prober reads health pages; the servers' certificates are their own.
var prober = &http.Client{
	Timeout:   5 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

func (p *process) awaitHealth(ctx context.Context, page string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s was not healthy within %s", p.name, patience))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended at once: %s", p.name, p.cmd.ProcessState)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if healthy(ctx, page) {
				return nil
			}
		}
	}
}

func healthy(ctx context.Context, page string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return false
	}
	resp, err := prober.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // only the code counts
	return resp.StatusCode == http.StatusOK
}

// freePort is a loopback port that nobody listens on now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
