package apply

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/predict"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live/livetest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// TestStories follows a rollout whose every step the script makes, on a server
// to which it lets things happen. What is printed after a command is what a
// person sees then; times differ each time and are left out.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			s := &story{T: t}
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string { return s.run(d) })
			if s.follower != nil {
				s.follower.Close()
			}
		})
	}
}

// story is a rollout of deployment/web in the making.
type story struct {
	*testing.T
	control
	follower *live.Follower
	screen   *screen
	seen     transcript
	token    string // the file with the user's token or credential
	exec     bool   // a plugin reads it
}

// transcript is a person's terminal.
type transcript struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *transcript) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

var (
	times   = regexp.MustCompile(`(?m)^ +\d+\.\d{3}s`)
	lengths = regexp.MustCompile(`\d+(\.\d+)?s\b`)
	clocks  = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// since takes what has been printed since it was last asked for.
func (b *transcript) since() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := times.ReplaceAllString(b.String(), "      TIME")
	b.Reset()
	text = clocks.ReplaceAllString(lengths.ReplaceAllString(text, "…s"), "CLOCK")
	return address.ReplaceAllString(text, "SERVER")
}

// run is one command of a script.
func (s *story) run(d *datadriven.TestData) string {
	s.Helper()
	if d.Cmd == "cluster" {
		s.open(d)
		return s.seen.since()
	}
	if err := s.happen(d); err != nil {
		d.Fatalf(s.T, "%v", err)
	}
	if slices.Contains([]string{"throttle", "restart", "expire", "gap"}, d.Cmd) {
		s.touch() // so that all watches are there again before the story goes on
	}
	s.catchUp()
	return s.seen.since()
}

// open starts the server and follows deployment/web.
func (s *story) open(d *datadriven.TestData) {
	s.Helper()
	skew, credentials := time.Duration(0), ""
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "ahead":
			skew, _ = time.ParseDuration(arg.Vals[0])
		case "token":
			credentials = arg.Vals[0]
		default:
			d.Fatalf(s.T, "cluster has no %s", arg.Key)
		}
	}
	s.control = newControl(s.T, skew)
	kubeconfig := s.credentials(credentials)
	getter := genericclioptions.NewConfigFlags(true)
	getter.KubeConfig = &kubeconfig
	cluster, err := live.Connect(getter)
	if err != nil {
		s.Fatal(err)
	}
	o := &Options{}
	o.IOStreams = genericiooptions.IOStreams{Out: &s.seen, ErrOut: &s.seen}
	o.Cluster, o.Version, o.Detail, o.Color, o.Width = cluster, rollout.LatestVersion, "pods", "never", 120
	j := &job{Options: o, people: true, plan: &predict.Prediction{Plan: &v1alpha1.RolloutPlan{}}}
	j.plan.Plan.Spec.Workloads = []trace.Ref{web}
	if s.screen, err = j.newScreen(); err != nil {
		s.Fatal(err)
	}
	s.follower, err = cluster.Follow(s.Context(), live.FollowOptions{
		Workloads: []trace.Ref{web}, Version: o.Version, Trace: s.screen.take, Problem: s.screen.problem,
	})
	if err != nil {
		s.Fatal(err)
	}
	spec := j.spec(s.follower.Begin())
	spec.Predicted = nil
	s.screen.began(spec)
}

// credentials is a kubeconfig whose user has a token in a file, or of a plugin.
func (s *story) credentials(kind string) string {
	path, err := s.server.Kubeconfig(s.TempDir(), "team")
	if err != nil {
		s.Fatal(err)
	}
	user := ""
	s.token = filepath.Join(s.TempDir(), "token")
	switch kind {
	case "":
		return path
	case "file":
		user = fmt.Sprintf("{tokenFile: %q}", s.token)
	case "exec":
		s.exec = true
		user = fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, args: [%q], interactiveMode: Never}}", s.token)
	default:
		s.Fatalf("no token of %s", kind)
	}
	s.give("first")
	s.server.Accept("first")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(data), "{token: test}", user, 1)), 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
	return path
}

// give makes the user's token another.
func (s *story) give(token string) {
	s.Helper()
	if s.exec {
		token = fmt.Sprintf(`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":%q}}`, token)
	}
	if err := os.WriteFile(s.token, []byte(token), 0o600); err != nil {
		s.Fatal(err)
	}
}

// happen does what a command says.
func (s *story) happen(d *datadriven.TestData) error {
	arg := ""
	if len(d.CmdArgs) > 0 {
		arg = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "you":
		return s.follower.Making(s.Context(), func() error { return s.setImage("kubectl-set", arg) })
	case "somebody":
		return s.setReplicas("kubectl-scale", arg)
	case "controllers":
		return s.step()
	case "kubelet":
		return s.ready()
	case "remove":
		s.server.Remove("deployments", "team", "web")
		s.collect()
	case "throttle":
		s.server.CutWatches()
		s.server.Throttle(3)
	case "restart":
		if err := s.server.Restart(4 * time.Second); err != nil { // for longer than goes without saying
			return err
		}
	case "gap":
		return s.gap(d)
	case "expire":
		s.give("second") // it is read when the first is refused
		s.server.Accept("second")
		s.server.CutWatches()
	default:
		return fmt.Errorf("nothing is called %s", d.Cmd)
	}
	return nil
}

// gap is a time in which no watch brings anything: what happens in it is
// forgotten by the server before they are taken up.
func (s *story) gap(d *datadriven.TestData) error {
	back := s.server.Sever()
	defer back()
	for line := range strings.Lines(d.Input) {
		name, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		within := &datadriven.TestData{Cmd: name}
		if arg != "" {
			within.CmdArgs = []datadriven.CmdArg{{Key: arg}}
		}
		if err := s.happen(within); err != nil {
			return err
		}
	}
	s.server.Compact()
	return nil
}

// catchUpLimit is far longer than what was lost takes to be taken up.
const catchUpLimit = time.Minute

// catchUp waits until the follower knows all that the server holds, and shows it.
func (s *story) catchUp() {
	s.Helper()
	for began := time.Now(); !slices.Equal(s.known(), s.there()); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > catchUpLimit {
			s.Fatalf("it knows %v, and there is %v", s.known(), s.there())
		}
	}
	if err := s.screen.update(); err != nil {
		s.Fatal(err)
	}
}

// known are the objects that the follower holds, with their versions.
func (s *story) known() []string {
	var out []string
	for _, obj := range s.follower.Snapshot().Objects() {
		out = append(out, obj.GetName()+"@"+obj.GetResourceVersion())
	}
	slices.Sort(out)
	return out
}

var web = trace.Ref{Kind: "Deployment", Namespace: "team", Name: "web"}

// newServer serves a finished rollout of deployment/web with four pods, on a
// clock that is so much ahead.
func newServer(t *testing.T, ahead time.Duration) *livetest.Server {
	server := &livetest.Server{Live: true, Now: func() time.Time { return time.Now().Add(ahead) }}
	server.Objects = livetest.Rollout{Namespace: "team", Name: "web", Pods: 4, Created: time.Now().Add(-time.Hour)}.Objects()
	server.Start()
	t.Cleanup(server.Close)
	return server
}
