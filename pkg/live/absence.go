package live

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// absence is a time in which the API server cannot be reached.
type absence struct {
	mu    sync.Mutex
	since time.Time // zero while it answers
	told  bool
}

// patience is how long a server is away before it is told: balancers and
// servers that take turns are back by then.
const patience = time.Second

// note is told of a request without an answer, and of any answer; it has the
// time since when there is none when that is to be told, once each time.
func (a *absence) note(answered bool, now time.Time) (since time.Time, tell bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case answered:
		a.since, a.told = time.Time{}, false
	case a.since.IsZero():
		a.since = now
	case !a.told && now.Sub(a.since) >= patience:
		a.told = true
		return a.since, true
	}
	return a.since, false
}

// answered takes up how a request of a watch went. One that begins with a list
// is not known to every server, and made up for by a list of its own.
func (e *feed) answered(ctx context.Context, err error, streams bool) {
	f := e.follower
	var request *url.Error
	switch {
	case ctx.Err() != nil: // nobody waits for it
	case errors.As(err, &request):
		if since, tell := f.away.note(false, time.Now()); tell {
			f.options.Problem(fmt.Errorf("the API server does not answer since %s (%w): going on when it does", since.Format(time.TimeOnly), request.Err))
		}
	default:
		f.away.note(true, time.Now())
		e.refuse(err, streams)
	}
}

// refuse takes up a server's refusal. It is asked again by the reflector, but
// for what the user may not do.
func (e *feed) refuse(err error, streams bool) {
	f := e.follower
	switch {
	case err == nil:
	case streams && !apierrors.IsUnauthorized(err):
	case apierrors.IsForbidden(err):
		e.stop()
		f.inbox.forget(e.name())
		select {
		case <-e.begun:
			f.options.Problem(fmt.Errorf("%s cannot be watched any more: what they tell is not shown: %w", e.resource, err))
		default:
			e.refused <- err // it has room for the one that can come
		}
	case apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err):
	default:
		f.failed(e.resource, err)
	}
}
