package worlds

import (
	"slices"
	"testing"
)

// shrink takes actions out of a script as long as some difference remains,
// large pieces first, within so many runs.
func shrink(t *testing.T, s script, d *difference, runs int) (script, *difference) {
	for size := len(s.actions) / 2; size > 0; {
		removed := false
		for at := 0; at < len(s.actions) && runs > 0; runs-- {
			less := script{seed: s.seed, actions: slices.Delete(slices.Clone(s.actions), at, min(at+size, len(s.actions)))}
			if found, _ := play(t, less); found != nil {
				s, d, removed = less, found, true
				continue
			}
			at += size
		}
		if runs == 0 {
			break
		}
		if !removed || size > 1 {
			size /= 2
		}
	}
	return s, d
}
