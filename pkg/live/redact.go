package live

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// redactor replaces what may be secret. A mark is keyed with a number that is
// forgotten, so that it tells equal values from different ones and no more.
type redactor struct{ key []byte }

func newRedactor() (*redactor, error) {
	r := &redactor{key: make([]byte, 16)}
	if _, err := rand.Read(r.key); err != nil {
		return nil, fmt.Errorf("drawing a key to redact with: %w", err)
	}
	return r, nil
}

func (r *redactor) mark(value string) string {
	sum := hmac.New(sha256.New, r.key)
	sum.Write([]byte(value))
	return "redacted-" + hex.EncodeToString(sum.Sum(nil)[:6])
}

// object redacts the fields of one object, at any depth.
func (r *redactor) object(fields map[string]any) {
	for key, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			if key == "annotations" {
				r.annotations(v)
			} else {
				r.object(v)
			}
		case []any:
			fields[key] = r.list(key, v)
		}
	}
}

func (r *redactor) list(key string, list []any) []any {
	switch key {
	case "command", "args":
		if pauses(list) {
			return list
		}
		for i, word := range list {
			list[i] = r.mark(fmt.Sprint(word))
		}
		return list
	}
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if value, ok := fields["value"].(string); ok && (key == "env" || key == "httpHeaders") {
			fields["value"] = r.mark(value)
		}
		r.object(fields)
	}
	return list
}

// pauseWord is a word of sleep N, alone or through a shell: it is no secret,
// and says how long a preStop hook takes.
var pauseWord = regexp.MustCompile(`^(-c|(/bin/|/usr/bin/)?((ba|da|a)?sh|sleep)( +[0-9.]+s?)?|[0-9.]+s?)$`)

func pauses(command []any) bool {
	return !slices.ContainsFunc(command, func(word any) bool { return !pauseWord.MatchString(fmt.Sprint(word)) })
}

// controllers' own annotations decide what happens and hold nothing of the user's.
var controllersOwn = []string{"deployment.kubernetes.io/", "controller.kubernetes.io/"}

// plainAnnotation is written by kubectl rollout restart, with the time.
const plainAnnotation = "kubectl.kubernetes.io/restartedAt"

func (r *redactor) annotations(all map[string]any) {
	for key, value := range all {
		text := fmt.Sprint(value)
		switch {
		case key == corev1.LastAppliedConfigAnnotation:
			all[key] = r.applied(text)
		case key == plainAnnotation, slices.ContainsFunc(controllersOwn, func(prefix string) bool { return strings.HasPrefix(key, prefix) }):
		default:
			all[key] = r.mark(text)
		}
	}
}

// applied is the manifest that kubectl apply remembers, redacted like the
// object it is of, so that a later apply still knows which fields were set.
func (r *redactor) applied(text string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return "{}"
	}
	r.object(fields)
	data, err := json.Marshal(fields)
	if err != nil {
		return "{}"
	}
	return string(data)
}
