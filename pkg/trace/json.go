package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// details is the closed set, one value of each type.
var details = []Detail{
	Found{}, Specified{}, Ended{}, Changed{}, Delivered{}, Enqueued{}, Requeued{},
	SyncBegan{}, SyncEnded{}, Budgeted{}, Held{}, Scaled{}, Created{}, Deleted{},
	Removed{}, Wrote{}, Rejected{}, Scheduled{}, Unschedulable{}, PodChanged{},
	Exited{}, Evicted{}, Heartbeat{}, Tainted{}, StatusChanged{}, ConditionChanged{}, Recorded{}, Adopted{}, Released{},
}

var detailTypes = func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, d := range details {
		types[d.Type()] = reflect.TypeOf(d)
	}
	return types
}()

// seconds is a duration as a JSON number of seconds, exact to the nanosecond
// for runs of up to a hundred days, and never in exponent form.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', -1, 64), nil
}

func (s *seconds) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return fmt.Errorf("%s is not a number of seconds", data)
	}
	*s = seconds(math.Round(f * float64(time.Second)))
	return nil
}

// header is the part of an event that every type has. No detail may have a
// field of one of these names, since both are written into one flat object.
type header struct {
	Seq    Seq     `json:"seq"`
	Cause  Seq     `json:"cause,omitempty"`
	Offset seconds `json:"offsetSeconds"`
	Actor  string  `json:"actor,omitempty"`
	Node   string  `json:"node,omitempty"`
	Object Ref     `json:"object"`
	Type   string  `json:"type"`
}

// MarshalJSON writes one flat object: seq, cause, offsetSeconds, actor, node,
// object and type, followed by the fields of the detail.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Detail == nil {
		return nil, fmt.Errorf("event %d has no detail", e.Seq)
	}
	head, err := json.Marshal(header{e.Seq, e.Cause, seconds(e.Offset), e.Actor, e.Node, e.Object, e.Detail.Type()})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(e.Detail)
	if err != nil || len(body) <= len("{}") {
		return head, err
	}
	return append(append(head[:len(head)-1], ','), body[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON writes. A type outside the closed set is
// an error; fields that are not known are ignored.
func (e *Event) UnmarshalJSON(data []byte) error {
	var head header
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("reading an event: %w", err)
	}
	t, ok := detailTypes[head.Type]
	if !ok {
		return fmt.Errorf("event %d has the unknown type %q", head.Seq, head.Type)
	}
	detail := reflect.New(t)
	if err := json.Unmarshal(data, detail.Interface()); err != nil {
		return fmt.Errorf("reading event %d (%s): %w", head.Seq, head.Type, err)
	}
	*e = Event{
		Seq: head.Seq, Cause: head.Cause, Offset: time.Duration(head.Offset),
		Actor: head.Actor, Node: head.Node, Object: head.Object,
		Detail: detail.Elem().Interface().(Detail),
	}
	return nil
}

type requeued struct {
	After seconds `json:"after"`
	Why   string  `json:"why"`
}

// MarshalJSON writes the delay in seconds.
func (r Requeued) MarshalJSON() ([]byte, error) {
	return json.Marshal(requeued{seconds(r.After), r.Why})
}

// UnmarshalJSON reads the delay in seconds.
func (r *Requeued) UnmarshalJSON(data []byte) error {
	var in requeued
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*r = Requeued{After: time.Duration(in.After), Why: in.Why}
	return nil
}

// MarshalJSON writes the kept events in order, as an array.
func (l *Log) MarshalJSON() ([]byte, error) {
	events := l.Events()
	if events == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(events)
}

// UnmarshalJSON reads an array of events. Events appended later are numbered
// from the highest number read.
func (l *Log) UnmarshalJSON(data []byte) error {
	var events []Event
	if err := json.Unmarshal(data, &events); err != nil {
		return err
	}
	*l = Log{Depth: Syncs, Sink: l.Sink, full: events}
	for _, e := range events {
		l.last = max(l.last, e.Seq)
	}
	return nil
}
