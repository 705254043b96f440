package timeline

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The messages below are those of the scheduler's filters and of the quota
// admission plugin, which are facts that tools already rely on.
var (
	insufficient = regexp.MustCompile(`Insufficient ([a-zA-Z0-9][-a-zA-Z0-9./]*[a-zA-Z0-9])`)
	untolerated  = regexp.MustCompile(`untolerated taint(?:\(s\))?(?: \{([^}]*)\})?`)
	fullQuota    = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.+), used: (.+), limited: ([^,]+(?:,[^, ]+)*)`)
	unmetQuota   = regexp.MustCompile(`failed quota: ([^:]+): must specify ([^:]+?)(?: for: ([^;]+))?(?:;|$)`)
	deadWebhook  = regexp.MustCompile(`failed calling webhook "([^"]+)"`)
)

// nodeRemedies are what a node would have to be like, by the filter's message.
var nodeRemedies = []struct{ says, needs string }{
	{"Too many pods", "a node with room for one more pod"},
	{"didn't match pod anti-affinity rules", "a node without the pods that its anti-affinity keeps away from"},
	{"didn't satisfy existing pods anti-affinity rules", "a node whose pods' anti-affinity allows it"},
	{"didn't match pod affinity rules", "a node with the pods that its affinity asks for"},
	{"didn't match Pod's node affinity/selector", "a node that matches its nodeSelector and node affinity"},
	{"didn't match pod topology spread constraints", "a node where its topology spread allows one more"},
	{"didn't have free ports", "a node where its host port is free"},
	{"had volume node affinity conflict", "room on the node its volume is tied to"},
	{"were unschedulable", "a node uncordoned"},
	{"no nodes available", "a node"},
}

// schedulingRemedy says what would let a pod land, any one of it being enough;
// lost are the nodes that will take none before they are back.
func schedulingRemedy(u trace.Unschedulable, lost []Lost) string {
	var needs []string
	for _, m := range insufficient.FindAllStringSubmatch(u.Message, -1) {
		amount := "more free " + m[1]
		if request := u.Requests[m[1]]; request != "" {
			amount = request + " " + m[1]
		}
		needs = append(needs, amount+" on one node")
	}
	if m := untolerated.FindStringSubmatch(u.Message); m != nil {
		gone, others := tainted(u, lost)
		if len(gone) > 0 {
			needs = append(needs, "a node that is ready ("+LostWords(gone)+")")
		}
		if len(gone) == 0 || others > 0 {
			needs = append(needs, strings.TrimSpace("a toleration for the nodes' taint "+m[1]))
		}
	}
	for _, r := range nodeRemedies {
		if strings.Contains(u.Message, r.says) {
			needs = append(needs, r.needs)
		}
	}
	if len(needs) == 0 {
		return ""
	}
	return "needs " + strings.Join(needs, ", or ")
}

// refusalRemedy says what would let a request through; empty when the message does not show it.
func refusalRemedy(message string) string {
	if m := fullQuota.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("quota %q is full: %s", m[1], usage(m[3], m[4]))
	}
	if m := unmetQuota.FindStringSubmatch(message); m != nil {
		remedy := fmt.Sprintf("quota %q wants %s to be set", m[1], m[2])
		if m[3] != "" {
			remedy += " on container " + m[3]
		}
		return remedy
	}
	if m := deadWebhook.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("webhook %q must answer, or be taken out of the way", m[1])
	}
	return ""
}

// usage pairs the lists of used and limited amounts: pods 12/12.
func usage(used, limited string) string {
	limits := map[string]string{}
	for pair := range strings.SplitSeq(limited, ",") {
		name, amount, _ := strings.Cut(pair, "=")
		limits[name] = amount
	}
	var out []string
	for pair := range strings.SplitSeq(used, ",") {
		name, amount, _ := strings.Cut(pair, "=")
		out = append(out, fmt.Sprintf("%s %s/%s", name, amount, limits[name]))
	}
	return strings.Join(out, ", ")
}

// containerRemedy says what would help a container, by the kubelet's reason.
func containerRemedy(reason, image string) string {
	switch reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable":
		if image == "" {
			return "see that the image exists and the node may pull it"
		}
		return fmt.Sprintf("see that image %q exists and the node may pull it", image)
	case "CrashLoopBackOff", "Error", "StartError", "RunContainerError", "ContainerCannotRun":
		return "see the container's log for why it exits (kubectl logs --previous)"
	case "OOMKilled":
		return "raise the container's memory limit"
	case "CreateContainerConfigError", "CreateContainerError":
		return "see that the ConfigMaps and Secrets it names exist"
	case "NotReady":
		return "see why the readiness probe fails (kubectl describe pod)"
	}
	return ""
}
