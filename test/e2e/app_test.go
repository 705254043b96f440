package e2e

import (
	"fmt"
	"strings"
	"time"
)

// app is a Deployment as the scenarios need it; what is empty stays the API's default.
type app struct {
	name               string
	image              string
	replicas           int
	surge, unavailable string
	recreate           bool
	minReady, deadline int
	ready              time.Duration // from being bound to being ready
	cpu                string        // requested by each pod
	room               string        // value of the nodes' label room
	apart              bool          // never two on one node
	leaves             int           // seconds until a node out of reach loses its pods; 0 is the API's default
}

func (a app) with(image string) app {
	a.image = image
	return a
}

// starting is how long a pod's containers are being created, part of app.ready.
const starting = 500 * time.Millisecond

// manifest is the Deployment for kubectl. Its pods say to kwok how long they
// take. They end with their grace period of two seconds, which counts from a
// whole second on.
func (a app) manifest() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  replicas: %d", a.name, a.replicas)
	if a.minReady > 0 {
		line("  minReadySeconds: %d", a.minReady)
	}
	if a.deadline > 0 {
		line("  progressDeadlineSeconds: %d", a.deadline)
	}
	switch {
	case a.recreate:
		line("  strategy: {type: Recreate}")
	case a.surge != "":
		line("  strategy: {rollingUpdate: {maxSurge: %s, maxUnavailable: %s}}", a.surge, a.unavailable)
	}
	line("  selector: {matchLabels: {app: %s}}\n  template:\n    metadata:\n      labels: {app: %s}\n      annotations:", a.name, a.name)
	for _, stage := range []struct {
		name string
		took time.Duration
	}{{"create", starting}, {"ready", a.ready - starting}, {"delete", time.Minute}} {
		line("        pod-%s.stage.kwok.x-k8s.io/delay: %s", stage.name, stage.took)
		line("        pod-%s.stage.kwok.x-k8s.io/jitter-delay: %s", stage.name, stage.took)
	}
	line("    spec:\n      terminationGracePeriodSeconds: 2")
	if a.room != "" {
		line("      nodeSelector: {room: %s}", a.room)
	}
	if a.apart {
		line("      affinity:\n        podAntiAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:")
		line("          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %s}}}", a.name)
	}
	if a.leaves > 0 {
		line("      tolerations:")
		for _, taint := range []string{"unreachable", "not-ready"} {
			line("      - {key: node.kubernetes.io/%s, operator: Exists, effect: NoExecute, tolerationSeconds: %d}", taint, a.leaves)
		}
	}
	line("      containers:\n      - name: app\n        image: %s", a.image)
	if a.cpu != "" {
		line("        resources: {requests: {cpu: %q}}", a.cpu)
	}
	return b.String()
}

func manifests(apps []app) string {
	var all []string
	for _, a := range apps {
		all = append(all, a.manifest())
	}
	return strings.Join(all, "---\n")
}
