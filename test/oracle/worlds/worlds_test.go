package worlds

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

var (
	count   = flag.Int("worlds", envInt("WORLDS", 3000), "random worlds to run (env WORLDS)")
	seed    = flag.Uint64("seed", uint64(envInt("SEED", 1)), "seed of the first world; the others follow it (env SEED)")
	shrinks = flag.Int("shrink", 300, "runs to spend on making a failing world smaller")
	actions = flag.Int("actions", envInt("ACTIONS", 50), "actions of a world (env ACTIONS)")
)

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	debug.SetGCPercent(1600) // worlds are short-lived garbage
	if err := equality.Semantic.AddFunc(samePodSpec); err != nil {
		panic(err)
	}
	// The global handlers hold a rate limiter that was started in real time and
	// would sleep for decades of virtual time.
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) {}}
	os.Exit(m.Run())
}

// TestWorlds runs random worlds on all cores. The seed of a world is the first
// seed plus its number, so that any of them can be run alone.
func TestWorlds(t *testing.T) {
	compared := &tally{began: time.Now()}
	defer compared.tell(os.Stderr, 30*time.Second)()
	var next atomic.Uint64
	t.Run("all", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("part", func(t *testing.T) {
				t.Parallel()
				for compared.differences.Load() == 0 {
					i := next.Add(1) - 1
					if i >= uint64(*count) {
						return
					}
					s := generate(*seed+i, *actions)
					d, n := play(t, s)
					if compared.add(n, d); d != nil {
						fail(t, s, d)
					}
				}
			})
		}
	})
}

// fail shows the smallest script found that still shows a difference.
func fail(t *testing.T, s script, d *difference) {
	small, less := shrink(t, s, d, *shrinks)
	t.Fatalf("seed %d: %v\n\nThe same in short, to paste into testdata/worlds:\n# %s\n%s", s.seed, less, less.what, small)
}

// TestScripts runs the worlds that once showed a difference, and those written
// to reach what random ones reach rarely.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/worlds/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata/worlds: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if d, _ := play(t, s); d != nil {
				t.Fatal(d)
			}
		})
	}
}
