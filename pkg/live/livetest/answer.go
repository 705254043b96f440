package livetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// served is what the server knows about a resource.
type served struct {
	gvk   schema.GroupVersionKind
	list  func() runtime.Object
	group string
}

var resources = map[string]served{
	"deployments":              {appsv1.SchemeGroupVersion.WithKind("Deployment"), func() runtime.Object { return &appsv1.DeploymentList{} }, "apps"},
	"replicasets":              {appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), func() runtime.Object { return &appsv1.ReplicaSetList{} }, "apps"},
	"pods":                     {corev1.SchemeGroupVersion.WithKind("Pod"), func() runtime.Object { return &corev1.PodList{} }, ""},
	"nodes":                    {corev1.SchemeGroupVersion.WithKind("Node"), func() runtime.Object { return &corev1.NodeList{} }, ""},
	"resourcequotas":           {corev1.SchemeGroupVersion.WithKind("ResourceQuota"), func() runtime.Object { return &corev1.ResourceQuotaList{} }, ""},
	"limitranges":              {corev1.SchemeGroupVersion.WithKind("LimitRange"), func() runtime.Object { return &corev1.LimitRangeList{} }, ""},
	"horizontalpodautoscalers": {autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscalerList{} }, "autoscaling"},
	"poddisruptionbudgets":     {policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), func() runtime.Object { return &policyv1.PodDisruptionBudgetList{} }, "policy"},
	"events":                   {corev1.SchemeGroupVersion.WithKind("Event"), func() runtime.Object { return &corev1.EventList{} }, ""},
	"leases":                   {coordinationv1.SchemeGroupVersion.WithKind("Lease"), func() runtime.Object { return &coordinationv1.LeaseList{} }, "coordination.k8s.io"},
	"namespaces":               {corev1.SchemeGroupVersion.WithKind("Namespace"), func() runtime.Object { return &corev1.NamespaceList{} }, ""},
	"persistentvolumeclaims":   {corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), func() runtime.Object { return &corev1.PersistentVolumeClaimList{} }, ""},
	"persistentvolumes":        {corev1.SchemeGroupVersion.WithKind("PersistentVolume"), func() runtime.Object { return &corev1.PersistentVolumeList{} }, ""},
	"storageclasses":           {storagev1.SchemeGroupVersion.WithKind("StorageClass"), func() runtime.Object { return &storagev1.StorageClassList{} }, "storage.k8s.io"},
	"priorityclasses":          {schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), func() runtime.Object { return &schedulingv1.PriorityClassList{} }, "scheduling.k8s.io"},
}

func (t target) groupResource() string {
	if group := resources[t.resource].group; group != "" {
		return t.resource + "." + group
	}
	return t.resource
}

