package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim/defaults"
)

// parse reads objects: YAML documents, or one a line in short:
//
//	node NAME [cpu= memory= pods= labels=k=v,k=v taint=key:Effect cordoned=true ready=True]
//	pod NAME [cpu= memory= node= phase= ready=true labels= owner=RS image= grace=S host=PORT priority= init=CPU tolerates=KEY:SECONDS,…]
//	replicaset NAME [owner=DEPLOYMENT]
//	deployment NAME
//	quota NAME [hard=k=v,k=v]
//
// NAME may be a range: web-{1..5}.
func parse(input string) ([]sim.Object, error) {
	var out []sim.Object
	for doc := range strings.SplitSeq(input, "\n---\n") {
		if strings.HasPrefix(strings.TrimSpace(doc), "apiVersion:") {
			obj, _, err := decoder.Decode([]byte(doc), nil, nil)
			if err != nil {
				return nil, err
			}
			out = append(out, inNamespace(obj.(sim.Object)))
			continue
		}
		for line := range strings.SplitSeq(doc, "\n") {
			objs, err := short(strings.Fields(line))
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			out = append(out, objs...)
		}
	}
	return out, nil
}

var decoder = newDecoder()

func newDecoder() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // only for types that contradict each other
		}
	}
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}

func inNamespace(obj sim.Object) sim.Object {
	if resourceName, ok := sim.Resource(sim.RefOf(obj).Kind); ok && obj.GetNamespace() == "" {
		obj.SetNamespace(namespaceOf(resourceName))
	}
	return obj
}

func short(words []string) ([]sim.Object, error) {
	if len(words) == 0 {
		return nil, nil
	}
	args := Args{}
	for _, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		args[key] = value
	}
	var out []sim.Object
	for _, name := range expand(words[1]) {
		obj, err := build(words[0], name, args)
		if err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	return out, nil
}

var span = regexp.MustCompile(`^(.*)\{(\d+)\.\.(\d+)\}$`)

func expand(name string) []string {
	m := span.FindStringSubmatch(name)
	if m == nil {
		return []string{name}
	}
	from, to := number(m[2]), number(m[3])
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, m[1]+strconv.FormatInt(i, 10))
	}
	return out
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func build(kind, name string, args Args) (sim.Object, error) {
	meta := metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name), Labels: pairs(args["labels"])}
	meta.CreationTimestamp = metav1.NewTime(Begin.Add(-time.Hour))
	one := int32(1)
	switch kind {
	case "node":
		return node(meta, args), nil
	case "pod":
		return pod(meta, args), nil
	case "replicaset":
		meta.OwnerReferences = owned("Deployment", args["owner"])
		rs := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &one, Selector: selector(name), Template: template(name)}}
		defaults.ReplicaSet(rs)
		return rs, nil
	case "deployment":
		d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: selector(name), Template: template(name)}}
		defaults.Deployment(d)
		return d, nil
	case "quota":
		hard := corev1.ResourceList{}
		for k, v := range pairs(args["hard"]) {
			hard[corev1.ResourceName(k)] = resource.MustParse(v)
		}
		return &corev1.ResourceQuota{ObjectMeta: meta, Spec: corev1.ResourceQuotaSpec{Hard: hard}}, nil
	}
	return nil, fmt.Errorf("no object in short called %q", kind)
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.25"}}},
	}
}

func pairs(list string) map[string]string {
	out := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		if key, value, ok := strings.Cut(item, "="); ok {
			out[key] = value
		}
	}
	return out
}

func node(meta metav1.ObjectMeta, args Args) *corev1.Node {
	meta.Namespace = ""
	meta.Labels[corev1.LabelHostname] = meta.Name
	room := corev1.ResourceList{
		corev1.ResourceCPU: quantity(args["cpu"], "4"), corev1.ResourceMemory: quantity(args["memory"], "16Gi"),
		corev1.ResourcePods: quantity(args["pods"], "110"),
	}
	n := &corev1.Node{ObjectMeta: meta, Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
	n.Spec.Unschedulable = args["cordoned"] != ""
	if key, effect, ok := strings.Cut(args["taint"], ":"); ok {
		n.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffect(effect)}}
	}
	if v := args["ready"]; v != "" {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionStatus(v)}}
	}
	return n
}

func quantity(s, otherwise string) resource.Quantity {
	if s == "" {
		s = otherwise
	}
	return resource.MustParse(s)
}

func owned(kind, name string) []metav1.OwnerReference {
	if name == "" {
		return nil
	}
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

func pod(meta metav1.ObjectMeta, args Args) *corev1.Pod {
	meta.OwnerReferences = owned("ReplicaSet", args["owner"])
	c := corev1.Container{Name: "app", Image: args["image"], Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if v := args[string(name)]; v != "" {
			c.Resources.Requests[name] = resource.MustParse(v)
		}
	}
	if v := args["host"]; v != "" {
		port := int32(number(v))
		c.Ports = []corev1.ContainerPort{{HostPort: port, ContainerPort: port}}
	}
	if c.Image == "" {
		c.Image = "nginx:1.25"
	}
	grace := int64(30)
	if v := args["grace"]; v != "" {
		grace = number(v)
	}
	p := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		Containers: []corev1.Container{c}, NodeName: args["node"], TerminationGracePeriodSeconds: &grace,
		SchedulerName: corev1.DefaultSchedulerName, RestartPolicy: corev1.RestartPolicyAlways,
	}}
	if v := args["init"]; v != "" {
		p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: c.Image, Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(v)}}}}
	}
	if v := args["priority"]; v != "" {
		value := int32(number(v))
		p.Spec.Priority = &value
	}
	for item := range strings.SplitSeq(args["tolerates"], ",") {
		if key, seconds, ok := strings.Cut(item, ":"); ok {
			n := number(seconds)
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &n})
		}
	}
	p.Status = status(args)
	return p
}

// status is what a pod that is there already tells of itself.
func status(args Args) corev1.PodStatus {
	s := corev1.PodStatus{Phase: corev1.PodPending}
	if args["phase"] != "" {
		s.Phase = corev1.PodPhase(args["phase"])
	}
	at := metav1.NewTime(Begin.Add(-time.Hour))
	if args["node"] != "" {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	if args["ready"] != "" {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	return s
}

func create(h *sim.Hands, objs []sim.Object) error {
	for _, obj := range objs {
		if _, err := h.Create(obj); err != nil {
			return err
		}
	}
	return nil
}

func remove(h *sim.Hands, args Args) error {
	resourceName, name, _ := strings.Cut(args["object"], "/")
	var opts metav1.DeleteOptions
	if v, ok := args["grace"]; ok {
		grace := number(v)
		opts.GracePeriodSeconds = &grace
	}
	if v, ok := args["policy"]; ok {
		policy := metav1.DeletionPropagation(v)
		opts.PropagationPolicy = &policy
	}
	return h.Delete(resourceName, namespaceOf(resourceName), name, opts)
}

// setPhase writes a pod's phase, as something other than a kubelet may.
func setPhase(h *sim.Hands, args Args) error {
	resourceName, name, _ := strings.Cut(args["object"], "/")
	obj, ok := h.Stored().Get(resourceName, namespaceOf(resourceName), name)
	if !ok {
		return fmt.Errorf("no %s", args["object"])
	}
	p := obj.DeepCopyObject().(*corev1.Pod)
	p.Status.Phase = corev1.PodPhase(args["phase"])
	_, err := h.UpdateStatus(p)
	return err
}
