// Package kubectl makes changes for real, by the code of kubectl's own
// commands, so that what is sent is what they send.
package kubectl

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	kubectlapply "k8s.io/kubectl/pkg/cmd/apply"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	_ "github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl/english" // before kubectl's own
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// DryRun says whether a change is made, or only computed.
type DryRun string

// The strategies of --dry-run.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client" // computed here; nothing is sent
	DryRunServer DryRun = "server" // sent, and not kept
)

// Strategies are the words of --dry-run.
var Strategies = []string{string(DryRunNone), string(DryRunClient), string(DryRunServer)}

var strategies = map[DryRun]cmdutil.DryRunStrategy{
	DryRunNone: cmdutil.DryRunNone, DryRunClient: cmdutil.DryRunClient, DryRunServer: cmdutil.DryRunServer,
}

var suffixes = map[DryRun]string{DryRunNone: "", DryRunClient: " (dry run)", DryRunServer: " (server dry run)"}

// Kubectl is kubectl with its global flags given.
type Kubectl struct {
	Getter genericclioptions.RESTClientGetter
	DryRun DryRun
	// Known is what has been read of the workloads that are changed. Where it is
	// set, it is not asked again, and the server's answers are kept.
	Known *live.Snapshot
	// Warn gets what kubectl and the server warn of; nil drops it.
	Warn func(string)
}

// Outcome is what became of a change.
type Outcome struct {
	// Said is what kubectl prints.
	Said string
	// Sent says that something had to be changed, Object is the workload as the
	// server made it; nil where the answer was no more than a yes. Both are only
	// known where Known was set.
	Sent   bool
	Object live.Object
	// Denied says what the user may not do, as in "patch deployments"; the error
	// beside it has the server's words.
	Denied string
}

// ApplyOptions are the flags of kubectl apply.
type ApplyOptions struct {
	ServerSide     bool
	FieldManager   string // empty means kubectl's own
	ForceConflicts bool
}

// Document is an object to apply.
type Document struct {
	JSON   []byte // as the user wrote it
	Source string // the file, for errors
}

// Manifests are what is applied.
type Manifests struct {
	Documents []Document
	// Namespace is where objects go that name none; with Explicit, those that
	// name another are an error.
	Namespace string
	Explicit  bool
	Options   ApplyOptions
	// Selector leaves out objects that do not match; nil takes all.
	Selector labels.Selector
	// Workloads, when not nil, leaves out all other Deployments and ReplicaSets.
	Workloads []trace.Ref
}

// call is one use of kubectl's code.
type call struct {
	*Kubectl
	factory cmdutil.Factory
	heard   dialogue
}

func (k *Kubectl) begin() *call {
	c := &call{Kubectl: k, heard: dialogue{known: k.Known}}
	g := getter{RESTClientGetter: k.Getter, warn: c.warn}
	if k.Known != nil {
		g.talk = c.heard.between
	}
	c.factory = cmdutil.NewFactory(g)
	return c
}

func (c *call) warn(text string) {
	if c.Warn != nil {
		c.Warn(text)
	}
}

// outcome is what a call has come to, errors in kubectl's words.
func (c *call) outcome(said string, err error) (Outcome, error) {
	c.heard.mu.Lock()
	defer c.heard.mu.Unlock()
	return Outcome{said, c.heard.sent, c.heard.object, c.heard.denied}, worded(live.Explain(err))
}

// lines is an error of kubectl's own that has several lines.
type lines struct{ error }

// Error is as kubectl prints it.
func (l lines) Error() string { return "error: " + l.error.Error() }

// Unwrap is kubectl's.
func (l lines) Unwrap() error { return l.error }

// Verbatim keeps the lines.
func (lines) Verbatim() {}

func worded(err error) error {
	var known interface{ Verbatim() }
	if err == nil || errors.As(err, &known) || apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return lines{err}
}

