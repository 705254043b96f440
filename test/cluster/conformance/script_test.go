package conformance

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/sim"
	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

// Every script under testdata is a list of API calls, each followed by what
// the server answered and by the watch events it caused:
//
//	world                             goes on in a new namespace that holds the input's objects: quotas, limit ranges; a Namespace gives its labels
//	create RESOURCE                   the input is merged into the resource's smallest manifest
//	update RESOURCE/NAME [status]     the input is merged into what is stored, and that is PUT
//	patch RESOURCE/NAME               a strategic merge patch
//	delete RESOURCE/NAME [grace=N] [policy=P] [uid=U]
//	bind pods/NAME node=N [uid=U]
//	scale RESOURCE/NAME replicas=N [uid=U]
//	get RESOURCE/NAME                 the stored object, or its scale
//
// version=old sends the resourceVersion that the object had first, version=none
// sends none; otherwise updates and scales send the present one. "version new"
// in an answer means that it moved. $UID(RESOURCE/NAME) stands for a UID.
func TestSimulated(t *testing.T) {
	if rewriting() {
		t.Skip("the real server's answers are being recorded")
	}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		play(t, path, newSimServer(t.Context(), namespaceOf(path)))
	})
}

// TestReal holds the recorded answers against a kube-apiserver.
func TestReal(t *testing.T) {
	cfg, err := cluster.ForTest(t, cluster.Options{}).Config("")
	if err != nil {
		t.Fatal(err)
	}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s, err := newRealServer(t.Context(), cfg, namespaceOf(path))
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		play(t, path, s)
	})
}

// namespaceOf keeps scripts apart on the real server.
func namespaceOf(path string) string {
	return "play-" + strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

func rewriting() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}

func play(t *testing.T, path string, s server) {
	p := &player{server: s, names: newNames(), home: namespaceOf(path)}
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		return p.names.hide(p.run(t, d))
	})
}

// player plays a script against a server.
type player struct {
	server server
	names  *names
	home   string // the namespace that it begins in
	worlds int    // how many others came after it
}

// call is one call of a script.
type call struct {
	verb, resource, name string
	status               bool
	version, uid         string
	node, policy         string
	grace, replicas      int
	input                string
}

func (p *player) parse(t *testing.T, d *datadriven.TestData) call {
	c := call{verb: d.Cmd, grace: -1 << 31, input: p.names.insert(d.Input)}
	c.resource, c.name, _ = strings.Cut(d.CmdArgs[0].Key, "/")
	c.status = d.HasArg("status")
	d.MaybeScanArgs(t, "version", &c.version)
	d.MaybeScanArgs(t, "uid", &c.uid)
	d.MaybeScanArgs(t, "node", &c.node)
	d.MaybeScanArgs(t, "policy", &c.policy)
	d.MaybeScanArgs(t, "grace", &c.grace)
	d.MaybeScanArgs(t, "replicas", &c.replicas)
	return c
}

func (p *player) run(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "world" {
		return p.begin(t, d.Input)
	}
	c := p.parse(t, d)
	var out strings.Builder
	if c.verb == "get" {
		return p.show(c)
	}
	obj, err := p.send(t, c)
	switch {
	case err != nil:
		out.WriteString(answer(err))
	case obj != nil:
		fmt.Fprintln(&out, "ok", p.state(obj))
	default:
		fmt.Fprintln(&out, "ok")
	}
	events, err := p.server.events(c.resource)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		fmt.Fprintln(&out, " ", e.verb, p.state(e.obj))
		p.names.saw(e)
	}
	return out.String()
}

// answer is an error as a client sees it.
func answer(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "error: " + err.Error() + "\n"
	}
	s := status.Status()
	message, _, _ := strings.Cut(s.Message, "\n") // a diff of Go structures may follow
	return fmt.Sprintf("%d %s: %s\n", s.Code, s.Reason, message)
}

func (p *player) send(t *testing.T, c call) (sim.Object, error) {
	switch c.verb {
	case "create":
		obj, err := merged([]byte(smallest[c.resource]), c.input)
		if err != nil {
			t.Fatal(err)
		}
		if base := obj.GetGenerateName(); base != "" {
			p.names.bases = append(p.names.bases, base)
		}
		return p.server.create(obj)
	case "update":
		return p.update(t, c)
	case "patch":
		data, err := yaml.YAMLToJSON([]byte(c.input))
		if err != nil {
			t.Fatal(err)
		}
		return p.server.patch(c.resource, c.name, data)
	case "delete":
		return nil, p.server.remove(c.resource, c.name, p.deleteOptions(c))
	case "bind":
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: c.name, UID: types.UID(p.names.uid(c))}}
		return nil, p.server.bind(pod, c.node)
	case "scale":
		return nil, p.scale(c)
	}
	t.Fatalf("no such call: %s", c.verb)
	return nil, nil
}

func (p *player) update(t *testing.T, c call) (sim.Object, error) {
	old, err := p.server.get(c.resource, c.name)
	if err != nil {
		if old, err = merged([]byte(smallest[c.resource]), "metadata: {name: "+c.name+"}"); err != nil {
			t.Fatal(err)
		}
	}
	obj, err := changed(old, c.input)
	if err != nil {
		t.Fatal(err)
	}
	obj.SetResourceVersion(p.names.version(c, obj.GetResourceVersion()))
	subresource := ""
	if c.status {
		subresource = "status"
	}
	return p.server.update(obj, subresource)
}

func (p *player) deleteOptions(c call) metav1.DeleteOptions {
	var opts metav1.DeleteOptions
	if c.policy != "" {
		policy := metav1.DeletionPropagation(c.policy)
		opts.PropagationPolicy = &policy
	}
	if c.grace > -1<<31 {
		grace := int64(c.grace)
		opts.GracePeriodSeconds = &grace
	}
	if uid := types.UID(c.uid); uid != "" {
		opts.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	if version := p.names.version(c, ""); version != "" {
		opts.Preconditions = &metav1.Preconditions{ResourceVersion: &version}
	}
	return opts
}

func (p *player) scale(c call) error {
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: c.name, UID: types.UID(c.uid)}}
	if have, err := p.server.scale(c.resource, c.name); err == nil {
		s.ResourceVersion = p.names.version(c, have.ResourceVersion)
	}
	s.Spec.Replicas = int32(c.replicas)
	_, err := p.server.updateScale(c.resource, s)
	return err
}
