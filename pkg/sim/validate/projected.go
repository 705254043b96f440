package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// projected checks a volume of several sources, whose files must not collide.
// Source: validateProjectedVolumeSource.
func (c *podChecker) projected(v *corev1.ProjectedVolumeSource, path *field.Path) field.ErrorList {
	errs := join(
		fileMode(v.DefaultMode, path.Child("defaultMode")),
		userID(path.Child("defaultUser"), v.DefaultUser),
	)
	p := &projection{volume: path, taken: sets.New[string](), anyTokenPath: c.keep.tokenPaths}
	for i := range v.Sources {
		errs = append(errs, p.source(&v.Sources[i], path.Child("sources").Index(i))...)
	}
	return errs
}

// projection checks the sources of one volume and holds the paths taken.
type projection struct {
	volume       *field.Path
	taken        sets.Set[string]
	anyTokenPath bool
}

// take notes the path of a file. Of a collision is said what value shows.
func (p *projection) take(path, value string) field.ErrorList {
	collides := p.taken.Has(path)
	p.taken.Insert(path)
	return when(collides, field.Invalid(p.volume, value, "conflicting duplicate paths"))
}

func (p *projection) source(s *corev1.VolumeProjection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	kinds := 0
	for _, kind := range []source{
		of("secret", s.Secret, p.secret),
		of("configMap", s.ConfigMap, p.configMap),
		of("downwardAPI", s.DownwardAPI, p.downwardAPI),
		of("serviceAccountToken", s.ServiceAccountToken, p.token),
		of("clusterTrustBundle", s.ClusterTrustBundle, p.trustBundle),
		of("podCertificate", s.PodCertificate, p.certificate),
	} {
		if kind.check != nil {
			kinds++
			errs = append(errs, kind.check(path.Child(kind.checkedAs))...)
		}
	}
	return append(errs, when(kinds > 1, field.Forbidden(path, "may not specify more than 1 volume type per source"))...)
}

func (p *projection) secret(s *corev1.SecretProjection, path *field.Path) field.ErrorList {
	return append(required(path.Child("name"), s.Name), p.items(s.Name, s.Items, path)...)
}

func (p *projection) configMap(s *corev1.ConfigMapProjection, path *field.Path) field.ErrorList {
	return append(required(path.Child("name"), s.Name), p.items(s.Name, s.Items, path)...)
}

func (p *projection) items(name string, items []corev1.KeyToPath, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range items {
		errs = append(errs, keyToPath(&items[i], path.Child("items").Index(i))...)
		if items[i].Path != "" {
			errs = append(errs, p.take(items[i].Path, name)...)
		}
	}
	return errs
}

func (p *projection) downwardAPI(s *corev1.DownwardAPIProjection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range s.Items {
		errs = append(errs, downwardFile(&s.Items[i], path)...)
		if file := s.Items[i].Path; file != "" {
			errs = append(errs, p.take(file, file)...)
		}
	}
	return errs
}

// The shortest and the longest life of a token, in seconds.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

