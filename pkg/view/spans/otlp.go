package spans

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// The parts of OTLP/JSON (opentelemetry-proto, trace/v1) that are written.
type (
	otlpTraces struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource   otlpResource     `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeSpans struct {
		Scope otlpScope   `json:"scope"`
		Spans []*otlpSpan `json:"spans"`
	}
	otlpScope struct {
		Name string `json:"name"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		ParentID   string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"` // 1: internal
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Events     []otlpEvent     `json:"events,omitempty"`
		Links      []otlpLink      `json:"links,omitempty"`
		Status     *otlpStatus     `json:"status,omitempty"`
	}
	otlpEvent struct {
		Time       string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpLink struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	}
	otlpStatus struct {
		Code    int    `json:"code"` // 1: ok, 2: error
		Message string `json:"message,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String string `json:"stringValue"`
	}
)

// OTLP writes a run as one trace in OTLP/JSON: a span for the run, in it one for
// each pass with what it did as span events, for each of a pod's states, and for
// what happened outside of passes. Causes are links. Resources are the actors.
// Times are those of the run's own clock, from its start time on.
func OTLP(w io.Writer, plan *v1alpha1.RolloutPlan) error {
	hash := sha256.New()
	if err := view.Lines(hash, plan); err != nil {
		return err
	}
	o := &otlpWriter{
		layout: newLayout(plan), trace: hex.EncodeToString(hash.Sum(nil)[:16]), started: plan.Spec.Started(),
		spans: map[*slice]*otlpSpan{}, byService: map[string]*otlpScopeSpans{},
	}
	if plan.Spec.StartTime == nil {
		o.started = time.Unix(0, 0)
	}
	o.root(plan)
	for _, s := range o.slices {
		o.take(s)
	}
	return json.NewEncoder(w).Encode(o.traces())
}

type otlpWriter struct {
	*layout
	trace     string
	started   time.Time
	count     int
	run       *otlpSpan
	spans     map[*slice]*otlpSpan
	services  []string
	byService map[string]*otlpScopeSpans
}

// root is the span of the whole run.
func (o *otlpWriter) root(plan *v1alpha1.RolloutPlan) {
	o.run = o.span("rollout-sim", "rollout", 0, o.timeline.End)
	o.run.Attributes = attributes("verdict", string(plan.Status.Verdict), "seed", strconv.FormatUint(plan.Spec.Seed, 10), "k8s.version", plan.Spec.KubernetesVersion)
	o.run.Status = &otlpStatus{Code: 1}
	if plan.Status.Verdict.WorseThan(v1alpha1.LimitReached) {
		o.run.Status = &otlpStatus{Code: 2, Message: string(plan.Status.Verdict)}
	}
}

// take makes a slice a span, or an event of its pass. Queues are only ways from
// one cause to the next.
func (o *otlpWriter) take(s *slice) {
	switch {
	case s.category == queue:
		return
	case s.inside != nil:
		in := o.spans[s.inside]
		in.Events = append(in.Events, otlpEvent{Time: o.at(s.start), Name: view.Clean(s.name), Attributes: attributes("because", s.why)})
		in.End = o.at(s.inside.end)
		return
	}
	span := o.span(s.event.Actor, s.name, s.start, s.end)
	span.ParentID = o.run.SpanID
	span.Attributes = attributes("because", s.why, "k8s.namespace.name", s.event.Object.Namespace,
		"k8s.object", named(s.event.Object), "k8s.node.name", s.event.Node)
	if cause := o.source(s); cause != nil {
		span.Links = []otlpLink{{TraceID: o.trace, SpanID: cause.SpanID}}
	}
	o.spans[s] = span
}

// source is the span of the nearest cause that has one.
func (o *otlpWriter) source(s *slice) *otlpSpan {
	for c := s.cause; c != nil; c = c.cause {
		if c.inside != nil {
			c = c.inside
		}
		if span := o.spans[c]; span != nil {
			return span
		}
	}
	return nil
}

func (o *otlpWriter) span(service, name string, start, end time.Duration) *otlpSpan {
	o.count++
	s := &otlpSpan{TraceID: o.trace, SpanID: fmt.Sprintf("%016x", o.count), Name: view.Clean(name), Kind: 1, Start: o.at(start), End: o.at(end)}
	scope := o.byService[service]
	if scope == nil {
		scope = &otlpScopeSpans{Scope: otlpScope{Name: "github.com/rollout-sim/kubectl-rollout-sim"}}
		o.byService[service] = scope
		o.services = append(o.services, service)
	}
	scope.Spans = append(scope.Spans, s)
	return s
}

func (o *otlpWriter) at(offset time.Duration) string {
	return strconv.FormatInt(o.started.Add(offset).UnixNano(), 10)
}

func (o *otlpWriter) traces() otlpTraces {
	var out otlpTraces
	for _, service := range o.services {
		out.ResourceSpans = append(out.ResourceSpans, otlpResourceSpans{
			Resource: otlpResource{attributes("service.name", service)}, ScopeSpans: []otlpScopeSpans{*o.byService[service]},
		})
	}
	return out
}

// attributes pairs keys and values; those without a value are left out.
func attributes(pairs ...string) []otlpAttribute {
	var out []otlpAttribute
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, otlpAttribute{pairs[i], otlpValue{view.Clean(pairs[i+1])}})
		}
	}
	return out
}
