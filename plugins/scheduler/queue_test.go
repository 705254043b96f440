package scheduler

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestEnoughNodes(t *testing.T) {
	for nodes, want := range map[int]int{1: 1, 99: 99, 100: 100, 200: 100, 250: 120, 1000: 420, 5000: 500, 10000: 500} {
		if got := enoughOf(nodes); got != want {
			t.Errorf("%d nodes: %d are enough, want %d", nodes, got, want)
		}
	}
}

// TestBackOff: 1, 2, 4, 8, then 10 seconds, cut to whole seconds from 1.33 on.
func TestBackOff(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 700e6, time.UTC)
	for _, c := range []struct {
		windows bool
		want    []time.Duration
	}{
		{false, []time.Duration{1000, 2000, 4000, 8000, 10000, 10000}},
		{true, []time.Duration{300, 1300, 3300, 7300, 9300, 9300}},
	} {
		e := &entry{}
		for i, want := range c.want {
			e.fail(now, c.windows)
			if got := e.until.Sub(now); got != want*time.Millisecond {
				t.Errorf("windows %v, failure %d: %s, want %s", c.windows, i+1, got, want*time.Millisecond)
			}
		}
	}
}

func TestPorts(t *testing.T) {
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	taken := ports{}
	taken.add(hostPort{"10.0.0.1", tcp, 80}, 1)
	taken.add(hostPort{anyAddress, udp, 53}, 1)
	for p, want := range map[hostPort]bool{
		{"10.0.0.1", tcp, 80}: true, {"10.0.0.2", tcp, 80}: false, {anyAddress, tcp, 80}: true,
		{"10.0.0.9", udp, 53}: true, {anyAddress, tcp, 53}: false, {"10.0.0.1", tcp, 81}: false,
	} {
		if got := taken.taken(p); got != want {
			t.Errorf("%v: taken %v", p, got)
		}
	}
	taken.add(hostPort{"10.0.0.1", tcp, 80}, -1)
	if taken.taken(hostPort{anyAddress, tcp, 80}) || len(taken) != 2 {
		t.Errorf("left behind: %v", taken)
	}
}

// TestBalance: the numbers of upstream's formula, worked by hand.
func TestBalance(t *testing.T) {
	room := amounts{cpu: 4000, memory: 10000}
	for _, c := range []struct{ cpu, memory, want int64 }{
		{0, 0, 100}, {2000, 5000, 100}, {4000, 0, 50}, {3000, 5000, 87}, {8000, 10000, 100},
	} {
		if got := balance(c.cpu, c.memory, room); got != c.want {
			t.Errorf("%d, %d: %d, want %d", c.cpu, c.memory, got, c.want)
		}
	}
}

func TestEvenOut(t *testing.T) {
	for _, c := range []struct {
		scores       []float64
		points, want []int64
	}{
		{[]float64{2.4, 3.5, 6}, []int64{0, 0, 0}, []int64{100, 66, 33}},
		{[]float64{1, 2, 4}, []int64{ignored, 0, 0}, []int64{0, 100, 50}},
		{[]float64{0, 0.4}, []int64{0, 0}, []int64{100, 100}},
		{[]float64{10, 41, 42, 200}, []int64{0, 0, 0, 0}, []int64{100, 84, 84, 5}},
		{[]float64{3}, []int64{ignored}, []int64{0}},
	} {
		evenOut(c.scores, c.points)
		if !slices.Equal(c.points, c.want) {
			t.Errorf("%v: %v, want %v", c.scores, c.points, c.want)
		}
	}
}
