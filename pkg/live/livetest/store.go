package livetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// change is one write, for those who watch.
type change struct {
	version int
	verb    string // ADDED, MODIFIED, DELETED
	obj     runtime.Object
}

// firstVersion is the resource version before the first write.
const firstVersion = 1000

// store carries a write out. The lock is held.
func (s *Server) store(r *http.Request, t target, body []byte) runtime.Object {
	switch r.Method {
	case http.MethodPost:
		return s.create(r, t, body)
	case http.MethodDelete:
		return s.remove(t)
	}
	i := s.find(t)
	if i < 0 {
		return notFound(t)
	}
	next, err := s.next(r, t, s.Objects[i], body)
	if err != nil {
		return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	return s.replace(r, t, i, next)
}

func (s *Server) find(t target) int {
	for i, obj := range s.Objects {
		m := object(obj)
		if obj.GetObjectKind().GroupVersionKind() == resources[t.resource].gvk && m.GetName() == t.name && m.GetNamespace() == t.namespace {
			return i
		}
	}
	return -1
}

func object(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err) // the tests' own objects all have metadata
	}
	return m
}

func (s *Server) create(r *http.Request, t target, body []byte) runtime.Object {
	obj, err := decode(t, body)
	if err != nil {
		return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	m := object(obj)
	s.made++
	if m.GetName() == "" {
		m.SetName(fmt.Sprintf("%s%05d", m.GetGenerateName(), s.made))
	}
	if t.name = m.GetName(); s.find(t) >= 0 {
		return status(http.StatusConflict, metav1.StatusReasonAlreadyExists, fmt.Sprintf("%s %q already exists", t.groupResource(), t.name))
	}
	m.SetNamespace(t.namespace)
	m.SetUID(types.UID("uid-" + strconv.Itoa(s.made)))
	m.SetCreationTimestamp(metav1.NewTime(s.Now()))
	m.SetGeneration(1)
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.Status.Phase = corev1.PodPending
	}
	if d, ok := obj.(*appsv1.Deployment); ok {
		obj = defaulted(d)
	}
	s.sign(r, t, obj)
	s.Objects = append(s.Objects, obj)
	s.publish("ADDED", obj)
	return obj
}

// next is the object that a write asks for.
func (s *Server) next(r *http.Request, t target, old runtime.Object, body []byte) (runtime.Object, error) {
	if r.Method == http.MethodPut {
		return decode(t, body)
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	var after []byte
	switch types.PatchType(r.Header.Get("Content-Type")) {
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(body); err == nil {
			after, err = operations.Apply(before)
		}
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, body)
	default:
		after, err = strategicpatch.StrategicMergePatch(before, body, old)
	}
	if err != nil {
		return nil, err
	}
	return decode(t, after)
}

func decode(t target, body []byte) (runtime.Object, error) {
	gvk := resources[t.resource].gvk
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, &gvk, nil)
	if err == nil {
		obj.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return obj, err
}

// replace stores a new version: status and spec are written apart, and a stale
// version is a conflict.
func (s *Server) replace(r *http.Request, t target, i int, next runtime.Object) runtime.Object {
	old, m := s.Objects[i], object(next)
	was := object(old)
	if v := m.GetResourceVersion(); v != "" && v != was.GetResourceVersion() && r.Method == http.MethodPut {
		return status(http.StatusConflict, metav1.StatusReasonConflict, fmt.Sprintf("Operation cannot be fulfilled on %s %q: the object has been modified; please apply your changes to the latest version and try again", t.groupResource(), t.name))
	}
	if t.subresource == "status" {
		kept := old.DeepCopyObject()
		setField(kept, next, "Status")
		if _, ok := kept.(*appsv1.Deployment); ok { // so that its controller numbers revisions (deployment strategy.go)
			object(kept).SetAnnotations(m.GetAnnotations())
		}
		next, m = kept, object(kept)
	} else {
		setField(next, old, "Status")
		m.SetGeneration(was.GetGeneration())
		if !sameField(next, old, "Spec") {
			m.SetGeneration(was.GetGeneration() + 1)
		}
	}
	m.SetUID(was.GetUID())
	m.SetResourceVersion(was.GetResourceVersion())
	if reflect.DeepEqual(next, old) {
		return old
	}
	s.sign(r, t, next)
	s.Objects[i] = next
	s.publish("MODIFIED", next)
	if t.subresource == "scale" {
		return scaleOf(next)
	}
	return next
}

