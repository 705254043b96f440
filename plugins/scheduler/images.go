package scheduler

import "strings"

// image is one that nodes say they have.
type image struct {
	size  int64 // bytes, as told by the node that had it first
	nodes map[*node]bool
}

func (c *cluster) addImages(n *node) {
	if n.obj == nil {
		return
	}
	for i := range n.obj.Status.Images {
		for _, name := range n.obj.Status.Images[i].Names {
			known, ok := c.images[name]
			if !ok {
				known = &image{size: n.obj.Status.Images[i].SizeBytes, nodes: map[*node]bool{}}
				c.images[name] = known
			}
			known.nodes[n] = true
			n.images = append(n.images, name)
		}
	}
}

func (c *cluster) dropImages(n *node) {
	for _, name := range n.images {
		if known, ok := c.images[name]; ok {
			delete(known.nodes, n)
			if len(known.nodes) == 0 {
				delete(c.images, name)
			}
		}
	}
	n.images = nil
}

// Sizes between which images count (imagelocality/image_locality.go).
const (
	smallImage = 23 << 20
	largeImage = 1000 << 20
)

// scoreImages prefers nodes that have the pod's images; the more nodes have
// one, the more it counts (imagelocality/image_locality.go).
func (c *cluster) scoreImages(p *pending, fits []feasible, points []int64) bool {
	if len(c.images) == 0 {
		return false
	}
	images := imagesOf(p)
	ceiling := int64(largeImage * len(images))
	for i := range fits {
		var sum int64
		for _, name := range images {
			if known := c.images[name]; known != nil && known.nodes[fits[i].node] {
				sum += int64(float64(known.size) * (float64(len(known.nodes)) / float64(len(c.order))))
			}
		}
		points[i] = top * (min(max(sum, smallImage), ceiling) - smallImage) / (ceiling - smallImage)
	}
	return true
}

func imagesOf(p *pending) []string {
	var out []string
	for i := range p.pod.Spec.InitContainers {
		out = append(out, tagged(p.pod.Spec.InitContainers[i].Image))
	}
	for i := range p.pod.Spec.Containers {
		out = append(out, tagged(p.pod.Spec.Containers[i].Image))
	}
	for i := range p.pod.Spec.Volumes {
		if v := p.pod.Spec.Volumes[i].Image; v != nil {
			out = append(out, tagged(v.Reference))
		}
	}
	return out
}

// tagged is an image's name as nodes report it.
func tagged(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}
