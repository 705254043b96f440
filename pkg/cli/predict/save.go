package predict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// Save keeps a plan together with the change it is about, for apply --plan.
func (p *Prediction) Save(path string) error {
	request, err := p.options.Request()
	if err != nil {
		return err
	}
	request.Bases = p.Bases
	plan := *p.Plan
	plan.Spec.Request = request
	return command.Save(path, func(w io.Writer) error { return view.JSON(w, &plan) })
}

// Request is the change as it was asked for.
func (o *Options) Request() (*v1alpha1.Request, error) {
	documents, err := o.Documents()
	if err != nil {
		return nil, err
	}
	var manifests []json.RawMessage
	for _, doc := range documents {
		manifests = append(manifests, doc.JSON)
	}
	return &v1alpha1.Request{
		Namespace: o.Namespace, Explicit: o.ExplicitNamespace, Manifests: manifests,
		ServerSide: o.Apply.ServerSide, FieldManager: o.Apply.FieldManager, ForceConflicts: o.Apply.ForceConflicts,
		Verbs: o.verbs(),
	}, nil
}

// HasManifests reports whether the change is manifests rather than flags.
func (o *Options) HasManifests() bool { return len(o.Files) > 0 || o.Kustomize != "" }

// Documents are all objects of the manifests in order, those that no plan knows
// included: what kubectl apply would apply.
func (o *Options) Documents() ([]kubectl.Document, error) {
	if !o.HasManifests() {
		return nil, nil
	}
	b := resource.NewLocalBuilder().Unstructured().Local().ContinueOnError().NamespaceParam(o.Namespace)
	var named []string
	for _, file := range o.Files {
		if file == "-" {
			b = b.Stream(bytes.NewReader(o.stdin), "STDIN")
		} else {
			named = append(named, file)
		}
	}
	if len(named) > 0 || o.Kustomize != "" {
		b = b.FilenameParam(false, &resource.FilenameOptions{Filenames: named, Kustomize: o.Kustomize, Recursive: o.Recursive})
	}
	infos, err := b.Flatten().Do().Infos()
	if err != nil {
		return nil, err
	}
	out := make([]kubectl.Document, len(infos))
	for i, info := range infos {
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%s: %T is not an object", info.Source, info.Object)
		}
		out[i].Source = info.Source
		if out[i].JSON, err = json.Marshal(object.Object); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", info.Source, err)
		}
	}
	return out, nil
}

// verbs are the change flags as they would be given again.
func (o *Options) verbs() (out []string) {
	add := func(flag, value string) { out = append(out, "--"+flag+"="+value) }
	for _, image := range o.Change.Images {
		add("image", image.Container+"="+image.Image)
	}
	if o.Change.Replicas != nil {
		add("replicas", strconv.Itoa(int(*o.Change.Replicas)))
	}
	if o.Change.Undo != nil {
		add("undo", strconv.FormatInt(*o.Change.Undo, 10))
	}
	if o.Change.Patch != nil {
		add("patch", string(o.Change.Patch))
		add("patch-type", string(o.Change.PatchType))
	}
	for _, plain := range []struct {
		flag string
		on   bool
	}{{"restart", o.Change.Restart}, {"pause", o.Change.Pause}, {"resume", o.Change.Resume}} {
		if plain.on {
			add(plain.flag, "true")
		}
	}
	return out
}
