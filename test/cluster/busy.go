package cluster

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// Busy is the processor time that the programs of the control plane have used
// so far, user and system, in whole hundredths of a second each. It fails where
// there is no /proc, and when a program has ended.
func (c *Cluster) Busy() (time.Duration, error) {
	var seconds float64
	for _, p := range c.running {
		proc, err := procfs.NewProc(p.pid())
		if err != nil {
			return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
		}
		stat, err := proc.Stat()
		if err != nil {
			return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
		}
		seconds += stat.CPUTime()
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
