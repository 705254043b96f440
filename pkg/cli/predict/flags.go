package predict

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/kubelet"
)

// AddFlags adds the flags of what is asked, assumed and shown.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.AddQuestionFlags(flags)
	o.AddAnswerFlags(flags)
}

// AddAnswerFlags adds the flags of how the answer is shown and judged.
func (o *Options) AddAnswerFlags(flags *pflag.FlagSet) {
	o.Output.AddFlags(flags)
	command.Group(flags, "Judgement", o.addJudgementFlags)
}

// AddQuestionFlags adds the flags of what is asked and assumed.
func (o *Options) AddQuestionFlags(flags *pflag.FlagSet) {
	command.Group(flags, "Input", o.addInputFlags)
	command.Group(flags, "Change, as kubectl's verbs make it", o.addChangeFlags)
	command.Group(flags, "World", o.addWorldFlags)
}

func (o *Options) addJudgementFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.raw.failOn, "fail-on", "", "End with exit code 3 when one of these `CONDITIONS` is met: "+FailOnHelp)
	flags.BoolVar(&o.Diagnose, "diagnose", true, "Find out what holds a rollout that gets stuck or waits long, by playing it again without one constraint or another")
	flags.BoolVar(&o.DetailedExitCode, "detailed-exitcode", false, "End with exit code 2 when there are changes")
}

func (o *Options) addInputFlags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&o.Files, "filename", "f", nil, "The manifest to plan: a `FILE`, a directory or - for standard input")
	flags.StringVarP(&o.Kustomize, "kustomize", "k", "", "The kustomization directory `DIR` to plan")
	flags.BoolVarP(&o.Recursive, "recursive", "R", false, "Read the directories of -f, --from and --state to the bottom")
	flags.StringSliceVar(&o.From, "from", nil, "The manifest `FILE` that is there before the change, as a finished rollout")
	flags.StringSliceVar(&o.State, "state", nil, "What a cluster holds: a `DUMP` of capture or lists of kubectl get -o yaml|json; a file, a directory or -")
	flags.BoolVar(&o.Offline, "offline", false, "Assume a world instead of reading the cluster of the kubeconfig")
	flags.BoolVar(&o.Apply.ServerSide, "server-side", false, "Let the cluster merge the manifest, as kubectl apply --server-side")
	flags.StringVar(&o.Apply.FieldManager, "field-manager", "", "The `NAME` of the manager of the manifest's fields, as for kubectl apply")
	flags.BoolVar(&o.Apply.ForceConflicts, "force-conflicts", false, "With --server-side, take fields over from other managers")
	flags.StringVarP(&o.raw.selector, "selector", "l", "", "`LABELS` that choose the workloads")
	flags.BoolVar(&o.raw.all, "all", false, "Choose all workloads of the namespace, or of the input")
}

func (o *Options) addChangeFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.raw.images, "image", nil, "`CONTAINER=IMAGE`, as kubectl set image; * means all containers; can be repeated")
	flags.Int32Var(&o.raw.replicas, "replicas", 0, "`N` pods, as kubectl scale")
	flags.BoolVar(&o.Change.Restart, "restart", false, "As kubectl rollout restart")
	flags.StringVar(&o.raw.undo, "undo", "", "As kubectl rollout undo, to the revision before or to `REVISION`")
	flags.Lookup("undo").NoOptDefVal = "0"
	flags.StringVar(&o.raw.patch, "patch", "", "A `PATCH` in JSON or YAML, as kubectl patch")
	flags.StringVar(&o.raw.patchFile, "patch-file", "", "A `FILE` with a patch")
	flags.StringVar(&o.raw.patchType, "patch-type", "strategic", "The `TYPE` of the patch: json, merge or strategic")
	flags.BoolVar(&o.Change.Pause, "pause", false, "As kubectl rollout pause")
	flags.BoolVar(&o.Change.Resume, "resume", false, "As kubectl rollout resume")
}

