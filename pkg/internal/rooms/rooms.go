// Package rooms holds the table of which folder may do what. Its test parses
// the code and fails when a line stands in the wrong room.
package rooms

// Room is a folder with what its code is for and what it must not do.
type Room struct {
	Path string // below the module's root; the longest match counts
	For  string // a line here…
	// Imports lists the rooms it may import besides those below itself.
	Imports []string
	// Foreign bans imports from outside the module by prefix.
	Foreign []string
	// Calls bans package-level names such as time.Now.
	Calls []string
	// Goroutines allows go statements and channels.
	Goroutines bool
}

var (
	clientGo = []string{"k8s.io/client-go"}
	clocks   = []string{"time.Now", "time.Since", "time.Sleep", "time.After", "time.NewTimer", "time.Tick", "time.NewTicker"}
	random   = []string{"math/rand.Int", "math/rand.Intn", "math/rand/v2.Int", "math/rand/v2.IntN", "math/rand/v2.Int64N", "math/rand/v2.Float64", "math/rand/v2.Uint64"}
	printing = []string{"fmt.Print", "fmt.Println", "fmt.Printf", "os.Stdout", "os.Stderr"}
)

// nowhere may be imported by any room: upstream's own code, and what would link
// the schemas of all API groups (docs/decisions/0008-distribution.md).
var nowhere = []string{"k8s.io/kubernetes", "k8s.io/client-go/applyconfigurations"}

// Rooms is the table; docs/architecture.md tells it in words.
var Rooms = []Room{
	{Path: "pkg/trace", For: "names what happened", Calls: join(clocks, random, printing)},
	{Path: "pkg/trace/derive", For: "reads off two versions of an object what happened", Imports: []string{"pkg/trace", "pkg/rollout"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/rollout", For: "computes", Imports: []string{"pkg/trace"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/engine", For: "says what a controller may do", Imports: []string{"pkg/trace"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/controller", For: "decides and writes", Imports: []string{"pkg/engine", "pkg/rollout", "pkg/trace"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/sim", For: "lets virtual time pass", Imports: []string{"pkg/engine", "pkg/rollout", "pkg/trace"},
		Foreign: []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers"}, Calls: join(clocks, random, printing)},
	{Path: "plugins", For: "behaves like the world", Imports: []string{"pkg/sim", "pkg/engine", "pkg/rollout", "pkg/trace", "plugins/internal"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/apis", For: "is our own kinds", Imports: []string{"pkg/trace"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/timeline", For: "folds events", Imports: []string{"pkg/trace", "pkg/rollout", "pkg/apis"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/diagnosis", For: "finds out what holds a rollout", Imports: []string{"pkg/timeline", "pkg/trace", "pkg/apis"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/sweep", For: "plays many runs and compares them", Imports: []string{"pkg/apis"}, Foreign: clientGo, Calls: join(clocks, random, printing), Goroutines: true},
	{Path: "pkg/explain", For: "says why things are as they are", Imports: []string{"pkg/controller", "pkg/engine", "pkg/rollout", "pkg/timeline", "pkg/trace", "pkg/apis"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/view", For: "shows", Imports: []string{"pkg/timeline", "pkg/trace", "pkg/rollout", "pkg/apis"}, Foreign: clientGo, Calls: join(clocks, random)},
	{Path: "pkg/manifest", For: "reads files into typed objects", Imports: []string{"pkg/apis"}, Calls: join(clocks, random, printing)},
	{Path: "pkg/change", For: "makes of an object what kubectl's verbs would", Imports: []string{"pkg/manifest", "pkg/rollout", "pkg/sim/defaults"}, Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/internal/eventscript", For: "writes events for tests", Imports: []string{"pkg/trace"}, Calls: join(clocks, random, printing)},
	{Path: "pkg/scenario", For: "puts worlds together from words", Imports: []string{"pkg/apis", "pkg/change", "pkg/manifest", "pkg/sim", "pkg/engine", "pkg/rollout", "pkg/trace", "pkg/timeline", "pkg/controller", "plugins"},
		Foreign: clientGo, Calls: join(clocks, random, printing)},
	{Path: "pkg/live", For: "talks to an API server", Imports: []string{"pkg/engine", "pkg/rollout", "pkg/trace"}, Calls: join(random, printing), Goroutines: true},
	{Path: "pkg/cli", For: "wires", Imports: []string{"pkg/apis", "pkg/change", "pkg/diagnosis", "pkg/explain", "pkg/live", "pkg/manifest", "pkg/scenario", "pkg/sim", "pkg/engine", "pkg/rollout", "pkg/sweep", "pkg/trace", "pkg/timeline", "pkg/view", "pkg/controller", "plugins"},
		Calls: random, Goroutines: true},
	{Path: "cmd", For: "starts the program", Imports: []string{"pkg/cli"}, Goroutines: true},
	{Path: "pkg/internal/rooms", For: "keeps the rooms apart", Goroutines: true},
}

func join(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
