package conformance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
)

// names remembers what servers make up, so that two servers' answers can be compared.
type names struct {
	first, last map[string]string // resourceVersions by resource/name
	uids        map[string]string // by resource/name
	known       map[string]string // what is shown in a UID's or a made-up name's place
	made        int
	bases       []string // generateNames asked for
}

func newNames() *names {
	return &names{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, 0, nil}
}

// key names an object in a script: made-up names by their number.
func (n *names) key(obj sim.Object) string { return n.hide(resourceOf(obj) + "/" + obj.GetName()) }

// learn takes note of an object and reports whether its version is new.
func (n *names) learn(obj sim.Object) (moved bool) {
	if base := obj.GetGenerateName(); base != "" && strings.HasPrefix(obj.GetName(), base[:min(len(base), 50)]) && n.known[obj.GetName()] == "" {
		n.made++
		name := obj.GetName()
		n.known[name] = fmt.Sprintf("%s(%d)", name[:len(name)-5], n.made)
	}
	key, version := n.key(obj), obj.GetResourceVersion()
	if n.uids[key] != string(obj.GetUID()) {
		n.uids[key], n.first[key] = string(obj.GetUID()), version
		n.known[string(obj.GetUID())] = fmt.Sprintf("uid(%s)", key)
	}
	moved = n.last[key] != version
	n.last[key] = version
	return moved
}

func (n *names) saw(e event) { n.learn(e.obj) }

// hide replaces what was made up.
func (n *names) hide(text string) string {
	for made, shown := range n.known {
		text = strings.ReplaceAll(text, made, shown)
	}
	for _, base := range n.bases {
		text = regexp.MustCompile(regexp.QuoteMeta(base)+`[bcdfghjklmnpqrstvwxz2456789]{5}\b`).ReplaceAllString(text, base+"(made up)")
	}
	return versionInText.ReplaceAllString(text, "${1} (…)")
}

var versionInText = regexp.MustCompile(`(ResourceVersion in (?:the )?(?:precondition|record)) \(\d+\)`)

var reference = regexp.MustCompile(`\$UID\(([^)]*)\)`)

// insert puts what was made up into a script's input.
func (n *names) insert(text string) string {
	return reference.ReplaceAllStringFunc(text, func(s string) string { return n.uids[reference.FindStringSubmatch(s)[1]] })
}

func (n *names) uid(c call) string {
	if c.uid != "" {
		return c.uid
	}
	return n.uids[c.resource+"/"+c.name]
}

// version is the resourceVersion that a call sends, present when it says nothing.
func (n *names) version(c call, present string) string {
	switch c.version {
	case "old":
		return n.first[c.resource+"/"+c.name]
	case "none":
		return ""
	case "":
		return present
	}
	return c.version
}

// state is what an answer or event says of an object in short.
func (p *player) state(obj sim.Object) string {
	moved := p.names.learn(obj)
	words := []string{p.names.key(obj), fmt.Sprintf("generation %d", obj.GetGeneration()), "version same"}
	if moved {
		words[2] = "version new"
	}
	if at := obj.GetDeletionTimestamp(); at != nil {
		in := at.Sub(p.server.now())
		grace := "none"
		if g := obj.GetDeletionGracePeriodSeconds(); g != nil {
			grace = fmt.Sprint(*g)
			// The server's clock has gone on since, and it cuts to whole seconds.
			if off := in - time.Duration(*g)*time.Second; -3*time.Second < off && off <= time.Second {
				in = time.Duration(*g) * time.Second
			}
		}
		words = append(words, fmt.Sprintf("deleted in %s, grace %s", in, grace))
	}
	if f := obj.GetFinalizers(); len(f) > 0 {
		words = append(words, fmt.Sprintf("finalizers %v", f))
	}
	return strings.Join(words, "; ")
}

// show is a whole stored object, or its scale.
func (p *player) show(c call) string {
	var obj any
	var err error
	if resource, scale := strings.CutSuffix(c.resource, ".scale"); scale {
		obj, err = p.server.scale(resource, c.name)
	} else {
		obj, err = p.server.get(c.resource, c.name)
	}
	if err != nil {
		return answer(err)
	}
	return plain(obj)
}

// plain is an object as YAML without what no two servers share.
func plain(obj any) string {
	data, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return err.Error()
	}
	delete(fields, "kind")
	delete(fields, "apiVersion")
	if meta, ok := fields["metadata"].(map[string]any); ok {
		for _, name := range []string{"managedFields", "resourceVersion", "namespace"} {
			delete(meta, name)
		}
	}
	out, err := yaml.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	return presentTime.ReplaceAllString(string(out), `"(now)"`)
}

// presentTime is a time that a server took from its clock; scripts give others.
var presentTime = regexp.MustCompile(`"20[23]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)
