package kubectl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/kubectl/pkg/cmd/set"
	"k8s.io/kubectl/pkg/polymorphichelpers"
	"k8s.io/kubectl/pkg/scale"
	"k8s.io/kubectl/pkg/scheme"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/change"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/live"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/manifest"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// The field managers of kubectl's verbs.
const (
	setManager     = "kubectl-set"
	rolloutManager = "kubectl-rollout"
	patchManager   = "kubectl-patch"
)

// Change makes the change that flags ask for: one alone as its kubectl verb
// does, several as one patch.
func (k *Kubectl) Change(ctx context.Context, s change.Set, at trace.Ref) (Outcome, error) {
	c := k.begin()
	info, err := c.find(at)
	if err != nil {
		return c.outcome("", err)
	}
	said, err := c.change(ctx, s, info)
	if err != nil {
		return c.outcome("", err)
	}
	return c.outcome(c.said(info, said), nil)
}

func (c *call) find(at trace.Ref) (*resource.Info, error) {
	infos, err := c.factory.NewBuilder().WithScheme(scheme.Scheme, appsv1.SchemeGroupVersion).
		NamespaceParam(at.Namespace).DefaultNamespace().
		ResourceNames(strings.ToLower(at.Kind)+"s.apps", at.Name).
		Flatten().Do().Infos()
	if err != nil {
		return nil, err
	}
	return infos[0], nil
}

// change finds the verb and says what it did.
func (c *call) change(ctx context.Context, s change.Set, info *resource.Info) (string, error) {
	one := func(have bool) bool { return have && s.Count() == 1 }
	switch {
	case one(s.Undo != nil):
		return c.undo(info, *s.Undo)
	case one(s.Replicas != nil):
		return "scaled", c.scale(info, *s.Replicas)
	case one(s.Restart):
		return "restarted", c.mutate(info, rolloutManager, polymorphichelpers.ObjectRestarterFn)
	case one(s.Pause):
		return "paused", c.mutate(info, rolloutManager, polymorphichelpers.ObjectPauserFn)
	case one(s.Resume):
		return "resumed", c.mutate(info, rolloutManager, polymorphichelpers.ObjectResumerFn)
	case one(len(s.Images) > 0):
		return "image updated", c.mutate(info, setManager, imageSetter(s.Images))
	}
	return "patched", c.combined(ctx, s, info)
}

// mutate sends the difference that a function of kubectl's makes.
func (c *call) mutate(info *resource.Info, manager string, do func(runtime.Object) ([]byte, error)) error {
	patches := set.CalculatePatches([]*resource.Info{info}, scheme.DefaultJSONEncoder(), do)
	for _, p := range patches {
		switch {
		case p.Err != nil:
			return fmt.Errorf("%s %q %w", info.Mapping.Resource.GroupResource(), info.Name, p.Err)
		case len(p.Patch) == 0 || string(p.Patch) == "{}":
			continue
		}
		if err := c.patch(info, manager, types.StrategicMergePatchType, p.Patch); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) patch(info *resource.Info, manager string, kind types.PatchType, data []byte) error {
	if c.DryRun == DryRunClient {
		return nil
	}
	helper := resource.NewHelper(info.Client, info.Mapping).DryRun(c.DryRun == DryRunServer).WithFieldManager(manager)
	_, err := helper.Patch(info.Namespace, info.Name, kind, data, nil)
	return err
}

// imageSetter sets images as kubectl set image does.
func imageSetter(images []change.Image) func(runtime.Object) ([]byte, error) {
	return func(obj runtime.Object) ([]byte, error) {
		var missing []string
		_, err := polymorphichelpers.UpdatePodSpecForObjectFn(obj, func(spec *corev1.PodSpec) error {
			for _, image := range images {
				if !slices.Contains([]bool{setImage(spec.InitContainers, image), setImage(spec.Containers, image)}, true) {
					missing = append(missing, fmt.Sprintf("%q", image.Container))
				}
			}
			return nil
		})
		switch {
		case err != nil:
			return nil, err
		case len(missing) > 0:
			return nil, fmt.Errorf("unable to find container named %s", strings.Join(missing, ", "))
		}
		return runtime.Encode(scheme.DefaultJSONEncoder(), obj)
	}
}

func setImage(containers []corev1.Container, image change.Image) (found bool) {
	for i := range containers {
		if image.Container == "*" || containers[i].Name == image.Container {
			containers[i].Image, found = image.Image, true
		}
	}
	return found
}

// undo is kubectl rollout undo.
func (c *call) undo(info *resource.Info, revision int64) (string, error) {
	client, err := c.factory.KubernetesClientSet()
	if err != nil {
		return "", err
	}
	back, err := polymorphichelpers.RollbackerFor(info.Mapping.GroupVersionKind.GroupKind(), client)
	if err != nil {
		return "", err
	}
	said, err := back.Rollback(info.Object, nil, revision, strategies[c.DryRun])
	if c.DryRun == DryRunClient && err == nil {
		said = "rolled back" // kubectl prints the template instead
	}
	return said, err
}

// scale is kubectl scale, by the subresource.
func (c *call) scale(info *resource.Info, replicas int32) error {
	if c.DryRun == DryRunClient {
		return nil
	}
	base, err := c.factory.RESTClient()
	if err != nil {
		return err
	}
	mapper, err := c.factory.ToRESTMapper()
	if err != nil {
		return err
	}
	client := scaleclient.New(base, mapper, dynamic.LegacyAPIPathResolverFunc, scales{})
	retry := scale.NewRetryParams(time.Second, 5*time.Minute)
	return scale.NewScaler(client).Scale(info.Namespace, info.Name, uint(replicas), nil, nil, retry, nil, info.Mapping.Resource, c.DryRun == DryRunServer)
}

// combined is a patch of the user's own, or the one of several changes at once.
func (c *call) combined(ctx context.Context, s change.Set, info *resource.Info) error {
	before, ok := info.Object.(manifest.Object)
	if !ok {
		return fmt.Errorf("%T cannot be changed", info.Object)
	}
	before.GetObjectKind().SetGroupVersionKind(info.Mapping.GroupVersionKind)
	after := before
	if s.Patch == nil || s.Count() > 1 {
		owned, err := c.owned(ctx, before)
		if err != nil {
			return err
		}
		result, err := s.Apply(change.Input{Object: before, Owned: owned, Now: time.Now()})
		if err != nil {
			return err
		}
		after = result.Object
	}
	request, err := s.Request(before, after)
	if err != nil {
		return err
	}
	return c.patch(info, request.FieldManager, request.Type, request.Data)
}

// owned are the ReplicaSets an undo may go back to.
func (c *call) owned(ctx context.Context, obj manifest.Object) ([]*appsv1.ReplicaSet, error) {
	client, err := c.factory.KubernetesClientSet()
	if err != nil {
		return nil, err
	}
	return live.OwnedReplicaSets(ctx, client.AppsV1(), obj)
}
