// Package kubectl makes changes for real, by the code of kubectl's own
// commands, so that what is sent is what they send.
package kubectl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	kubectlapply "k8s.io/kubectl/pkg/cmd/apply"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

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
	// ErrOut gets what kubectl warns of.
	ErrOut io.Writer
}

// Manifests are what is applied.
type Manifests struct {
	Documents []json.RawMessage
	Source    string // where they are from, for errors
	// Namespace is where objects go that name none; with Explicit, those that
	// name another are an error.
	Namespace string
	Explicit  bool
	Options   live.ApplyOptions
	// Selector leaves out objects that do not match; nil takes all.
	Selector labels.Selector
	// Workloads, when not nil, leaves out all other Deployments and ReplicaSets.
	Workloads []trace.Ref
}

// Apply is kubectl apply. It returns what kubectl prints; errors are the
// server's, in kubectl's words, and may leave earlier objects applied.
func (k *Kubectl) Apply(m Manifests) (string, error) {
	var out bytes.Buffer
	o, err := k.applyOptions(m, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: k.ErrOut})
	if err != nil {
		return "", err
	}
	infos, err := k.objects(m)
	if err != nil {
		return "", live.Explain(err)
	}
	o.SetObjects(infos)
	if err := o.Validate(); err != nil {
		return "", err
	}
	err = o.Run()
	return out.String(), live.Explain(err)
}

// applyOptions are what kubectl makes of its flags. The manifests have been
// validated before and are by the server again; the schema that kubectl would
// download for its patches says of the kinds here what is compiled in.
func (k *Kubectl) applyOptions(m Manifests, streams genericiooptions.IOStreams) (*kubectlapply.ApplyOptions, error) {
	flags, cmd := kubectlapply.NewApplyFlags(streams), &cobra.Command{}
	flags.AddFlags(cmd)
	args := []string{"--filename=-", "--validate=ignore", "--openapi-patch=false", "--dry-run=" + string(k.DryRun)}
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
	o, err := flags.ToOptions(k.factory(), cmd, "kubectl", nil)
	if err != nil {
		return nil, live.Explain(err)
	}
	o.ValidationDirective = metav1.FieldValidationStrict
	o.Namespace, o.EnforceNamespace = m.Namespace, m.Explicit
	return o, nil
}

func (k *Kubectl) factory() cmdutil.Factory { return cmdutil.NewFactory(k.Getter) }

// objects are the manifests as kubectl reads them.
func (k *Kubectl) objects(m Manifests) ([]*resource.Info, error) {
	var text bytes.Buffer
	for _, doc := range m.Documents {
		text.Write(doc)
		text.WriteString("\n---\n")
	}
	b := k.factory().NewBuilder().Unstructured().ContinueOnError().NamespaceParam(m.Namespace).DefaultNamespace()
	if m.Explicit {
		b = b.RequireNamespace()
	}
	infos, err := b.Stream(&text, m.Source).Flatten().Do().Infos()
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
func (k *Kubectl) said(info *resource.Info, what string) string {
	return fmt.Sprintf("%s.%s/%s %s%s\n", strings.ToLower(info.Mapping.GroupVersionKind.Kind), info.Mapping.GroupVersionKind.Group, info.Name, what, suffixes[k.DryRun])
}
