package predict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
)

// Nodes are made up where the input has none.
type Nodes struct {
	Count    int
	Explicit bool // the user said how many
	Capacity corev1.ResourceList
}

// Of made-up nodes: three, with the kubelet's default of 110 pods and room for
// whatever the pods ask.
const (
	defaultNodes   = 3
	defaultPods    = 110
	maxNodes       = 5000 // the largest cluster Kubernetes supports
	zones          = 3
	nodeNamePrefix = "node-"
)

func roomy() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1024"),
		corev1.ResourceMemory:           resource.MustParse("8Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("64Ti"),
		corev1.ResourcePods:             *resource.NewQuantity(defaultPods, resource.DecimalSI),
	}
}

// ParseNodes reads N[:RESOURCE=QUANTITY,…]; empty is the default.
func ParseNodes(s string) (Nodes, error) {
	nodes := Nodes{Count: defaultNodes, Capacity: roomy()}
	if s == "" {
		return nodes, nil
	}
	nodes.Explicit = true
	count, capacity, _ := strings.Cut(s, ":")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxNodes {
		return nodes, fmt.Errorf("--nodes %q: expected N or N:cpu=4,memory=16Gi,pods=110 with N from 0 to %d", s, maxNodes)
	}
	nodes.Count = n
	if capacity == "" {
		return nodes, nil
	}
	for _, pair := range strings.Split(capacity, ",") {
		name, value, _ := strings.Cut(pair, "=")
		quantity, err := resource.ParseQuantity(value)
		if name == "" || err != nil || quantity.Sign() < 0 {
			return nodes, fmt.Errorf("--nodes %q: %q is not RESOURCE=QUANTITY, as in cpu=4 or memory=16Gi", s, pair)
		}
		nodes.Capacity[corev1.ResourceName(name)] = quantity
	}
	return nodes, nil
}

// forPods is enough nodes for so many pods, unless the user said how many.
func (n Nodes) forPods(pods int64) Nodes {
	if !n.Explicit {
		n.Count = min(max(n.Count, int((pods+defaultPods-1)/defaultPods)), maxNodes)
	}
	return n
}

// make builds the nodes node-1 to node-N, spread over three zones.
func (n Nodes) make() []manifest.Object {
	names := make([]string, n.Count)
	for i := range names {
		names[i] = nodeNamePrefix + strconv.Itoa(i+1)
	}
	return n.named(names)
}

func (n Nodes) named(names []string) []manifest.Object {
	out := make([]manifest.Object, len(names))
	for i, name := range names {
		out[i] = n.node(name, i%zones+1)
	}
	return out
}

func (n Nodes) node(name string, zone int) *corev1.Node {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason}
	}
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:           name,
			corev1.LabelOSStable:           "linux",
			corev1.LabelArchStable:         "amd64",
			corev1.LabelTopologyZone:       "zone-" + strconv.Itoa(zone),
			corev1.LabelTopologyRegion:     "region-1",
			"beta.kubernetes.io/os":        "linux",
			"beta.kubernetes.io/arch":      "amd64",
			corev1.LabelInstanceTypeStable: "assumed",
		}},
		Status: corev1.NodeStatus{
			Capacity:    n.Capacity,
			Allocatable: n.Capacity,
			Conditions: []corev1.NodeCondition{
				condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
				condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
				condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
				condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
			},
		},
	}
}

// namesOnPods are the nodes that pods are bound to, in order of name.
func namesOnPods(objs []manifest.Object) []string {
	var names []string
	for _, obj := range objs {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" && !slices.Contains(names, pod.Spec.NodeName) {
			names = append(names, pod.Spec.NodeName)
		}
	}
	slices.Sort(names)
	return names
}
