package rollout

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The values are those of upstream v1.37.2 with k8s.io/api v0.37.2.
func TestComputeHash(t *testing.T) {
	zero, one := int32(0), int32(1)
	for name, tc := range map[string]struct {
		template  string
		collision *int32
		want      string
	}{
		"empty":                {"{}", nil, "54f4c57dcb"},
		"empty, one collision": {"{}", &one, "6554565b97"},
		"nginx":                {defaulted("nginx:1.25"), nil, "7c97c89d59"},
		"nginx, 0 collisions":  {defaulted("nginx:1.25"), &zero, "7768649875"},
		"nginx, one collision": {defaulted("nginx:1.25"), &one, "5c9c986ffd"},
		"newer nginx":          {defaulted("nginx:1.26"), nil, "68bcfd78d6"},
		"short hash":           {defaulted("nginx:2"), nil, "cffc885d9"},
	} {
		var template corev1.PodTemplateSpec
		if err := json.Unmarshal([]byte(tc.template), &template); err != nil {
			t.Fatal(err)
		}
		if got := ComputeHash(&template, tc.collision); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// defaulted is a template as the API server stores it.
func defaulted(image string) string {
	return `{"metadata":{"labels":{"app":"web"}},"spec":{
		"containers":[{"name":"c","image":"` + image + `","resources":{},"imagePullPolicy":"IfNotPresent",
			"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],
		"restartPolicy":"Always","dnsPolicy":"ClusterFirst","schedulerName":"default-scheduler",
		"securityContext":{},"terminationGracePeriodSeconds":30}}`
}

func TestReplicaSetName(t *testing.T) {
	long := strings.Repeat("a", 250)
	if got := replicaSetName(long, "54f4c57dcb", LatestVersion); len(got) != 253 || !strings.HasSuffix(got, "a-54f4c57dcb") {
		t.Errorf("got %s of %d bytes", got, len(got))
	}
	if got := replicaSetName(long, "54f4c57dcb", 33); len(got) != 261 {
		t.Errorf("v1.33 cuts the name to %d bytes", len(got))
	}
	if got := replicaSetName("web", "54f4c57dcb", LatestVersion); got != "web-54f4c57dcb" {
		t.Errorf("got %s", got)
	}
}

func TestNewReplicaSet(t *testing.T) {
	d := rolling(10, "3", "2")
	d.Annotations = map[string]string{"team": "blue", RevisionAnnotation: "7"}
	d.Labels = map[string]string{"of": "deployment"}
	if err := json.Unmarshal([]byte(defaulted("nginx:1.25")), &d.Spec.Template); err != nil {
		t.Fatal(err)
	}
	before := d.DeepCopy()
	rs, _, err := NewReplicaSet(d, nil, 8, LatestVersion)
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]bool{
		"name":                     rs.Name == "web-7c97c89d59",
		"size":                     Size(rs) == 10,
		"labels of the template":   len(rs.Labels) == 2 && rs.Labels["app"] == "web" && rs.Labels["pod-template-hash"] == "7c97c89d59",
		"annotations":              len(rs.Annotations) == 4 && rs.Annotations["team"] == "blue",
		"revision":                 rs.Annotations[RevisionAnnotation] == "8",
		"max-replicas":             rs.Annotations[MaxReplicasAnnotation] == "13",
		"selector":                 rs.Spec.Selector.MatchLabels["pod-template-hash"] == "7c97c89d59",
		"owner":                    len(rs.OwnerReferences) == 1 && rs.OwnerReferences[0].Kind == "Deployment",
		"template equal":           EqualIgnoreHash(&rs.Spec.Template, &d.Spec.Template),
		"the Deployment untouched": d.Annotations[RevisionAnnotation] == before.Annotations[RevisionAnnotation] && len(d.Spec.Template.Labels) == 1,
	}
	for what, ok := range checks {
		if !ok {
			t.Errorf("%s: %+v", what, rs)
		}
	}
}

func TestScalingMessages(t *testing.T) {
	for v, want := range map[Version][2]string{
		24: {"Scaled up replica set web-1 to 3", "Scaled down replica set web-1 to 1"},
		25: {"Scaled up replica set web-1 to 3", "Scaled down replica set web-1 to 1 from 3"},
		31: {"Scaled up replica set web-1 to 3", "Scaled down replica set web-1 to 1 from 3"},
		32: {"Scaled up replica set web-1 from 0 to 3", "Scaled down replica set web-1 from 3 to 1"},
	} {
		if got := [2]string{CreationMessage(v, "web-1", 3), ScalingMessage(v, "web-1", 3, 1)}; got != want {
			t.Errorf("%s: got %q, want %q", v, got, want)
		}
	}
}