func scaleOf(obj runtime.Object) runtime.Object {
	m := object(obj)
	out := &autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{Name: m.GetName(), Namespace: m.GetNamespace(), ResourceVersion: m.GetResourceVersion()}}
	return out
}

func field(obj runtime.Object, name string) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(name)
}

func setField(obj, from runtime.Object, name string) {
	if f := field(obj, name); f.IsValid() {
		f.Set(field(from, name))
	}
}

func sameField(a, b runtime.Object, name string) bool {
	f := field(a, name)
	return !f.IsValid() || reflect.DeepEqual(f.Interface(), field(b, name).Interface())
}

// remove deletes; a pod that runs is only asked to go.
func (s *Server) remove(t target) runtime.Object {
	i := s.find(t)
	if i < 0 {
		return notFound(t)
	}
	if pod, ok := s.Objects[i].(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		if pod.DeletionTimestamp == nil {
			grace, leaving := int64(1), pod.DeepCopy()
			leaving.DeletionGracePeriodSeconds = &grace
			leaving.DeletionTimestamp = &metav1.Time{Time: s.Now().Add(time.Second)}
			s.Objects[i] = leaving
			s.publish("MODIFIED", leaving)
		}
		return s.Objects[i]
	}
	return s.drop(i)
}

// drop takes an object out of the store.
func (s *Server) drop(i int) runtime.Object {
	obj := s.Objects[i].DeepCopyObject()
	s.Objects = append(s.Objects[:i:i], s.Objects[i+1:]...)
	s.publish("DELETED", obj)
	return obj
}

// publish numbers a version and tells those who watch.
func (s *Server) publish(verb string, obj runtime.Object) {
	object(obj).SetResourceVersion(strconv.Itoa(firstVersion + len(s.changes) + 1))
	s.changes = append(s.changes, change{firstVersion + len(s.changes) + 1, verb, obj})
	close(s.news)
	s.news = make(chan struct{})
}

// sign records who wrote, as a server's managed fields do.
func (s *Server) sign(r *http.Request, t target, obj runtime.Object) {
	manager := r.URL.Query().Get("fieldManager")
	agent := r.Header.Get("User-Agent")
	program, _, _ := strings.Cut(agent, "/")
	switch {
	case manager != "":
	case strings.HasSuffix(agent, "-controller") && strings.HasSuffix(program, ".test"):
		manager = "kube-controller-manager" // a test's own process stands for the control plane
	default:
		manager = program
	}
	s.signAs(manager, t.subresource, obj)
}

func (s *Server) signAs(manager, subresource string, obj runtime.Object) {
	m, now := object(obj), metav1.NewTime(s.Now())
	entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource, Time: &now, FieldsType: "FieldsV1"}
	var kept []metav1.ManagedFieldsEntry
	for _, known := range m.GetManagedFields() {
		if known.Manager != manager || known.Subresource != subresource {
			kept = append(kept, known)
		}
	}
	m.SetManagedFields(append(kept, entry))
}

// watch streams what is written from a version on.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target) {
	query := r.URL.Query()
	if query.Get("sendInitialEvents") == "true" {
		reply(w, r, status(http.StatusBadRequest, metav1.StatusReasonBadRequest, "sendInitialEvents is not served"))
		return
	}
	from, _ := strconv.Atoi(query.Get("resourceVersion"))
	choose, err := chooser(query, t)
	if err != nil {
		reply(w, r, status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error()))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush, out := w.(http.Flusher), json.NewEncoder(w)
	flush.Flush()
	cut := s.cut()
	for {
		select {
		case <-cut: // nothing that was written since is told
			return
		default:
		}
		s.data.Lock()
		if from < s.oldest {
			s.data.Unlock()
			_ = out.Encode(map[string]any{"type": "ERROR", "object": status(http.StatusGone, metav1.StatusReasonExpired, "too old resource version: "+strconv.Itoa(from))})
			return
		}
		changes, news := s.changes, s.news
		s.data.Unlock()
		for _, c := range changes {
			if c.version > from && c.obj != nil && choose(c.obj) && out.Encode(map[string]any{"type": c.verb, "object": c.obj}) != nil {
				return
			}
			from = max(from, c.version)
		}
		flush.Flush()
		select {
		case <-news:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}
