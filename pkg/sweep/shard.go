package sweep

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

// Range is which of so many runs a shard has: from one number up to, and
// without, another. A nil shard has them all.
func Range(runs int, shard *v1alpha1.Shard) (from, to int) {
	if shard == nil {
		return 0, runs
	}
	part := func(i int) int { return int(int64(i) * int64(runs) / int64(shard.Count)) }
	return part(shard.Index), part(shard.Index + 1)
}

// Merge joins the shards of one sweep into the sweep that would have been had
// without shards. Shards that are missing, given twice or of different sweeps
// are errors.
func Merge(parts []*v1alpha1.RolloutSweep) (*v1alpha1.RolloutSweep, error) {
	if len(parts) == 0 {
		return nil, errors.New("there is nothing to merge")
	}
	parts = slices.Clone(parts)
	for _, p := range parts {
		if err := checkShard(p); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(parts, func(a, b *v1alpha1.RolloutSweep) int {
		return cmp.Compare(a.Spec.Shard.Index, b.Spec.Shard.Index)
	})
	spec := parts[0].Spec
	spec.Shard = nil
	whole := v1alpha1.NewRolloutSweep(spec)
	for i, p := range parts {
		if err := sameSweep(parts[0], p); err != nil {
			return nil, err
		}
		if at := p.Spec.Shard.Index; at != i {
			return nil, outOfTurn(i, at, p.Spec.Shard.Count)
		}
		whole.Runs = append(whole.Runs, p.Runs...)
	}
	if count := parts[0].Spec.Shard.Count; len(parts) != count {
		return nil, outOfTurn(len(parts), count, count)
	}
	Summarize(whole)
	return whole, nil
}

// outOfTurn says which shard is not as expected: too few of it, or too many.
func outOfTurn(wanted, found, count int) error {
	if found < wanted {
		return fmt.Errorf("shard %d/%d is there twice", found, count)
	}
	return fmt.Errorf("shard %d/%d is missing", wanted, count)
}

// checkShard refuses what is no shard, and runs that are not those it should have.
func checkShard(p *v1alpha1.RolloutSweep) error {
	shard := p.Spec.Shard
	if shard == nil {
		return errors.New("a sweep without spec.shard is whole already")
	}
	if err := CheckShard(*shard); err != nil {
		return err
	}
	if p.Spec.Runs < shard.Count {
		return fmt.Errorf("shard %d/%d: a sweep of %d runs has no such part", shard.Index, shard.Count, p.Spec.Runs)
	}
	from, to := Range(p.Spec.Runs, shard)
	if len(p.Runs) != to-from {
		return fmt.Errorf("shard %d/%d of %d runs should have %d of them, not %d", shard.Index, shard.Count, p.Spec.Runs, to-from, len(p.Runs))
	}
	for i, run := range p.Runs {
		if want := p.Spec.Seed + uint64(from+i); run.Seed != want {
			return fmt.Errorf("shard %d/%d: runs[%d] has seed %d, not %d", shard.Index, shard.Count, i, run.Seed, want)
		}
	}
	return nil
}

// CheckShard refuses shards that cannot be.
func CheckShard(s v1alpha1.Shard) error {
	if s.Count < 1 || s.Index < 0 || s.Index >= s.Count {
		return fmt.Errorf("shard %d/%d: the index counts from 0 to one less than the number of shards", s.Index, s.Count)
	}
	return nil
}

// sameSweep refuses shards whose specs differ in more than the shard's index.
func sameSweep(a, b *v1alpha1.RolloutSweep) error {
	one, err := fields(a)
	if err != nil {
		return err
	}
	other, err := fields(b)
	if err != nil {
		return err
	}
	for _, name := range keys(one, other) {
		if !bytes.Equal(one[name], other[name]) {
			return fmt.Errorf("shards %d and %d are not of one sweep: spec.%s differs", a.Spec.Shard.Index, b.Spec.Shard.Index, name)
		}
	}
	return nil
}

// fields is a spec by its JSON fields, the shard as its count alone.
func fields(s *v1alpha1.RolloutSweep) (map[string]json.RawMessage, error) {
	spec := s.Spec
	spec.Shard = &v1alpha1.Shard{Count: s.Spec.Shard.Count}
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var out map[string]json.RawMessage
	return out, json.Unmarshal(data, &out)
}

func keys(maps ...map[string]json.RawMessage) []string {
	var out []string
	for _, m := range maps {
		for key := range m {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
