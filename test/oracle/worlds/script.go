package worlds

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// script is a world: its seed, which draws names and latencies, and what
// happens in it. Its text can be parsed again.
type script struct {
	seed    uint64
	actions []action
}

// action is one thing done to the world at a time after its start: a verb, what
// it is done to, and key=value arguments in order.
type action struct {
	at     time.Duration
	verb   string
	target string
	args   []arg
}

type arg struct{ key, value string }

func (a action) get(key string) (string, bool) {
	for _, x := range a.args {
		if x.key == key {
			return x.value, true
		}
	}
	return "", false
}

func (a action) number(key string) int {
	s, _ := a.get(key)
	n, _ := strconv.Atoi(s)
	return n
}

func (a action) duration(key string) time.Duration {
	s, _ := a.get(key)
	d, _ := time.ParseDuration(s)
	return d
}

func (a action) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s %s", a.at, a.verb, a.target)
	for _, x := range a.args {
		fmt.Fprintf(&b, " %s=%s", x.key, x.value)
	}
	return b.String()
}

func (s script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", s.seed)
	for _, a := range s.actions {
		fmt.Fprintln(&b, a)
	}
	return b.String()
}

// parse reads what String writes; lines that start with # are comments.
func parse(text string) (script, error) {
	var s script
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.read(strings.Fields(line)); err != nil {
			return s, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return s, nil
}

func (s *script) read(words []string) (err error) {
	if len(words) == 2 && words[0] == "seed" {
		s.seed, err = strconv.ParseUint(words[1], 10, 64)
		return err
	}
	if len(words) < 3 {
		return fmt.Errorf("want TIME VERB TARGET [key=value ...]")
	}
	a := action{verb: words[1], target: words[2]}
	if a.at, err = time.ParseDuration(words[0]); err != nil {
		return err
	}
	for _, w := range words[3:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("%q is not key=value", w)
		}
		a.args = append(a.args, arg{key, value})
	}
	s.actions = append(s.actions, a)
	return nil
}