// Apply is kubectl apply. Errors are the server's, in kubectl's words, and may
// leave earlier objects applied. Upstream: kubectl pkg/cmd/apply.
func (k *Kubectl) Apply(m Manifests) (Outcome, error) {
	c := k.begin()
	var out, errs bytes.Buffer
	err := c.apply(m, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs})
	for line := range strings.Lines(errs.String()) {
		line = strings.TrimSpace(line)
		if len(line) > 9 && strings.EqualFold(line[:9], "warning: ") {
			line = line[9:]
		}
		c.warn(line)
	}
	return c.outcome(out.String(), brief(err))
}

func (c *call) apply(m Manifests, streams genericiooptions.IOStreams) error {
	o, err := c.applyOptions(m, streams)
	if err != nil {
		return err
	}
	infos, err := c.objects(m)
	if err != nil {
		return err
	}
	o.SetObjects(infos)
	if err := o.Validate(); err != nil {
		return err
	}
	return o.Run()
}

// brief leaves out of kubectl's error the patch and the object it was for,
// which go before the words of the server that say what is wrong.
func brief(err error) error {
	const head = "error when applying patch:\n"
	var refused *apierrors.StatusError
	switch {
	case err == nil || !strings.HasPrefix(err.Error(), head):
		return err
	case errors.As(err, &refused):
		short := *refused
		short.ErrStatus.Message = afterPatch(short.ErrStatus.Message)
		return &short
	}
	return errors.New(afterPatch(err.Error()))
}

func afterPatch(text string) string {
	if i := strings.LastIndex(text, "\nfor: \""); i >= 0 {
		if _, after, ok := strings.Cut(text[i:], "\": "); ok {
			return after
		}
	}
	return text
}

// applyOptions are what kubectl makes of its flags. The manifests have been
// validated before and are by the server again. kubectl would download the
// server's schemas for its patches, some megabytes; of the kinds here they say
// what is compiled in.
func (c *call) applyOptions(m Manifests, streams genericiooptions.IOStreams) (*kubectlapply.ApplyOptions, error) {
	flags, cmd := kubectlapply.NewApplyFlags(streams), &cobra.Command{}
	flags.AddFlags(cmd)
	args := []string{"--filename=-", "--validate=ignore", "--openapi-patch=false", "--dry-run=" + string(c.DryRun)}
	if m.Options.ServerSide {
		args = append(args, "--server-side")
	}
	if m.Options.ForceConflicts {
		args = append(args, "--force-conflicts")
	}
	if m.Options.FieldManager != "" {
		args = append(args, "--field-manager="+m.Options.FieldManager)
	}
	if err := cmd.ParseFlags(args); err != nil {
		return nil, err
	}
	o, err := flags.ToOptions(c.factory, cmd, "kubectl", nil)
	if err != nil {
		return nil, err
	}
	o.ValidationDirective = metav1.FieldValidationStrict
	o.Namespace, o.EnforceNamespace = m.Namespace, m.Explicit
	return o, nil
}

// objects are the manifests as kubectl reads them.
func (c *call) objects(m Manifests) ([]*resource.Info, error) {
	b := c.factory.NewBuilder().Unstructured().ContinueOnError().NamespaceParam(m.Namespace).DefaultNamespace()
	if m.Explicit {
		b = b.RequireNamespace()
	}
	for _, doc := range m.Documents {
		b = b.Stream(bytes.NewReader(doc.JSON), doc.Source)
	}
	infos, err := b.Flatten().Do().Infos()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(infos, func(info *resource.Info) bool { return !m.takes(info) }), nil
}

func (m Manifests) takes(info *resource.Info) bool {
	if object, err := meta.Accessor(info.Object); err != nil || m.Selector != nil && !m.Selector.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	kind := info.Mapping.GroupVersionKind
	if kind.Group != "apps" || kind.Kind != "Deployment" && kind.Kind != "ReplicaSet" || m.Workloads == nil {
		return true
	}
	return slices.Contains(m.Workloads, trace.Ref{Kind: kind.Kind, Namespace: info.Namespace, Name: info.Name})
}

// said is a line as kubectl prints it.
func (c *call) said(info *resource.Info, what string) string {
	return fmt.Sprintf("%s.%s/%s %s%s\n", strings.ToLower(info.Mapping.GroupVersionKind.Kind), info.Mapping.GroupVersionKind.Group, info.Name, what, suffixes[c.DryRun])
}
