package observed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/trace"
)

// auditEvent is the part of an audit.k8s.io Event that tells of a write.
// (apiserver pkg/apis/audit/v1)
type auditEvent struct {
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef      *objectRef       `json:"objectRef"`
	ResponseStatus *metav1.Status   `json:"responseStatus"`
	RequestObject  json.RawMessage  `json:"requestObject"`
	ResponseObject json.RawMessage  `json:"responseObject"`
	StageTimestamp metav1.MicroTime `json:"stageTimestamp"`
}

type objectRef struct {
	Resource    string `json:"resource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Subresource string `json:"subresource"`
}

// resources are the kinds behind the resources that tell of a rollout.
var resources = map[string]string{"deployments": "Deployment", "replicasets": "ReplicaSet", "pods": "Pod", "events": "Event"}

var writes = map[string]bool{"create": true, "update": true, "patch": true, "delete": true}

// ReadAudit reads an API server's audit log, one Event a line. Reads, dry runs
// and other resources are left out.
func ReadAudit(data []byte) ([]Observation, error) {
	var out []Observation
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		o, ok, err := e.observation()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if ok {
			out = append(out, o)
		}
	}
	return out, nil
}

func (e *auditEvent) observation() (o Observation, ok bool, err error) {
	if e.Stage != "ResponseComplete" || !writes[e.Verb] || e.ObjectRef == nil || strings.Contains(e.RequestURI, "dryRun=All") {
		return o, false, nil
	}
	kind, known := resources[e.ObjectRef.Resource]
	if !known {
		return o, false, nil
	}
	o = Observation{
		At: e.StageTimestamp.Time, Ref: trace.Ref{Kind: kind, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name},
		Write: &Write{User: e.User.Username, Verb: e.Verb, Subresource: e.ObjectRef.Subresource},
	}
	if s := e.ResponseStatus; s != nil {
		o.Write.Code, o.Write.Error = int(s.Code), s.Message
	}
	if o.Write.Code >= 400 {
		return e.refused(o), true, nil
	}
	o.Write.Error = ""
	if len(e.ResponseObject) > 0 {
		if o.Object, err = decode(e.ResponseObject); err != nil {
			return o, false, err
		}
	}
	if o.Object != nil {
		o.Ref.Name = o.Object.GetName()
	}
	o.Deleted = e.Verb == "delete" && (o.Object == nil || kind != "Pod" || ended(o.Object))
	return o, true, nil
}

// refused names the object of a refused request as far as the request does.
func (e *auditEvent) refused(o Observation) Observation {
	var asked metav1.PartialObjectMetadata
	if o.Ref.Name == "" && json.Unmarshal(e.RequestObject, &asked) == nil {
		if o.Ref.Name = asked.Name; asked.Name == "" {
			o.Ref.Name = asked.GenerateName
		}
	}
	if o.Write.Error == "" {
		var status metav1.Status
		if json.Unmarshal(e.ResponseObject, &status) == nil {
			o.Write.Error = status.Message
		}
	}
	return o
}
