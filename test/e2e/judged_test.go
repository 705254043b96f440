package e2e

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// large is a rollout of 100 pods, 25 more and 25 fewer of them allowed, with
// these sizes after three and after six seconds.
func large(took time.Duration, least int32, third, sixth [2]int32) rolled {
	r := rolled{sets: []string{"old", "new"}, took: took, verdict: "Complete", apps: map[string]pods{"web": {125, least}}}
	add := func(at time.Duration, old, new int32) {
		r.steps = append(r.steps, step{at, map[string]int32{"old": old, "new": new}})
	}
	add(0, 100, 25)
	add(40*time.Millisecond, 75, 25)
	add(60*time.Millisecond, 75, 50)
	for i, now := range [][2]int32{third, sixth} {
		before := r.steps[len(r.steps)-1].sizes
		at := time.Duration(3*i+3) * time.Second
		add(at, now[0], before["new"])
		add(at+20*time.Millisecond, now[0], now[1])
	}
	add(9*time.Second, 0, sixth[1])
	if sixth[1] < 100 {
		add(9020*time.Millisecond, 0, 100)
	}
	return r
}

func TestPredictionIsJudgedByRealRuns(t *testing.T) {
	real := spread{replicas: 100, runs: []rolled{
		large(11*time.Second, 75, [2]int32{50, 75}, [2]int32{25, 100}),
		large(12*time.Second, 77, [2]int32{52, 73}, [2]int32{27, 98}),
	}}
	changed := func(change func(r *rolled)) rolled {
		r := large(11*time.Second, 76, [2]int32{50, 75}, [2]int32{25, 100})
		change(&r)
		return r
	}
	for name, test := range map[string]struct {
		predicted rolled
		want      []string
	}{
		"one of the real ones":         {changed(func(*rolled) {}), nil},
		"four pods off":                {large(12*time.Second, 75, [2]int32{46, 79}, [2]int32{25, 100}), nil},
		"between two of them":          {large(12*time.Second, 75, [2]int32{51, 74}, [2]int32{26, 99}), nil},
		"nine pods off":                {large(12*time.Second, 75, [2]int32{41, 84}, [2]int32{25, 100}), []string{"sizes"}},
		"more pods than allowed":       {large(12*time.Second, 75, [2]int32{51, 75}, [2]int32{25, 100}), []string{"sizes"}},
		"another beginning":            {changed(func(r *rolled) { r.steps[2].sizes = map[string]int32{"old": 75, "new": 49} }), []string{"sizes"}},
		"two sets changed at once":     {changed(func(r *rolled) { r.steps[4].sizes = map[string]int32{"old": 49, "new": 75} }), []string{"sizes"}},
		"as late as the last":          {changed(func(r *rolled) { r.took = 13 * time.Second }), nil},
		"later than all":               {changed(func(r *rolled) { r.took = 13300 * time.Millisecond }), []string{"duration"}},
		"fewer available than in any":  {changed(func(r *rolled) { r.apps = map[string]pods{"web": {125, 74}} }), []string{"pods"}},
		"more pods at once than today": {changed(func(r *rolled) { r.apps = map[string]pods{"web": {126, 75}} }), []string{"pods"}},
		"another end":                  {changed(func(r *rolled) { r.verdict = "Stuck" }), []string{"verdict"}},
	} {
		if got := real.errors(test.predicted); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v; %s", name, got, test.want, real.likeness(test.predicted))
		}
	}
}

// Strictly, the order has to be a real one, and so have the pods.
func TestStrictRule(t *testing.T) {
	run := large(11*time.Second, 75, [2]int32{50, 75}, [2]int32{25, 100})
	other := large(12*time.Second, 77, [2]int32{52, 73}, [2]int32{27, 98})
	real := spread{replicas: 100, runs: []rolled{run, other}}
	for name, test := range map[string]struct {
		predicted rolled
		want      []string
	}{
		"the order of one, as long as the other": {large(12*time.Second, 75, [2]int32{50, 75}, [2]int32{25, 100}), nil},
		"four pods off":                          {large(12*time.Second, 75, [2]int32{46, 79}, [2]int32{25, 100}), []string{"sizes"}},
		"longer than all":                        {large(14*time.Second, 75, [2]int32{50, 75}, [2]int32{25, 100}), []string{"duration"}},
		"fewer available than any":               {large(11*time.Second, 74, [2]int32{50, 75}, [2]int32{25, 100}), []string{"pods"}},
		"between the fewest available of two":    {large(11*time.Second, 76, [2]int32{50, 75}, [2]int32{25, 100}), []string{"pods"}},
	} {
		if got := real.strictly(test.predicted); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// The fewest available may be what no real run shows, when another seed's are.
func TestOtherSeedsCount(t *testing.T) {
	run := large(11*time.Second, 75, [2]int32{50, 75}, [2]int32{25, 100})
	more, most := run, run
	more.apps, most.apps = map[string]pods{"web": {125, 79}}, map[string]pods{"web": {125, 90}}
	for _, test := range []struct {
		otherwise []rolled
		want      []string
	}{{nil, []string{"pods"}}, {[]rolled{most}, []string{"pods"}}, {[]rolled{most, run}, nil}} {
		real := spread{100, []rolled{run, run}, test.otherwise}
		if got := real.errors(more); !slices.Equal(got, test.want) {
			t.Errorf("with %d other seeds: %v, want %v", len(test.otherwise), got, test.want)
		}
	}
}

func TestRunsAreKept(t *testing.T) {
	run := large(12345*time.Millisecond, 77, [2]int32{52, 73}, [2]int32{27, 98})
	data, err := json.Marshal(run.keep())
	if err != nil {
		t.Fatal(err)
	}
	var back kept
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	got := back.rolled()
	if !sameSizes(got.steps, run.steps) || got.took != run.took || got.pods() != run.pods() || got.verdict != run.verdict || got.line() != run.line() {
		t.Errorf("%s became %s, %s", data, got.line(), got.pods())
	}
}

// What becomes of a node and its pods is compared by who, not by the order of all.
func TestStoriesAreCompared(t *testing.T) {
	predicted := story{{50, "node-0", "Ready=Unknown"}, {60, "lost-1", "deleted"}, {61, "new-1", "Pending"}}
	for name, test := range map[string]struct {
		told story
		want int
	}{
		"the same":           {predicted, 0},
		"a little later":     {story{{61, "new-1", "Pending"}, {54, "node-0", "Ready=Unknown"}, {64, "lost-1", "deleted"}}, 0},
		"much later":         {story{{50, "node-0", "Ready=Unknown"}, {77, "lost-1", "deleted"}, {61, "new-1", "Pending"}}, 1},
		"something else":     {story{{50, "node-0", "Ready=False"}, {60, "lost-1", "deleted"}, {61, "new-1", "Pending"}}, 1},
		"nothing":            {nil, 3},
		"one more than that": {append(slices.Clone(predicted), happening{62, "new-2", "Pending"}), 1},
	} {
		if got := predicted.differences(test.told); len(got) != test.want {
			t.Errorf("%s: %d differences, want %d: %q", name, len(got), test.want, got)
		}
	}
}
