package rollout

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"
)

// ComputeHash is the pod-template-hash of a template, which must not have that
// label yet. A collision count of 0 gives another hash than none. The hash
// covers how values were built, not only what they mean (nil or empty, the text
// a quantity was read from), and the very fields of the linked k8s.io/api, so
// take templates as the API server returned them. Upstream: ComputeHash.
func ComputeHash(template *corev1.PodTemplateSpec, collisionCount *int32) string {
	h := fnv.New32a()
	h.Write([]byte(dump.ForHash(*template)))
	if collisionCount != nil {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(uint32(*collisionCount))))
	}
	return safeEncode(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// safeEncode maps each byte to a letter or digit that cannot spell a bad word.
// Upstream: k8s.io/apimachinery/pkg/util/rand.SafeEncodeString.
func safeEncode(s string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	return strings.Map(func(r rune) rune { return rune(alphabet[int(r)%len(alphabet)]) }, s)
}
