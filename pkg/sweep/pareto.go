package sweep

import "github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"

// MarkPareto marks the strategies that complete and that no other one beats: to
// do better in duration, least available or peak pods, one has to do worse in another.
func MarkPareto(all []v1alpha1.StrategyResult) {
	for i := range all {
		all[i].Pareto = completes(all[i]) && !beaten(all[i], all)
	}
}

func beaten(r v1alpha1.StrategyResult, all []v1alpha1.StrategyResult) bool {
	for _, other := range all {
		if !completes(other) {
			continue
		}
		orders := []int{byDuration(other, r), byAvailable(other, r), byPods(other, r)}
		worse, better := false, false
		for _, order := range orders {
			worse, better = worse || order > 0, better || order < 0
		}
		if better && !worse {
			return true
		}
	}
	return false
}
