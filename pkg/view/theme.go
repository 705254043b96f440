package view

import (
	"fmt"
	"io"

	"github.com/muesli/termenv"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// Color says when colour is used.
type Color string

// The choices. Auto means on a terminal, unless NO_COLOR is set.
const (
	Auto   Color = "auto"
	Always Color = "always"
	Never  Color = "never"
)

// ParseColor reads a choice; any other word is an error.
func ParseColor(s string) (Color, error) {
	switch c := Color(s); c {
	case Auto, Always, Never:
		return c, nil
	}
	return "", fmt.Errorf("colour %q is not one of auto, always, never", s)
}

// tone is what a colour stands for. It is never the only sign of it: the words say the same.
type tone int

const (
	plain tone = iota
	muted
	fresh // of the new template
	stale // of the old one
	good
	bad
	strong
)

type theme map[tone]termenv.Style

// newTheme has the 16 colours that every terminal lets its user choose.
func newTheme(w io.Writer, color Color) theme {
	p := termenv.NewOutput(w).EnvColorProfile()
	switch color {
	case Always:
		p = termenv.ANSI
	case Never:
		p = termenv.Ascii
	}
	fg := func(c string) termenv.Style { return p.String().Foreground(p.Color(c)) }
	return theme{
		plain: p.String(), muted: fg("8"), fresh: fg("6"), stale: fg("5"),
		good: fg("2"), bad: fg("1"), strong: p.String().Bold(),
	}
}

func (t theme) paint(tone tone, text string) string {
	if tone == plain || text == "" {
		return text
	}
	return t[tone].Styled(text)
}

// toneOf is the tone of a verdict.
func toneOf(v v1alpha1.Verdict) tone {
	switch v {
	case v1alpha1.Complete:
		return good
	case v1alpha1.Stuck, v1alpha1.DeadlineExceeded:
		return bad
	}
	return strong
}
