package sim

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/types"
)

// stream is a random source of its own for each name: what one actor draws
// never shifts what another gets.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// nameAlphabet is what generated names end in: no vowels, nothing that looks alike.
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// Lengths of generated names, in bytes (apiserver storage/names).
const (
	suffixLength  = 5
	maxNameBase   = 63 - suffixLength
	nameAttempts  = 8
	noUniqueExtra = ", the server was not able to generate a unique name for the object"
)

func generateName(r *rand.Rand, base string) string {
	if len(base) > maxNameBase {
		base = base[:maxNameBase]
	}
	var suffix [suffixLength]byte
	for i := range suffix {
		suffix[i] = nameAlphabet[r.IntN(len(nameAlphabet))]
	}
	return base + string(suffix[:])
}

// newUID is a version 4 UUID.
func newUID(r *rand.Rand) types.UID {
	hi, lo := r.Uint64(), r.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], hi)
	binary.BigEndian.PutUint64(raw[8:], lo)
	text := [36]byte{8: '-', 13: '-', 18: '-', 23: '-'}
	hex.Encode(text[:8], raw[:4])
	hex.Encode(text[9:13], raw[4:6])
	hex.Encode(text[14:18], raw[6:8])
	hex.Encode(text[19:23], raw[8:10])
	hex.Encode(text[24:], raw[10:])
	return types.UID(text[:])
}
