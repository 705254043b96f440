package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	podresources "k8s.io/component-helpers/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// limitRangerAnnotation tells on a pod what was filled in.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// LimitRanger is the admission plugin of that name: it gives containers what
// they do not say from the LimitRanges of their namespace, and refuses pods and
// claims that are out of their bounds (plugin/pkg/admission/limitranger). Names
// of resources come in alphabetical order, where upstream has none.
type LimitRanger struct{ h *sim.Hands }

// NewLimitRanger makes the plugin.
func NewLimitRanger() *LimitRanger { return &LimitRanger{} }

// Name is the upstream plugin's.
func (l *LimitRanger) Name() string { return "LimitRanger" }

// Start keeps the hands for the trace.
func (l *LimitRanger) Start(h *sim.Hands) { l.h = h }

// Mutate fills in the requests and limits of a new pod's containers.
func (l *LimitRanger) Mutate(req *sim.Request) error {
	pod, ok := req.New.(*corev1.Pod)
	if !ok || req.Verb != "create" || req.Subresource != "" {
		return nil
	}
	for _, ranges := range limitRanges(req) {
		fillPod(pod, ranges)
	}
	return nil
}

// Validate refuses a new pod, or a claim, that some LimitRange does not allow.
func (l *LimitRanger) Validate(req *sim.Request) error {
	if req.Subresource != "" || req.New == nil {
		return nil
	}
	for _, ranges := range limitRanges(req) {
		var errs []error
		switch o := req.New.(type) {
		case *corev1.Pod:
			if req.Verb == "create" {
				errs = checkPod(o, ranges)
			}
		case *corev1.PersistentVolumeClaim:
			errs = checkClaim(o, ranges)
		}
		if err := utilerrors.NewAggregate(errs); err != nil {
			refused := apierrors.NewForbidden(corev1.Resource(req.Resource), req.New.GetName(), err)
			if l.h != nil {
				l.h.Emit(sim.RefOf(req.New), trace.Rejected{By: l.Name(), Message: refused.Error()})
			}
			return refused
		}
	}
	return nil
}

// limitRanges are those of a request's namespace. What is being deleted is left alone.
func limitRanges(req *sim.Request) (out []*corev1.LimitRange) {
	if req.Resource != sim.Pods && req.Resource != sim.PersistentVolumeClaims || req.Old != nil && req.Old.GetDeletionTimestamp() != nil {
		return nil
	}
	for _, obj := range req.World.List(sim.LimitRanges, req.New.GetNamespace()) {
		if ranges, ok := obj.(*corev1.LimitRange); ok {
			out = append(out, ranges)
		}
	}
	return out
}

// fillPod gives a pod's containers the defaults of one LimitRange, and says so
// in an annotation (mergePodResourceRequirements).
func fillPod(pod *corev1.Pod, ranges *corev1.LimitRange) {
	limits, requests := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range ranges.Spec.Limits {
		if item := &ranges.Spec.Limits[i]; item.Type == corev1.LimitTypeContainer {
			maps.Copy(limits, item.Default)
			maps.Copy(requests, item.DefaultRequest)
		}
	}
	var said []string
	fill := func(what string, list []corev1.Container) []corev1.Container {
		list = slices.Clone(list) // other pods of the template share it
		for i := range list {
			r, name := &list[i].Resources, what+" "+list[i].Name
			var set []string
			if r.Requests, set = lacking(r.Requests, requests); len(set) > 0 {
				said = append(said, strings.Join(set, ", ")+" request for "+name)
			}
			if r.Limits, set = lacking(r.Limits, limits); len(set) > 0 {
				said = append(said, strings.Join(set, ", ")+" limit for "+name)
			}
		}
		return list
	}
	containers := fill("container", pod.Spec.Containers)
	inits := fill("init container", pod.Spec.InitContainers)
	if len(said) == 0 {
		return
	}
	pod.Spec.Containers, pod.Spec.InitContainers = containers, inits
	annotations := maps.Clone(pod.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[limitRangerAnnotation] = "LimitRanger plugin set: " + strings.Join(said, "; ")
	pod.Annotations = annotations
}

// lacking is a list with what it lacks, and the names of that.
func lacking(have, defaults corev1.ResourceList) (corev1.ResourceList, []string) {
	out, set := have, []string(nil)
	for _, name := range names(defaults) {
		if _, ok := have[corev1.ResourceName(name)]; ok {
			continue
		}
		if set == nil {
			if out = maps.Clone(have); out == nil {
				out = corev1.ResourceList{}
			}
		}
		out[corev1.ResourceName(name)] = defaults[corev1.ResourceName(name)]
		set = append(set, name)
	}
	return out, set
}

func names(list corev1.ResourceList) []string {
	out := make([]string, 0, len(list))
	for name := range list {
		out = append(out, string(name))
	}
	slices.Sort(out)
	return out
}

// checkPod holds containers and the pod as a whole against their bounds (PodValidateLimitFunc).
func checkPod(pod *corev1.Pod, ranges *corev1.LimitRange) (errs []error) {
	for i := range ranges.Spec.Limits {
		item := &ranges.Spec.Limits[i]
		switch item.Type {
		case corev1.LimitTypeContainer:
			for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for j := range list {
					errs = append(errs, checkBounds(item, list[j].Resources.Requests, list[j].Resources.Limits)...)
				}
			}
		case corev1.LimitTypePod:
			// A RuntimeClass's overhead does not count here.
			opts := podresources.PodResourcesOptions{ExcludeOverhead: true}
			errs = append(errs, checkBounds(item, podresources.PodRequests(pod, opts), podresources.PodLimits(pod, opts))...)
		}
	}
	return errs
}

