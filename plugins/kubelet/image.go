package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// imageAt is an image on a node.
type imageAt struct{ node, image string }

// registry is what the kubelets know of images.
type registry struct {
	there map[imageAt]time.Time // since when
	// free is when a node's one pull at a time is done (serializeImagePulls).
	free map[string]time.Time
}

// add notes that an image is on a node from a moment on.
func (r *registry) add(node, image string, since time.Time) {
	if r.there == nil {
		r.there = map[imageAt]time.Time{}
	}
	if have, ok := r.there[imageAt{node, image}]; !ok || since.Before(have) {
		r.there[imageAt{node, image}] = since
	}
}

// has says whether an image is, or will be, on a node at a moment.
func (r *registry) has(node, image string, at time.Time) bool {
	since, ok := r.there[imageAt{node, image}]
	return ok && !since.After(at)
}

// pull is how long a pull that is asked for now takes, and that with the time it waits.
func (r *registry) pull(now time.Time, node, image string, takes time.Duration) (took, waited time.Duration) {
	if r.free == nil {
		r.free = map[string]time.Time{}
	}
	start := now
	if free := r.free[node]; free.After(start) {
		start = free
	}
	if took = takes; r.has(node, image, start) {
		took = 0
	}
	done := start.Add(took)
	r.free[node] = done
	r.add(node, image, done)
	return took, done.Sub(now)
}

// here says whether the container's image is on its node. Nothing has to be
// pulled where nobody says how long that takes, or that it fails.
func (c *container) here() bool {
	k, p := c.w.l.k, &c.w.l.profile
	return k.images.has(c.w.l.node, c.spec.Image, k.h.Now()) || p.PullFor == Range{} && len(c.missing()) == 0
}

var always = []Window{{}}

// missing is when the image cannot be pulled.
func (c *container) missing() []Window {
	p := &c.w.l.profile
	switch {
	case !c.concerned():
		return nil
	case p.Never == ImagePull:
		return always
	case p.Trouble != nil:
		return p.Trouble.Missing
	}
	return nil
}

// gone is the window in which the image is missing now.
func (c *container) gone() (Window, bool) {
	for _, w := range c.missing() {
		if w.covers(c.w.l.k.h.Now()) {
			return w, true
		}
	}
	return Window{}, false
}

// begin pulls the image and starts the container (images/image_manager.go
// EnsureImageExists). It returns how long that keeps the kubelet, after which
// arrived has to be called.
func (c *container) begin() time.Duration {
	k, l := c.w.l.k, c.w.l
	_, gone := c.gone()
	switch here := c.here(); {
	case here && c.spec.ImagePullPolicy != corev1.PullAlways:
		c.say("Pulled", c.present())
		c.run()
		return 0
	case c.spec.ImagePullPolicy == corev1.PullNever && gone:
		c.neverPulled()
		return 0
	case gone:
		c.say("Pulling", fmt.Sprintf("Pulling image %q", c.spec.Image))
		c.notPulled()
		return 0
	}
	c.say("Pulling", fmt.Sprintf("Pulling image %q", c.spec.Image))
	took, waited := k.images.pull(k.h.Now(), l.node, c.spec.Image, l.profile.PullFor.draw(k.h.Rand()))
	c.pulled = fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting).", c.spec.Image, took.Truncate(time.Millisecond), waited.Truncate(time.Millisecond))
	if waited == 0 {
		c.arrived()
	}
	return waited
}

// present is the word for an image that is there.
func (c *container) present() string {
	word := fmt.Sprintf("Container image %q already present on machine", c.spec.Image)
	if c.w.l.k.h.Version().VerifiesPulledImages() {
		word += " and can be accessed by the pod"
	}
	return word
}

// arrived is the end of a pull.
func (c *container) arrived() {
	c.say("Pulled", c.pulled)
	c.run()
}

// notPulled is a failed pull. What a status says of it is always one sync late.
func (c *container) notPulled() {
	k := c.w.l.k
	c.warn("Failed", fmt.Sprintf("Failed to pull image %q: %s", c.spec.Image, c.pullError()))
	c.warn("Failed", "Error: ErrImagePull")
	wait := k.relist()
	if c.pulls.delay > 0 {
		wait = k.jittered(syncPeriod)
	}
	c.pulls.next(k.h.Now(), k.h.Now())
	c.next = k.h.After(wait, c.pullFailed)
}

func (c *container) pullError() string {
	return fmt.Sprintf("failed to pull and unpack image %q: not found", c.spec.Image)
}

// pullFailed is the sync after a failed pull.
func (c *container) pullFailed() {
	k := c.w.l.k
	c.waiting, c.message = "ErrImagePull", c.pullError()
	c.say("BackOff", fmt.Sprintf("Back-off pulling image %q", c.spec.Image))
	c.w.publish()
	c.next = k.h.After(k.jittered(syncPeriod), c.pullHeld)
}

// pullHeld is the sync after that, which waits with the next pull until its
// back-off is over. An image that never comes is left at that: more tries
// change nothing but the two words.
func (c *container) pullHeld() {
	k := c.w.l.k
	c.waiting = string(ImagePull)
	c.message = fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", c.spec.Image, c.pullError())
	c.w.publish()
	c.next = nil
	if w, gone := c.gone(); gone && w.To.IsZero() {
		c.parked = true
		return
	}
	now := k.h.Now()
	at := now
	for until := c.pulls.since.Add(c.pulls.delay); at.Before(until); {
		at = at.Add(k.jittered(syncPeriod))
	}
	c.tryIn(at.Sub(now))
}

// neverPulled is an image that is not there and may not be pulled.
func (c *container) neverPulled() {
	c.message = fmt.Sprintf("Container image %q is not present with pull policy of Never", c.spec.Image)
	c.warn("ErrImageNeverPull", c.message)
	c.warn("Failed", "Error: ErrImageNeverPull")
	c.waiting = "ErrImageNeverPull"
	w, _ := c.gone()
	if c.parked = w.To.IsZero(); !c.parked {
		c.tryIn(c.w.l.k.lookAfter(w.To))
	}
	c.w.lookAfter(0)
}

func (c *container) tryIn(d time.Duration) {
	c.next = c.w.l.k.h.After(d, func() {
		c.next = nil
		c.w.sync()
	})
}
