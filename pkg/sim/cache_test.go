package sim

import "testing"

// What is not in a cache is not found in a lister's words, whose resources are
// in the singular; the server's are in the plural.
func TestCacheNotFound(t *testing.T) {
	c := newStore(New(Config{})).cache
	_, deployment := c.Deployment("ns", "x")
	_, replicaSet := c.ReplicaSet("ns", "x")
	for want, err := range map[string]error{
		`deployment.apps "x" not found`: deployment,
		`replicaset.apps "x" not found`: replicaSet,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
