package live

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is how many objects one answer holds, as with kubectl.
const pageSize = 500

// lister asks for one page.
type lister[L metav1.ListInterface] func(context.Context, metav1.ListOptions) (L, error)

// fetch reads a list page by page. Of each object it keeps what keep returns,
// and nothing where that is nil, so that no more than one page is held whole.
func fetch[L metav1.ListInterface, T any](ctx context.Context, list lister[L], items func(L) []T, opts metav1.ListOptions, keep func(*T) *T) ([]*T, error) {
	opts.Limit = pageSize
	var out []*T
	for {
		page, err := list(ctx, opts)
		if apierrors.IsResourceExpired(err) && opts.Continue != "" {
			// The pages took longer than the server keeps its past: once more, in one piece.
			out, opts.Continue, opts.Limit = nil, "", 0
			continue
		}
		if err != nil {
			return nil, err
		}
		all := items(page)
		for i := range all {
			if kept := keep(&all[i]); kept != nil {
				out = append(out, kept)
			}
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return out, nil
		}
	}
}

// tasks run side by side; the first error ends all.
type tasks struct {
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
	once   sync.Once
	err    error
}

func newTasks(ctx context.Context) *tasks {
	t := &tasks{}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

func (t *tasks) run(do func(context.Context) error) {
	t.wait.Go(func() {
		if err := do(t.ctx); err != nil {
			t.once.Do(func() {
				t.err = err
				t.cancel()
			})
		}
	})
}

func (t *tasks) end() error {
	t.wait.Wait()
	t.cancel()
	return t.err
}
