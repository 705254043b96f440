package view

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// Check is a condition that was asked to fail a run, and whether it is met.
type Check struct {
	Name    string // as it was asked: minAvailable<90%
	Object  trace.Ref
	Failed  bool
	Message string // what it is: 8 of 10 available
}

// The elements of a JUnit report that the readers of CI systems agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitOutcome `xml:"failure,omitempty"`
		Skipped *junitOutcome `xml:"skipped,omitempty"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitOutcome struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a run as a JUnit report: a suite for each workload, with a case
// for how it ended and one for each condition. Its times are seconds of the run.
func JUnit(w io.Writer, plan *v1alpha1.RolloutPlan, checks []Check) error {
	_, stories := Stories(plan, Options{Detail: trace.Decisions})
	report := junitSuites{Name: "kubectl rollout-sim"}
	longest := 0.0
	for _, s := range stories {
		suite := s.junit(checks)
		report.Suites = append(report.Suites, suite)
		report.Tests += suite.Tests
		report.Failures += suite.Failures
		report.Skipped += suite.Skipped
		longest = max(longest, s.Status.DurationSeconds)
	}
	report.Time = junitTime(longest)
	data, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

func junitTime(seconds float64) string { return fmt.Sprintf("%.3f", seconds) }

func (s Story) junit(checks []Check) junitSuite {
	ref := s.Workload.Object
	class, took := strings.Trim(ref.Namespace+"."+strings.ToLower(ref.Kind)+"."+ref.Name, "."), junitTime(s.Status.DurationSeconds)
	suite := junitSuite{Name: clean(class), Time: took}
	suite.add(junitCase{Class: class, Name: "rollout", Time: took, Failure: s.failure(), Skipped: s.skipped(), Output: s.output()})
	for _, c := range checks {
		if c.Object != ref {
			continue
		}
		one := junitCase{Class: class, Name: "not " + c.Name, Time: took}
		if c.Failed {
			one.Failure = &junitOutcome{Type: "Condition", Message: clean(c.Message)}
		}
		suite.add(one)
	}
	return suite
}

func (s *junitSuite) add(c junitCase) {
	c.Class, c.Name = clean(c.Class), clean(c.Name)
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
}

// failure is a rollout that does not arrive by itself.
func (s Story) failure() *junitOutcome {
	switch s.Status.Verdict {
	case v1alpha1.Complete, v1alpha1.NothingToDo, v1alpha1.Paused:
		return nil
	}
	var lines []string
	for _, r := range s.Reasons {
		lines = append(lines, "reason: "+clean(r))
	}
	for _, r := range s.Remedies {
		lines = append(lines, "mend: "+clean(r))
	}
	return &junitOutcome{Type: string(s.Status.Verdict), Message: clean(s.Result), Text: strings.Join(lines, "\n")}
}

// skipped is a rollout that nobody lets go on.
func (s Story) skipped() *junitOutcome {
	if s.Status.Verdict != v1alpha1.Paused {
		return nil
	}
	return &junitOutcome{Message: clean(strings.Join(append([]string{s.Result}, s.Reasons...), ": "))}
}

func (s Story) output() string {
	lines := []string{clean(s.identified()), s.Result}
	for _, text := range []string{s.Pods, s.Available, s.Deadline} {
		if text != "" {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}
