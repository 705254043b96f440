package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestSyncAppArmor(t *testing.T) {
	const prefix = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
	unconfined := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	standard := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	for name, tc := range map[string]struct {
		value   string
		ofPod   *corev1.AppArmorProfile
		own     *corev1.AppArmorProfile
		windows bool
		want    *corev1.AppArmorProfile
	}{
		"unconfined":         {value: "unconfined", want: unconfined},
		"default":            {value: "runtime/default", want: standard},
		"a file":             {value: "localhost/strict", want: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: ptr.To("strict")}},
		"no file":            {value: "localhost/"},
		"a padded file":      {value: "localhost/ strict"},
		"unknown":            {value: "docker/default"},
		"one of its own":     {value: "unconfined", own: standard, want: standard},
		"as the pod has it":  {value: "unconfined", ofPod: unconfined},
		"other than the pod": {value: "unconfined", ofPod: standard, want: unconfined},
		"on Windows":         {value: "unconfined", windows: true},
	} {
		template := []corev1.Container{{Name: "app"}, {Name: "other"}}
		if tc.own != nil {
			template[0].SecurityContext = &corev1.SecurityContext{AppArmorProfile: tc.own}
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{prefix + "app": tc.value}}, Spec: corev1.PodSpec{Containers: template}}
		if tc.ofPod != nil {
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{AppArmorProfile: tc.ofPod}
		}
		if tc.windows {
			pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
		}
		syncAppArmor(pod)
		var got *corev1.AppArmorProfile
		if sc := pod.Spec.Containers[0].SecurityContext; sc != nil {
			got = sc.AppArmorProfile
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: want -, got +\n%s", name, d)
		}
		if pod.Spec.Containers[1].SecurityContext != nil || tc.own == nil && template[0].SecurityContext != nil {
			t.Errorf("%s: another container, or the template's own, was changed", name)
		}
	}
}
