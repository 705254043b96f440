package apply

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a number of pods, or a part of those that are wanted.
type Share struct {
	Given   bool
	N       int32
	Percent bool
}

// ParseShare reads N or N%; empty is none.
func ParseShare(s string) (Share, error) {
	if s == "" {
		return Share{}, nil
	}
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 1 || percent && n > 100 {
		return Share{}, fmt.Errorf("--pause-at %q: expected a number of pods, or a percentage from 1%% to 100%%", s)
	}
	return Share{Given: true, N: int32(n), Percent: percent}, nil
}

// Of is the number of pods out of those wanted, parts of a pod rounded up.
func (s Share) Of(desired int32) int32 {
	if !s.Percent {
		return min(s.N, desired)
	}
	return int32((int64(s.N)*int64(desired) + 99) / 100)
}

func (s Share) String() string {
	if s.Percent {
		return fmt.Sprintf("%d%%", s.N)
	}
	return strconv.Itoa(int(s.N))
}
