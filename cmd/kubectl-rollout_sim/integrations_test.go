package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// k9sPlugins is a plugins.yaml (k9s internal/config/json/schemas/plugins.json).
type k9sPlugins struct {
	Plugins map[string]struct {
		ShortCut, Description, Command string
		Scopes, Args                   []string
		Background                     bool
	}
}

// k9sVariable is what k9s replaces in arguments; an unknown one is an error
// (internal/view/env.go).
var k9sVariable = regexp.MustCompile(`\$(!?[\w|-]+)`)

// TestK9sPlugins runs what docs/integrations/k9s.yaml runs in each view, as k9s fills it in.
func TestK9sPlugins(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "integrations", "k9s.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file k9sPlugins
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	selected := map[string]string{"deployments": "web", "replicasets": "web-7bf58d54fb", "pods": "web-7bf58d54fb-jls5r"}
	keys, scripts := map[string]bool{}, t.TempDir()
	for name, plugin := range file.Plugins {
		if plugin.ShortCut == "" || plugin.Description == "" || len(plugin.Scopes) == 0 || plugin.Command != "sh" || len(plugin.Args) != 2 {
			t.Errorf("%s lacks what k9s needs: %+v", name, plugin)
			continue
		}
		for _, scope := range plugin.Scopes {
			if key := scope + " " + plugin.ShortCut; keys[key] {
				t.Errorf("%s: %s is taken twice", name, key)
			} else {
				keys[key] = true
			}
			known := map[string]string{"RESOURCE_NAME": scope, "NAME": selected[scope], "NAMESPACE": "default", "CONTEXT": "test"}
			line := k9sVariable.ReplaceAllStringFunc(plugin.Args[1], func(variable string) string {
				value, ok := known[variable[1:]]
				if !ok {
					t.Errorf("%s: k9s has no variable %s", name, variable)
				}
				return value
			})
			script := "env PATH=$WORK/bin:$PATH\nenv COLUMNS=100\nchmod 755 bin/kubectl\nchmod 755 bin/less\ncluster dumped\nexec sh command\nstdout '^[a-z]+/web'\n! stdout '^error'\n" +
				"-- command --\n" + line + "\n-- bin/less --\n#!/bin/sh\nexec cat\n-- bin/kubectl --\n" + kubectlShim
			if err := os.WriteFile(filepath.Join(scripts, name+"-"+scope+".txtar"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	params := scriptParams(t)
	params.Dir = scripts
	testscript.Run(t, params)
}

// hook is docs/integrations/argocd-presync.yaml.
type hook struct {
	role    rbacv1.Role
	shared  rbacv1.ClusterRole
	files   corev1.ConfigMap
	job     batchv1.Job
	objects []metav1.PartialObjectMetadata
}

func readHook() (*hook, error) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "integrations", "argocd-presync.yaml"))
	if err != nil {
		return nil, err
	}
	h := &hook{}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		var meta metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(document, &meta); err != nil {
			return nil, err
		}
		h.objects = append(h.objects, meta)
		into := map[string]any{"Role": &h.role, "ClusterRole": &h.shared, "ConfigMap": &h.files, "Job": &h.job}[meta.Kind]
		if into == nil {
			into = &map[string]any{}
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			return nil, fmt.Errorf("%s: %w", meta.Kind, err)
		}
	}
	return h, nil
}

// allows reports whether the hook's roles let it do something in its namespace, team, or in all.
func (h *hook) allows(verb, resource, namespace string) bool {
	rules := h.shared.Rules
	if namespace == "team" {
		rules = append(slices.Clone(rules), h.role.Rules...)
	}
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, verb)
	})
}

// TestArgoHook runs the Job of docs/integrations/argocd-presync.yaml as a user who
// may do what its roles allow: nothing is lacking, and it fails when it should.
func TestArgoHook(t *testing.T) {
	h, err := readHook()
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range h.objects {
		if meta.Annotations["argocd.argoproj.io/hook"] != "PreSync" {
			t.Errorf("%s/%s is no hook", meta.Kind, meta.Name)
		}
	}
	container := h.job.Spec.Template.Spec.Containers[0]
	args := "'" + strings.Join(container.Args, "' '") + "'"
	args = strings.ReplaceAll(args, container.VolumeMounts[0].MountPath+"/", "")
	stricter := strings.ReplaceAll(args, "minAvailable<75%", "minAvailable<95%")
	script := "cluster argocd\nexits 0 " + args + "\n! stderr 'cannot|error'\nstdout '^result     Complete'\nstdout 'live cluster'\n" +
		"exits 3 " + stricter + "\nstderr 'minAvailable<95%'\n"
	for name, text := range h.files.Data {
		script += "-- " + name + " --\n" + text
	}
	scripts := t.TempDir()
	if err := os.WriteFile(filepath.Join(scripts, "hook.txtar"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	params := scriptParams(t)
	params.Dir = scripts
	testscript.Run(t, params)
}
