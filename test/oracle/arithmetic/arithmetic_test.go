package arithmetic

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

var (
	cases = flag.Int("cases", envInt("CASES", 25_000), "cases for each function compared (env CASES)")
	seed  = flag.Uint64("seed", uint64(envInt("SEED", 1)), "seed of the cases (env SEED)")
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // upstream tells of every unreadable annotation
	debug.SetGCPercent(400)        // cases are short-lived garbage
	os.Exit(m.Run())
}

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// version is the release upstream is linked at.
const version = rollout.LatestVersion

// compared is one answer of both sides, with the question.
type compared struct {
	what           string
	ours, upstream any
	in             any
}

func same(what string, ours, upstream, in any) compared { return compared{what, ours, upstream, in} }

// fuzz draws cases and compares what check returns for each. The clock stands
// still while it runs, so that both sides read the same time. A failure names
// the seed that draws it again.
func fuzz(t *testing.T, check func(r draw) []compared) {
	t.Helper()
	t.Parallel()
	total := 0
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Duration(*seed%997)*time.Millisecond + 250*time.Hour)
		now := time.Now()
		for i := range *cases {
			r := draw{rand.New(rand.NewPCG(*seed, uint64(i))), now}
			for _, c := range check(r) {
				total++
				if reflect.DeepEqual(c.ours, c.upstream) {
					continue
				}
				t.Fatalf("-seed=%d case %d: %s differs (-upstream +ours):\n%s\nfor %s", *seed, i, c.what,
					cmp.Diff(c.upstream, c.ours, cmp.Exporter(func(reflect.Type) bool { return true })), describe(c.in))
			}
		}
	})
	t.Logf("%d cases compared", total)
}

func describe(in any) string { return fmt.Sprintf("%+v", in) }

// text makes errors comparable.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
