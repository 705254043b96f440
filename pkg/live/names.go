package live

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// onlyMetadata asks for lists of objects without their spec and status, as
// client-go's metadata client does; a server that cannot, sends whole ones.
const onlyMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// Names lists the names of a kind's objects in a namespace, in the server's
// order. The kind is Deployment, ReplicaSet or Pod. Errors are the server's.
func (c *Cluster) Names(ctx context.Context, kind, namespace string) ([]string, error) {
	client, resource := c.apps.RESTClient(), "deployments"
	switch kind {
	case "ReplicaSet":
		resource = replicaSets
	case "Pod":
		client, resource = c.core.RESTClient(), pods
	}
	var names []string
	_, err := fetch(ctx, metadataLister(client, resource, namespace),
		func(l *metav1.PartialObjectMetadataList) []metav1.PartialObjectMetadata { return l.Items }, metav1.ListOptions{},
		func(o *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
			names = append(names, o.Name)
			return nil
		})
	return names, err
}

func metadataLister(client rest.Interface, resource, namespace string) lister[*metav1.PartialObjectMetadataList] {
	return func(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
		answer := client.Get().Namespace(namespace).Resource(resource).VersionedParams(&opts, scheme.ParameterCodec).SetHeader("Accept", onlyMetadata).Do(ctx)
		if err := answer.Error(); err != nil {
			return nil, err
		}
		data, err := answer.Raw()
		if err != nil {
			return nil, err
		}
		list := &metav1.PartialObjectMetadataList{}
		return list, json.Unmarshal(data, list)
	}
}
