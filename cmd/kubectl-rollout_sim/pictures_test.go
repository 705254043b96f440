package main

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// pictures are those of docs/pictures: a file and the command it shows.
var pictures = map[string]string{
	"plan.svg":  "kubectl rollout-sim plan --from examples/web.yaml -f examples/web-next.yaml --detail decisions",
	"stuck.svg": "kubectl rollout-sim plan --offline -f examples/web.yaml --image app=nginx:typo --never-ready=ImagePullBackOff --detail decisions",
}

// TestPictures compares the pictures with what the program prints in colour.
func TestPictures(t *testing.T) {
	for name, command := range pictures {
		kept(t, filepath.Join(root, "docs", "pictures", name), drawTerminal(command, inColour(t, command)))
	}
}

// The picture of the report, which make picture takes, is small enough for a page.
func TestReportPicture(t *testing.T) {
	const most = 300 << 10 // bytes
	data, err := os.ReadFile(filepath.Join(root, "docs", "pictures", "report.png"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || config.Width < 1000 || len(data) > most {
		t.Errorf("%d columns in %d bytes, want 1000 at least in %d at most: %v", config.Width, len(data), most, err)
	}
}

// inColour is what a command prints on a terminal of pictureColumns columns.
func inColour(t *testing.T, command string) string {
	t.Helper()
	args := append(strings.Fields(command)[2:], "--color", "always", "--width", fmt.Sprint(pictureColumns))
	cmd := exec.Command("kubectl-rollout_sim", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(t.TempDir(), "none"), "KUBERNETES_SERVICE_HOST=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

// Columns of a picture, and the sizes of its cells and margins in pixels.
const (
	pictureColumns = 100
	cellWidth      = 8.4
	cellHeight     = 19
	margin         = 18
)

// The colours of the sixteen that the program uses, on a light and on a dark ground.
const pictureStyle = `<style>
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre }
  .ground { fill: #ffffff; stroke: #d0d7de } .c1 { font-weight: bold } .c31 { fill: #cf222e } .c32 { fill: #1a7f37 }
  .c35 { fill: #8250df } .c36 { fill: #0a6c80 } .c90 { fill: #656d76 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .ground { fill: #0d1117; stroke: #30363d } .c31 { fill: #ff7b72 } .c32 { fill: #3fb950 }
    .c35 { fill: #bc8cff } .c36 { fill: #56d4dd } .c90 { fill: #9198a1 }
  }
</style>`

// sgr is a sequence that sets colours; no other one is in what the program prints.
var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// drawTerminal is a terminal with a command and its output as SVG. Each run of
// one colour says how wide it is, so that columns stand whatever font there is.
func drawTerminal(command, output string) string {
	var b strings.Builder
	lines := append(append(commandLines(command), ""), strings.Split(strings.TrimRight(output, "\n"), "\n")...)
	width, height := pictureColumns*cellWidth+2*margin, len(lines)*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n%s\n", html.EscapeString(command), pictureStyle)
	fmt.Fprintf(&b, `<rect class="ground" x="0.5" y="0.5" width="%.0f" height="%d" rx="8"/>`+"\n", width-1, height-1)
	class := ""
	for row, line := range lines {
		column, at := 0, 0
		y := margin + row*cellHeight + 14
		for _, found := range append(sgr.FindAllStringSubmatchIndex(line, -1), []int{len(line), len(line), 0, 0}) {
			column = drawRun(&b, line[at:found[0]], class, column, y)
			if found[0] < len(line) {
				class = classOf(line[found[2]:found[3]], class)
			}
			at = found[1]
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// commandLines are a command as one types it, in lines that fit.
func commandLines(command string) []string {
	const prompt, bold = "\x1b[90m$\x1b[0m", "\x1b[1m"
	lines, column := []string{prompt + bold}, len("$")
	for _, word := range strings.Fields(command) {
		if column+len(word)+3 > pictureColumns {
			lines[len(lines)-1] += ` \`
			lines, column = append(lines, "   "), len("   ")
		}
		lines[len(lines)-1] += " " + word
		column += 1 + len(word)
	}
	lines[len(lines)-1] += "\x1b[0m"
	return lines
}

// drawRun draws text of one colour and returns the column after it.
func drawRun(b *strings.Builder, text, class string, column, y int) int {
	end := column + utf8.RuneCountInString(text)
	trimmed := strings.TrimLeft(text, " ")
	column += len(text) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, " ")
	if trimmed == "" {
		return end
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(b, `<text%s x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve">%s</text>`+"\n",
		class, margin+float64(column)*cellWidth, y, float64(utf8.RuneCountInString(trimmed))*cellWidth, html.EscapeString(trimmed))
	return end
}

// classOf is the style after a sequence.
func classOf(codes, before string) string {
	class := before
	for _, code := range strings.Split(codes, ";") {
		if code == "" || code == "0" {
			class = ""
			continue
		}
		class = strings.TrimSpace(class + " c" + code)
	}
	return class
}
