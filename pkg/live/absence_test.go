package live

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A server that is away is told of once each time, and not when it is back
// within a second.
func TestAbsence(t *testing.T) {
	var a absence
	start := time.Unix(1000, 0)
	for i, c := range []struct {
		after    time.Duration
		answered bool
		since    time.Duration // of what is told; negative: nothing
	}{
		{0, false, -1}, {900 * time.Millisecond, false, -1}, {950 * time.Millisecond, true, -1},
		{2 * time.Second, false, -1}, {3 * time.Second, false, 2 * time.Second}, {9 * time.Second, false, -1}, {10 * time.Second, true, -1},
		{20 * time.Second, false, -1}, {22 * time.Second, false, 20 * time.Second},
	} {
		since, tell := a.note(c.answered, start.Add(c.after))
		if tell != (c.since >= 0) || tell && !since.Equal(start.Add(c.since)) {
			t.Errorf("request %d: told %t, since %s", i, tell, since)
		}
	}
}

// What a server answers a watch is told where it matters.
func TestAnswers(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	away := &url.Error{Op: "Get", URL: "https://192.0.2.1:6443/api/v1/pods", Err: errors.New("connect: connection refused")}
	tooNew := apierrors.NewTimeoutError("Too large resource version", 1)
	tooNew.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for name, c := range map[string]struct {
		err     error
		streams bool
		begun   bool
		told    string
		refused bool
		stopped bool
	}{
		"all is well":                  {},
		"watches with a list unknown":  {err: apierrors.NewBadRequest("sendInitialEvents"), streams: true},
		"too many requests":            {err: apierrors.NewTooManyRequests("later", 1)},
		"a version not reached yet":    {err: tooNew},
		"expired":                      {err: apierrors.NewResourceExpired("too old")},
		"nobody is let in":             {err: apierrors.NewUnauthorized("no"), streams: true, told: "the API server does not accept the credentials any more: trying again"},
		"not allowed":                  {err: forbidden, refused: true, stopped: true},
		"not allowed any more":         {err: forbidden, begun: true, told: "pods cannot be watched any more: what they tell is not shown", stopped: true},
		"something else":               {err: apierrors.NewServiceUnavailable("etcd is down"), told: "watching pods: etcd is down"},
		"away":                         {err: away, told: "the API server does not answer since 00:16:40 (connect: connection refused): going on when it does"},
		"nobody waits for it any more": {err: context.Canceled, told: ""},
	} {
		var told []string
		stopped := false
		f := newFollower(&Cluster{clock: &serverClock{now: time.Now}}, FollowOptions{Problem: func(err error) { told = append(told, err.Error()) }})
		f.away.since = time.Unix(1000, 0).UTC()
		e := &feed{source: source{resource: "pods"}, follower: f, stop: func() { stopped = true }, begun: make(chan struct{}), refused: make(chan error, 1)}
		if c.begun {
			close(e.begun)
		}
		e.answered(t.Context(), c.err, c.streams)
		got := strings.Join(told, "; ")
		if !strings.HasPrefix(got, c.told) || c.told == "" && got != "" || stopped != c.stopped || (len(e.refused) == 1) != c.refused {
			t.Errorf("%s: told %q, stopped %t, refused %d", name, got, stopped, len(e.refused))
		}
	}
}
