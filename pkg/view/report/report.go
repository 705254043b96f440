// Package report writes a run as one HTML page that needs nothing else: no
// server, no network, no script but its own.
package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
)

//go:embed assets uplot
var files embed.FS

// Write writes the page of a run. Whatever comes from the cluster is escaped by
// html/template, or stands as JSON in a block that browsers do not run; a policy
// in the page forbids every script and style but those it names, and every request.
func Write(w io.Writer, plan *v1alpha1.RolloutPlan) error {
	p, err := newPage(plan)
	if err != nil {
		return err
	}
	page, err := files.ReadFile("assets/page.html")
	if err != nil {
		return err
	}
	t, err := template.New("page").Parse(string(page))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if err := t.Execute(out, p); err != nil {
		return err
	}
	return out.Flush()
}

// The page's own code, in the order in which it runs.
var (
	styles  = []string{"uplot/uPlot.min.css", "assets/page.css"}
	scripts = []string{"uplot/uPlot.iife.min.js.gz", "assets/page.js", "assets/chart.js", "assets/lanes.js", "assets/causes.js", "assets/main.js"}
)

// code is the page's own code and the policy that lets nothing else run.
type code struct {
	Style  template.CSS
	Script template.JS
	Policy string
}

func newCode() (code, error) {
	style, err := joined(styles)
	if err != nil {
		return code{}, err
	}
	script, err := joined(scripts)
	if err != nil {
		return code{}, err
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'", hash(script), hash(style))
	return code{Style: template.CSS(style), Script: template.JS(script), Policy: policy}, nil
}

func joined(names []string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		data, err := unpacked(name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// unpacked reads a file: the program has the larger ones packed.
func unpacked(name string) ([]byte, error) {
	data, err := files.ReadFile(name)
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return data, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// hash names a script or style for a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
