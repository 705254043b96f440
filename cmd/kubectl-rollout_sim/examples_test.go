package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli"
)

// TestExamples runs the examples of every help, those between two blank lines
// one after the other in one folder, in the shell they are for. They find the
// files of examples/, recordings, and a cluster: one with a rollout half way,
// or, where a change is made, one whose controllers make it.
func TestExamples(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("the examples need sh")
	}
	scripts, audit := t.TempDir(), auditLog(t)
	everyCommand(func(cmd *cobra.Command) {
		interpreter := shell
		if cmd.HasParent() && cmd.Parent().Name() == "completion" && cmd.Name() != "kubectl" {
			if interpreter, err = exec.LookPath(strings.Replace(cmd.Name(), "powershell", "pwsh", 1)); err != nil {
				return
			}
		}
		for i, block := range strings.Split(cmd.Example, "\n\n") {
			if !strings.Contains(block, cli.Name) {
				t.Errorf("%s: an example without a command: %s", cmd.CommandPath(), block)
			}
			name := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "kubectl "), " ", "-")
			path := filepath.Join(scripts, fmt.Sprintf("%s-%d.txtar", name, i+1))
			if err := os.WriteFile(path, []byte(exampleScript(interpreter, unindented(block), audit)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	params := scriptParams(t)
	params.Dir = scripts
	testscript.Run(t, params)
}

// exampleScript is a script that runs a block of an example's lines.
func exampleScript(interpreter, block, audit string) string {
	world := "cluster dumped\n"
	switch {
	case strings.Contains(block, "rollout-sim controllers"):
		world = "cluster idle\n"
	case strings.Contains(block, "rollout-sim apply"):
		world = "cluster rolling\n"
	}
	manifest := "cp next.yaml web.yaml\n" // of the cluster's deployment/web
	if strings.Contains(block, "--from") || strings.Contains(block, "--offline") {
		manifest = "cp $EXAMPLES/web.yaml web.yaml\n"
	}
	prepare := "cp $EXAMPLES/web-next.yaml web-next.yaml\ncp $EXAMPLES/dump.yaml dump.yaml\n" + manifest + "exec sh recordings\n" + world
	if strings.Contains(block, "apply --plan") && !strings.Contains(block, "--save") {
		prepare += "exec kubectl-rollout_sim plan deploy/web --image app=nginx:1.27 --save web.plan\n"
	}
	// What a person waits ten minutes for takes a second here, and a thousand runs are thirty.
	block = strings.NewReplacer("--resume-after 10m", "--resume-after 1s", "--runs 1000", "--runs 30").Replace(block)
	return "env HOME=$WORK\nenv PATH=$WORK/bin:$PATH\nchmod 755 bin/kubectl\n" +
		"mkdir .local/share/bash-completion/completions\nmkdir .config/fish/completions\n" + prepare +
		"exec '" + interpreter + "' example\n" +
		"-- example --\nset -e\n" + block + "\n" +
		"-- bin/kubectl --\n" + kubectlShim + "-- recordings --\n" + recordings + "-- next.yaml --\n" + nextManifest + "-- audit.log --\n" + audit
}

// kubectlShim runs the plugin as kubectl does. Nobody is there to say yes, nor
// to end what runs until it is interrupted; a condition that is met is an answer.
const kubectlShim = `#!/bin/sh
shift
case "$1 $*" in
"controllers "*)
	kubectl-rollout_sim "$@" & driver=$!
	sleep 2
	kill -TERM $driver
	wait $driver ;;
*--fail-on*) kubectl-rollout_sim "$@" || [ $? = 3 ] ;;
"apply "*--yes*) exec kubectl-rollout_sim "$@" ;;
"apply "*) exec kubectl-rollout_sim "$@" --yes ;;
*) exec kubectl-rollout_sim "$@" ;;
esac
`

// recordings makes a plan and a recording of one rollout.
const recordings = `plan() { kubectl-rollout_sim plan --offline -f $EXAMPLES/web.yaml --image app=nginx:1.26 --ready-after 30s -o "$@"; }
plan jsonl > web.jsonl
plan json > web.plan
`

// nextManifest is the next version of deployment/web of the clusters.
const nextManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "app:2"}]}
`

// auditLog is the audit log that the script about replay reads.
func auditLog(t *testing.T) string {
	archive, err := txtar.ParseFile("testdata/script/replay.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		if file.Name == "audit.log" {
			return string(file.Data)
		}
	}
	t.Fatal("replay.txtar has no audit.log")
	return ""
}