func (o *Options) addWorldFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.raw.nodes, "nodes", "", "Nodes to assume: `N` or N:cpu=4,memory=16Gi,pods=110 (default: the cluster's, or 3 with room for everything)")
	flags.StringVar(&o.raw.readyAfter, "ready-after", "", "The `TIME` pods take to become ready, as in 5s or 2s..6s (default: measured on the cluster's pods, or as their probes say, answered from 2s on)")
	flags.StringVar(&o.raw.exitAfter, "exit-after", "", "The `TIME` pods take to go, as in 1s or 1s..20s; their grace period bounds it (default: 1s and the sleep of their preStop hooks)")
	flags.StringVar(&o.raw.never, "never-ready", "", "New pods never become ready. `HOW`: Unready (when not said), ImagePullBackOff, CrashLoopBackOff or WhileOthers (while pods of another revision are there)")
	flags.Lookup("never-ready").NoOptDefVal = string(kubelet.Unready)
	flags.StringVar(&o.raw.timing, "timing", "cluster", "What time calls and watches take, a `WORD`: cluster (as in one) or instant (none)")
	flags.Uint64Var(&o.Seed, "seed", 1, "The seed, a number `N`, of everything that chance decides")
	flags.DurationVar(&o.Limit, "limit", defaultLimit, "The `TIME` to follow the rollout for at most")
	flags.StringVar(&o.raw.now, "now", "", "The `TIME` at which the change is made (default: the cluster's time, the newest in the dump, or 2026-01-01T00:00:00Z)")
	flags.StringVar(&o.raw.version, "kubernetes-version", rollout.LatestVersion.String(), "The `RELEASE` whose controllers to follow, from "+rollout.OldestVersion.String()+" on; a cluster says its own")
}

// AddFlags adds the flags of how it is shown.
func (o *Output) AddFlags(flags *pflag.FlagSet) {
	command.Group(flags, "Output", func(flags *pflag.FlagSet) {
		flags.StringVarP(&o.Format, "output", "o", "", "The `FORMAT`: json, yaml, jsonl, wide, markdown, junit, jsonpath=…, go-template=… and their -file forms (default: the view for people)")
		flags.StringVar(&o.Detail, "detail", "pods", "How deep to look, a `WORD`: decisions, pods or syncs")
		flags.IntVar(&o.MaxPodLines, "max-pod-lines", view.DefaultMaxPodLines, "Show `N` like lines about pods or nodes one by one before the rest folds into one")
		o.addPaperFlags(flags)
		o.Pictures.AddFlags(flags)
	})
}

func (o *Output) addPaperFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Width, "width", 0, "Use `N` columns (default: the terminal's, or 100)")
	flags.StringVar(&o.Color, "color", "auto", "When to use colour, a `WORD`: auto (on a terminal without NO_COLOR), always or never")
}

// AddSummaryFlags adds the flags of how what is no plan is shown.
func (o *Output) AddSummaryFlags(flags *pflag.FlagSet) {
	command.Group(flags, "Output", func(flags *pflag.FlagSet) {
		flags.StringVarP(&o.Format, "output", "o", "", "The `FORMAT`: json, yaml, jsonpath=…, go-template=… and their -file forms (default: the view for people)")
		o.addPaperFlags(flags)
	})
}

// SummaryFormats are the words of its -o.
var SummaryFormats = []string{"json", "yaml", "jsonpath=", "go-template="}

// Formats are the words of -o.
var Formats = []string{"json", "jsonl", "junit", "markdown", "wide", "yaml", "jsonpath=", "go-template="}

// CompleteFlags lets the shell complete flags that take one of a few words.
func CompleteFlags(cmd *cobra.Command) {
	command.Words(cmd, map[string][]string{
		"output":       Formats,
		"detail":       command.Details,
		"color":        command.Colors,
		"trace-format": TraceFormats,
		"timing":       {"cluster", "instant"},
		"patch-type":   {"json", "merge", "strategic"},
		"never-ready":  {string(kubelet.Unready), string(kubelet.ImagePull), string(kubelet.CrashLoop), string(kubelet.WhileOthers)},
	})
}
