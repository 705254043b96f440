package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/plugins/faults"
)

// StepForm is the short form of a step, FaultForm that of a fault.
const (
	StepForm  = "TIME:[TYPE/NAME:]WHAT[=VALUE][,OPTION=VALUE]"
	FaultForm = "VERB-RESOURCE[/SUBRESOURCE]:ANSWER[@FROM..TO][,OPTION=VALUE]"
)

// short is a word of a short form: how it reads its value and options.
type short struct {
	target string // the type of target that the value names; empty for the workload
	value  bool   // whether there must be one
	read   func(s *v1alpha1.ScenarioStep, value string, options map[string]string) error
}

// shorts are the words of the short form of a step.
var shorts = map[string]short{
	"scale":       {"", true, readScale},
	"image":       {"", true, readImage},
	"restart":     {"", false, plain(func(s *v1alpha1.ScenarioStep) { s.Restart = true })},
	"pause":       {"", false, plain(func(s *v1alpha1.ScenarioStep) { s.Pause = true })},
	"resume":      {"", false, plain(func(s *v1alpha1.ScenarioStep) { s.Resume = true })},
	"undo":        {"", false, readUndo},
	"load":        {"", true, readLoad},
	"node-down":   {"node", true, deed("down")},
	"node-up":     {"node", true, deed("up")},
	"node-add":    {"node", true, deed("add")},
	"node-delete": {"node", true, deed("delete")},
	"cordon":      {"node", true, deed("cordon")},
	"uncordon":    {"node", true, deed("uncordon")},
	"drain":       {"node", true, deed("drain")},
	"delete-pod":  {"pod", true, about(func(s *v1alpha1.ScenarioStep) { s.Delete = string(metav1.DeletePropagationBackground) })},
	"evict":       {"pod", true, about(func(s *v1alpha1.ScenarioStep) { s.Pod = "evict" })},
	"crash":       {"pod", true, about(func(s *v1alpha1.ScenarioStep) { s.Pod = "crash" })},
	"quota":       {"quota", true, readQuota},
}

// ParseStep reads the short form of a step: 30s:scale=20, 1m:node-down=node-3,
// 90s:deploy/web:image=app=nginx:1.27. A step on a workload that it does not
// name has no target.
func ParseStep(text string) (v1alpha1.ScenarioStep, error) {
	var s v1alpha1.ScenarioStep
	at, rest, ok := strings.Cut(text, ":")
	after, err := time.ParseDuration(at)
	switch {
	case !ok || err != nil:
		return s, fmt.Errorf("%q: expected %s, as in 30s:scale=20", text, StepForm)
	case after < 0:
		return s, fmt.Errorf("%q: time does not run backwards", text)
	}
	s.At.Duration = after
	word, value, given := strings.Cut(rest, "=")
	if i := strings.LastIndex(word, ":"); i >= 0 {
		s.Target, word = word[:i], word[i+1:]
	}
	form, known := shorts[word]
	switch {
	case !known:
		return s, fmt.Errorf("%q: %q is nothing that can happen: use %s", text, word, strings.Join(sortedKeys(shorts), ", "))
	case form.value && value == "":
		return s, fmt.Errorf("%q: %s needs a value, as in %s=…", text, word, word)
	case form.target != "" && s.Target != "":
		return s, fmt.Errorf("%q: %s=NAME says already what it is about", text, word)
	}
	if err := form.take(&s, value, given); err != nil {
		return s, fmt.Errorf("%q: %w", text, err)
	}
	return s, nil
}

// take reads what follows the word.
func (f short) take(s *v1alpha1.ScenarioStep, value string, given bool) error {
	value, options, err := optionsOf(value)
	if err != nil {
		return err
	}
	if given && value == "" {
		return errors.New("there is nothing after the =")
	}
	if f.target != "" {
		s.Target = f.target + "/" + value
	}
	if first, ok := options["first"]; ok && f.target != "" {
		if s.First, err = strconv.Atoi(first); err != nil || s.First < 1 {
			return fmt.Errorf("first=%s: expected a number from 1 on", first)
		}
		delete(options, "first")
	}
	if err := f.read(s, value, options); err != nil {
		return err
	}
	for _, left := range sortedKeys(options) {
		return fmt.Errorf("%s=%s means nothing here", left, options[left])
	}
	return nil
}

// optionsOf takes VALUE,KEY=VALUE,… apart.
func optionsOf(text string) (value string, options map[string]string, err error) {
	parts := strings.Split(text, ",")
	options = map[string]string{}
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(part, "=")
		if _, twice := options[key]; !ok || key == "" || twice {
			return "", nil, fmt.Errorf("%q is not one more OPTION=VALUE", part)
		}
		options[key] = value
	}
	return parts[0], options, nil
}

// plain is a word that takes no value.
func plain(set func(*v1alpha1.ScenarioStep)) func(*v1alpha1.ScenarioStep, string, map[string]string) error {
	return func(s *v1alpha1.ScenarioStep, value string, _ map[string]string) error {
		if value != "" {
			return errors.New("it takes no value")
		}
		set(s)
		return nil
	}
}

// about is a word whose value is its target.
func about(set func(*v1alpha1.ScenarioStep)) func(*v1alpha1.ScenarioStep, string, map[string]string) error {
	return func(s *v1alpha1.ScenarioStep, _ string, _ map[string]string) error {
		set(s)
		return nil
	}
}

func readScale(s *v1alpha1.ScenarioStep, value string, _ map[string]string) error {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of pods", value)
	}
	replicas := int32(n)
	s.Replicas = &replicas
	return nil
}

