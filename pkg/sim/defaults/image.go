package defaults

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The grammar of image references (distribution/reference, go-digest). A name
// is repository[:tag][@digest]; the repository may begin with a registry host.
var (
	imageID    = regexp.MustCompile(`^[a-f0-9]{64}$`)
	imageHost  = regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$`)
	imagePath  = regexp.MustCompile(`^([a-z0-9]+(?:(?:[._/]|__|-+)[a-z0-9]+)*)(?::([\w][\w.-]{0,127}))?(?:@(.+))?$`)
	digestForm = regexp.MustCompile(`^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$`)
)

// The longest repository path, without its host.
const imagePathLimit = 255

// pullPolicy is Always for what counts as the latest tag and IfNotPresent for
// everything else, text that is no image reference included.
// Source: SetDefaults_Container.
func pullPolicy(image string) corev1.PullPolicy {
	if effectiveTag(image) == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// effectiveTag is the tag of an image reference: latest when there is neither
// tag nor digest, empty when there is only a digest or the text is no reference.
// Source: pkg/util/parsers.ParseImageName.
func effectiveTag(image string) string {
	if imageID.MatchString(image) {
		return ""
	}
	host, rest := splitHost(image)
	if !imageHost.MatchString(host) {
		rest = host + "/" + rest // a_b.c is no host, but may begin a path
	}
	parts := imagePath.FindStringSubmatch(rest)
	if parts == nil || len(parts[1]) > imagePathLimit {
		return ""
	}
	tag, digest := parts[2], parts[3]
	switch {
	case digest != "" && !digestForm.MatchString(digest):
		return ""
	case tag == "" && digest == "":
		return "latest"
	}
	return tag
}

// splitHost cuts the registry host off a reference. The first element is one
// when it could not be part of a path: it has a dot, a colon or an upper-case
// letter, or is localhost. Without one the image is on Docker Hub, where a name
// of one element is in library/.
func splitHost(image string) (host, rest string) {
	const hub = "docker.io"
	host, rest = hub, image
	first, after, slash := strings.Cut(image, "/")
	switch {
	case !slash:
		return hub, "library/" + image
	case first == "index.docker.io":
		rest = after
	case first == "localhost", strings.ContainsAny(first, ".:"), strings.ToLower(first) != first:
		host, rest = first, after
	}
	if host == hub && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	return host, rest
}
