package rollout

import "testing"

func TestNearestVersion(t *testing.T) {
	for s, want := range map[string]struct {
		version Version
		exact   bool
	}{
		"v1.37.2":            {37, true},
		"v1.31.4-eks-0a1b2c": {31, true},
		"v1.33.1+k3s1":       {33, true},
		"v1.99.0":            {37, false},
		"v1.18.20":           {22, false},
		"v2.30.0":            {30, false},
		"":                   {37, false},
	} {
		if version, exact := NearestVersion(s); version != want.version || exact != want.exact {
			t.Errorf("%q: %s, %v", s, version, exact)
		}
	}
}