// token checks a service account token; its path is named as the volume's, as upstream.
func (p *projection) token(s *corev1.ServiceAccountTokenProjection, path *field.Path) field.ErrorList {
	at, file := path.Child("expirationSeconds"), p.volume.Child("path")
	var errs field.ErrorList
	switch seconds := s.ExpirationSeconds; {
	case seconds == nil:
		errs = append(errs, field.Required(at, ""))
	case *seconds < minTokenSeconds:
		errs = append(errs, field.Invalid(at, *seconds, "may not specify a duration less than 10 minutes"))
	case *seconds > maxTokenSeconds:
		errs = append(errs, field.Invalid(at, *seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	errs = append(errs, required(file, s.Path)...)
	if s.Path != "" && !p.anyTokenPath {
		errs = append(errs, filePath(s.Path, file)...)
	}
	return append(errs, userID(path.Child("user"), s.User)...)
}

func (p *projection) trustBundle(s *corev1.ClusterTrustBundleProjection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.Name != nil && s.SignerName != nil:
		errs = append(errs, field.Invalid(path, internal{s}, "only one of name and signerName may be used"))
	case s.Name != nil:
		errs = bundleName(*s.Name, path.Child("name"))
		errs = append(errs, when(s.LabelSelector != nil, field.Invalid(path.Child("labelSelector"), s.LabelSelector,
			"labelSelector must be unset if name is specified"))...)
	case s.SignerName != nil:
		errs = join(
			when(*s.SignerName == "", field.Required(path.Child("signerName"), "must be a valid signer name")),
			signerName(*s.SignerName, path.Child("signerName")),
			labelSelector(s.LabelSelector, false, path.Child("labelSelector")),
		)
	default:
		errs = append(errs, field.Required(path, "either name or signerName must be specified"))
	}
	return join(errs,
		required(path.Child("path"), s.Path),
		userID(path.Child("user"), s.User),
		filePath(s.Path, path.Child("path")),
		p.take(s.Path, s.Path),
	)
}

// bundleName checks the name of a ClusterTrustBundle: a signer's begins with
// the signer, colons for slashes.
func bundleName(name string, path *field.Path) field.ErrorList {
	errs := when(name == "", field.Required(path, "must be a valid object name"))
	own := name
	if colon := strings.LastIndex(name, ":"); colon >= 0 {
		signer := strings.ReplaceAll(name[:colon], ":", "/")
		prefix := strings.ReplaceAll(signer, "/", ":") + ":"
		switch {
		case signer == "":
			return append(errs, field.Invalid(path, name,
				`not a valid clustertrustbundlename: ClusterTrustBundle without signer name must not have ":" in its name`))
		case !strings.HasPrefix(name, prefix):
			return append(errs, field.Invalid(path, name, fmt.Sprintf(
				"not a valid clustertrustbundlename: ClusterTrustBundle for signerName %s must be named with prefix %s", signer, prefix)))
		}
		own = strings.TrimPrefix(name, prefix)
	}
	for _, text := range subdomain(own) {
		errs = append(errs, field.Invalid(path, name, "not a valid clustertrustbundlename: "+text))
	}
	return errs
}

// signerName checks domain/path. Source: ValidateSignerName.
func signerName(name string, path *field.Path) field.ErrorList {
	domain, rest, slash := strings.Cut(name, "/")
	switch {
	case name == "":
		return required(path, name)
	case !slash || strings.Contains(rest, "/"):
		return field.ErrorList{field.Invalid(path, name,
			"must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	const domainLimit = validation.DNS1123SubdomainMaxLength
	const limit = domainLimit + 1 + domainLimit + validation.DNS1123LabelMaxLength + 1
	return join(
		when(len(domain) > domainLimit, field.TooLong(path, "", domainLimit)),
		dotted(domain, validation.IsDNS1123Label, path),
		when(!strings.Contains(domain, "."),
			field.Invalid(path, domain, "should be a domain with at least two segments separated by dots")),
		dotted(rest, validation.IsDNS1123Subdomain, path),
		when(len(name) > limit, field.TooLong(path, "", limit)),
	)
}

// dotted reports the first bad part between dots.
func dotted(text string, check func(string) []string, path *field.Path) field.ErrorList {
	for _, part := range strings.Split(text, ".") {
		var errs field.ErrorList
		for _, complaint := range check(part) {
			errs = append(errs, field.Invalid(path, text, fmt.Sprintf("validating label %q: %s", part, complaint)))
		}
		if len(errs) > 0 {
			return errs
		}
	}
	return nil
}

// How long a pod's certificate may be asked to live, in seconds.
const (
	minCertificateSeconds   = 3600
	maxCertificateSeconds   = 91 * 24 * 60 * 60
	maxKubernetesCertSecond = 24 * 60 * 60
)

func (p *projection) certificate(s *corev1.PodCertificateProjection, path *field.Path) field.ErrorList {
	return join(
		signerName(s.SignerName, path.Child("signerName")),
		userAnnotations(s.UserAnnotations, path.Child("userAnnotations")),
		userID(path.Child("user"), s.User),
		oneOf(path.Child("keyType"), s.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"),
		certificateLife(s, path.Child("maxExpirationSeconds")),
		p.certificatePath(s.CredentialBundlePath, path.Child("credentialBundlePath")),
		p.certificatePath(s.KeyPath, path.Child("keyPath")),
		p.certificatePath(s.CertificateChainPath, path.Child("certificateChainPath")),
		when(s.CredentialBundlePath == "" && s.KeyPath == "" && s.CertificateChainPath == "",
			field.Required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")),
	)
}

func (p *projection) certificatePath(file string, path *field.Path) field.ErrorList {
	if file == "" {
		return nil
	}
	return append(filePath(file, path), p.take(file, file)...)
}

func certificateLife(s *corev1.PodCertificateProjection, path *field.Path) field.ErrorList {
	if s.MaxExpirationSeconds == nil {
		return nil
	}
	seconds, limit := *s.MaxExpirationSeconds, int32(maxCertificateSeconds)
	if host, _, _ := strings.Cut(s.SignerName, "/"); host == "kubernetes.io" || strings.HasSuffix(host, ".kubernetes.io") {
		limit = maxKubernetesCertSecond
	}
	return join(
		when(seconds < minCertificateSeconds,
			field.Invalid(path, seconds, "if provided, maxExpirationSeconds must be >= 3600")),
		when(seconds > limit,
			field.Invalid(path, seconds, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", limit))),
	)
}

func userAnnotations(set map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(set)) {
		errs = append(errs, validation.IsDomainPrefixedKey(path, strings.ToLower(key))...)
	}
	tooBig := apivalidation.ValidateAnnotationsSize(set) != nil
	return append(errs, when(tooBig, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))...)
}