// readImage takes [CONTAINER=]IMAGE.
func readImage(s *v1alpha1.ScenarioStep, value string, _ map[string]string) error {
	container, image, ok := strings.Cut(value, "=")
	if !ok {
		container, image = "*", value
	}
	if container == "" || image == "" {
		return fmt.Errorf("%q is not IMAGE or CONTAINER=IMAGE", value)
	}
	s.Images = map[string]string{container: image}
	return nil
}

func readUndo(s *v1alpha1.ScenarioStep, value string, _ map[string]string) error {
	revision := int64(0)
	if value != "" {
		var err error
		if revision, err = strconv.ParseInt(value, 10, 64); err != nil || revision < 0 {
			return fmt.Errorf("%q is not a revision", value)
		}
	}
	s.Undo = &revision
	return nil
}

// readLoad takes a total, and with metric= of what; otherwise of cpu.
func readLoad(s *v1alpha1.ScenarioStep, value string, options map[string]string) error {
	total, err := resource.ParseQuantity(value)
	if err != nil || total.Sign() < 0 {
		return fmt.Errorf("%q is not an amount such as 800m or 12", value)
	}
	s.Load = &v1alpha1.Metric{Metric: "cpu", Total: total}
	if metric, ok := options["metric"]; ok {
		s.Load.Metric = metric
		delete(options, "metric")
	}
	return nil
}

// deed is a word for what happens to a node.
func deed(word string) func(*v1alpha1.ScenarioStep, string, map[string]string) error {
	return func(s *v1alpha1.ScenarioStep, _ string, options map[string]string) error {
		s.Node = word
		if like, ok := options["like"]; ok && word == "add" {
			s.Like = like
			delete(options, "like")
		}
		return nil
	}
}

// readQuota takes RESOURCE=QUANTITY options: the limits that change.
func readQuota(s *v1alpha1.ScenarioStep, _ string, options map[string]string) error {
	if len(options) == 0 {
		return errors.New("say which limit, as in quota=NAME,pods=20")
	}
	hard := map[string]string{}
	for _, name := range sortedKeys(options) {
		q, err := resource.ParseQuantity(options[name])
		if err != nil || q.Sign() < 0 {
			return fmt.Errorf("%s=%s: that is not a quantity", name, options[name])
		}
		hard[name] = options[name]
		delete(options, name)
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"hard": hard}})
	s.Patch = &runtime.RawExtension{Raw: patch}
	return err
}

// codes are the answers by their HTTP code.
var codes = map[string]faults.Kind{
	"403": faults.Forbidden, "404": faults.NotFound, "409": faults.Conflict, "500": faults.Internal, "504": faults.Timeout,
}

// ParseFault reads the short form of a fault: create-pods:403@10s..40s.
func ParseFault(text string) (v1alpha1.Fault, error) {
	var f v1alpha1.Fault
	what, rest, ok := strings.Cut(text, ":")
	verb, object, also := strings.Cut(what, "-")
	if !ok || !also || verb == "" || object == "" {
		return f, fmt.Errorf("%q: expected %s, as in create-pods:403@10s..40s", text, FaultForm)
	}
	f.Verb = verb
	f.Resource, f.Subresource, _ = strings.Cut(object, "/")
	rest, options, err := optionsOf(rest)
	if err != nil {
		return f, fmt.Errorf("%q: %w", text, err)
	}
	answer, window, timed := strings.Cut(rest, "@")
	if f.Answer = answer; codes[answer] != "" {
		f.Answer = string(codes[answer])
	}
	if timed {
		if err := readWindow(&f, window); err != nil {
			return f, fmt.Errorf("%q: %w", text, err)
		}
	}
	if err := readFaultOptions(&f, options); err != nil {
		return f, fmt.Errorf("%q: %w", text, err)
	}
	if err := checkFault(&f); err != nil {
		return f, fmt.Errorf("%q: %w", text, err)
	}
	return f, nil
}

// readWindow takes FROM..TO, FROM.. or ..TO.
func readWindow(f *v1alpha1.Fault, text string) error {
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return fmt.Errorf("@%s: expected FROM..TO, as in @10s..40s", text)
	}
	for _, bound := range []struct {
		text string
		into *metav1.Duration
	}{{from, &f.From}, {to, &f.To}} {
		if bound.text == "" {
			continue
		}
		var err error
		if bound.into.Duration, err = time.ParseDuration(bound.text); err != nil {
			return fmt.Errorf("@%s: %q is not a time such as 10s", text, bound.text)
		}
	}
	return nil
}

func readFaultOptions(f *v1alpha1.Fault, options map[string]string) error {
	for _, name := range sortedKeys(options) {
		value := options[name]
		var err error
		switch name {
		case "actor":
			f.Actor = value
		case "name":
			f.Name = value
		case "namespace":
			f.Namespace = value
		case "message":
			f.Message = value
		case "webhook":
			f.Webhook = value
		case "skip":
			f.Skip, err = strconv.Atoi(value)
		case "times":
			f.Times, err = strconv.Atoi(value)
		default:
			return fmt.Errorf("%s=%s means nothing here: use %s", name, value, strings.Join(faultOptions, ", "))
		}
		if err != nil {
			return fmt.Errorf("%s=%s: that is not a number", name, value)
		}
	}
	return nil
}

var faultOptions = []string{"actor", "message", "name", "namespace", "skip", "times", "webhook"}

// verbs are the requests that can fail.
var verbs = []string{"create", "delete", "update"}

func knownVerb(verb string) bool { return verb == "" || slices.Contains(verbs, verb) }