// checkClaim holds a claim's request against its bounds (PersistentVolumeClaimValidateLimitFunc).
func checkClaim(claim *corev1.PersistentVolumeClaim, ranges *corev1.LimitRange) (errs []error) {
	requests := claim.Spec.Resources.Requests
	for i := range ranges.Spec.Limits {
		item := &ranges.Spec.Limits[i]
		if item.Type != corev1.LimitTypePersistentVolumeClaim {
			continue
		}
		errs = append(errs, each(item.Min, func(b bound) error { return b.lowest(requests, nil) })...)
		errs = append(errs, each(item.Max, func(b bound) error { return b.highestRequest(requests) })...)
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func checkBounds(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList) []error {
	of := func(check func(bound) error) func(bound) error {
		return func(b bound) error { b.of = item.Type; return check(b) }
	}
	errs := each(item.Min, of(func(b bound) error { return b.lowest(requests, limits) }))
	errs = append(errs, each(item.Max, of(func(b bound) error { return b.highest(requests, limits) }))...)
	errs = append(errs, each(item.MaxLimitRequestRatio, of(func(b bound) error { return b.ratio(requests, limits) }))...)
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func each(bounds corev1.ResourceList, check func(bound) error) []error {
	var errs []error
	for _, name := range names(bounds) {
		errs = append(errs, check(bound{of: corev1.LimitTypePersistentVolumeClaim, name: corev1.ResourceName(name), q: bounds[corev1.ResourceName(name)]}))
	}
	return errs
}

// bound is one number of a LimitRange.
type bound struct {
	of   corev1.LimitType
	name corev1.ResourceName
	q    resource.Quantity
}

// amounts are quantities in thousandths, or in whole units where those would not fit.
func amounts(request, limit, bound resource.Quantity) (req, lim, most int64) {
	if request.Value() <= resource.MaxMilliValue && limit.Value() <= resource.MaxMilliValue && bound.Value() <= resource.MaxMilliValue {
		return request.MilliValue(), limit.MilliValue(), bound.MilliValue()
	}
	return request.Value(), limit.Value(), bound.Value()
}

func (b bound) lowest(requests, limits corev1.ResourceList) error {
	request, requested := requests[b.name]
	limit, limited := limits[b.name]
	req, lim, least := amounts(request, limit, b.q)
	switch what := fmt.Sprintf("minimum %s usage per %s is %s", b.name, b.of, b.q.String()); {
	case !requested:
		return fmt.Errorf("%s.  No request is specified", what)
	case req < least:
		return fmt.Errorf("%s, but request is %s", what, request.String())
	case limited && lim < least:
		return fmt.Errorf("%s, but limit is %s", what, limit.String())
	}
	return nil
}

func (b bound) highest(requests, limits corev1.ResourceList) error {
	request, requested := requests[b.name]
	limit, limited := limits[b.name]
	req, lim, most := amounts(request, limit, b.q)
	switch what := fmt.Sprintf("maximum %s usage per %s is %s", b.name, b.of, b.q.String()); {
	case !limited:
		return fmt.Errorf("%s.  No limit is specified", what)
	case lim > most:
		return fmt.Errorf("%s, but limit is %s", what, limit.String())
	case requested && req > most:
		return fmt.Errorf("%s, but request is %s", what, request.String())
	}
	return nil
}

// highestRequest is for claims, which have no limits.
func (b bound) highestRequest(requests corev1.ResourceList) error {
	request, requested := requests[b.name]
	req, _, most := amounts(request, resource.Quantity{}, b.q)
	switch what := fmt.Sprintf("maximum %s usage per %s is %s", b.name, b.of, b.q.String()); {
	case !requested:
		return fmt.Errorf("%s.  No request is specified", what)
	case req > most:
		return fmt.Errorf("%s, but request is %s", what, request.String())
	}
	return nil
}

func (b bound) ratio(requests, limits corev1.ResourceList) error {
	req, lim, most := amounts(requests[b.name], limits[b.name], b.q)
	what := fmt.Sprintf("%s max limit to request ratio per %s is %s", b.name, b.of, b.q.String())
	switch {
	case req == 0:
		return fmt.Errorf("%s, but no request is specified or request is 0", what)
	case lim == 0:
		return fmt.Errorf("%s, but no limit is specified or limit is 0", what)
	}
	ratio, allowed := float64(lim)/float64(req), float64(most)
	have := ratio
	if b.q.Value() <= resource.MaxMilliValue {
		have, allowed = ratio*1000, float64(b.q.MilliValue())
	}
	if have > allowed {
		return fmt.Errorf("%s, but provided ratio is %f", what, ratio)
	}
	return nil
}
