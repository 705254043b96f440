package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// kill ends a container that its probe gave up, to start it again.
func (c *container) kill(p *prober) {
	message := fmt.Sprintf("Container %s failed %s probe, will be restarted", c.spec.Name, p.kind)
	if c.role != mainContainer {
		message = fmt.Sprintf("Init container %s failed %s probe", c.spec.Name, p.kind)
	} else if !c.restartable(exitTerminated) {
		message = fmt.Sprintf("Container %s failed %s probe", c.spec.Name, p.kind)
	}
	c.say("Killing", message)
	l := c.w.l
	grace := specGrace(c.w.spec)
	if own := p.spec.TerminationGracePeriodSeconds; own != nil {
		grace = *own
	}
	l.exitFor = l.profile.ExitAfter.draw(l.k.h.Rand())
	c.killing = true
	s := l.stopping(c.spec, grace, 0)
	c.exiting = l.k.h.After(s.after, func() { c.killed(s.code) })
}

// killed starts the container again in the same sync. The end that its back-off
// looks at is the one before this, the latest the kubelet knows of.
func (c *container) killed(code int32) {
	earlier := c.finishedAt
	c.killing = false
	c.die(code, "")
	if now := c.w.l.k.h.Now(); c.restartable(code) && !now.Before(c.restart.until(earlier)) {
		if !earlier.IsZero() {
			c.restart.next(earlier, now)
		}
		c.unseen = false
		c.w.startAll([]*container{c})
	}
}

// restartable says whether a container that ended with a code is started again
// (api/v1/pod ContainerShouldRestart, without rules).
func (c *container) restartable(code int32) bool {
	if c.role == sidecar {
		return true
	}
	policy := c.w.spec.RestartPolicy
	if own := c.spec.RestartPolicy; own != nil {
		policy = corev1.RestartPolicy(*own)
	}
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return c.role == mainContainer || code != 0
}

// due says whether a container is to be started now, and has those that must
// wait say why.
func (c *container) due() bool {
	switch {
	case c.next != nil || c.parked || c.killing || c.phase == running || c.unseen:
		return false
	case c.phase == idle:
		return true
	case !c.restartable(c.ended.ExitCode):
		return false
	}
	now := c.w.l.k.h.Now()
	until := c.restart.until(c.finishedAt)
	if !now.Before(until) {
		c.restart.next(c.finishedAt, now)
		return true
	}
	c.backOff(until)
	return false
}

// backOff holds a crashed container back (kuberuntime_manager.go doBackOff).
func (c *container) backOff(until time.Time) {
	l := c.w.l
	c.waiting = string(CrashLoop)
	c.message = fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", c.restart.delay, c.spec.Name, l.formatted())
	c.warn("BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.spec.Name, l.formatted()))
	if c.parked = l.profile.Never == CrashLoop && c.restart.delay == backOffCap; c.parked {
		return // nothing but the count would change any more
	}
	c.next = l.k.h.After(l.k.lookAfter(until), func() {
		c.next = nil
		c.w.sync()
	})
}