// read answers get and list.
func (s *Server) read(r *http.Request, verb string, t target) runtime.Object {
	kind, ok := resources[t.resource]
	if !ok {
		return status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}
	choose, err := chooser(r.URL.Query(), t)
	if err != nil {
		return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	s.data.Lock()
	defer s.data.Unlock()
	var found []runtime.Object
	for _, obj := range s.Objects {
		if choose(obj) {
			found = append(found, obj)
		}
	}
	if verb == "list" {
		list := page(kind, found, r.URL.Query())
		if l, err := meta.ListAccessor(list); err == nil {
			l.SetResourceVersion(strconv.Itoa(firstVersion + len(s.changes)))
		}
		return list
	}
	if len(found) == 0 {
		return notFound(t)
	}
	return found[0]
}

// chooser picks the objects that a request is about.
func chooser(query url.Values, t target) (func(runtime.Object) bool, error) {
	chosen, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	also, err := fields.ParseSelector(query.Get("fieldSelector"))
	return func(obj runtime.Object) bool {
		return obj.GetObjectKind().GroupVersionKind() == resources[t.resource].gvk && matches(obj, chosen, also, t)
	}, err
}

func notFound(t target) *metav1.Status {
	return status(http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", t.groupResource(), t.name))
}

func matches(obj runtime.Object, chosen labels.Selector, also fields.Selector, t target) bool {
	m, err := meta.Accessor(obj)
	if err != nil || !chosen.Matches(labels.Set(m.GetLabels())) {
		return false
	}
	set := fields.Set{"metadata.namespace": m.GetNamespace(), "metadata.name": m.GetName()}
	if pod, ok := obj.(*corev1.Pod); ok {
		set["status.phase"] = string(pod.Status.Phase)
	}
	return also.Matches(set) &&
		(t.namespace == "" || t.namespace == m.GetNamespace() || t.resource == "namespaces") && (t.name == "" || t.name == m.GetName())
}

// page cuts a list by limit and continue, which is the number of the next item.
func page(kind served, found []runtime.Object, query url.Values) runtime.Object {
	list := kind.list()
	first, _ := strconv.Atoi(query.Get("continue"))
	last := len(found)
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 {
		last = min(first+limit, last)
	}
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	for _, obj := range found[first:last] {
		items.Set(reflect.Append(items, reflect.ValueOf(obj).Elem()))
	}
	if last < len(found) {
		if l, err := meta.ListAccessor(list); err == nil {
			l.SetContinue(strconv.Itoa(last))
		}
	}
	gvk := kind.gvk
	gvk.Kind += "List"
	list.GetObjectKind().SetGroupVersionKind(gvk)
	return list
}

// write answers dry runs of create and patch, and carries all others out where
// the server is Live.
func (s *Server) write(r *http.Request, verb string, t target) runtime.Object {
	real := r.URL.Query().Get("dryRun") != metav1.DryRunAll
	if real && !s.Live {
		return status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "this is not a dry run")
	}
	if s.Refuse != nil {
		if refusal := s.Refuse(verb); refusal != nil {
			return refusal
		}
	}
	if kind := r.Header.Get("Content-Type"); !real && r.Method == http.MethodPost && kind != runtime.ContentTypeJSON {
		return status(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "content type "+kind)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	if real {
		s.data.Lock()
		defer s.data.Unlock()
		return s.store(r, t, body)
	}
	out, err := s.changed(r, t, body)
	if err != nil {
		return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	return out
}

func (s *Server) changed(r *http.Request, t target, body []byte) (runtime.Object, error) {
	if r.Method == http.MethodPost {
		d := &appsv1.Deployment{}
		err := yaml.Unmarshal(body, d)
		return defaulted(d), err
	}
	there := s.read(r, "get", target{resource: t.resource, namespace: t.namespace, name: t.name})
	if _, missing := there.(*metav1.Status); missing {
		return there, nil
	}
	if t.subresource == "scale" {
		return scaleOf(there), nil
	}
	next, err := s.next(r, t, there, body)
	if d, ok := next.(*appsv1.Deployment); ok {
		return defaulted(d), err
	}
	return next, err
}

func defaulted(d *appsv1.Deployment) *appsv1.Deployment {
	if d.Spec.Replicas == nil {
		one := int32(1)
		d.Spec.Replicas = &one
	}
	if d.Spec.Strategy.Type == "" {
		quarter := intstr.FromString("25%")
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}}
	}
	if d.Spec.ProgressDeadlineSeconds == nil {
		limit := int32(600)
		d.Spec.ProgressDeadlineSeconds = &limit
	}
	d.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return d
}

func forbidden(verb string, t target) *metav1.Status {
	where := "at the cluster scope"
	if t.namespace != "" {
		where = fmt.Sprintf("in the namespace %q", t.namespace)
	}
	resource := strings.TrimSuffix(t.resource+"/"+t.subresource, "/")
	return status(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf("%s is forbidden: User \"dev\" cannot %s resource %q in API group %q %s",
		strings.TrimSpace(t.groupResource()+" "+strconv.Quote(t.name)), verb, resource, resources[t.resource].group, where))
}

func status(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}

var binary = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// reply encodes an object in the form that the client likes best.
func reply(w http.ResponseWriter, r *http.Request, obj runtime.Object) {
	code := http.StatusOK
	if failure, ok := obj.(*metav1.Status); ok {
		code = int(failure.Code)
	}
	if strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		w.WriteHeader(code)
		_ = binary.Encode(obj, w) // a client that is gone does not matter
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(obj)
}
