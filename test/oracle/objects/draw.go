package objects

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// draw changes fields of typed objects, whatever their type.
type draw struct {
	*rand.Rand
	deep int
}

func (r draw) chance(percent int) bool { return r.IntN(100) < percent }

var texts = []string{"", "a", "web", "A", "a/b", "-x", "x_y", "a.b", "example.com/x", "10", "25%", "0%", "101%", "/abs", "../up", "Always", "Never",
	"OnFailure", "TCP", "UDP", "ClusterFirst", "None", "Default", "NoExecute", "NoSchedule", "Exists", "Equal", "In", "DoesNotExist", "RollingUpdate",
	"Recreate", "kubernetes.io/os", "127.0.0.1", "image:tag", "image@sha256:0", "x:latest", "cpu", "memory", "Localhost", "RuntimeDefault"}

var quantities = []string{"0", "1", "-1", "100m", "1500u", "1Gi", "5", "0.1m"}

// fill sets a value and all that hangs from it to something drawn.
func (r draw) fill(v reflect.Value) {
	if r.special(v) {
		return
	}
	r.deep--
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(r.chance(50))
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt([]int64{0, 0, 1, 1, 2, 30, 80, 8080, 65536, -1, 1 << 30}[r.IntN(11)])
	case reflect.Pointer:
		if r.deep > 0 && r.chance(50) {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem())
		}
	case reflect.Slice:
		r.fillSlice(v)
	case reflect.Map:
		r.fillMap(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && r.chance(60) {
				r.fill(v.Field(i))
			}
		}
	}
}

// special are the types whose fields are not for setting.
func (r draw) special(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case *resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse(quantities[r.IntN(len(quantities))])))
	case *metav1.Time, *metav1.MicroTime, *metav1.TypeMeta, *metav1.FieldsV1:
	case *[]metav1.ManagedFieldsEntry:
	case *intstr.IntOrString:
		if r.chance(50) {
			v.Set(reflect.ValueOf(intstr.FromInt32(int32(r.IntN(4)) - 1)))
		} else {
			v.Set(reflect.ValueOf(intstr.FromString(texts[r.IntN(len(texts))])))
		}
	default:
		return false
	}
	return true
}

func (r draw) fillSlice(v reflect.Value) {
	n := r.IntN(3)
	if r.deep <= 0 || n == 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		r.fill(v.Index(i))
	}
}

func (r draw) fillMap(v reflect.Value) {
	if r.deep <= 0 || v.Type().Key().Kind() != reflect.String {
		return
	}
	m := reflect.MakeMap(v.Type())
	for range r.IntN(3) {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		r.fill(key)
		r.fill(value)
		m.SetMapIndex(key, value)
	}
	v.Set(m)
}

// change walks down from v to a random place and fills it anew.
func (r draw) change(v reflect.Value) {
	if r.chance(12) || r.special(v) {
		r.deep = 4
		r.fill(v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if f := v.Field(r.IntN(v.NumField())); f.CanSet() {
			r.change(f)
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		r.change(v.Elem())
	case reflect.Slice:
		if v.Len() > 0 {
			r.change(v.Index(r.IntN(v.Len())))
			return
		}
		r.deep = 4
		r.fill(v)
	default:
		r.deep = 4
		r.fill(v)
	}
}

// podSpec is one that the API server accepts, with most things people use.
func podSpec() corev1.PodSpec {
	port := intstr.FromInt32(8080)
	probe := func() *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: port}}}
	}
	return corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}},
			{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
		},
		InitContainers: []corev1.Container{{Name: "i", Image: "init"}},
		Containers: []corev1.Container{{
			Name: "c", Image: "nginx:1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			Env:          []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "F", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "e", MountPath: "/e"}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}, Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			},
			ReadinessProbe: probe(), LivenessProbe: probe(),
			Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
			SecurityContext: &corev1.SecurityContext{RunAsNonRoot: new(true)},
		}},
		Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
		}}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway}},
	}
}

func labels() map[string]string { return map[string]string{"app": "a"} }

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Labels: labels()},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels()},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels()}, Spec: podSpec()},
		},
	}
}

func replicaSet() *appsv1.ReplicaSet {
	d := deployment()
	return &appsv1.ReplicaSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template}}
}

func pod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Labels: labels()}, Spec: podSpec()}
}

// changed is obj with up to n changes.
func (r draw) changed(obj any, n int) {
	for range 1 + r.IntN(n) {
		r.change(reflect.ValueOf(obj).Elem())
	}
}

func describe(obj any) string { return fmt.Sprintf("%+v", obj) }
