package livetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// discover answers what kubectl asks about the API itself.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) bool {
	var answer any
	switch path := strings.Trim(r.URL.Path, "/"); {
	case path == "api":
		answer = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "apis":
		answer = groups()
	case path == "api/v1" || strings.HasPrefix(path, "apis/") && strings.Count(path, "/") == 2:
		answer = resourcesOf(strings.TrimPrefix(strings.TrimPrefix(path, "apis/"), "api/"))
	default:
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a client that is gone does not matter
	return true
}

func groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := map[string]bool{"": true}
	for _, kind := range resources {
		gv := kind.gvk.GroupVersion()
		if seen[gv.Group] {
			continue
		}
		seen[gv.Group] = true
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
	}
	return list
}

func resourcesOf(version string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version}
	for name, kind := range resources {
		if kind.gvk.GroupVersion().String() != version {
			continue
		}
		namespaced := !slices.Contains([]string{"nodes", "priorityclasses", "namespaces", "persistentvolumes", "storageclasses"}, name)
		add := func(r metav1.APIResource) { list.APIResources = append(list.APIResources, r) }
		add(metav1.APIResource{Name: name, SingularName: strings.TrimSuffix(name, "s"), Namespaced: namespaced, Kind: kind.gvk.Kind,
			Verbs: metav1.Verbs{"get", "list", "watch", "create", "update", "patch", "delete"}})
		if name == "deployments" || name == "replicasets" {
			add(metav1.APIResource{Name: name + "/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: metav1.Verbs{"get", "update", "patch"}})
		}
	}
	return list
}
